//! One target as a tick needs it, and the bounds within which it is decided.

use std::borrow::Cow;
use std::sync::Arc;

use evenkeel_forecast::{ModelAssets, ModelSet};
use evenkeel_hpa::HpaSpec;
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::bounds::{ObjectBounds, ReplicaBounds};
use jiff::Timestamp;

use super::hpa_input::HpaInput;
use super::portraits::TargetPortraits;
use super::signal_query::SignalQuerySource;
use super::traffic::TargetTraffic;
use crate::merge::merge;
use crate::merge::recommendation::Recommendation;
use crate::recommend::decision::Floor;
use crate::recommend::merged_portraits::StabilityCheck;
use crate::recommend::policy::TargetPolicy;
use crate::tracker::{Reaction, ScaledSignal, TickInput};

/// The part that reacts to the current load of a target.
#[derive(Debug, Clone, PartialEq)]
pub enum TargetReaction {
    /// Its HPA, which asks for this many replicas; `None` where it has no metrics.
    Autoscaler(Option<i32>),
    /// None: its portraits decide how many replicas there are to be.
    Nobody,
    /// The HPA's algorithm, run here by these rules.
    Reconciled(Box<HpaSpec>),
}

/// A target as a tick needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalingTarget {
    /// Its namespace.
    pub namespace: Arc<str>,
    pub policy: TargetPolicy,
    /// The models that predict its load; `None` for no prediction.
    pub models: Option<ModelSet>,
    /// The signals that it scales by.
    pub signals: Vec<ScaledSignal>,
    /// How each of them is asked for, in their order.
    pub questions: Vec<SignalQuerySource>,
    /// The traffic that it names, beside these.
    pub traffic: Option<TargetTraffic>,
    /// The part that reacts to its current load.
    pub reaction: TargetReaction,
    /// The replicas that it has.
    pub current: i32,
    /// Those of its Pods that are ready.
    pub ready: i32,
    /// The floor that is in force.
    pub floor: Option<Floor>,
    /// The portraits that its count follows; `None` where it follows its loads alone.
    pub portraits: Option<Box<TargetPortraits>>,
}

impl ScalingTarget {
    /// The signals that it scales by and those of its traffic, each with its question.
    pub fn asked(&self) -> impl Iterator<Item = (&Signal, &SignalQuerySource)> {
        let kinds = self.traffic.iter().flat_map(|traffic| &traffic.kinds);
        let traffic = self.traffic.iter().flat_map(|traffic| &traffic.questions);
        let signals = self.signals.iter().chain(kinds).map(|one| &one.signal);
        let asked = signals.zip(self.questions.iter().chain(traffic));
        let portraits = self.portraits.iter();
        asked.chain(portraits.flat_map(|portraits| portraits.asked()))
    }

    /// The signals that it scales by and those of its traffic, each once: what is both is forecast where one of them is.
    pub fn measured(&self) -> Cow<'_, [ScaledSignal]> {
        match &self.traffic {
            None => Cow::Borrowed(&self.signals),
            Some(traffic) => {
                let mut all = self.signals.clone();
                for kind in &traffic.kinds {
                    match all.iter_mut().find(|known| known.signal == kind.signal) {
                        Some(known) => known.is_forecast |= kind.is_forecast,
                        None => all.push(kind.clone()),
                    }
                }
                Cow::Owned(all)
            }
        }
    }

    /// The bounds as an object would have them.
    pub(crate) const fn bounds(&self) -> ObjectBounds {
        let bounds = self.policy.bounds;
        ObjectBounds {
            min: Some(bounds.min()),
            max: bounds.max(),
        }
    }

    /// Bounds that follow from the user's and what CronHPAs ask for.
    pub(crate) fn take_crons(&mut self, wanted: &[Recommendation], now: Timestamp) {
        let ObjectBounds { min, max } = merge(self.bounds(), wanted, now).bounds;
        // Sound bounds and counts merge to sound bounds.
        let Ok(bounds) = ReplicaBounds::new(min.unwrap_or(1), max) else {
            return;
        };
        self.policy.bounds = bounds;
        if let TargetReaction::Reconciled(spec) = &mut self.reaction {
            (spec.min_replicas, spec.max_replicas) = (bounds.min(), bounds.max());
        }
    }

    /// The smallest least that it can have: without a metric that needs no Pods nothing could wake it.
    pub(crate) fn least(&self) -> i32 {
        match &self.reaction {
            TargetReaction::Reconciled(spec) => i32::from(!spec.has_object_or_external_metric()),
            TargetReaction::Autoscaler(_) | TargetReaction::Nobody => 1,
        }
    }

    /// The input of a tick at `now`, without traffic. `measured` is the input of the HPA's algorithm, if it runs
    /// here; `None` counts as no readings. `checks` are its stability checks, with what was learned for each.
    pub fn input<'a>(
        &'a self,
        now: Timestamp,
        shared: &'a ModelAssets,
        measured: Option<&'a HpaInput>,
        checks: &'a [StabilityCheck],
    ) -> TickInput<'a> {
        let portraits = self.portraits.as_ref();
        let reaction = match (&self.reaction, measured) {
            (TargetReaction::Autoscaler(asked), _) => Reaction::Autoscaler(*asked),
            (TargetReaction::Reconciled(spec), Some(measured)) => {
                measured.reaction(&self.namespace, spec, self.current)
            }
            (TargetReaction::Reconciled(_), None) => Reaction::Autoscaler(None),
            (TargetReaction::Nobody, _) => Reaction::Nobody,
        };
        TickInput {
            now,
            current: self.current,
            ready: self.ready,
            reaction,
            models: self.models,
            signals: &self.signals,
            traffic: None,
            recorded: self.floor,
            portraits: portraits.map(|portraits| portraits.input(checks)),
            shared,
        }
    }
}
