//! One policy replayed on the last days of a load, which are judged, after learning from the days
//! before. The long past is not run tick by tick: the models get it as means of minutes, like the
//! service from a database. Every policy's HPA then runs a while before the judged days, in which
//! Pods, stabilisation windows and trust settle.

use evenkeel_forecast::{RegularSeries, Resolution};
use evenkeel_scaling::counterfactual::pareto_frontier::Cost;
use jiff::{SignedDuration, Timestamp};

use super::coarse_history;
use super::cost_parts::ReplayCostParts;
use super::forecast_inputs::Knowledge;
use super::forecasting::Forecaster;
use super::hpa_run::{ReplayTick, ReplayTickState, Side};
use super::observed_replay::{ObservedTick, ReplayEvent};
use super::portrait_scaling::PortraitScaledTarget;
use super::replay_policy::ReplayPolicy;
use super::seasonal_rule::SeasonalRule;
use super::settings::{GRID, ReplayTarget, Start};
use crate::portraits::Portraits;

/// Uncounted time before the judged days, beside the start of a Pod: longer than the windows of HPA
/// and models.
const LEAD_IN: SignedDuration = SignedDuration::from_hours(1);

/// Judged from a time on.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayLoad {
    load: RegularSeries,
    count_from: Timestamp,
    start: Start,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Its steps are not those of [`GRID`].
    #[error("a load with steps of {0:#} is not accepted: steps must be 15 seconds")]
    Step(SignedDuration),
    /// It ends before it is judged.
    #[error("nothing is left to count from {count_from}: the load ends at {end}")]
    NothingToCount {
        /// Begin of the judgement.
        count_from: Timestamp,
        /// Time of its last step.
        end: Timestamp,
    },
}

/// One step of what is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayPoint {
    pub at: Timestamp,
    /// `None` in a gap.
    pub load: Option<f64>,
    pub replicas: i32,
    /// Serving replicas.
    pub ready: i32,
    /// `minReplicas` of the HPA.
    pub floor: i32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ReplayOutcome {
    pub cost: Cost,
    /// By [`super::PART`] of the judged time; the last may be shorter.
    pub parts: Vec<Cost>,
    /// Empty if not requested.
    pub points: Vec<ReplayPoint>,
}

impl ReplayPolicy {
    /// Trained on the past before `running`; `None` for a plain HPA.
    fn forecaster(
        self,
        input: ReplayInput<'_>,
        running: &RegularSeries,
        observe: &mut dyn FnMut(ReplayEvent<'_>),
    ) -> Option<Forecaster> {
        let Self::Evenkeel(floors) = self else {
            return None;
        };
        let forecaster = Forecaster::floors(input.target, floors);
        Some(input.taught(forecaster, running, observe))
    }
}

impl ReplayLoad {
    /// On [`GRID`], judged from `count_from` on.
    ///
    /// # Errors
    /// Other steps, or a load that ends before.
    pub fn new(load: RegularSeries, count_from: Timestamp) -> Result<Self, ReplayError> {
        if load.step() != GRID {
            return Err(ReplayError::Step(load.step()));
        }
        let end = load.end();
        if end < count_from || load.values().is_empty() {
            return Err(ReplayError::NothingToCount { count_from, end });
        }
        Ok(Self {
            load,
            count_from,
            start: Start::Settled,
        })
    }

    /// For a target that is created when it is judged, as in a cluster of `dev`.
    #[must_use]
    pub fn created(self) -> Self {
        Self {
            start: Start::Created,
            ..self
        }
    }

    /// The time from its begin to the judgement.
    #[must_use]
    pub fn past_length(&self) -> SignedDuration {
        self.counted_from().duration_since(self.load.start())
    }

    /// Begin of the judgement.
    #[must_use]
    pub fn counted_from(&self) -> Timestamp {
        self.count_from.max(self.load.start())
    }

    #[must_use]
    pub const fn end(&self) -> Timestamp {
        self.load.end()
    }

    /// The part to run for `target`, from the lead-in on.
    fn running(&self, target: &ReplayTarget) -> RegularSeries {
        let lead_in = match self.start {
            Start::Settled => LEAD_IN + target.start_up,
            Start::Created => SignedDuration::ZERO,
        };
        let wanted = self.count_from.checked_sub(lead_in);
        let wanted = wanted.unwrap_or(Timestamp::MIN);
        let skipped = wanted.duration_since(self.load.start()).as_secs() / GRID.as_secs();
        // Nothing is skipped of a load that begins later.
        let steps = i32::try_from(skipped).unwrap_or(0).max(0);
        let values = usize::try_from(steps).ok();
        let values = values.and_then(|steps| self.load.values().get(steps..));
        let start = self.load.start().checked_add(GRID * steps).ok();
        let running = start.zip(values);
        let running = running.and_then(|(start, values)| {
            let values = values.to_vec();
            RegularSeries::new(start, GRID, values).ok()
        });
        running.unwrap_or_else(|| self.load.clone())
    }

    /// Before `until`, in minutes, for the models to learn from.
    fn past(&self, until: Timestamp) -> Option<RegularSeries> {
        coarse_history::means(&self.load, Resolution::Minute.step(), until)
    }
}

/// For every way of scaling.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplayInput<'a> {
    pub(crate) target: &'a ReplayTarget,
    pub(crate) load: &'a ReplayLoad,
    pub(crate) knowledge: &'a Knowledge<'a>,
    /// Judged points are requested.
    pub(crate) with_points: bool,
}

