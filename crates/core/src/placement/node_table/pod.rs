//! A Pod as far as its node's load depends on it.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::unstarted::is_due;
use crate::placement::usage::{Measurement, PodName, UsageSample};
use crate::units::{Amount, Resources};

/// The facts of a Pod that its object tells.
#[derive(Debug, Clone, Copy)]
pub struct PodFacts<'a> {
    /// Namespace and name, by which metrics know the Pod.
    pub name: &'a PodName,
    /// The node it is bound to, or will most likely get.
    pub node: Option<&'a str>,
    /// R: its demand.
    pub demand: Resources<Amount>,
    /// When it was bound; where that is not told, the time counts at which it was first seen bound.
    pub bound: Option<Timestamp>,
    /// The start of the last of its containers; `None` while one has not started, for example
    /// while its image is pulled.
    pub started: Option<Timestamp>,
    /// The end of the last container, once all have ended.
    pub finished: Option<Timestamp>,
}

/// Where a Pod stands between placement and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Proposed for a node; the binding has not been seen.
    Provisional,
    /// Bound. `started` stays once it is known: a container that restarts is in the samples.
    Bound {
        bound: Timestamp,
        started: Option<Timestamp>,
    },
    /// Bound, and not started for so long that nothing is counted on it until it does.
    Stalled { bound: Timestamp },
    /// Ended, while the object is still there.
    Finished { at: Timestamp },
}

/// A Pod with its share of its node's sums.
#[derive(Debug, Clone)]
pub(super) struct PodEntry {
    pub(super) name: PodName,
    pub(super) node: Arc<str>,
    pub(super) demand: Resources<Amount>,
    /// Its part of the node's in-flight sum.
    pub(super) counted: Resources<Amount>,
    pub(super) stage: Stage,
}

impl Stage {
    /// The stage of a bound Pod, given the one before and when it would have had to start.
    pub(super) fn of(
        facts: &PodFacts<'_>,
        before: Option<&PodEntry>,
        now: Timestamp,
        unstarted: SignedDuration,
    ) -> Self {
        if let Some(at) = facts.finished {
            return Self::Finished { at };
        }
        let known = before.and_then(PodEntry::bound).or(facts.bound);
        let bound = known.map_or(now, |bound| bound.min(now));
        let started = before.and_then(PodEntry::started).or(facts.started);
        if started.is_none() && is_due(bound, now, unstarted) {
            return Self::Stalled { bound };
        }
        Self::Bound { bound, started }
    }
}

impl PodEntry {
    pub(super) const fn started(&self) -> Option<Timestamp> {
        match self.stage {
            Stage::Bound { started, .. } => started,
            Stage::Provisional | Stage::Stalled { .. } | Stage::Finished { .. } => None,
        }
    }

    /// When it was bound, while it is.
    pub(super) const fn bound(&self) -> Option<Timestamp> {
        match self.stage {
            Stage::Bound { bound, .. } | Stage::Stalled { bound } => Some(bound),
            Stage::Provisional | Stage::Finished { .. } => None,
        }
    }

    /// When it was bound, while its start is waited for.
    pub(super) const fn awaited_since(&self) -> Option<Timestamp> {
        match self.stage {
            Stage::Bound {
                bound,
                started: None,
            } => Some(bound),
            _ => None,
        }
    }

    /// True where `facts` say nothing new.
    pub(super) fn shows(&self, facts: &PodFacts<'_>) -> bool {
        let same_stage = match self.stage {
            Stage::Provisional => false,
            Stage::Bound { started, .. } => {
                facts.finished.is_none()
                    && (started.is_some() || facts.started.is_none())
                    && self.demand == facts.demand
            }
            Stage::Stalled { .. } => {
                facts.finished.is_none() && facts.started.is_none() && self.demand == facts.demand
            }
            // What a Pod that has ended asked for matters no more.
            Stage::Finished { .. } => facts.finished.is_some(),
        };
        same_stage && facts.node == Some(&*self.node)
    }

    /// True where the whole window of the sample lies after the containers' start, so that it tells
    /// all of this Pod.
    pub(super) fn is_covered_by(&self, measurement: &Measurement) -> bool {
        self.started()
            .is_some_and(|started| window_start(measurement) >= started)
    }

    /// The usage that this Pod will add to the measured: its demand less what the sample shows.
    ///
    /// A Pod that had not started when the sample was taken is not in it: what stands there under
    /// its name is an earlier Pod's. Resources without a measurement count nothing here, since the
    /// node's load is then the sum of demands.
    pub(super) fn contribution(
        &self,
        measured: &Resources<Option<Measurement>>,
        sample: &UsageSample,
    ) -> Resources<Amount> {
        let shown = sample.pod(&self.name);
        Resources::from_fn(|resource| match &measured[resource] {
            Some(measurement) if !self.is_covered_by(measurement) => {
                let in_it = self
                    .started()
                    .is_some_and(|started| started < measurement.at);
                let shown = shown[resource].filter(|_| in_it);
                self.demand[resource].saturating_sub(shown.unwrap_or_default())
            }
            _ => Amount::ZERO,
        })
    }
}

/// A Pod that has ended, while samples still hold some of its usage.
#[derive(Debug, Clone)]
pub(super) struct EndedPod {
    pub(super) name: PodName,
    pub(super) at: Timestamp,
    /// Its usage when it ended, where that was measured: no later sample holds more of it.
    used: Resources<Option<Amount>>,
}

impl EndedPod {
    /// A Pod that ended at `at`, when `sample` was the newest.
    pub(super) fn new(name: PodName, at: Timestamp, sample: &UsageSample) -> Self {
        let used = sample.pod(&name);
        Self { name, at, used }
    }

    /// True where no part of the measurement's span lies before the end of the Pod.
    pub(super) fn is_past(&self, measurement: &Measurement) -> bool {
        window_start(measurement) >= self.at
    }

    /// The usage of this Pod that the measurements still hold.
    pub(super) fn residue(
        &self,
        measured: &Resources<Option<Measurement>>,
        sample: &UsageSample,
    ) -> Resources<Amount> {
        let shown = sample.pod(&self.name);
        Resources::from_fn(|resource| match &measured[resource] {
            Some(measurement) if !self.is_past(measurement) => {
                let shown = shown[resource].unwrap_or_default();
                self.used[resource].map_or(shown, |most| shown.min(most))
            }
            _ => Amount::ZERO,
        })
    }
}

fn window_start(measurement: &Measurement) -> Timestamp {
    measurement
        .at
        .checked_sub(measurement.window)
        .unwrap_or(Timestamp::MIN)
}
