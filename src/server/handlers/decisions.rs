//! The last answers to kube-scheduler, by Pod, for explanations.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use moka::sync::Cache;

use crate::api::explain::{PastVerdict, Verdict};
use evenkeel_core::placement::usage::PodName;
use evenkeel_core::units::Resource;
use evenkeel_kubernetes::extender::Request;
use evenkeel_kubernetes::extender::decide::{Filtered, Prioritized};
use evenkeel_kubernetes::extender::judgement;
use evenkeel_kubernetes::pod::Pod;

/// Pods remembered at a time.
const MOST: u64 = 10_000;

/// Time that a Pod is remembered that nobody asks about: longer than one waits to be tried again.
const REMEMBERED: Duration = Duration::from_hours(1);

/// The last answers, by the name of the Pod; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Decisions(Cache<PodName, DecisionRecord>);

/// The last answers for one Pod.
#[derive(Debug, Clone)]
pub(crate) struct DecisionRecord {
    pub(crate) pod: Arc<Pod>,
    pub(crate) filter: Option<PastVerdict>,
    pub(crate) prioritize: Option<PastVerdict>,
}

impl Default for Decisions {
    fn default() -> Self {
        let cache = Cache::builder().max_capacity(MOST);
        Self(cache.time_to_idle(REMEMBERED).build())
    }
}

impl Decisions {
    pub(crate) fn get(&self, pod: &PodName) -> Option<DecisionRecord> {
        self.0.get(pod)
    }

    /// Records an answer to filter, with which an attempt to place the Pod as it now is begins.
    pub(super) fn filtered(&self, pod: &Pod, filtered: &Filtered, at: Timestamp) {
        let verdict = filter_verdict(filtered);
        let record = DecisionRecord {
            pod: Arc::new(pod.clone()),
            filter: Some(PastVerdict { at, verdict }),
            prioritize: self.of(pod).and_then(|record| record.prioritize),
        };
        self.0.insert(name_of(pod), record);
    }

    /// Records an answer to prioritize.
    pub(super) fn prioritized(
        &self,
        request: &Request<'_>,
        prioritized: &Prioritized,
        at: Timestamp,
    ) {
        let pod = &request.pod;
        let mut record = self.of(pod).unwrap_or_else(|| DecisionRecord {
            pod: Arc::new(pod.clone()),
            filter: None,
            prioritize: None,
        });
        let verdict = prioritize_verdict(prioritized, request);
        record.prioritize = Some(PastVerdict { at, verdict });
        self.0.insert(name_of(pod), record);
    }

    /// The record of this Pod, not of an earlier one of the same name.
    fn of(&self, pod: &Pod) -> Option<DecisionRecord> {
        let record = self.0.get(&name_of(pod));
        record.filter(|record| record.pod.uid() == pod.uid())
    }
}

fn name_of(pod: &Pod) -> PodName {
    PodName::new(pod.namespace(), pod.name())
}

fn filter_verdict(filtered: &Filtered) -> Verdict {
    let refusing = |bit: usize| {
        let refused = filtered.refused.iter();
        refused.filter(|mask| **mask >> bit & 1 == 1).count()
    };
    let asked = filtered.refused.len();
    let by_resource = Resource::ALL.iter().enumerate();
    Verdict::Filtered {
        asked,
        passed: (0..asked)
            .filter(|&position| filtered.passes(position))
            .count(),
        refused_by: by_resource
            .map(|(bit, resource)| (resource.as_str(), refusing(bit)))
            .filter(|(_, nodes)| *nodes > 0)
            .collect(),
        unjudged: filtered.exemption.map(judgement::Exemption::as_str),
        relaxed: filtered.relaxed,
    }
}

fn prioritize_verdict(prioritized: &Prioritized, request: &Request<'_>) -> Verdict {
    let best = prioritized.best;
    Verdict::Prioritized {
        asked: request.names.len(),
        best: best
            .and_then(|best| request.names.get(best))
            .map(ToString::to_string),
        score: best.and_then(|best| prioritized.scores.get(best)).copied(),
        profile: prioritized.profile.clone(),
        unjudged: prioritized.exemption.map(judgement::Exemption::as_str),
    }
}
