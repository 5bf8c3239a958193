//! Answers to kube-scheduler in short.

use evenkeel_placement::extender::decide::{FilterResult, PrioritizeResult};
use evenkeel_placement::extender::{ExtenderRequest, placement_rules};
use evenkeel_units::Resource;

use crate::api::explain::ExtenderVerdict;

pub(super) fn of_filter(filtered: &FilterResult) -> ExtenderVerdict {
    let refusing = |resource: Resource| {
        let refused = filtered.refused.iter();
        refused.filter(|refused| refused.contains(resource)).count()
    };
    let asked = filtered.refused.len();
    ExtenderVerdict::Filtered {
        asked,
        passed: filtered.passed(),
        refused_by: Resource::ALL
            .into_iter()
            .map(|resource| (resource.as_str().into(), refusing(resource)))
            .filter(|(_, nodes)| *nodes > 0)
            .collect(),
        unjudged: filtered
            .exemption
            .map(|why| placement_rules::Exemption::as_str(why).into()),
        relaxed: filtered.relaxed,
        nominated: filtered.nominated,
    }
}

pub(super) fn of_prioritize(
    prioritized: &PrioritizeResult,
    request: &ExtenderRequest<'_>,
) -> ExtenderVerdict {
    let best = prioritized.best;
    ExtenderVerdict::Prioritized {
        asked: request.names.len(),
        best: best
            .and_then(|best| request.names.get(best))
            .map(ToString::to_string),
        score: best.and_then(|best| prioritized.scores.get(best)).copied(),
        profile: prioritized.profile.clone(),
        unjudged: prioritized
            .exemption
            .map(|why| placement_rules::Exemption::as_str(why).into()),
    }
}
