//! A Prometheus as a source: its queries in their order, each sent and read.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use evenkeel_objects::pod_name::PodNames;
use evenkeel_units::{Resource, Resources};
use jiff::{SignedDuration, Timestamp};

use super::client::PrometheusClient;
use super::matchers::ExporterMatchers;
use super::names::NodeAddressIndex;
use super::queries::{NodeQuery, OfInterfaces, Queries};
use super::reader::{PromAnswerReader, time};
use super::settings::Settings;
use super::{answer, queries};
use crate::metrics::answer::{Answers, QueryAnswer};
use crate::metrics::blocking_pool::aside;
use crate::metrics::error::MetricsError;
use crate::metrics::query::UsageQuery;
use crate::metrics::series::LabelSet;
use crate::metrics::source::MetricsSource;

pub struct PrometheusSource {
    pub(super) client: PrometheusClient,
    queries: Vec<UsageQuery>,
    texts: Vec<String>,
    probe: String,
    reader: Arc<PromAnswerReader>,
    window: SignedDuration,
    pub(super) matchers: ExporterMatchers,
    /// The built-in queries for Pods, before matchers; `None` if the operator has another one.
    pub(super) built_in: Resources<Option<String>>,
}

impl PrometheusSource {
    /// A source that has not asked anything yet.
    pub fn new(settings: Settings) -> Self {
        let Settings {
            connection,
            window,
            node_label,
            matchers,
            queries,
        } = settings;
        let dated_by = dated_by(&queries.nodes);
        let of_interfaces = queries.of_interfaces();
        let built_in = built_in(&queries, |text| queries::render(text, window, &node_label));
        let render = |text: &str| matchers.fill(queries::render(text, window, &node_label));
        let probe = render(&queries.probe);
        let (queries, texts) = steps(&queries, dated_by)
            .map(|(query, text)| (query, render(text)))
            .unzip();
        Self {
            window,
            matchers,
            built_in,
            client: PrometheusClient::new(connection),
            queries,
            texts,
            probe,
            reader: Arc::new(PromAnswerReader {
                window,
                dated_by,
                of_interfaces,
                node_label,
                addresses: ArcSwap::default(),
                pod_names: Mutex::new(PodNames::default()),
            }),
        }
    }

    /// The span that rates are taken over.
    pub(super) fn window(&self) -> jiff::SignedDuration {
        self.reader.window
    }

    /// The text of a query; `None` where a round does not ask it.
    pub(super) fn text(&self, query: UsageQuery) -> Option<&str> {
        let at = self.queries.iter().position(|asked| *asked == query)?;
        self.texts.get(at).map(String::as_str)
    }

    /// The query of a target with window and matchers in their places.
    pub fn filled(&self, promql: &str) -> String {
        self.matchers.fill(queries::windowed(promql, self.window))
    }

    /// The time of the server, which is the end of what it remembers.
    ///
    /// # Errors
    /// The query failed.
    pub async fn now(&self) -> Result<Option<Timestamp>, MetricsError> {
        let body = self.client.session().await?.query("vector(time())").await?;
        let mut found = None;
        answer::read(&body, |_, value| found = time(value).ok())?;
        Ok(found)
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

    /// Notes the nodes' InternalIPs, which identify series without the name of a node.
    pub(crate) fn know_addresses<'n>(&self, nodes: impl IntoIterator<Item = (IpAddr, &'n str)>) {
        self.reader
            .addresses
            .store(Arc::new(NodeAddressIndex::of(nodes)));
    }
}

#[async_trait]
impl MetricsSource for PrometheusSource {
    fn name(&self) -> &'static str {
        "prometheus"
    }

    fn queries(&self) -> &[UsageQuery] {
        &self.queries
    }

    async fn fetch(
        &self,
        query: UsageQuery,
        before: &Answers,
        now: Timestamp,
    ) -> Result<QueryAnswer, MetricsError> {
        let Some(text) = self.text(query) else {
            return Ok(QueryAnswer::default());
        };
        let body = self.client.session().await?.query(text).await?;
        let (reader, before) = (Arc::clone(&self.reader), before.clone());
        aside(move || reader.read(query, &before, now, &body)).await?
    }
}

