//! Answers queries: waits for their turn, asks the source, and bounds the result. A turn lasts
//! until the last byte of the answer has been sent, so that turns bound the memory of all answers,
//! also of those that wait for slow readers.

use std::sync::Arc;

use evenkeel_clock as clock;
use evenkeel_metrics::series_query::{
    ObjectSelection, SeriesAnswer, SeriesRange, SeriesRefusal, SeriesRequest, WorkloadReference,
};
use evenkeel_objects::lenient_object::LenientObject;
use evenkeel_units::Resource;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;

use super::instruments::SeriesProviderMetrics;
use super::settings::{ConfiguredQuery, Settings};
use crate::cluster::paged_list::Listing;
use crate::cluster::{ClusterState, WorkloadPods};
use crate::metrics::MetricsError;
use crate::metrics::prometheus::{Grid, PromSeriesError, PrometheusSource, SeriesTimes};
use crate::metrics::query_queue::{Backoff, LanePolicy, NotAdded};
use crate::metrics::query_turns::{QueryNumber, QueryTurn, QueryTurns};
use crate::metrics::signals::ServedSource;
use crate::telemetry::RateLimited;
use crate::watched_types::OwnedObject;

/// Points of one answer: four series of a month by the minute.
const POINTS: usize = 200_000;

/// Pods that one question may ask about: their names go into the query.
const PODS: u32 = 1_000;

/// Queries that run, or that have answers under way, beside those of the ticks. Each takes a core of
/// a small Prometheus, and a large answer takes some 15 MB.
pub(super) const LANE: LanePolicy = LanePolicy {
    at_once: 4,
    waiting: 128,
    slow_after: None,
    backoff: Backoff::Once,
};

/// The turn of one query, of a namespace.
pub(super) type SeriesQueryTurn = QueryTurn<QueryNumber>;

/// The sources of series.
pub struct SeriesSources {
    pub client: kube::Client,
    /// The metrics APIs.
    pub served: ServedSource,
    pub prometheus: Option<PrometheusSource>,
    pub cluster: ClusterState,
}

#[derive(Debug)]
pub struct HeldSeriesAnswer {
    pub answer: SeriesAnswer,
    pub(super) turn: Arc<SeriesQueryTurn>,
}

pub struct MetricsProvider {
    pub(super) sources: SeriesSources,
    pub(super) settings: Settings,
    turns: QueryTurns<QueryNumber>,
    metrics: SeriesProviderMetrics,
    warned: RateLimited<&'static str>,
}

impl std::fmt::Debug for MetricsProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetricsProvider").finish_non_exhaustive()
    }
}

impl MetricsProvider {
    /// A provider that has not been asked anything yet.
    pub fn new(sources: SeriesSources, settings: Settings, metrics: SeriesProviderMetrics) -> Self {
        Self {
            sources,
            settings,
            turns: QueryTurns::new(LANE),
            metrics,
            warned: RateLimited::default(),
        }
    }

    pub(super) const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The answer to a query, after its caller has been authorised.
    ///
    /// # Errors
    /// There is none, with the reason.
    pub async fn answer(&self, asked: &SeriesRequest) -> Result<HeldSeriesAnswer, SeriesRefusal> {
        let begun = clock::runtime();
        let answering = async {
            let turn = self.turns.take(Some(&asked.query.namespace)).await;
            let turn = turn.map_err(refusal)?;
            let answer = match asked.range {
                None => self.latest(&asked.query, clock::now()).await?,
                Some(range) => self.past(&asked.query, range).await?,
            };
            Ok(HeldSeriesAnswer {
                answer: within_bounds(answer)?,
                turn: Arc::new(turn),
            })
        };
        let answer = match tokio::time::timeout(self.settings.timeout, answering).await {
            Ok(answer) => answer,
            Err(_) => Err(SeriesRefusal::Late),
        };
        let kind = asked.query.kind();
        self.metrics.observe(kind, begun.elapsed(), &answer);
        answer
    }

    /// The operator's own query for a metric, where there is a Prometheus to ask.
    pub(super) fn configured(&self, metric: &str) -> Option<(&PrometheusSource, &ConfiguredQuery)> {
        let prometheus = self.sources.prometheus.as_ref()?;
        let mut queries = self.settings.queries.iter();
        let query = queries.find(|query| query.name == metric)?;
        Some((prometheus, query))
    }

