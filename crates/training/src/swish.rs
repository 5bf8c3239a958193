//! Fitting of `swish-net` on many loads: least squares by AdamW, and a check of its use. The newest
//! rows of each load are held out: training ends when errors on them no longer shrink, the best
//! weights are kept, and each step of the answer is multiplied by the best factor from 0 to 1
//! there. One row in eight is learnt without its load's name, so that unnamed loads have an
//! embedding too.

mod gradient;

use evenkeel_forecast::{
    Calendar, DenseLayer, SWISH_STEPS, SwishInput, SwishNet, SwishShape, SwishWindow,
};
use evenkeel_units::random::RandomSource;
use evenkeel_units::{count_as_f64, narrowed};
use gradient::{SwishBackpropagation, SwishTrainingRow};
use jiff::{SignedDuration, Timestamp};

use crate::gradient_descent::{Descent, FACTORS, FactorErrors, Slope, best_factor};
use crate::networks::NetworkError;

#[derive(Debug, Clone, Copy)]
pub struct SwishSeries<'a> {
    /// Time of the first value.
    pub start: Timestamp,
    pub step: SignedDuration,
    pub values: &'a [f64],
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SwishSettings {
    pub descent: Descent,
    /// One in so many rows, the newest, is held out.
    pub held_out: usize,
    /// One in so many rows is learnt without its load's name.
    pub unnamed: usize,
    /// The most rows of all loads together, held-out ones included; each load has the same share.
    pub most_rows: usize,
    pub seed: u64,
}

impl Default for SwishSettings {
    fn default() -> Self {
        Self {
            descent: Descent {
                passes: 20,
                patience: 4,
                batch: 64,
                rate: 0.002,
                decay: 0.01,
            },
            held_out: 8,
            unnamed: 8,
            most_rows: usize::MAX,
            seed: 1,
        }
    }
}

#[derive(Debug, Default)]
struct Rows {
    learnt: Vec<SwishTrainingRow>,
    judged: Vec<SwishTrainingRow>,
}

/// The rows that are drawn of one load.
struct RowDraw<'a> {
    category: usize,
    calendar: &'a Calendar,
    /// The most of them, held-out ones included.
    most: usize,
    /// One in so many, the newest, is held out.
    held_out: usize,
    source: RandomSource,
}

impl Rows {
    fn take(&mut self, series: &SwishSeries<'_>, draw: &RowDraw<'_>) -> Result<(), NetworkError> {
        let mut learnt: Vec<_> = series.whole_windows().collect();
        let have = learnt.len();
        let held_out = have / draw.held_out;
        // Windows of held-out rows may overlap with learnt rows, targets do not.
        let Some(first) = have
            .checked_sub(held_out + SWISH_STEPS - 1)
            .filter(|_| have >= LEAST)
        else {
            return Err(NetworkError::TooFew { have, need: LEAST });
        };
        let judged = learnt.split_off(have - held_out);
        learnt.truncate(first);
        let most_judged = draw.most / draw.held_out;
        let mut windows = drawn(
            learnt,
            draw.most - most_judged,
            draw.source.stream("learnt"),
        );
        let learnt = windows.len();
        windows.extend(drawn(judged, most_judged, draw.source.stream("judged")));
        let mut rows = rows(series, &windows, draw);
        self.judged.extend(rows.split_off(learnt.min(rows.len())));
        self.learnt.extend(rows);
        Ok(())
    }
}

/// Loads with fewer rows are refused.
const LEAST: usize = 60;

impl SwishSeries<'_> {
    /// Has enough values in a row for [`fit_swish`].
    pub fn is_long_enough(&self) -> bool {
        self.whole_windows().count() >= LEAST
    }

    /// Windows without a missing value, by the index of their first value.
    fn whole_windows(&self) -> impl Iterator<Item = (usize, &[f64])> {
        let windows = self.values.windows(2 * SWISH_STEPS).enumerate();
        windows.filter(|(_, values)| {
            let (known, _) = values.split_at(SWISH_STEPS);
            values.iter().all(|value| value.is_finite()) && known.iter().any(|&value| value != 0.0)
        })
    }
}