impl ReplayInput<'_> {
    /// Trained on the past before `running`.
    fn taught(
        self,
        forecaster: Forecaster,
        running: &RegularSeries,
        observe: &mut dyn FnMut(ReplayEvent<'_>),
    ) -> Forecaster {
        let mut forecaster = forecaster.with(self.knowledge);
        forecaster.learn(&self.load.load, running.start(), observe);
        forecaster
    }
}

/// Replays the judged part of `load`; with its points if `with_points`.
#[must_use]
pub fn replay(
    target: &ReplayTarget,
    policy: ReplayPolicy,
    load: &ReplayLoad,
    knowledge: &Knowledge<'_>,
    with_points: bool,
) -> ReplayOutcome {
    let input = ReplayInput {
        target,
        load,
        knowledge,
        with_points,
    };
    replay_observed(policy, input, &mut |_| ())
}

/// Shows `observe` all inputs of the floors.
pub(crate) fn replay_observed(
    policy: ReplayPolicy,
    input: ReplayInput<'_>,
    observe: &mut dyn FnMut(ReplayEvent<'_>),
) -> ReplayOutcome {
    let ReplayInput { target, load, .. } = input;
    let running = load.running(target);
    let mut side = Side::new(target, &running, policy.share(target), load.start);
    let rule = policy.rule().map(|rule| (rule, &load.load));
    if rule.is_some() {
        side.follow_rule();
    }
    let scaler = Scaler::Hpa {
        forecaster: policy.forecaster(input, &running, observe).map(Box::new),
        side: Box::new(side),
        rule,
    };
    judge(scaler, input, &running, observe)
}

/// By `portraits`, through the judged part of `load`, with its points.
#[must_use]
pub fn replay_portraits(
    target: &ReplayTarget,
    portraits: &Portraits,
    load: &ReplayLoad,
    knowledge: &Knowledge<'_>,
) -> ReplayOutcome {
    let input = ReplayInput {
        target,
        load,
        knowledge,
        with_points: true,
    };
    let running = load.running(target);
    let forecaster = Forecaster::portraits(target, portraits);
    let forecaster = input.taught(forecaster, &running, &mut |_| ());
    let scaler = PortraitScaledTarget::new(target, (&running, load.start), portraits, forecaster);
    let scaler = Scaler::Portraits(Box::new(scaler));
    judge(scaler, input, &running, &mut |_| ())
}

enum Scaler<'a> {
    /// Above floors if there is a forecaster.
    Hpa {
        side: Box<Side>,
        forecaster: Option<Box<Forecaster>>,
        /// A rule, with the load whose past it looks at.
        rule: Option<(SeasonalRule, &'a RegularSeries)>,
    },
    Portraits(Box<PortraitScaledTarget<'a>>),
}

impl Scaler<'_> {
    fn tick(
        &mut self,
        tick: &ReplayTick,
        observe: &mut dyn FnMut(ReplayEvent<'_>),
    ) -> ReplayTickState {
        match self {
            Self::Hpa {
                side,
                forecaster,
                rule,
            } => {
                if let Some((rule, load)) = rule {
                    side.take_rule(tick, rule.load_at(load, tick.now));
                }
                let mut observe = |tick: ObservedTick<'_>| observe(ReplayEvent::Tick(tick));
                side.observed_tick(tick, forecaster.as_deref_mut(), &mut observe)
            }
            Self::Portraits(portrayed) => portrayed.tick(tick),
        }
    }

    fn forecaster(&mut self) -> Option<&mut Forecaster> {
        match self {
            Self::Hpa { forecaster, .. } => forecaster.as_deref_mut(),
            Self::Portraits(portrayed) => portrayed.forecaster(),
        }
    }

    fn forget_cost(&mut self) {
        match self {
            Self::Hpa { side, .. } => side.forget_cost(),
            Self::Portraits(portrayed) => portrayed.forget_cost(),
        }
    }

    const fn cost(&self) -> Cost {
        match self {
            Self::Hpa { side, .. } => side.cost(),
            Self::Portraits(portrayed) => portrayed.cost(),
        }
    }
}

/// Runs through `running`, and counts the judged part of it.
fn judge(
    mut scaler: Scaler<'_>,
    input: ReplayInput<'_>,
    running: &RegularSeries,
    observe: &mut dyn FnMut(ReplayEvent<'_>),
) -> ReplayOutcome {
    let ReplayInput {
        target: _,
        load,
        knowledge,
        with_points,
    } = input;
    let mut points = Vec::new();
    let mut parts = ReplayCostParts::default();
    let mut is_counted = false;
    for tick in super::ticks(running, &mut |_| ()) {
        if !is_counted && tick.now >= load.count_from {
            is_counted = true;
            scaler.forget_cost();
        }
        if is_counted {
            parts.reach(tick.now, scaler.cost());
        }
        let ReplayTickState {
            replicas,
            ready,
            floor,
            load: arrived,
            forecast: _,
        } = scaler.tick(&tick, observe);
        // Before, its window is not known yet.
        let fits = knowledge.own.filter(|_| is_counted);
        if let Some((forecaster, own)) = scaler.forecaster().zip(fits) {
            forecaster.fit_due(tick.now, own, |end| load.past(end));
        }
        if is_counted && with_points {
            points.push(ReplayPoint {
                at: tick.now,
                load: arrived,
                replicas,
                ready,
                floor,
            });
        }
    }
    ReplayOutcome {
        cost: scaler.cost(),
        parts: parts.up_to(scaler.cost()),
        points,
    }
}

#[cfg(test)]
mod tests;
