//! A Pod as far as its node's load depends on it.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::unstarted_pods::is_due;
use crate::placement::usage::{Measurement, PodName, Span, UsageSample};
use crate::units::{Amount, Resource, Resources};

/// The facts of a Pod that its object tells.
#[derive(Debug, Clone, Copy)]
pub struct PodFacts<'a> {
    /// Namespace and name, by which metrics know the Pod.
    pub name: &'a PodName,
    /// The node it is bound to, is nominated for, or will most likely get.
    pub node: Option<&'a str>,
    /// R: its demand.
    pub demand: Resources<Amount>,
    /// When it was bound; where that is not told, the time counts at which it was first seen bound.
    pub bound: Option<Timestamp>,
    /// The start of the first of its containers, init containers included, from which on samples
    /// hold what it uses.
    pub first_started: Option<Timestamp>,
    /// The start of the last of its containers; `None` while one has not started, for example
    /// while its image is pulled.
    pub started: Option<Timestamp>,
    /// The end of the last container, once all have ended.
    pub finished: Option<Timestamp>,
    /// True while it is being deleted.
    pub terminating: bool,
    /// True where it shares the network of its node, so that what is measured of its network is
    /// the whole node's.
    pub host_network: bool,
    /// True where volumes or devices may have to be made for it between the choice of its node and its
    /// binding.
    pub provisions: bool,
}

impl<'a> PodFacts<'a> {
    /// A Pod of which nothing more is told than where it is and what it demands.
    #[must_use]
    pub const fn on(name: &'a PodName, node: Option<&'a str>, demand: Resources<Amount>) -> Self {
        Self {
            name,
            node,
            demand,
            bound: None,
            first_started: None,
            started: None,
            finished: None,
            terminating: false,
            host_network: false,
            provisions: false,
        }
    }
}

/// Where a Pod stands between binding and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
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
    /// Its part of the node's in-flight sum; `None` where it has none, as nearly all have.
    pub(super) counted: Option<Box<Resources<Amount>>>,
    pub(super) stage: Stage,
    pub(super) first_started: Option<Timestamp>,
    pub(super) terminating: bool,
    pub(super) host_network: bool,
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
            Stage::Stalled { .. } | Stage::Finished { .. } => None,
        }
    }

    /// Its part of the node's in-flight sum.
    pub(super) fn counted(&self) -> Resources<Amount> {
        self.counted.as_deref().copied().unwrap_or_default()
    }

    /// When it was bound, while it is.
    pub(super) const fn bound(&self) -> Option<Timestamp> {
        match self.stage {
            Stage::Bound { bound, .. } | Stage::Stalled { bound } => Some(bound),
            Stage::Finished { .. } => None,
        }
    }

    /// True where its demand stands in the sum of its node's demands.
    pub(super) const fn is_committed(&self) -> bool {
        matches!(self.stage, Stage::Bound { .. })
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
            Stage::Bound { started, .. } => {
                facts.finished.is_none()
                    && (started.is_some() || facts.started.is_none())
                    && self.demand == facts.demand
            }
            Stage::Stalled { .. } => {
                facts.finished.is_none() && facts.started.is_none() && self.demand == facts.demand
            }
            // The demand of an ended Pod no longer matters.
            Stage::Finished { .. } => facts.finished.is_some(),
        };
        same_stage
            && facts.node == Some(&*self.node)
            && (facts.terminating == self.terminating || facts.finished.is_some())
            && (self.first_started.is_some() || facts.first_started.is_none())
    }

    /// True where the whole window of the sample lies after the containers' start, so that it tells
    /// all of this Pod.
    pub(super) fn is_covered_by(&self, measurement: &Measurement) -> bool {
        self.started()
            .is_some_and(|started| window_start(measurement) >= started)
    }

    /// The part of this Pod's usage that the measurements of its node contain. `None` if they
    /// contain some and the sample does not tell how much.
    ///
    /// If no container of the Pod had started at the sample, it contains nothing of the Pod. A
    /// usage under its name is then an earlier Pod's.
    pub(super) fn in_measured(
        &self,
        measured: &Resources<Option<Measurement>>,
        sample: &UsageSample,
    ) -> Resources<Option<Amount>> {
        let shown = self.shown(sample);
        let span = sample.span_of_pod(self.name.namespace(), self.name.name());
        let first = self.first_started.or(self.started());
        let part = |resource| {
            let measurement = measured[resource].as_ref()?;
            let first = first.filter(|first| *first < measurement.at)?;
            Some(shown[resource].map(|shown| {
                let most = most_since(first, self.demand[resource].max(shown), measurement);
                part_within(shown, span, measurement).min(most)
            }))
        };
        Resources::from_fn(|resource| part(resource).unwrap_or(Some(Amount::ZERO)))
    }

    /// The usage that this Pod will add to the measured: its demand less what is in it.
    ///
    /// Resources without a measurement count nothing here, since the node's load is then the sum of demands.
    pub(super) fn contribution(
        &self,
        measured: &Resources<Option<Measurement>>,
        in_measured: &Resources<Option<Amount>>,
    ) -> Resources<Amount> {
        Resources::from_fn(|resource| match &measured[resource] {
            Some(measurement) if !self.is_covered_by(measurement) => {
                self.demand[resource].saturating_sub(in_measured[resource].unwrap_or_default())
            }
            _ => Amount::ZERO,
        })
    }

    /// The usage of the Pod in a sample.
    pub(super) fn shown(&self, sample: &UsageSample) -> Resources<Option<Amount>> {
        shown_of(&self.name, self.host_network, sample)
    }

    /// The part of its node's load that would go with this Pod: what the measurements hold of it, and what
    /// is counted beside them.
    pub(super) fn part_of_load(
        &self,
        measured: &Resources<Option<Measurement>>,
        sample: &UsageSample,
    ) -> Resources<Amount> {
        let within = self.in_measured(measured, sample);
        Resources::from_fn(|resource| {
            let within = within[resource].unwrap_or_default();
            within.saturating_add(self.counted()[resource])
        })
    }
}