/// A network for all of `series`, known by index; starts from `before`.
///
/// # Errors
/// [`NetworkError`]: a series is too short, or `before` knows another number of series.
pub fn fit_swish(
    series: &[SwishSeries<'_>],
    calendar: &Calendar,
    before: Option<&SwishNet>,
    settings: &SwishSettings,
    tell: &mut dyn FnMut(f64),
) -> Result<SwishNet, NetworkError> {
    let shape = SwishShape {
        categories: series.len(),
    };
    if before.is_some_and(|net| net.shape() != shape) {
        return Err(NetworkError::OtherShape);
    }
    if series.is_empty() {
        return Err(NetworkError::TooFew {
            have: 0,
            need: LEAST,
        });
    }
    let source = RandomSource::new(settings.seed).stream("swish-net");
    let most_each = (settings.most_rows / series.len()).max(LEAST);
    let mut all = Rows::default();
    for (one, category) in series.iter().zip(0..) {
        all.take(
            one,
            &RowDraw {
                category,
                calendar,
                most: most_each,
                held_out: settings.held_out.max(2),
                source: source.stream(&format!("rows {category}")),
            },
        )?;
    }
    let parameters = before.map_or_else(
        || beginning(shape, source.stream("weights")),
        |net| net.parameters().to_vec(),
    );
    let mut slope = SwishSlope {
        shape,
        rows: &all,
        backward: SwishBackpropagation::new(shape),
        unnamed: source.stream("unnamed"),
        one_in: settings.unnamed.max(1),
        step: 0,
        tell,
    };
    let mut fitted = settings.descent.run(parameters, &mut slope, source);
    shrink(shape, &mut fitted, &all.judged);
    Ok(SwishNet::new(shape, &fitted)?)
}

/// At most `most` of the windows, one by chance out of each of as many equal parts: by a fixed stride, a load would be
/// learnt at a few minutes of the hour only.
fn drawn<T>(mut windows: Vec<T>, most: usize, source: RandomSource) -> Vec<T> {
    let have = windows.len();
    if have <= most {
        return windows;
    }
    let chosen: Vec<usize> = (0..most)
        .zip(0_u64..)
        .map(|(part, step)| {
            let (from, to) = (part * have / most, (part + 1) * have / most);
            from + source.below(step, to - from)
        })
        .collect();
    let mut chosen = chosen.into_iter().peekable();
    let mut place = 0;
    windows.retain(|_| {
        place += 1;
        chosen.next_if_eq(&(place - 1)).is_some()
    });
    windows
}

/// In the order of the windows.
fn rows(
    series: &SwishSeries<'_>,
    windows: &[(usize, &[f64])],
    draw: &RowDraw<'_>,
) -> Vec<SwishTrainingRow> {
    let rows = windows.iter().filter_map(|&(from, values)| {
        let (known, coming) = values.split_first_chunk::<SWISH_STEPS>()?;
        let window = SwishWindow::of(known)?;
        let last = i32::try_from(from + SWISH_STEPS - 1).ok()?;
        let time = series
            .start
            .checked_add(series.step.checked_mul(last)?)
            .ok()?;
        let input = SwishInput {
            category: Some(draw.category),
            second_of_week: draw.calendar.second_of_week(time),
            values: window.values,
        };
        let targets = std::array::from_fn(|step| window.local(coming[step]));
        Some((input, targets, window.scale()))
    });
    let rows: Vec<_> = rows.collect();
    let scales: f64 = rows.iter().map(|(.., scale)| scale).sum();
    let mean = scales / count_as_f64(rows.len().max(1));
    let row = |(input, targets, scale): (SwishInput, _, f64)| SwishTrainingRow {
        input,
        targets,
        weight: narrowed((scale / mean).min(MOST_WEIGHT)).unwrap_or(1.0),
    };
    rows.into_iter().map(row).collect()
}

/// Most that a row counts, in mean scales.
const MOST_WEIGHT: f64 = 4.0;

struct SwishSlope<'a> {
    shape: SwishShape,
    rows: &'a Rows,
    backward: SwishBackpropagation,
    /// Draws the rows that are learnt without a name, by the number of the step.
    unnamed: RandomSource,
    one_in: usize,
    step: u64,
    tell: &'a mut dyn FnMut(f64),
}

