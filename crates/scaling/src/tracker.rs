//! The loads of one target and the decisions on them: measurements in, a decision out.
//!
//! Each signal has its history and, scored on it, the models of its load. Models follow the
//! 15-second grid and take a step once it is over, so that it does not matter when within a step
//! its measurement came. Two replicas that are fed the same measurements decide the same; one that
//! starts later takes over the floor that is in force until one of its models has been judged.

pub mod backfill_pace;
mod current_load;
pub mod fit_times;
mod known_load;
mod load_history;
mod load_model;
mod load_past_fit;
pub(crate) mod measurement_dedup;
mod own_fit;
mod past;
mod pod_count_history;
mod reactive_scaler;
mod recent_lag;
mod tick_input;
mod tick_report;
mod tracked_peaks;
mod traffic_check;
mod traffic_replicas;

pub use known_load::{KnownLoad, KnownLoads};
pub use load_model::LoadModel;
pub use load_past_fit::LoadPastFit;
pub use own_fit::{FitEnd, FitTask, OwnFit};
pub use tick_input::{Reaction, ReconciledTarget, ScaledSignal, TickInput, TrafficInput};
pub use tick_report::{HpaReport, LoadReport, ModelReport, TickReport, TrafficReport};

use evenkeel_forecast::{
    Forecast, ForecastRequest, ModelSet, NotEnoughHistory, SampleError, forecast_together,
};
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_units::panic_error::{PanicError, caught};
use jiff::{SignedDuration, Timestamp};

use self::current_load::{CurrentLoad, LoadValidity};
use self::load_history::LoadHistory;
use self::pod_count_history::{PodCountHistory, PodsNow};
use self::reactive_scaler::{ReactiveResult, ReactiveScaler, react};
use self::traffic_check::TrafficCheck;
use self::traffic_replicas::Traffic;
use crate::load::horizon::{Horizon, Lag};
use crate::load::observation::LoadSample;
use crate::merge::recommendation::Recommendation;
use crate::recommend::decision::Floor;
use crate::recommend::input::{DecisionInput, SignalLoad};
use crate::recommend::policy::{Strategy, TargetPolicy};
use crate::recommend::{DecisionState, decide, portray};

/// The time for which a floor stands once it is written. It may outlive every program that could
/// renew it or put it back.
const FLOOR_STANDS: SignedDuration = SignedDuration::from_mins(10);

/// The loads that are remembered although the target does not scale by them any more.
pub const UNSCALED: usize = 4;

/// The loads of one target with their models, and the memory of the decisions on them.
#[derive(Debug, Default)]
pub struct LoadTracker {
    loads: Vec<LoadHistory>,
    pub(crate) decision: DecisionState,
    carried: PodCountHistory,
    /// Where the HPA's algorithm is run here.
    reacting: Option<Box<ReactiveScaler>>,
    /// Where it names traffic.
    traffic: Option<Box<TrafficCheck>>,
}

/// One target at a tick that many targets have together.
#[derive(Debug)]
pub struct TargetTick<'a> {
    pub tracker: &'a mut LoadTracker,
    pub policy: &'a TargetPolicy,
    pub input: TickInput<'a>,
}

impl LoadTracker {
    /// Takes the load of a signal, for the time that it is of. An estimate is kept beside the history,
    /// which nothing learns from. Where the clock was set back by more than the
    /// finest ring holds, the memory begins anew: all of it lies in a time that has not come, and
    /// would hold everything up until then.
    ///
    /// # Errors
    /// As [`evenkeel_forecast::LoadRingBuffer::insert`]; nothing changes then.
    pub fn measure(
        &mut self,
        signal: &Signal,
        sample: &LoadSample,
        now: Timestamp,
    ) -> Result<(), SampleError> {
        if self.load_of(signal).is_ahead_of(now) {
            *self = Self::default();
        }
        self.load_of(signal).measure(sample, now)
    }

    /// Decides how many replicas the target is to have now: [`tick_together`] for it alone.
    pub fn tick(&mut self, policy: &TargetPolicy, input: &TickInput<'_>) -> TickReport {
        self.follow(policy, input);
        let forecasts = forecast_together(&self.requests(policy, input).collect::<Vec<_>>());
        self.decide(policy, input, &mut forecasts.into_iter())
    }

    /// Leads the models of all loads up to now.
    fn follow(&mut self, policy: &TargetPolicy, input: &TickInput<'_>) {
        self.adopt(input.recorded);
        let ahead = self.horizon(policy, input).ahead();
        for load in &mut self.loads {
            load.follow(ahead, policy, input, &self.carried);
        }
    }

    /// The time between a load of the target and the capacity for it, by the slowest of the loads
    /// that are forecast.
    fn horizon(&self, policy: &TargetPolicy, input: &TickInput<'_>) -> Horizon {
        let forecast = self.loads.iter().filter(|load| load.is_forecast(input));
        let lag = forecast.map(LoadHistory::lag).max_by_key(Lag::total);
        Horizon {
            lag: lag.unwrap_or_default(),
            lead: policy.lead,
        }
    }

