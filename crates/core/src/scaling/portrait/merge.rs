//! One count from the outcomes of all providers.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::outcome::ProviderOutcome;
use super::provider::ProviderRecommendation;
use crate::scaling::replica_priority::PrioritizedReplicas;

/// The time for which a failing provider keeps the others from lowering the count: the HPA's
/// default window for scaling in. A provider that fails for longer counts as absent.
const GRACE: SignedDuration = SignedDuration::from_mins(5);

/// The count that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedRecommendation {
    /// The provider that asks for it; of several that ask for the same, the first by name.
    pub provider: Arc<str>,
    pub priority: i32,
    pub replicas: i32,
    /// The moment until which the provider is known to ask for it.
    pub until: Option<Timestamp>,
}

/// A provider that should have had something to say, and had not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableProvider {
    pub provider: Arc<str>,
    pub outcome: ProviderOutcome,
}

/// The outcomes of all providers together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergedOutcomes {
    /// The count that holds; `None` if no provider asks for one, and nothing is to change.
    pub asked: Option<SelectedRecommendation>,
    /// The providers that have failed or expired, by name.
    pub unheard: Vec<UnavailableProvider>,
    /// The moment until which the count is not to be lowered: one that could say more has failed lately.
    pub keeps_until: Option<Timestamp>,
}

/// One count from the outcomes of all providers at `now`: the value with the highest priority holds,
/// and of equal priorities the larger value. The order and repetitions of the outcomes do not matter.
///
/// A failed provider with at least that priority may be about to ask for more. For [a
/// while](MergedOutcomes::keeps_until) the count is not lowered without it.
#[must_use]
pub fn merge<'a>(
    providers: impl IntoIterator<Item = &'a ProviderRecommendation>,
    now: Timestamp,
) -> MergedOutcomes {
    let mut best = None;
    let mut unheard = BTreeMap::new();
    let mut failed = Vec::new();
    for provided in providers {
        let ProviderRecommendation {
            name,
            priority,
            outcome,
        } = provided;
        match outcome {
            ProviderOutcome::Value(value) => {
                let rank = PrioritizedReplicas {
                    priority: *priority,
                    replicas: value.replicas,
                };
                let until = value.until.unwrap_or(Timestamp::MAX);
                best = best.max(Some((rank, Reverse(Arc::clone(name)), until)));
            }
            ProviderOutcome::Absent { .. } => {}
            ProviderOutcome::Expired { .. } => {
                unheard.insert(Arc::clone(name), outcome.clone());
            }
            ProviderOutcome::Failed(failure) => {
                unheard.insert(Arc::clone(name), outcome.clone());
                failed.push((*priority, failure.since));
            }
        }
    }
    let asked = best.map(|(rank, Reverse(provider), until)| SelectedRecommendation {
        provider,
        priority: rank.priority,
        replicas: rank.replicas,
        until: Some(until).filter(|until| *until < Timestamp::MAX),
    });
    let could_speak = |priority| {
        asked
            .as_ref()
            .is_none_or(|asked| asked.priority <= priority)
    };
    let ends = failed
        .into_iter()
        .filter(|(priority, _)| could_speak(*priority))
        .filter_map(|(_, since)| since.checked_add(GRACE).ok());
    MergedOutcomes {
        keeps_until: ends.max().filter(|end| now < *end),
        unheard: unheard
            .into_iter()
            .map(|(provider, outcome)| UnavailableProvider { provider, outcome })
            .collect(),
        asked,
    }
}
