//! `/api/v1/explain`: why a Pod went where it went, or would go.
//!
//! `GET ?namespace=&pod=` takes a Pod that kube-scheduler has asked about and judges it again on
//! the newest snapshot, beside the last answers that were given; `POST` does so for any Pod in the
//! body.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use jiff::Timestamp;
use moka::sync::Cache;
use serde::{Deserialize, Serialize};

use super::Api;
use crate::cluster::owners::Owner;
use crate::server::ApiError;
use evenkeel_core::placement::node_table::{NodeDetail, NodeState};
use evenkeel_core::placement::usage::PodName;
use evenkeel_core::units::{Resource, Resources};
use evenkeel_kubernetes::extender::Request;
use evenkeel_kubernetes::extender::decide::{Filtered, Prioritized};
use evenkeel_kubernetes::extender::explain::{Explanation, Resourced, explain};
use evenkeel_kubernetes::extender::judgement;
use evenkeel_kubernetes::json;
use evenkeel_kubernetes::pod::Pod;
use evenkeel_kubernetes::snapshot::Snapshot;

/// Pods remembered at a time.
const DECISIONS: u64 = 10_000;

/// How long one is remembered that nobody asks about: longer than a Pod waits to be tried again.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// The last answers, by the name of the Pod.
#[derive(Debug, Clone)]
pub(super) struct Decisions(Cache<PodName, DecisionRecord>);

/// The last answers given for one Pod.
#[derive(Debug, Clone)]
struct DecisionRecord {
    pod: Arc<Pod>,
    filter: Option<Answered>,
    prioritize: Option<Answered>,
}

/// One answer, as it is shown.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    at: Timestamp,
    #[serde(flatten)]
    verdict: Verdict,
}

/// What was answered.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", untagged)]
pub(super) enum Verdict {
    /// The answer to filter.
    Filtered {
        /// How many nodes were asked about.
        asked: usize,
        /// How many of them passed.
        passed: usize,
        /// How many nodes each resource refused.
        refused_by: Vec<(&'static str, usize)>,
        /// Why nothing was judged.
        unjudged: Option<&'static str>,
        /// Whether nodes without headroom passed, because none had any.
        relaxed: bool,
    },
    /// The answer to prioritize.
    Prioritized {
        /// How many nodes were asked about.
        asked: usize,
        /// The node with the highest score.
        best: Option<String>,
        /// Its score.
        score: Option<u8>,
        /// The profile whose weights counted.
        profile: Option<String>,
        /// Why nothing was judged.
        unjudged: Option<&'static str>,
    },
}

impl Verdict {
    pub(super) fn filtered(filtered: &Filtered) -> Self {
        let refusing = |bit: usize| {
            filtered
                .refused
                .iter()
                .filter(|mask| **mask >> bit & 1 == 1)
                .count()
        };
        let asked = filtered.refused.len();
        Self::Filtered {
            asked,
            passed: (0..asked)
                .filter(|&position| filtered.passes(position))
                .count(),
            refused_by: Resource::ALL
                .iter()
                .enumerate()
                .map(|(bit, resource)| (resource.as_str(), refusing(bit)))
                .filter(|(_, nodes)| *nodes > 0)
                .collect(),
            unjudged: filtered.exemption.map(judgement::Exemption::as_str),
            relaxed: filtered.relaxed,
        }
    }

    pub(super) fn prioritized(prioritized: &Prioritized, request: &Request<'_>) -> Self {
        let best = prioritized.best;
        Self::Prioritized {
            asked: request.names.len(),
            best: best
                .and_then(|best| request.names.get(best))
                .map(ToString::to_string),
            score: best.and_then(|best| prioritized.scores.get(best)).copied(),
            profile: prioritized.profile.clone(),
            unjudged: prioritized.exemption.map(judgement::Exemption::as_str),
        }
    }
}

impl Default for Decisions {
    fn default() -> Self {
        let cache = Cache::builder().max_capacity(DECISIONS);
        Self(cache.time_to_idle(REMEMBERED).build())
    }
}

impl Decisions {
    /// Notes an answer to filter, with which an attempt to place the Pod as it now is begins.
    pub(super) fn filtered(&self, pod: &Pod, verdict: Verdict, at: Timestamp) {
        let record = DecisionRecord {
            pod: Arc::new(pod.clone()),
            filter: Some(Answered { at, verdict }),
            prioritize: self.of(pod).and_then(|record| record.prioritize),
        };
        self.0.insert(name_of(pod), record);
    }

