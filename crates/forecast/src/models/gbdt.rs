//! `gbdt`: gradient-boosted trees on the load's last values and on those at the same time before
//! ([`inputs`]).
//!
//! The trees answer the median of (y_{t+h} − y_t) / s, s the mean load of the last four hours, by
//! least absolute errors (`[Friedman]`, LAD) in steps of a twentieth, each tree on 70 % of the rows
//! and half of the inputs. The horizons 1, 4, 16, … and the longest in use have trees; answers
//! between them are interpolated. Fitting the newest 16,000 values without a gap takes 0.3 s of a
//! core per horizon and 10,000 values. It needs 77 values for the next one alone, 91 for twelve,
//! and more than a day before days are seen. A forecast takes 10 µs per such horizon. Intervals are
//! learnt on the newest fifth, with trees fitted on the older part. The same values give the same
//! trees, whatever the number of threads.

mod inputs;

use std::num::NonZeroUsize;

use evenkeel_units::{count_as_f64, narrowed};
use inputs::{GaplessHistory, GbdtOriginInputs, Grid};

use crate::bounded_forecast::{bound, outlook};
use crate::context::ForecastContext;
use crate::interval_widths::Widths;
use crate::model::Model;
use crate::not_ready::NotEnoughHistory;
use crate::prediction::Forecast;
use crate::series::{Arrival, Filler, RegularSeries};
use crate::trainer::{Trainer, TreeRow};
use crate::trees::Trees;

const WINDOW: usize = 16_000;
const LEAST: usize = 60;
/// Intervals are first learnt on the newest 1/5 of the past.
const NEWEST: usize = 5;
/// The time that inputs read: a week and some steps around. The count of values is as large where
/// steps are hours, and no larger where they are seconds.
const WEEK: i128 = 7 * 86_400_000_000_000;
const REMEMBERED: std::ops::RangeInclusive<usize> = 300..=100_000;
const AROUND: usize = 16;
/// Factor between two horizons that have trees.
const APART: usize = 4;
/// Rises are clamped to this many scales: a load that was next to nothing came alive.
const MOST_RISE: f64 = 8.0;

#[derive(Debug, Clone)]
pub(crate) struct Gbdt {
    fitted: Option<GbdtFit>,
    /// Horizons with trees, the nearest first.
    horizons: Box<[usize]>,
    values: Vec<f64>,
    filler: Filler,
    /// Means of the steps after the newest value; empty before the first.
    means: Vec<f64>,
    widths: Widths,
}

#[derive(Debug, Clone)]
struct GbdtFit {
    trees: Box<[Trees]>,
    level: f64,
    rows: usize,
}

impl Gbdt {
    pub(crate) const NAME: &str = "gbdt";

    /// Forecasts `horizon` steps; later steps repeat the last of these.
    pub(crate) fn towards(horizon: NonZeroUsize) -> Self {
        let powers = std::iter::successors(Some(1), |power: &usize| power.checked_mul(APART));
        let below = powers.take_while(|&power| power < horizon.get());
        Self {
            fitted: None,
            horizons: below.chain([horizon.get()]).collect(),
            values: Vec::new(),
            filler: Filler::default(),
            means: Vec::new(),
            widths: Widths::towards(horizon),
        }
    }

    fn longest(&self) -> usize {
        self.horizons.last().copied().unwrap_or(1)
    }

    /// Least number of values for an estimation.
    fn need(&self) -> usize {
        (LEAST + self.longest()) * NEWEST / (NEWEST - 1) + 1
    }

    /// The last of `values` came at `second`.
    fn grow(&self, values: &[f64], second: i64, context: &ForecastContext<'_>) -> Option<GbdtFit> {
        let trainer = context.shared.trainer.as_deref()?;
        let sizes = values.iter().map(|value| value.abs()).sum::<f64>();
        let level = sizes / count_as_f64(values.len().max(1));
        let all = Origins {
            values,
            second,
            level,
            context,
        };
        let trees = self
            .horizons
            .iter()
            .map(|&ahead| all.trees(ahead, trainer))
            .collect::<Option<Box<[Trees]>>>()?;
        Some(GbdtFit {
            trees,
            level,
            rows: values.len().min(WINDOW),
        })
    }

