//! The newest placements with their reasons in words. A reason comes from the terms of the last
//! answers; if these are not kept any more, it comes from the answers in short.

use std::sync::Arc;

use evenkeel_placement::SchedulingPolicy;
use evenkeel_placement::extender::placement_rules::Exemption;
use evenkeel_units::Resource;

use super::placement_log::{PlacementEntry, PlacementOutcome};
use super::{DecisionRecord, Decisions};
use crate::api::explain::{ExtenderVerdict, past_reason};
use crate::api::placements::Placement;

/// Nodes that one call computes terms of at most. A reason takes the terms of all nodes that
/// kube-scheduler asked about: up to 10 ms at 5,000 nodes.
const MOST_NODES: usize = 125_000;

impl Decisions {
    /// The placements that changed after this number, oldest first.
    pub(crate) fn placements_since(
        &self,
        sequence: u64,
        policy: &SchedulingPolicy,
    ) -> Vec<Placement> {
        let entries = self.placements().since(sequence);
        let mut left = MOST_NODES;
        // The newest first, because their terms are most likely to be kept.
        let newest_first = entries.into_iter().rev();
        let mut placements: Vec<Placement> = newest_first
            .map(|entry| {
                let record = self.of(&entry.pod);
                let reason = self.reason(&entry, record.as_ref(), policy, &mut left);
                placement(&entry, record.as_ref(), &reason)
            })
            .collect();
        placements.reverse();
        placements
    }

    /// The reason of a placement. It is kept with the entry, unless it would take more than the `left`
    /// nodes.
    fn reason(
        &self,
        entry: &PlacementEntry,
        record: Option<&DecisionRecord>,
        policy: &SchedulingPolicy,
        left: &mut usize,
    ) -> Arc<str> {
        if let Some(reason) = &entry.reason {
            return Arc::clone(reason);
        }
        let in_short = || Arc::from(in_short(entry, record));
        let reason = match (record, entry.node.as_deref()) {
            (Some(of), Some(node)) => {
                let Some(after) = left.checked_sub(of.asked()) else {
                    return in_short();
                };
                *left = after;
                let filter = self.last_filter(of, policy);
                let prioritize = self.last_prioritize(of, policy);
                let reason = past_reason(filter.as_ref(), prioritize.as_ref(), node);
                reason.map_or_else(in_short, Into::into)
            }
            _ => in_short(),
        };
        self.placements().explain(entry.sequence, &reason);
        reason
    }
}

impl DecisionRecord {
    /// The nodes in the answers to filter and prioritize, added up: what a reason of them costs.
    fn asked(&self) -> usize {
        let answers = [&self.filter, &self.prioritize].into_iter().flatten();
        let asked = answers.map(|answer| match answer.verdict {
            ExtenderVerdict::Filtered { asked, .. }
            | ExtenderVerdict::Prioritized { asked, .. } => asked,
        });
        asked.sum()
    }
}

fn placement(entry: &PlacementEntry, record: Option<&DecisionRecord>, reason: &str) -> Placement {
    let ranked = record.and_then(|record| record.prioritize.as_ref());
    let (profile, score) = match ranked.map(|ranked| &ranked.verdict) {
        Some(ExtenderVerdict::Prioritized {
            best,
            score,
            profile,
            ..
        }) => {
            let is_best = best.is_some() && best.as_deref() == entry.node.as_deref();
            (profile.clone(), score.filter(|_| is_best))
        }
        _ => (None, None),
    };
    Placement {
        sequence: entry.sequence,
        at: entry.at,
        namespace: entry.pod.namespace().to_owned(),
        pod: entry.pod.name().to_owned(),
        uid: entry.pod.uid().to_owned(),
        node: entry.node.as_deref().map(str::to_owned),
        outcome: entry.outcome.as_str().into(),
        profile,
        score,
        reason: reason.to_owned(),
    }
}

/// The reason without terms, from the answers in short.
fn in_short(entry: &PlacementEntry, record: Option<&DecisionRecord>) -> String {
    let filter = record.and_then(|record| record.filter.as_ref());
    let Some(ExtenderVerdict::Filtered {
        asked,
        passed,
        refused_by,
        unjudged,
        ..
    }) = filter.map(|filter| &filter.verdict)
    else {
        return "the answer is not kept any more".to_owned();
    };
    if let Some(name) = unjudged {
        let known = Exemption::named(name).map(Exemption::explanation);
        let why = known.map_or_else(|| name.clone(), Into::into);
        return format!("kube-scheduler's own preference: {why}");
    }
    if entry.outcome == PlacementOutcome::Refused {
        let lacking = refused_by.iter().map(|(resource, nodes)| {
            let known = Resource::named(resource).map(Resource::noun);
            let noun = known.map_or_else(|| resource.clone(), Into::into);
            format!("{noun} on {nodes}")
        });
        let lacking: Vec<String> = lacking.collect();
        let lacking = lacking.join(", ");
        return format!("none of {asked} nodes has headroom; they lack {lacking}");
    }
    format!("{passed} of {asked} nodes had headroom")
}