/// The texts for Pods that are the built-in ones.
fn built_in(queries: &Queries, render: impl Fn(&str) -> String) -> Resources<Option<String>> {
    let defaults = Queries::default().pods;
    Resources::from_fn(|resource| {
        let text = queries.pods[resource].as_ref();
        let text = text.filter(|text| defaults[resource].as_ref() == Some(*text));
        text.map(|text| render(text))
    })
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

/// The queries in the order asked, times before values and nodes before Pods, as they are written.
fn steps(
    queries: &Queries,
    dated_by: Resources<Resource>,
) -> impl Iterator<Item = (UsageQuery, &str)> {
    let Queries {
        nodes,
        pods,
        network_capacity,
        io_pressure,
        probe: _,
    } = queries;
    let times = nodes.iter().filter_map(move |(resource, query)| {
        let first = dated_by[resource] == resource;
        let query = query.as_ref().filter(|_| first)?;
        Some((UsageQuery::SampleTime(resource), &*query.sampled))
    });
    let values = nodes.iter().filter_map(|(resource, query)| {
        Some((UsageQuery::Node(resource), &*query.as_ref()?.value))
    });
    let OfInterfaces { used, capacity } = queries.of_interfaces();
    // One answer tells both, so that use and capacity are of the same interfaces at the same time.
    let capacity = network_capacity
        .iter()
        .filter(move |_| !(used && capacity))
        .map(|text| (UsageQuery::NetworkCapacity, &**text));
    let pressure = io_pressure
        .iter()
        .map(|text| (UsageQuery::IoPressure, &**text));
    let pods = pods
        .iter()
        .filter_map(|(resource, text)| Some((UsageQuery::Pod(resource), text.as_deref()?)));
    times
        .chain(values)
        .chain(capacity)
        .chain(pressure)
        .chain(pods)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_thirteen_queries_times_first_whatever_the_cluster() {
        let queries = Queries::default();
        let asked: Vec<&str> = steps(&queries, dated_by(&queries.nodes))
            .map(|(query, _)| query.as_str())
            .collect();
        assert_eq!(asked.len(), 13);
        assert_eq!(asked[..3], ["sampleTimeCpu", "sampleTimeDisk", "nodeCpu"]);
    }

    #[test]
    fn interfaces_are_asked_about_once_and_read_for_what_the_operator_does_not_ask() {
        let (network, capacity) = (
            UsageQuery::Node(Resource::NetworkIo),
            UsageQuery::NetworkCapacity,
        );
        for (own, asked_apart, expected) in [
            (&[][..], false, (true, true)),
            (&[network], true, (false, true)),
            (&[capacity], true, (true, false)),
            (&[network, capacity], true, (false, false)),
        ] {
            let mut queries = Queries::default();
            for query in own {
                queries.set(*query, "max by (node) (mine)").unwrap();
            }
            let OfInterfaces { used, capacity } = queries.of_interfaces();
            assert_eq!((used, capacity), expected, "{own:?}");
            let mut asked = steps(&queries, dated_by(&queries.nodes));
            let is_asked = asked.any(|(query, _)| query == UsageQuery::NetworkCapacity);
            assert_eq!(is_asked, asked_apart, "{own:?}");
        }
    }

    #[test]
    fn only_texts_that_are_built_in_can_be_narrowed() {
        let mut queries = Queries::default();
        let own = "max by (namespace, pod) (mine)";
        queries.set(UsageQuery::Pod(Resource::Memory), own).unwrap();
        let texts = built_in(&queries, |text| text.replace("$window", "2m"));
        assert_eq!(texts[Resource::Memory], None);
        let cpu = texts[Resource::Cpu].as_ref().unwrap();
        assert!(
            cpu.contains("{$cadvisor,container") && cpu.contains("[2m]"),
            "{cpu}"
        );
    }

    #[test]
    fn a_resource_that_is_not_measured_is_not_asked_for() {
        let mut queries = Queries::default();
        queries.nodes[Resource::Cpu] = None;
        queries.pods[Resource::Disk] = None;
        queries.network_capacity = None;
        queries.io_pressure = None;
        let asked: Vec<&str> = steps(&queries, dated_by(&queries.nodes))
            .map(|(query, _)| query.as_str())
            .collect();
        assert_eq!(asked.len(), 10);
        assert_eq!(
            asked[..3],
            ["sampleTimeMemory", "sampleTimeDisk", "nodeMemory"]
        );
    }
}