    /// Observes a value, and computes the means after it.
    fn take(&mut self, value: f64, second: i64, context: &ForecastContext<'_>) {
        let keep = remembered(context);
        if self.values.len() >= 2 * keep {
            self.values.drain(..self.values.len() - keep);
        }
        self.values.push(value);
        self.look(second, context);
        if !self.means.is_empty() {
            let Self { means, widths, .. } = self;
            widths.issue(|issued| {
                issued.copy_from_slice(means);
                bound(issued, value);
            });
        }
    }

    fn look(&mut self, second: i64, context: &ForecastContext<'_>) {
        let (Some(fitted), Some(&last)) = (&self.fitted, self.values.last()) else {
            return;
        };
        let from = self.values.len().saturating_sub(remembered(context));
        let (past, grid) = (GaplessHistory(&self.values[from..]), grid(context));
        let known = GbdtOriginInputs::at(past, grid, fitted.level);
        self.means.clear();
        let mut before = (0, last);
        for (&ahead, trees) in self.horizons.iter().zip(&fitted.trees) {
            // All 0 for hours, or not finite: it stays constant.
            let mean = known.map_or(last, |known| {
                let inputs = known.towards(past, grid, ahead, second);
                last + f64::from(trees.score(&inputs)) * known.scale
            });
            let (from, value) = before;
            let distance = count_as_f64(ahead - from);
            self.means.extend((from + 1..=ahead).map(|step| {
                let share = count_as_f64(step - from) / distance;
                value * (1.0 - share) + mean * share
            }));
            before = (ahead, mean);
        }
    }

    /// Learns interval widths on the newest of `values`, with trees fitted without these.
    fn rehearse(
        &mut self,
        values: &[f64],
        second: i64,
        context: &ForecastContext<'_>,
    ) -> Option<()> {
        let (older, newest) = values.split_at(values.len() - values.len() / NEWEST);
        let time = |after: usize| second - seconds(newest.len() - after, context);
        self.fitted = Some(self.grow(older, time(0), context)?);
        self.values = older.to_vec();
        self.look(time(0), context);
        for (&value, after) in newest.iter().zip(1..) {
            self.widths.score(value);
            self.take(value, time(after), context);
        }
        Some(())
    }
}

impl Model for Gbdt {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn fit(
        &mut self,
        past: &RegularSeries,
        context: &ForecastContext<'_>,
    ) -> Result<(), NotEnoughHistory> {
        let usable = past.usable();
        let values = &usable.values;
        let not_enough = NotEnoughHistory {
            need: self.need(),
            have: values.len(),
        };
        if values.len() < not_enough.need {
            return Err(not_enough);
        }
        let second = context.origin.as_second() - seconds(usable.missing, context);
        let mut next = self.clone();
        if !next.widths.is_known() {
            next.rehearse(values, second, context).ok_or(not_enough)?;
        }
        next.fitted = Some(next.grow(values, second, context).ok_or(not_enough)?);
        let from = values.len().saturating_sub(remembered(context));
        next.values = values[from..].to_vec();
        next.filler = Filler::after(&usable);
        next.look(second, context);
        *self = next;
        Ok(())
    }

    fn summary(&self) -> Option<String> {
        let fitted = self.fitted.as_ref()?;
        let trees: usize = fitted.trees.iter().map(Trees::len).sum();
        let bytes: usize = fitted.trees.iter().map(Trees::heap_bytes).sum();
        let steps: Vec<String> = self.horizons.iter().map(ToString::to_string).collect();
        Some(format!(
            "{trees} trees for steps {}, of {} values, {} kB",
            steps.join(", "),
            fitted.rows,
            bytes.div_ceil(1000)
        ))
    }

