//! Answers to kube-scheduler in short.

use crate::api::explain::Verdict;
use evenkeel_core::units::Resource;
use evenkeel_kubernetes::extender::decide::{Filtered, Prioritized};
use evenkeel_kubernetes::extender::{Request, judgement};

pub(super) fn of_filter(filtered: &Filtered) -> Verdict {
    let refusing = |resource: Resource| {
        let refused = filtered.refused.iter();
        refused.filter(|refused| refused.contains(resource)).count()
    };
    let asked = filtered.refused.len();
    Verdict::Filtered {
        asked,
        passed: (0..asked)
            .filter(|&position| filtered.passes(position))
            .count(),
        refused_by: Resource::ALL
            .into_iter()
            .map(|resource| (resource.as_str().into(), refusing(resource)))
            .filter(|(_, nodes)| *nodes > 0)
            .collect(),
        unjudged: filtered
            .exemption
            .map(|why| judgement::Exemption::as_str(why).into()),
        relaxed: filtered.relaxed,
        nominated: filtered.nominated,
    }
}

pub(super) fn of_prioritize(prioritized: &Prioritized, request: &Request<'_>) -> Verdict {
    let best = prioritized.best;
    Verdict::Prioritized {
        asked: request.names.len(),
        best: best
            .and_then(|best| request.names.get(best))
            .map(ToString::to_string),
        score: best.and_then(|best| prioritized.scores.get(best)).copied(),
        profile: prioritized.profile.clone(),
        unjudged: prioritized
            .exemption
            .map(|why| judgement::Exemption::as_str(why).into()),
    }
}
