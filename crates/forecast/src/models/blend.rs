//! `auto` of a backtest: a blend of the models that have enough history.
//!
//! Each horizon 1, 4, 16, … and the longest in use, hours ahead each step, has weights of its own,
//! from the recent errors of the members there ([`weights`]). The last value is a member, so that the blend is hardly
//! worse. Intervals are learnt from the blend's own errors. Members with parameters are first
//! fitted on the older part of the past and weighed on the newest fifth, then fitted on all of it.
//! It needs 10 values.
//!
//! The service's `auto` is another model, [`PeakForecaster`](crate::PeakForecaster): the largest
//! load until there is capacity for it.

mod weights;

use std::num::NonZeroUsize;

use crate::bounded_forecast::{bound, outlook};
use crate::context::ForecastContext;
use crate::interval_widths::Widths;
use crate::model::Model;
use crate::not_ready::NotEnoughHistory;
use crate::prediction::Forecast;
use crate::series::RegularSeries;
use weights::Losses;

/// Members are first weighed on the newest 1/5 of the past.
const NEWEST: usize = 5;
/// Least number of values, also of those that members are weighed on.
const LEAST: usize = 10;
/// Factor between two horizons that have weights.
const APART: usize = 4;

#[derive(Debug)]
pub(crate) struct Blend {
    members: Box<[Box<dyn Model>]>,
    /// The nearest horizon first.
    losses: Box<[Losses]>,
    widths: Widths,
    /// Means of the steps after the origin; empty while no member has a forecast.
    means: Vec<f64>,
    last: f64,
    /// Values before members were fitted.
    have: usize,
    is_fitted: bool,
}

impl Blend {
    pub(crate) const NAME: &str = "auto";

    /// A blend for `horizon` steps; later steps repeat the last of these.
    pub(crate) fn towards(members: Vec<Box<dyn Model>>, horizon: NonZeroUsize) -> Self {
        let powers = std::iter::successors(Some(1), |power: &usize| power.checked_mul(APART));
        let below = powers.take_while(|&power| power < horizon.get());
        Self::weighed_at(below.chain([horizon.get()]), members, horizon)
    }

    /// The same with weights at each step: a load with an hourly peak is known best by other members at the peak
    /// than beside it. Each observation costs as much as there are steps.
    pub(crate) fn at_each_step(members: Vec<Box<dyn Model>>, horizon: NonZeroUsize) -> Self {
        Self::weighed_at(1..=horizon.get(), members, horizon)
    }

    fn weighed_at(
        horizons: impl Iterator<Item = usize>,
        members: Vec<Box<dyn Model>>,
        horizon: NonZeroUsize,
    ) -> Self {
        let count = members.len();
        Self {
            members: members.into(),
            losses: horizons.map(|ahead| Losses::new(ahead, count)).collect(),
            widths: Widths::towards(horizon),
            means: Vec::new(),
            last: 0.0,
            have: 0,
            is_fitted: false,
        }
    }

    fn longest(&self) -> usize {
        self.losses.last().map_or(1, Losses::ahead)
    }

    /// A member with too short a past gives no forecast.
    fn fit_members(&mut self, past: &RegularSeries, context: &ForecastContext<'_>) {
        for member in &mut self.members {
            // A member that lacks history is no error: the others forecast.
            let _ = member.fit(past, context);
        }
    }

    /// Weighs members, fitted on the older part of `past`, by its newest.
    fn rehearse(&mut self, past: &RegularSeries, context: &ForecastContext<'_>) {
        let values = past.values();
        let newest = (values.len() / NEWEST).max(LEAST.min(values.len()));
        let (older, newest) = values.split_at(values.len() - newest);
        let origin = |after: usize| {
            let steps = i32::try_from(newest.len() - after).unwrap_or(i32::MAX);
            let before = context.step.checked_mul(steps).unwrap_or_default();
            let origin = context.origin.checked_sub(before);
            ForecastContext {
                origin: origin.unwrap_or(context.origin),
                ..*context
            }
        };
        let known = RegularSeries::new(past.start(), past.step(), older.to_vec());
        if let Ok(known) = known {
            self.fit_members(&known, &origin(0));
        }
        self.is_fitted = true;
        for (&value, after) in newest.iter().zip(1..) {
            self.observe(value, &origin(after));
        }
    }