impl Slope for SwishSlope<'_> {
    fn rows(&self) -> usize {
        self.rows.learnt.len()
    }

    fn add(&mut self, parameters: &[f32], rows: &[usize], gradient: &mut [f32]) {
        for &index in rows {
            self.step += 1;
            let mut row = self.rows.learnt[index];
            if self.unnamed.below(self.step, self.one_in) == 0 {
                row.input.category = None;
            }
            self.backward.add(parameters, &row, gradient);
        }
    }

    fn held_out(&mut self, parameters: &[f32]) -> f64 {
        error_of(self.shape, parameters, &self.rows.judged)
    }

    fn began(&mut self, done: f64) {
        (self.tell)(done);
    }
}

/// Weighted sum of squares on the rows held out.
fn error_of(shape: SwishShape, parameters: &[f32], rows: &[SwishTrainingRow]) -> f64 {
    let error = |row: &SwishTrainingRow| {
        let answer = shape.pass(parameters, &row.input).answer;
        let pairs = answer.iter().zip(&row.targets);
        let squares = pairs.map(|(answer, target)| f64::from(answer - target).powi(2));
        f64::from(row.weight) * squares.sum::<f64>()
    };
    rows.iter().map(error).sum()
}

/// Multiplies each step by its factor of least absolute error on the rows held out.
fn shrink(shape: SwishShape, parameters: &mut [f32], rows: &[SwishTrainingRow]) {
    let mut errors = [FactorErrors::default(); SWISH_STEPS];
    for row in rows {
        let answer = shape.pass(parameters, &row.input).answer;
        for ((errors, answer), target) in errors.iter_mut().zip(answer).zip(row.targets) {
            for (error, factor) in errors.iter_mut().zip(FACTORS) {
                *error += f64::from(row.weight) * f64::from((factor * answer - target).abs());
            }
        }
    }
    let best = errors.each_ref().map(best_factor);
    let [tables, first, second, _] = shape.counts();
    for row in parameters[tables + first + second..].chunks_exact_mut(SWISH_STEPS) {
        for (weight, factor) in row.iter_mut().zip(best) {
            *weight *= factor;
        }
    }
}

/// Even between ± √(3 / inputs) in layers, a tenth of it in the last one and in tables, and no
/// biases.
fn beginning(shape: SwishShape, source: RandomSource) -> Vec<f32> {
    let [tables, ..] = shape.counts();
    let mut step = 0;
    let mut even = |bound: f64| {
        step += 1;
        narrowed((2.0 * source.unit(step) - 1.0) * bound).unwrap_or_default()
    };
    let mut parameters: Vec<f32> = (0..tables).map(|_| even(0.1)).collect();
    for (layer, (inputs, outputs)) in SwishShape::LAYERS.into_iter().enumerate() {
        let bound = (3.0 / count_as_f64(inputs)).sqrt();
        let is_last = layer + 1 == SwishShape::LAYERS.len();
        let bound = if is_last { 0.1 * bound } else { bound };
        let all = parameters.len() + DenseLayer::count(inputs, outputs);
        parameters.extend((0..inputs * outputs).map(|_| even(bound)));
        parameters.resize(all, 0.0);
    }
    parameters
}

#[cfg(test)]
mod tests;
