//! Everything that one tick of one target reads beside its measurements.

use evenkeel_forecast::{ModelAssets, ModelSet};
use evenkeel_hpa::reconciler;
use evenkeel_metrics::signal::{Signal, ValueScope};
use jiff::Timestamp;

use crate::load::hpa_aware::PodCapacity;
use crate::recommend::decision::Floor;
use crate::recommend::merged_portraits::PortraitInput;
use crate::recommend::traffic_fit::TrafficFit;

/// A signal that a target scales by, with the load that one Pod is to carry.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaledSignal {
    pub signal: Signal,
    /// The load that one Pod is to carry, in the base unit of the signal.
    pub capacity: PodCapacity,
    /// The scope of a value of the signal for the whole target.
    pub scope: ValueScope,
    /// True where the load is forecast, and not only reacted to.
    pub is_forecast: bool,
    /// True if only Evenkeel reacts to it: the target's HPA does not know it.
    pub only_here: bool,
}

/// Everything that a tick reads beside the measurements and the policy.
#[derive(Debug, Clone, Copy)]
pub struct TickInput<'a> {
    /// The time of the tick.
    pub now: Timestamp,
    /// CR: the `spec.replicas` of the target.
    pub current: i32,
    /// The Pods of the target that are ready.
    pub ready: i32,
    /// The reaction to the load as it is now.
    pub reaction: Reaction<'a>,
    /// The models that predict the load; `None` for no prediction.
    pub models: Option<ModelSet>,
    /// The signals that the target scales by.
    pub signals: &'a [ScaledSignal],
    /// The traffic that it names; `None` where it names none.
    pub traffic: Option<TrafficInput<'a>>,
    /// The floor that is in force, as the record of the bounds has it.
    pub recorded: Option<Floor>,
    /// The portraits that its count follows; `None` where it follows its loads alone.
    pub portraits: Option<PortraitInput<'a>>,
    /// The parameters that the models of all targets share.
    pub shared: &'a ModelAssets,
}

/// The traffic that comes to a target, beside the loads that it scales by.
#[derive(Debug, Clone, Copy)]
pub struct TrafficInput<'a> {
    /// Its kinds in the order of the model, each with the amount that one Pod carries at the target; none
    /// without a model.
    pub kinds: &'a [ScaledSignal],
    pub fit: &'a TrafficFit,
    /// The load that the model tells of each replica.
    pub of: &'a Signal,
    /// The most that each replica is to carry of it, in its base unit.
    pub target: f64,
}

impl<'a> TickInput<'a> {
    /// The load or traffic that is scaled by a signal; a load comes before traffic. `None` if nothing is.
    pub(super) fn scaled(&self, signal: &Signal) -> Option<&'a ScaledSignal> {
        let traffic = self.traffic.map_or(&[][..], |traffic| traffic.kinds);
        let mut all = self.signals.iter().chain(traffic);
        all.find(|scaled| scaled.signal == *signal)
    }

    /// The models that predict a signal. Traffic is forecast by `swish-net` where the target names it, otherwise by its
    /// peaks.
    pub(super) fn models_of(&self, signal: &Signal) -> Option<ModelSet> {
        let is_load = self.signals.iter().any(|scaled| scaled.signal == *signal);
        let scaled = self.scaled(signal).filter(|scaled| scaled.is_forecast);
        let models = self.models.filter(|_| scaled.is_some());
        models.map(|models| match models {
            models if is_load => models,
            ModelSet::SwishNet => ModelSet::SwishNet,
            _ => ModelSet::Auto,
        })
    }
}

/// The reaction to the load as it is now.
#[derive(Debug, Clone, Copy)]
pub enum Reaction<'a> {
    /// The target's HPA reacts, and asks for this many replicas; `None` where it has no metrics.
    Autoscaler(Option<i32>),
    /// No HPA reacts, and other providers ask for replicas.
    Nobody,
    /// No HPA reacts, and the HPA's algorithm is run here.
    Reconciled(ReconciledTarget<'a>),
}

/// A target with a count that is reconciled here.
#[derive(Debug, Clone, Copy)]
pub struct ReconciledTarget<'a> {
    pub input: reconciler::Input<'a>,
    /// The count that the last decider reported in the status.
    pub told: Option<i32>,
    /// `metadata.generation` of the target, where it has one.
    pub generation: Option<i64>,
}