    pub(super) fn workload_pods(
        &self,
        namespace: &str,
        workload: &WorkloadReference,
    ) -> Result<WorkloadPods, SeriesRefusal> {
        let pods = self.sources.cluster.workload_pods(namespace, workload);
        let pods = pods.ok_or_else(|| {
            SeriesRefusal::Unreviewed(
                "this replica has just started and knows no Pods yet".to_owned(),
            )
        })?;
        if pods.members.is_empty() {
            let WorkloadReference { kind, name } = workload;
            let kind = &kind.kind;
            return Err(SeriesRefusal::NotFound(format!(
                "no Pods of the {kind} {name} are known in the namespace {namespace}"
            )));
        }
        if pods.members.len() > PODS as usize {
            return Err(too_many_pods());
        }
        Ok(pods)
    }

    /// The names of the requested Pods; for a selector, the API server gives them.
    pub(super) async fn pod_names(
        &self,
        namespace: &str,
        pods: &ObjectSelection,
    ) -> Result<Vec<String>, SeriesRefusal> {
        let selector = match pods {
            ObjectSelection::Named(name) => return Ok(vec![name.clone()]),
            ObjectSelection::Selected(selector) => selector,
        };
        let api: Api<Pod> = Api::namespaced(self.sources.client.clone(), namespace);
        let wanted = ListParams::default().labels(selector).limit(PODS);
        let mut listing = Listing::<OwnedObject>::of_metadata(&api, wanted);
        let mut names = Vec::new();
        let mut take = |pod: LenientObject<OwnedObject>| {
            names.extend(match pod.0 {
                Ok(pod) => pod.metadata.name,
                Err(unreadable) => unreadable.metadata.name,
            });
        };
        listing.page(&mut take).await.map_err(|error| {
            let error = &error as &dyn std::error::Error;
            self.warn("the Pods of a selector cannot be listed", error);
            SeriesRefusal::Failed {
                asked: "the API server",
                reason: "Pods cannot be listed",
            }
        })?;
        if listing.has_more() {
            return Err(too_many_pods());
        }
        Ok(names)
    }

    /// The refusal if a source did not answer. The source's own words are only logged: they may
    /// hold secrets.
    pub(super) fn failed(&self, asked: &'static str, error: &MetricsError) -> SeriesRefusal {
        self.warn("a query of the metrics provider failed", error);
        match error {
            MetricsError::NotServed { .. } => SeriesRefusal::NotFound(format!(
                "{asked}: there is no such metric, or no server for it"
            )),
            MetricsError::Values(_) => SeriesRefusal::NotFound(format!(
                "{asked}: the metric has no values ({})",
                error.reason()
            )),
            MetricsError::Query(fault) => SeriesRefusal::Parameter(fault.to_string()),
            MetricsError::TooLarge { .. } => {
                SeriesRefusal::TooLarge("the answer is too large: query less at a time".to_owned())
            }
            MetricsError::Timeout => SeriesRefusal::Late,
            _ => SeriesRefusal::Failed {
                asked,
                reason: error.reason(),
            },
        }
    }

    pub(super) fn unmeasured(&self, error: PromSeriesError) -> SeriesRefusal {
        match error {
            PromSeriesError::NotMeasured(_) | PromSeriesError::NoContainers(_) => {
                SeriesRefusal::NotFound(error.to_string())
            }
            PromSeriesError::Source(error) => self.failed("Prometheus", &error),
        }
    }

    fn warn(&self, what: &'static str, error: &(dyn std::error::Error + 'static)) {
        if let Some(suppressed) = self.warned.permit(what, clock::instant()) {
            tracing::warn!(
                what,
                error,
                suppressed,
                "the metrics provider has no answer"
            );
        }
    }
}

const fn refusal(cause: NotAdded) -> SeriesRefusal {
    match cause {
        NotAdded::TenantFull => SeriesRefusal::NamespaceBusy,
        NotAdded::Full | NotAdded::NotDue => SeriesRefusal::Busy,
    }
}

fn within_bounds(answer: SeriesAnswer) -> Result<SeriesAnswer, SeriesRefusal> {
    let points = answer.points();
    if points <= POINTS {
        return Ok(answer);
    }
    Err(SeriesRefusal::TooLarge(format!(
        "the answer has {points} points; accepted: at most {POINTS}; query fewer Pods, or use a \
         longer step"
    )))
}

fn too_many_pods() -> SeriesRefusal {
    SeriesRefusal::TooLarge(format!(
        "the query covers more than {PODS} Pods: use a narrower selector"
    ))
}

pub(super) const fn times(range: SeriesRange) -> SeriesTimes {
    let SeriesRange {
        first,
        step,
        points,
    } = range;
    SeriesTimes::Past(Grid {
        first,
        step,
        points,
    })
}

/// The resource as the metrics API names it; `None` for one that it does not tell.
pub(super) const fn served(resource: Resource) -> Option<&'static str> {
    match resource {
        Resource::Cpu => Some("cpu"),
        Resource::Memory => Some("memory"),
        Resource::NetworkIo | Resource::DiskIo | Resource::Disk => None,
    }
}