    /// Notes an answer to prioritize.
    pub(super) fn prioritized(&self, pod: &Pod, verdict: Verdict, at: Timestamp) {
        let mut record = self.of(pod).unwrap_or_else(|| DecisionRecord {
            pod: Arc::new(pod.clone()),
            filter: None,
            prioritize: None,
        });
        record.prioritize = Some(Answered { at, verdict });
        self.0.insert(name_of(pod), record);
    }

    /// What is known of this Pod, and not of an earlier one of the same name.
    fn of(&self, pod: &Pod) -> Option<DecisionRecord> {
        let record = self.0.get(&name_of(pod));
        record.filter(|record| record.pod.uid() == pod.uid())
    }
}

fn name_of(pod: &Pod) -> PodName {
    PodName::new(pod.namespace(), pod.name())
}

/// What is answered to a question why.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    /// The workload that the Pod belongs to.
    workload: Option<Owner>,
    /// The last answer to filter.
    last_filter: Option<Answered>,
    /// The last answer to prioritize.
    last_prioritize: Option<Answered>,
    /// The terms of a decision on the newest snapshot.
    now: Explanation,
    /// What the load of each node is made of.
    loads: BTreeMap<String, Resourced<LoadTerms>>,
}

/// The terms of one resource's load on one node: measured + in flight - gone, or else what all of
/// its Pods demand. In millicores, bytes or bytes per second.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct LoadTerms {
    measured: Option<u64>,
    measured_at: Option<Timestamp>,
    in_flight: u64,
    gone: u64,
    demanded: u64,
}

impl LoadTerms {
    fn of(detail: &NodeDetail, resource: Resource) -> Self {
        let measured = detail.measured[resource];
        Self {
            measured: measured.map(|measured| measured.value.get()),
            measured_at: measured.map(|measured| measured.at),
            in_flight: detail.in_flight[resource].get(),
            gone: detail.gone[resource].get(),
            demanded: detail.committed[resource].get(),
        }
    }
}

/// Which Pod is meant.
#[derive(Debug, Deserialize)]
pub(super) struct Which {
    namespace: String,
    pod: String,
}

pub(super) async fn stored(State(api): State<Api>, uri: Uri) -> Result<Json<Answer>, ApiError> {
    let which: Which = super::parameters(&uri, "namespace=NAMESPACE&pod=NAME")?;
    let record = api
        .decisions
        .0
        .get(&PodName::new(&which.namespace, &which.pod))
        .ok_or_else(|| {
            let message = format!(
                "kube-scheduler has not asked this replica about Pod {}/{} lately",
                which.namespace, which.pod
            );
            ApiError::new(StatusCode::NOT_FOUND, "PodUnknown", message)
        })?;
    Ok(Json(Answer {
        last_filter: record.filter,
        last_prioritize: record.prioritize,
        ..api.judge(&record.pod)
    }))
}

pub(super) async fn what_if(
    State(api): State<Api>,
    body: bytes::Bytes,
) -> Result<Json<Answer>, ApiError> {
    let pod: Pod = json::from_slice(&body)?;
    Ok(Json(api.judge(&pod)))
}

impl Api {
    fn loads(&self, snapshot: &Snapshot) -> BTreeMap<String, Resourced<LoadTerms>> {
        let terms = |node: &NodeState| {
            let detail = self.cluster.node_detail(&node.name)?;
            let of = |resource| LoadTerms::of(&detail, resource);
            Some((node.name.to_string(), Resourced(Resources::from_fn(of))))
        };
        snapshot.nodes.iter().filter_map(terms).collect()
    }

    fn judge(&self, pod: &Pod) -> Answer {
        let snapshot = self.cluster.snapshot();
        let call = judgement::Call {
            snapshot: &snapshot,
            policy: &self.policy,
            now: self.cluster.now(),
            refused_since: self.cluster.refused_since(pod.uid()),
        };
        Answer {
            workload: self.cluster.workload(pod),
            last_filter: None,
            last_prioritize: None,
            loads: self.loads(&snapshot),
            now: explain(pod, &call),
        }
    }
}
