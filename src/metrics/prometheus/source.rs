//! One round after another: the queries in their order, and what a failed one leaves out.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use super::answer;
use super::client::{Client, Session};
use super::gather::Gathered;
use super::names::NodeLabel;
use super::queries::{self, NodeQuery, Queries};
use super::settings::Settings;
use crate::metrics::error::MetricsError;
use crate::metrics::round::{Dropped, Query, QueryReport, Round};
use crate::metrics::self_check::{self, Finding, NodeIdentity};
use crate::metrics::series::LabelSet;
use crate::metrics::source::MetricsSource;
use evenkeel_clock as clock;
use evenkeel_core::units::{Resource, Resources};

/// So many queries in a row without any answer end a round; one alone may just be a heavy one.
const UNREACHABLE_AFTER: u32 = 2;

/// Usage from a Prometheus.
pub struct PrometheusSource {
    pub(super) client: Client,
    window: SignedDuration,
    node_label: NodeLabel,
    dated_by: Resources<Resource>,
    steps: Vec<Step>,
    probe: String,
}

/// A query ready to be sent.
struct Step {
    query: Query,
    promql: String,
}

impl PrometheusSource {
    /// A source that has not asked anything yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let Settings {
            connection,
            window,
            node_label,
            queries,
        } = settings;
        let dated_by = dated_by(&queries.nodes);
        let render = |text: &str| queries::render(text, window, &node_label);
        Self {
            client: Client::new(connection),
            steps: steps(&queries, dated_by, render),
            probe: render(&queries.probe),
            dated_by,
            window,
            node_label,
        }
    }

    /// The query of a round for this resource of the Pods.
    pub(super) fn pod_query(&self, resource: Resource) -> Option<&str> {
        let mut steps = self.steps.iter();
        let step = steps.find(|step| step.query == Query::Pod(resource))?;
        Some(&step.promql)
    }

    /// The label sets of series that should name nodes, for the self-check.
    ///
    /// # Errors
    /// The query failed.
    pub async fn probe(&self) -> Result<Vec<LabelSet>, MetricsError> {
        let body = self.client.session().await?.query(&self.probe).await?;
        let mut found = Vec::new();
        answer::read(&body, |labels, _| {
            found.push(
                labels
                    .iter()
                    .map(|(name, value)| (name.into(), value.into()))
                    .collect(),
            );
        })?;
        Ok(found)
    }

    /// Compares the nodes of the cluster with what a round measured. Asks Prometheus for the
    /// labels of its series only if a node is missing.
    ///
    /// # Errors
    /// The labels could not be asked for.
    pub async fn self_check(
        &self,
        nodes: &[NodeIdentity],
        round: &Round,
    ) -> Result<Vec<Finding>, MetricsError> {
        let measured = round.usage.node_names();
        let complete = nodes.iter().all(|node| measured.contains(&*node.name));
        let series = if complete {
            Vec::new()
        } else {
            self.probe().await?
        };
        Ok(self_check::check(nodes, round, &series))
    }

    /// Asks one query and hands the gathered state back with the outcome.
    async fn take(
        &self,
        session: &Session<'_>,
        step: &Step,
        mut gathered: Gathered,
    ) -> (Option<Gathered>, Result<Dropped, MetricsError>) {
        let body = match session.query(&step.promql).await {
            Ok(body) => body,
            Err(error) => return (Some(gathered), Err(error)),
        };
        let query = step.query;
        // Tens of megabytes of JSON would hold up the requests that share this thread.
        let parsed = tokio::task::spawn_blocking(move || {
            let outcome = gathered.absorb(query, &body);
            (Some(gathered), outcome)
        });
        parsed.await.unwrap_or((None, Err(MetricsError::Aborted)))
    }
}