    /// Forecasts by member for the steps after the origin, also below zero.
    fn told(&self, context: &ForecastContext<'_>) -> Vec<Option<Vec<f64>>> {
        let horizon = self.longest();
        let told = self.members.iter().map(|member| {
            let forecast = member.forecast(horizon, context).ok()?;
            let means = (0..horizon).map(|index| forecast.unbounded(index));
            means.collect()
        });
        told.collect()
    }

    fn blend(&mut self, told: &[Option<Vec<f64>>]) {
        let mut nearest = self.losses.iter().peekable();
        let mut weigh = None;
        let means = (1..=self.longest()).map(|ahead| {
            weigh = nearest.next_if(|losses| losses.ahead() <= ahead).or(weigh);
            weigh?.mean(&at(told, ahead))
        });
        self.means = means.collect::<Option<_>>().unwrap_or_default();
    }
}

fn at(told: &[Option<Vec<f64>>], ahead: usize) -> impl Iterator<Item = Option<f64>> + Clone {
    told.iter()
        .map(move |told| told.as_ref()?.get(ahead - 1).copied())
}

impl Model for Blend {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn fit(
        &mut self,
        past: &RegularSeries,
        context: &ForecastContext<'_>,
    ) -> Result<(), NotEnoughHistory> {
        let have = past.usable().values.len();
        if have < LEAST {
            return Err(NotEnoughHistory { need: LEAST, have });
        }
        if !self.is_fitted {
            self.rehearse(past, context);
        }
        self.fit_members(past, context);
        let told = self.told(context);
        self.blend(&told);
        Ok(())
    }

    fn summary(&self) -> Option<String> {
        let losses = self.losses.last().filter(|_| self.is_fitted)?;
        let members = self.members.iter().zip(losses.shares());
        let shares =
            members.map(|(member, share)| format!("{} {:.0} %", member.name(), 100.0 * share));
        let shares: Vec<String> = shares.collect();
        Some(format!("at step {}: {}", losses.ahead(), shares.join(", ")))
    }

    /// Nothing is observed before members are fitted: fitting covers the past.
    fn observe(&mut self, observation: Option<f64>, context: &ForecastContext<'_>) {
        let value = observation.filter(|value| value.is_finite());
        self.have += usize::from(value.is_some());
        if !self.is_fitted {
            return;
        }
        for member in &mut self.members {
            member.observe(observation, context);
        }
        if let Some(value) = value {
            self.last = value;
            if context.is_judged() {
                self.losses
                    .iter_mut()
                    .for_each(|losses| losses.score(value));
                self.widths.score(value);
            }
        }
        let told = self.told(context);
        for losses in &mut self.losses {
            losses.issue(at(&told, losses.ahead()));
        }
        self.blend(&told);
        if self.means.is_empty() {
            self.losses.iter_mut().for_each(Losses::restart);
            self.widths.restart();
        } else {
            let Self {
                means,
                widths,
                last,
                ..
            } = self;
            widths.issue(|issued| {
                issued.copy_from_slice(means);
                bound(issued, *last);
            });
        }
    }

    fn forecast(
        &self,
        horizon: usize,
        context: &ForecastContext<'_>,
    ) -> Result<Forecast, NotEnoughHistory> {
        let not_enough = NotEnoughHistory {
            need: LEAST,
            have: self.have.min(LEAST - 1),
        };
        let furthest = *self.means.last().ok_or(not_enough)?;
        let mut means = self.means.clone();
        means.resize(horizon, furthest);
        outlook(means, self.last, 0, &self.widths, context).ok_or(not_enough)
    }

    fn bytes(&self) -> usize {
        let members: usize = self.members.iter().map(|member| member.bytes()).sum();
        let losses = self.losses.iter().map(Losses::heap_bytes).sum::<usize>();
        size_of::<Self>()
            + members
            + size_of_val(&*self.members)
            + size_of_val(&*self.losses)
            + losses
            + self.widths.heap_bytes()
            + self.means.capacity() * size_of::<f64>()
    }
}

#[cfg(test)]
mod tests;
