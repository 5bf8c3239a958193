//! The traffic that a target names, and the load that a model explains by it for each replica.
//!
//! The target of each replica is that of its HPA or its annotations. So the traffic asks for as many replicas as the
//! load will once it is there. The load is the cpu, or else the first of the target's queries: both have a past.

use evenkeel_metrics::signal::{Signal, ValueScope};
use evenkeel_units::Ratio;

use super::problem::TargetProblem;
use super::requested_policy::RequestedPolicy;
use super::settings::Settings;
use super::signal_query;
use super::signal_query::SignalQuerySource;
use super::target_objects::TargetObjects;
use crate::load::hpa_aware::PodCapacity;
use crate::recommend::traffic_fit::TrafficFit;
use crate::specs::scaling_policy::PredictionModel;
use crate::tracker::{ScaledSignal, TrafficInput};

/// The traffic of a target.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetTraffic {
    /// Its kinds. What one Pod carries of each is known once there is a model, and is 1 here.
    pub kinds: Vec<ScaledSignal>,
    /// How each of them is asked for, in their order.
    pub questions: Vec<SignalQuerySource>,
    /// The load that is told of each replica.
    pub of: Signal,
    /// The most of this load that each replica is to carry, in its base unit.
    pub target: f64,
}

impl TargetTraffic {
    /// Its kinds with the amount of each that one Pod carries at the target; none without a model, and where
    /// Pods carry more than that without any traffic.
    pub(crate) fn kinds_by(&self, fit: &TrafficFit) -> Vec<ScaledSignal> {
        let TrafficFit::Accepted(accepted) = fit else {
            return Vec::new();
        };
        let each = accepted.per_pod(self.target).unwrap_or_default();
        let kinds = self.kinds.iter().zip(each);
        let kinds = kinds.map(|(kind, each)| match PodCapacity::new(each, Ratio::ONE) {
            Ok(capacity) => ScaledSignal {
                capacity,
                ..kind.clone()
            },
            // There never was any of it, so that there is nothing to judge a forecast by.
            Err(_) => ScaledSignal {
                is_forecast: false,
                ..kind.clone()
            },
        });
        kinds.collect()
    }

    /// The input of a tick from it, with the answer of [`Self::kinds_by`].
    pub const fn input<'a>(
        &'a self,
        kinds: &'a [ScaledSignal],
        fit: &'a TrafficFit,
    ) -> TrafficInput<'a> {
        TrafficInput {
            kinds,
            fit,
            of: &self.of,
            target: self.target,
        }
    }
}

/// The traffic of a target that scales by `signals`; where that alone is to be forecast, they are not. `None` where
/// it names none, where nothing is to be predicted, or where some of it may not or cannot be asked for, which is added to `problems`.
pub(crate) fn of(
    requested: &RequestedPolicy,
    observed: &TargetObjects,
    settings: &Settings,
    signals: &mut [ScaledSignal],
    problems: &mut Vec<TargetProblem>,
) -> Option<TargetTraffic> {
    let queries = requested.policy.traffic.as_ref();
    let predict = requested.predict(settings);
    if predict == PredictionModel::Off {
        return None;
    }
    if predict == PredictionModel::Traffic {
        problems.extend(queries.is_none().then_some(TargetProblem::TrafficMissing));
        for signal in signals.iter_mut() {
            signal.is_forecast = false;
        }
    }
    let queries = queries?;
    let Some(load) = load(signals) else {
        problems.extend(queries.signals().first().map(|signal| {
            TargetProblem::SignalUnknown {
            signal: Box::new(signal.clone()),
            why: "evenkeel.dev/traffic needs a target that scales by cpu or by a query, and this \
                  one scales by neither"
                .to_owned(),
        }
        }));
        return None;
    };
    let capacity = PodCapacity::new(1.0, Ratio::ONE).ok()?;
    let (mut kinds, mut questions) = (Vec::new(), Vec::new());
    for signal in queries.signals() {
        match signal_query::accepted(signal, observed, settings.queries) {
            Ok(question) => {
                questions.push(question);
                kinds.push(ScaledSignal {
                    signal: signal.clone(),
                    capacity,
                    scope: ValueScope::Whole,
                    is_forecast: true,
                    only_here: true,
                });
            }
            Err(why) => problems.push(TargetProblem::SignalUnknown {
                signal: Box::new(signal.clone()),
                why: why.to_owned(),
            }),
        }
    }
    (kinds.len() == queries.signals().len()).then(|| TargetTraffic {
        kinds,
        questions,
        of: load.signal.clone(),
        target: load.capacity.request() * load.capacity.target(),
    })
}

/// The load that a model is to tell of each replica.
fn load(signals: &[ScaledSignal]) -> Option<&ScaledSignal> {
    let cpu = signals.iter().find(|one| one.signal == Signal::CPU);
    let is_queried = |one: &&ScaledSignal| {
        let is_query = matches!(one.signal, Signal::PromQl(_));
        is_query && one.scope == ValueScope::Whole && one.signal.is_conserved()
    };
    cpu.or_else(|| signals.iter().find(is_queried))
}