#[async_trait]
impl MetricsSource for PrometheusSource {
    fn name(&self) -> &'static str {
        "prometheus"
    }

    async fn sample(&self, now: Timestamp) -> Result<Round, MetricsError> {
        let session = self.client.session().await?;
        let label = self.node_label.clone();
        let mut gathered = Gathered::new(now, self.window, self.dated_by, label);
        let mut reports = Vec::with_capacity(self.steps.len());
        let mut unreachable = 0;
        for step in &self.steps {
            let begun = clock::instant();
            let outcome = if unreachable < UNREACHABLE_AFTER {
                let (kept, outcome) = self.take(&session, step, gathered).await;
                gathered = kept.ok_or(MetricsError::Aborted)?;
                outcome
            } else {
                Err(MetricsError::Skipped)
            };
            match &outcome {
                Err(error) if error.is_unreachable() => unreachable += 1,
                Err(MetricsError::Skipped) => {}
                _ => unreachable = 0,
            }
            reports.push(report(step.query, begun.elapsed(), outcome));
        }
        finish(gathered, reports)
    }
}

/// The round, unless not one query has brought an answer.
fn finish(gathered: Gathered, mut reports: Vec<QueryReport>) -> Result<Round, MetricsError> {
    if reports.iter().all(|report| report.error.is_some()) {
        let first = reports.iter_mut().find_map(|report| report.error.take());
        if let Some(error) = first {
            return Err(error);
        }
    }
    Ok(Round {
        usage: Arc::new(gathered.usage),
        reports,
    })
}

fn report(query: Query, took: Duration, outcome: Result<Dropped, MetricsError>) -> QueryReport {
    let (dropped, error) = match outcome {
        Ok(dropped) => (dropped, None),
        Err(error) => (Dropped::default(), Some(error)),
    };
    QueryReport {
        query,
        took,
        dropped,
        error,
    }
}

/// For each resource, the first one that is dated by the same query.
fn dated_by(nodes: &Resources<Option<NodeQuery>>) -> Resources<Resource> {
    Resources::from_fn(|resource| {
        let text = |of: Resource| nodes[of].as_ref().map(|query| &query.sampled);
        Resource::ALL
            .into_iter()
            .find(|first| text(*first) == text(resource))
            .unwrap_or(resource)
    })
}

/// The queries in the order asked: times before values, nodes before Pods.
fn steps(
    queries: &Queries,
    dated_by: Resources<Resource>,
    render: impl Fn(&str) -> String,
) -> Vec<Step> {
    let Queries {
        nodes,
        pods,
        network_capacity,
        probe: _,
    } = queries;
    let times = nodes.iter().filter_map(|(resource, query)| {
        let first = dated_by[resource] == resource;
        Some((
            Query::SampleTime(resource),
            &query.as_ref().filter(|_| first)?.sampled,
        ))
    });
    let values = nodes
        .iter()
        .filter_map(|(resource, query)| Some((Query::Node(resource), &query.as_ref()?.value)));
    let capacity = network_capacity
        .iter()
        .map(|text| (Query::NetworkCapacity, text));
    let pods = pods
        .iter()
        .filter_map(|(resource, text)| Some((Query::Pod(resource), text.as_ref()?)));
    times
        .chain(values)
        .chain(capacity)
        .chain(pods)
        .map(|(query, text)| Step {
            query,
            promql: render(text),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_thirteen_queries_times_first_whatever_the_cluster() {
        let queries = Queries::default();
        let asked: Vec<&str> = steps(&queries, dated_by(&queries.nodes), str::to_owned)
            .iter()
            .map(|step| step.query.as_str())
            .collect();
        assert_eq!(asked.len(), 13);
        assert_eq!(asked[..3], ["sampleTimeCpu", "sampleTimeDisk", "nodeCpu"]);
    }

    #[test]
    fn a_resource_that_is_not_measured_is_not_asked_for() {
        let mut queries = Queries::default();
        queries.nodes[Resource::Cpu] = None;
        queries.pods[Resource::Disk] = None;
        queries.network_capacity = None;
        let asked: Vec<&str> = steps(&queries, dated_by(&queries.nodes), str::to_owned)
            .iter()
            .map(|step| step.query.as_str())
            .collect();
        assert_eq!(asked.len(), 10);
        assert_eq!(
            asked[..3],
            ["sampleTimeMemory", "sampleTimeDisk", "nodeMemory"]
        );
    }
}
