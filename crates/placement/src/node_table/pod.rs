//! A Pod as far as its node's load depends on it.

use std::sync::Arc;

use evenkeel_metrics::usage::{NodeSample, Span, UsageSample};
use evenkeel_objects::bound_pod::BoundPod;
use evenkeel_objects::pod_name::PodName;
use evenkeel_units::{Amount, Resource, Resources};
use jiff::{SignedDuration, Timestamp};

use super::unstarted_pods::is_due;
use crate::start_up::is_new;

/// Where a Pod stands between binding and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// `started` stays once it is known: a container that restarts is in the samples.
    Bound {
        bound: Timestamp,
        started: Option<Timestamp>,
    },
    /// Not started for so long that it counts nothing until it does.
    Stalled { bound: Timestamp },
    /// Its object is still there.
    Finished { at: Timestamp },
}

/// With its share of its node's sums.
#[derive(Debug, Clone)]
pub(super) struct PodEntry {
    pub(super) name: PodName,
    pub(super) node: Arc<str>,
    pub(super) demand: Resources<Amount>,
    /// The expected use beyond that while it warms up; `None` if nothing, or once samples hold all of
    /// it.
    pub(super) start_up: Option<Box<Resources<Amount>>>,
    /// Its part of the node's in-flight sum; `None` if it has none, as nearly all.
    pub(super) counted: Option<Box<Resources<Amount>>>,
    pub(super) stage: Stage,
    pub(super) first_started: Option<Timestamp>,
    pub(super) terminating: bool,
    pub(super) host_network: bool,
}