/// The usage of a Pod in a sample, with network only if the Pod has a network of its own.
fn shown_of(name: &PodName, host_network: bool, sample: &UsageSample) -> Resources<Option<Amount>> {
    let mut shown = sample.pod(name);
    if host_network {
        shown[Resource::NetworkIo] = None;
    }
    shown
}

/// The part of a Pod's usage in the measurement of its node. If the rate of a new Pod covers a
/// shorter span than the node's window, it counts for that part of the window only.
fn part_within(shown: Amount, span: Option<Span>, measurement: &Measurement) -> Amount {
    let window = measurement.window.as_secs_f64();
    let own = span.map_or(window, |span| span.window().as_secs_f64());
    if own < window {
        Amount::from_f64(shown.as_f64() * own / window)
    } else {
        shown
    }
}

/// The most that a Pod which uses no more than `usage` can have in a measurement of its node, given its first
/// start: exporters are read at different times, and what is newer of the Pod may not be in it yet.
fn most_since(first: Timestamp, usage: Amount, measurement: &Measurement) -> Amount {
    let window = measurement.window.as_secs_f64();
    let since = measurement.at.duration_since(first).as_secs_f64();
    if since < window {
        Amount::from_f64(usage.as_f64() * since / window)
    } else {
        usage
    }
}

/// A Pod that has ended, while samples still hold some of its usage.
#[derive(Debug, Clone)]
pub(super) struct EndedPod {
    pub(super) name: PodName,
    pub(super) at: Timestamp,
    /// Its usage when it ended, where that was measured: no later sample holds more of it.
    used: Resources<Option<Amount>>,
    host_network: bool,
}

impl EndedPod {
    /// A Pod that ended at `at`, when `sample` was the newest.
    pub(super) fn new(pod: &PodEntry, at: Timestamp, sample: &UsageSample) -> Self {
        Self {
            name: pod.name.clone(),
            at,
            used: pod.shown(sample),
            host_network: pod.host_network,
        }
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
        let shown = shown_of(&self.name, self.host_network, sample);
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