    /// The forecasts that the decision needs.
    fn requests<'a>(
        &'a self,
        policy: &TargetPolicy,
        input: &TickInput<'a>,
    ) -> impl Iterator<Item = ForecastRequest<'a>> {
        // From the centre of the window of a measurement that is as old as it may be.
        let Horizon { lag, .. } = self.horizon(policy, input);
        let reach = self.horizon(policy, input).ahead() + lag.half_window;
        let (max_age, shared) = (policy.max_age, input.shared);
        let loads = self.loads.iter();
        loads.flat_map(move |load| load.requests(reach, max_age, shared))
    }

    /// Decides on the answers to [`Self::requests`], which come next in `forecasts`.
    fn decide(
        &mut self,
        policy: &TargetPolicy,
        input: &TickInput<'_>,
        forecasts: &mut impl Iterator<Item = Result<Forecast, NotEnoughHistory>>,
    ) -> TickReport {
        let now = input.now;
        let reacted = react(&mut self.reacting, &mut self.decision, policy, input);
        let horizon = self.horizon(policy, input);
        let ahead = horizon.ahead();
        let loads = self.loads.iter_mut();
        let selected: Vec<_> = loads
            .map(|load| load.select(forecasts, now, ahead, input.shared))
            .collect();
        let of_signal = |scaled| CurrentLoad::among(&self.loads, &selected, scaled);
        let current: Vec<_> = input.signals.iter().map(of_signal).collect();
        let kinds = input.traffic.map_or(&[][..], |traffic| traffic.kinds);
        let kinds: Vec<_> = kinds.iter().map(of_signal).collect();
        let loads: Vec<_> = current.iter().map(CurrentLoad::signal_load).collect();
        let decision_input = decision_input(input, &reacted, horizon.ahead(), &loads);
        let traffic = Traffic::of(input, policy, &kinds);
        let traffic = traffic.and_then(|traffic| {
            traffic_replicas::standing(
                &traffic,
                &decision_input,
                self.traffic.get_or_insert_default(),
            )
        });
        let decision_input = DecisionInput {
            traffic: traffic.as_ref(),
            ..decision_input
        };
        let portraits = input.portraits.as_ref();
        let portrayed = portraits
            .map(|portraits| portray(policy, &mut self.decision, &decision_input, portraits));
        let decision_input = DecisionInput {
            portrayed: portrayed.as_ref(),
            ..decision_input
        };
        let decision = decide(policy, &mut self.decision, &decision_input);
        self.carried
            .see(pods_now(policy, input, decision.replicas), now);
        let active = self.decision.active_forecast.as_ref();
        let of = |load: &SignalLoad<'_>| LoadValidity::of(load, policy, &decision_input, active);
        let of_kinds = kinds.iter().map(|kind| of(&kind.signal_load()));
        let standings: Vec<_> = loads.iter().map(of).chain(of_kinds).collect();
        let reacting = self.reacting.as_mut();
        let hpa = reacting.and_then(|one| one.decided(&self.decision, policy, reacted, &decision));
        let at = now.checked_add(horizon.ahead()).unwrap_or(Timestamp::MAX);
        let reports = current.into_iter().chain(kinds).zip(standings);
        let reports = reports.map(|(load, standing)| load.report(at, standing));
        let fit = input.traffic.map(|traffic| traffic.fit.clone());
        let traffic = traffic.zip(fit);
        TickReport {
            decision,
            loads: reports.collect(),
            traffic: traffic.map(|(standing, fit)| TrafficReport { standing, fit }),
            horizon,
            contribution: self.contribution(policy, now),
            hpa,
            portrayed: portrayed.map(Box::new),
        }
    }

    /// Forgets the past of a signal, because its load is now another figure.
    pub fn forget(&mut self, signal: &Signal) {
        self.loads.retain(|load| load.signal != *signal);
    }

    /// Forgets loads that the target has long stopped scaling by: those of `scaled` stay, and the
    /// others as long as they are few, since metrics are taken away and given back.
    pub fn forget_but(&mut self, scaled: &[ScaledSignal]) {
        if self.loads.len() > scaled.len() + UNSCALED {
            let kept = |load: &LoadHistory| scaled.iter().any(|one| one.signal == load.signal);
            self.loads.retain(kept);
        }
    }

    /// True where the HPA's algorithm has been run here at this count and remembers what it has told.
    pub(crate) fn has_reconciled(&self, current: i32) -> bool {
        self.reacting.is_some() && self.decision.current == Some(current)
    }

    /// The size of the memory in bytes, as far as it grows with the loads that are tracked.
    pub fn bytes(&self) -> usize {
        let loads: usize = self.loads.iter().map(LoadHistory::bytes).sum();
        size_of::<Self>() + loads
    }

    fn load_of(&mut self, signal: &Signal) -> &mut LoadHistory {
        let known = self.loads.iter().position(|load| load.signal == *signal);
        let index = known.unwrap_or_else(|| {
            self.loads.reserve_exact(1);
            self.loads.push(LoadHistory::new(signal.clone()));
            self.loads.len() - 1
        });
        &mut self.loads[index]
    }

    /// Adopts the floor that is in force at the first tick. Later it is only followed down, because
    /// another decider may take it back meanwhile.
    fn adopt(&mut self, recorded: Option<Floor>) {
        let is_first = self.decision.current.is_none();
        let adopted = if is_first {
            recorded
        } else {
            self.decision.adopted
        };
        self.decision.adopted = adopted.zip(recorded).map(|(adopted, recorded)| Floor {
            replicas: adopted.replicas.min(recorded.replicas),
            ..adopted
        });
    }

    fn contribution(&self, policy: &TargetPolicy, now: Timestamp) -> Option<Recommendation> {
        let floor = self.decision.floor_in_force();
        let floor = floor.filter(|_| policy.mode == ScalingMode::Floor)?;
        if floor.replicas <= policy.bounds.min() {
            return None;
        }
        let until = match self.decision.adopted {
            Some(adopted) if adopted.until == floor.until => adopted.until,
            _ => now.checked_add(FLOOR_STANDS).unwrap_or(Timestamp::MAX),
        };
        Some(Recommendation::of_prediction(floor.replicas, until))
    }
}