impl Stage {
    /// Stage of a bound Pod, from the stage before and the time by which it should have started.
    pub(super) fn of(
        facts: &BoundPod<'_>,
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

    pub(super) fn start_up(&self) -> Resources<Amount> {
        self.start_up.as_deref().copied().unwrap_or_default()
    }

    /// Its part of the node's in-flight sum.
    pub(super) fn counted(&self) -> Resources<Amount> {
        self.counted.as_deref().copied().unwrap_or_default()
    }

    pub(super) const fn bound(&self) -> Option<Timestamp> {
        match self.stage {
            Stage::Bound { bound, .. } | Stage::Stalled { bound } => Some(bound),
            Stage::Finished { .. } => None,
        }
    }

    /// Its demand is in the sum of its node's demands.
    pub(super) const fn is_committed(&self) -> bool {
        matches!(self.stage, Stage::Bound { .. })
    }

    /// When it was bound, while its start is awaited.
    pub(super) const fn awaited_since(&self) -> Option<Timestamp> {
        match self.stage {
            Stage::Bound {
                bound,
                started: None,
            } => Some(bound),
            _ => None,
        }
    }

    /// `facts` are no news.
    pub(super) fn shows(&self, facts: &BoundPod<'_>) -> bool {
        let same_stage = match self.stage {
            Stage::Bound { started, .. } => {
                facts.finished.is_none()
                    && (started.is_some() || facts.started.is_none())
                    && self.demand == facts.demand
            }
            Stage::Stalled { .. } => {
                facts.finished.is_none() && facts.started.is_none() && self.demand == facts.demand
            }
            Stage::Finished { .. } => facts.finished.is_some(),
        };
        same_stage
            && facts.node == Some(&*self.node)
            && (facts.terminating == self.terminating || facts.finished.is_some())
            && (self.first_started.is_some() || facts.first_started.is_none())
    }

    /// The whole window lies after the containers' start, so that the sample contains all of this
    /// Pod.
    pub(super) fn is_covered_by(&self, measurement: &NodeSample) -> bool {
        self.started()
            .is_some_and(|started| window_start(measurement) >= started)
    }

    /// The part of this Pod's usage in its node's measurements; `None` if it is unknown.
    ///
    /// A sample from before the first container's start contains nothing of the Pod; usage under
    /// its name is an earlier Pod's.
    pub(super) fn in_measured(
        &self,
        measured: &Resources<Option<NodeSample>>,
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

    /// The usage that this Pod will add to the measured: its demand less the measured part.
    /// Resources without a measurement count 0, because the node's load is then the sum of demands.
    pub(super) fn contribution(
        &self,
        measured: &Resources<Option<NodeSample>>,
        in_measured: &Resources<Option<Amount>>,
    ) -> Resources<Amount> {
        Resources::from_fn(|resource| match &measured[resource] {
            Some(measurement) if !self.is_covered_by(measurement) => {
                self.demand[resource].saturating_sub(in_measured[resource].unwrap_or_default())
            }
            _ => Amount::ZERO,
        })
    }

    /// With another demand, it is expected to use no more than before while it warms up.
    pub(super) fn keep_total(&mut self, demand: &Resources<Amount>) {
        if let Some(start_up) = &mut self.start_up {
            for of in Resource::ALL {
                let total = self.demand[of].saturating_add(start_up[of]);
                start_up[of] = start_up[of].min(total.saturating_sub(demand[of]));
            }
        }
    }

    /// The expected use beyond its demand and beyond its measured use. Nothing once its first
    /// minutes are over, or of a resource whose measurement holds all of it.
    pub(super) fn start_up_left(
        &self,
        measured: &Resources<Option<NodeSample>>,
        in_measured: &Resources<Option<Amount>>,
        now: Timestamp,
    ) -> Resources<Amount> {
        if self.started().is_some_and(|started| !is_new(started, now)) {
            return Resources::default();
        }
        Resources::from_fn(|of| match &measured[of] {
            Some(measurement) if self.is_covered_by(measurement) => Amount::ZERO,
            _ => {
                let most = self.demand[of].saturating_add(self.start_up()[of]);
                let shown = in_measured[of].unwrap_or_default();
                most.saturating_sub(self.demand[of].max(shown))
            }
        })
    }

    pub(super) fn shown(&self, sample: &UsageSample) -> Resources<Option<Amount>> {
        shown_of(&self.name, self.host_network, sample)
    }

    /// The part of its node's load that would go with this Pod, measured and in flight.
    pub(super) fn part_of_load(
        &self,
        measured: &Resources<Option<NodeSample>>,
        sample: &UsageSample,
    ) -> Resources<Amount> {
        let within = self.in_measured(measured, sample);
        Resources::from_fn(|resource| {
            let within = within[resource].unwrap_or_default();
            within.saturating_add(self.counted()[resource])
        })
    }
}

/// Network counts only if the Pod has a network of its own.
fn shown_of(name: &PodName, host_network: bool, sample: &UsageSample) -> Resources<Option<Amount>> {
    let mut shown = sample.pod(name);
    if host_network {
        shown[Resource::NetworkIo] = None;
    }
    shown
}

/// A Pod's part in its node's measurement. If the rate of a new Pod covers less than the node's
/// window, it counts for that part of the window only.
fn part_within(shown: Amount, span: Option<Span>, measurement: &NodeSample) -> Amount {
    let window = measurement.window.as_secs_f64();
    let own = span.map_or(window, |span| span.window().as_secs_f64());
    if own < window {
        Amount::from_f64(shown.as_f64() * own / window)
    } else {
        shown
    }
}

/// The most of a Pod with this usage in its node's measurement, given its first start: exporters
/// are read at different times, and the Pod's newest usage may not be in it yet.
fn most_since(first: Timestamp, usage: Amount, measurement: &NodeSample) -> Amount {
    let window = measurement.window.as_secs_f64();
    let since = measurement.at.duration_since(first).as_secs_f64();
    if since < window {
        Amount::from_f64(usage.as_f64() * since / window)
    } else {
        usage
    }
}

/// Samples still hold some of its usage.
#[derive(Debug, Clone)]
pub(super) struct EndedPod {
    pub(super) at: Timestamp,
    /// Usage at its end, where measured: no later sample holds more of it.
    used: Resources<Option<Amount>>,
    host_network: bool,
}

impl EndedPod {
    /// `sample` was the newest at its end.
    pub(super) fn new(pod: &PodEntry, at: Timestamp, sample: &UsageSample) -> Self {
        Self {
            at,
            used: pod.shown(sample),
            host_network: pod.host_network,
        }
    }

    /// The measurement's span lies after the end of the Pod.
    pub(super) fn is_past(&self, measurement: &NodeSample) -> bool {
        window_start(measurement) >= self.at
    }

    /// The usage that the measurements still hold.
    pub(super) fn residue(
        &self,
        name: &PodName,
        measured: &Resources<Option<NodeSample>>,
        sample: &UsageSample,
    ) -> Resources<Amount> {
        let shown = shown_of(name, self.host_network, sample);
        Resources::from_fn(|resource| match &measured[resource] {
            Some(measurement) if !self.is_past(measurement) => {
                let shown = shown[resource].unwrap_or_default();
                self.used[resource].map_or(shown, |most| shown.min(most))
            }
            _ => Amount::ZERO,
        })
    }
}

fn window_start(measurement: &NodeSample) -> Timestamp {
    measurement
        .at
        .checked_sub(measurement.window)
        .unwrap_or(Timestamp::MIN)
}