    fn observe(&mut self, observation: Option<f64>, context: &ForecastContext<'_>) {
        let second = context.origin.as_second();
        match self.filler.accept(observation) {
            Arrival::Values(filling, value) => {
                let filled: Vec<f64> = filling.collect();
                for (&value, before) in filled.iter().zip((1..=filled.len()).rev()) {
                    self.take(value, second - seconds(before, context), context);
                }
                if context.is_judged() {
                    self.widths.score(value);
                }
                self.take(value, second, context);
            }
            Arrival::Restart => {
                self.widths.restart();
                self.values.clear();
                self.means.clear();
            }
            Arrival::Nothing => {}
        }
    }

    fn forecast(
        &self,
        horizon: usize,
        context: &ForecastContext<'_>,
    ) -> Result<Forecast, NotEnoughHistory> {
        // Without trees, the number of values does not suffice; with trees one value does.
        let need = if self.fitted.is_some() {
            1
        } else {
            self.need()
        };
        let not_enough = NotEnoughHistory {
            need,
            have: self.values.len().min(need - 1),
        };
        let (&last, &furthest) = self
            .values
            .last()
            .zip(self.means.last())
            .ok_or(not_enough)?;
        let missing = self.filler.missing();
        let mut means = self.means.clone();
        means.resize(missing + horizon, furthest);
        outlook(means, last, missing, &self.widths, context).ok_or(not_enough)
    }

    fn bytes(&self) -> usize {
        let trees = self.fitted.iter().flat_map(|fitted| &fitted.trees);
        let trees: usize = trees
            .map(|trees| size_of::<Trees>() + trees.heap_bytes())
            .sum();
        let values = self.values.capacity() + self.means.capacity();
        size_of::<Self>()
            + self.widths.heap_bytes()
            + trees
            + values * size_of::<f64>()
            + size_of_val(&*self.horizons)
    }
}

/// Origins of the rows that trees are fitted on.
#[derive(Clone, Copy)]
struct Origins<'a> {
    values: &'a [f64],
    /// Second of the last origin.
    second: i64,
    level: f64,
    context: &'a ForecastContext<'a>,
}

impl Origins<'_> {
    fn trees(self, ahead: usize, trainer: &dyn Trainer) -> Option<Trees> {
        let end = self.values.len().checked_sub(ahead)?;
        let indices = end.saturating_sub(WINDOW)..end;
        let rows: Vec<TreeRow> = indices.filter_map(|index| self.row(index, ahead)).collect();
        if rows.is_empty() {
            // All 0, or not finite: no rise.
            return Trees::new(0.0, &[]).ok();
        }
        trainer.medians(&rows).ok()
    }

    /// `None` where nothing is known at the origin.
    fn row(self, index: usize, ahead: usize) -> Option<TreeRow> {
        let from = (index + 1).saturating_sub(remembered(self.context));
        let (past, grid) = (
            GaplessHistory(&self.values[from..=index]),
            grid(self.context),
        );
        let known = GbdtOriginInputs::at(past, grid, self.level)?;
        let rise = (self.values[index + ahead] - known.last) / known.scale;
        let label = narrowed(rise.clamp(-MOST_RISE, MOST_RISE))?;
        let second = self.second - seconds(self.values.len() - 1 - index, self.context);
        Some(TreeRow {
            inputs: known.towards(past, grid, ahead, second).into(),
            label,
        })
    }
}

fn grid(context: &ForecastContext<'_>) -> Grid {
    Grid::new(context.step.as_nanos())
}

fn seconds(steps: usize, context: &ForecastContext<'_>) -> i64 {
    let steps = i32::try_from(steps).unwrap_or(i32::MAX);
    let span = context.step.checked_mul(steps);
    span.map_or(0, |span| span.as_secs())
}

/// Values that inputs read.
fn remembered(context: &ForecastContext<'_>) -> usize {
    let week = WEEK / context.step.as_nanos().max(1);
    let (least, most) = REMEMBERED.into_inner();
    usize::try_from(week).unwrap_or(most).clamp(least, most) + AROUND
}

#[cfg(test)]
mod tests;