/// The input of a decision, before traffic and portraits.
fn decision_input<'a>(
    input: &TickInput<'_>,
    reacted: &'a ReactiveResult,
    ahead: SignedDuration,
    loads: &'a [SignalLoad<'a>],
) -> DecisionInput<'a> {
    DecisionInput {
        now: input.now,
        current: input.current,
        ready: input.ready,
        strategy: strategy(input.models),
        ahead,
        reactive: reacted.replicas,
        reaction: &reacted.reason,
        missing: &reacted.missing,
        is_switched_off: reacted.is_switched_off,
        is_asleep: reacted.is_asleep,
        loads,
        traffic: None,
        portrayed: None,
    }
}

/// The Pods that carry the loads of a tick, with the count that was decided on.
fn pods_now(policy: &TargetPolicy, input: &TickInput<'_>, decided: i32) -> PodsNow {
    let in_vain = policy.mode == ScalingMode::Recommend;
    PodsNow {
        ready: input.ready,
        asked_in_vain: in_vain.then(|| input.current.max(decided)),
    }
}

/// Decides how many replicas each of the targets is to have now, in their order. Models of one name
/// make their forecasts of all loads together.
///
/// A panic belongs to the target that was being worked on, and that target's tracker is to be
/// thrown away. The others have their decisions. If the panic came in a forecast of many loads,
/// each target's forecasts are requested separately, which finds the target.
pub fn tick_together(targets: &mut [TargetTick<'_>]) -> Vec<Result<TickReport, PanicError>> {
    let followed = targets.iter_mut().map(|target| {
        let TargetTick {
            tracker,
            policy,
            input,
        } = target;
        caught(|| tracker.follow(policy, input))
    });
    let followed: Vec<_> = followed.collect();
    let forecasts = forecasts_of(targets, followed);
    let reports = targets
        .iter_mut()
        .zip(forecasts)
        .map(|(target, forecasts)| {
            let TargetTick {
                tracker,
                policy,
                input,
            } = target;
            let forecasts = forecasts?;
            caught(|| tracker.decide(policy, input, &mut forecasts.into_iter()))
        });
    reports.collect()
}

/// The forecasts of one target, in the order of its requests.
type Forecasts = Vec<Result<Forecast, NotEnoughHistory>>;

/// The forecasts of each target that `followed` its loads.
fn forecasts_of(
    targets: &[TargetTick<'_>],
    followed: Vec<Result<(), PanicError>>,
) -> Vec<Result<Forecasts, PanicError>> {
    let requests = targets.iter().zip(followed).map(|(target, followed)| {
        let TargetTick {
            tracker,
            policy,
            input,
        } = target;
        followed?;
        caught(|| tracker.requests(policy, input).collect::<Vec<_>>())
    });
    let requests: Vec<Result<Vec<_>, PanicError>> = requests.collect();
    let all: Vec<_> = requests.iter().flatten().flatten().copied().collect();
    let Ok(together) = caught(|| forecast_together(&all)) else {
        let alone = |own: Vec<_>| caught(|| forecast_together(&own));
        return requests.into_iter().map(|own| alone(own?)).collect();
    };
    let mut together = together.into_iter();
    let answers = requests.into_iter().map(|own| {
        let own = own?;
        Ok(together.by_ref().take(own.len()).collect())
    });
    answers.collect()
}

/// The strategy of the models in use: D-HPA belongs to `s-hpa` (`DS-HPA`), the forecasts of other
/// models count by themselves.
const fn strategy(models: Option<ModelSet>) -> Strategy {
    match models {
        None => Strategy::Off,
        Some(ModelSet::SHpa) => Strategy::DsHpa,
        Some(_) => Strategy::Forecast,
    }
}

#[cfg(test)]
mod tests;
