//! Fitting of recurrent networks: back-propagation through time with AdamW, and a check of their
//! use. The newest rows are held out: training ends when errors on them no longer shrink, the best
//! weights are kept, and each step of the answer is multiplied by the best factor from 0 to 1
//! there, so that a network without any learning answers 0. Answers of several networks from
//! different starts are averaged. Each is fitted on its own thread, which changes the time but not
//! the result.

mod gradient;

use std::num::NonZeroUsize;
use std::thread;

use evenkeel_forecast::{Gru, GruNetwork, NetworkShape, ShapeError, WindowRows};
use evenkeel_units::random::RandomSource;
use evenkeel_units::{count_as_f64, narrowed};
use gradient::WindowActivations;

use crate::gradient_descent::{Descent, FACTORS, FactorErrors, Slope, best_factor};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetworkSettings {
    /// Networks with averaged answers.
    pub members: usize,
    pub hidden: usize,
    pub descent: Descent,
    /// Most passes if starting weights are given.
    pub passes_again: usize,
    /// One in so many rows, the newest, is held out.
    pub held_out: usize,
    pub seed: u64,
    pub threads: NonZeroUsize,
}

impl NetworkSettings {
    /// Settings chosen on the training parts of recorded loads; `docs/project/sources.md` lists the
    /// alternatives.
    pub const fn with(threads: NonZeroUsize) -> Self {
        Self {
            members: 2,
            hidden: 16,
            descent: Descent {
                passes: 15,
                patience: 3,
                batch: 32,
                rate: 0.005,
                decay: 0.01,
            },
            passes_again: 2,
            held_out: 8,
            seed: 1,
            threads,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    #[error("{have} rows are too few to learn from: {need} are needed")]
    TooFew { have: usize, need: usize },
    #[error("the networks to continue from have another shape")]
    OtherShape,
    #[error("nothing was learnt: {0}")]
    Weights(#[from] ShapeError),
}

/// Fewest rows to learn from, and to hold out.
const LEAST: usize = 16;

/// Rows to learn from, and rows to judge on.
struct HoldoutSplit<'a> {
    rows: &'a WindowRows,
    learnt: usize,
    /// First row held out: its window may overlap with learnt rows, its targets do not.
    from: usize,
    /// Mean size of the targets at each step.
    sizes: Vec<f32>,
}

/// Minimises the absolute error of averaged answers, starting from `before` if it is not empty.
///
/// # Errors
/// [`NetworkError`]: too few rows, or `before` of another shape.
pub fn fit_networks(
    rows: &WindowRows,
    before: &[GruNetwork],
    settings: &NetworkSettings,
) -> Result<Vec<GruNetwork>, NetworkError> {
    let (window, outputs) = rows.lengths();
    let shape = NetworkShape {
        window,
        hidden: settings.hidden,
        outputs,
    };
    if before.iter().any(|network| network.shape() != shape) {
        return Err(NetworkError::OtherShape);
    }
    let parts = HoldoutSplit::of(rows, settings)?;
    let members = if before.is_empty() {
        settings.members
    } else {
        before.len()
    };
    let mut fitted: Vec<Vec<f32>> = Vec::new();
    let numbers: Vec<usize> = (0..members).collect();
    for numbers in numbers.chunks(settings.threads.get()) {
        let member = |&number: &usize| {
            let source = RandomSource::new(settings.seed).stream(&format!("member {number}"));
            let begin = before.get(number).map(GruNetwork::parameters);
            fit_one(&parts, shape, begin, source, settings)
        };
        let done = thread::scope(|scope| {
            let started: Vec<_> = numbers
                .iter()
                .map(|number| scope.spawn(move || member(number)))
                .collect();
            let ended = started.into_iter().map(thread::ScopedJoinHandle::join);
            ended
                .map(|member| member.expect("fitting a network does not panic"))
                .collect::<Vec<_>>()
        });
        fitted.extend(done);
    }
    parts.shrink(&mut fitted, shape);
    let networks = fitted
        .iter()
        .map(|parameters| GruNetwork::new(shape, parameters));
    Ok(networks.collect::<Result<_, _>>()?)
}

impl<'a> HoldoutSplit<'a> {
    fn of(rows: &'a WindowRows, settings: &NetworkSettings) -> Result<Self, NetworkError> {
        let (_, outputs) = rows.lengths();
        let have = rows.len();
        let held_out = (have / settings.held_out.max(2)).max(LEAST);
        let learnt = have.checked_sub(held_out + outputs - 1);
        let need = 2 * LEAST + outputs - 1;
        let learnt = learnt.filter(|&learnt| learnt >= LEAST);
        let learnt = learnt.ok_or(NetworkError::TooFew { have, need })?;
        let mut sizes = vec![0.0_f64; outputs];
        for index in 0..have {
            let (_, targets, weight) = rows.row(index);
            for (size, target) in sizes.iter_mut().zip(targets) {
                *size += f64::from(weight * target.abs());
            }
        }
        let mean = |size: &f64| narrowed(size / count_as_f64(have)).unwrap_or(f32::MAX);
        Ok(Self {
            rows,
            learnt,
            from: have - held_out,
            sizes: sizes.iter().map(mean).collect(),
        })
    }

    /// Mean absolute error of the rows held out, relative to an answer of zeros.
    fn judged(&self, parameters: &[f32], backward: &mut WindowActivations) -> f64 {
        let (mut errors, mut sizes) = (0.0, 0.0);
        for index in self.from..self.rows.len() {
            let (window, targets, weight) = self.rows.row(index);
            let answer = backward.answer(parameters, window);
            for ((answer, target), size) in answer.iter().zip(targets).zip(&self.sizes) {
                let share = f64::from(weight) / f64::from(size.max(f32::MIN_POSITIVE));
                errors += share * f64::from((answer - target).abs());
                sizes += share * f64::from(target.abs());
            }
        }
        errors / f64::max(sizes, f64::MIN_POSITIVE)
    }

    /// Multiplies each output by its best factor on the rows held out.
    fn shrink(&self, members: &mut [Vec<f32>], shape: NetworkShape) {
        let mut backward = WindowActivations::new(shape);
        let outputs = shape.outputs;
        let mut errors = vec![FactorErrors::default(); outputs];
        let each = 1.0 / count_as_f64(members.len());
        for index in self.from..self.rows.len() {
            let (window, targets, weight) = self.rows.row(index);
            let mut mean = vec![0.0_f64; outputs];
            for parameters in &*members {
                let answer = backward.answer(parameters, window);
                for (mean, answer) in mean.iter_mut().zip(answer) {
                    *mean += each * f64::from(*answer);
                }
            }
            for ((errors, mean), target) in errors.iter_mut().zip(&mean).zip(targets) {
                for (error, factor) in errors.iter_mut().zip(FACTORS) {
                    let off = f64::from(factor) * mean - f64::from(*target);
                    *error += f64::from(weight) * off.abs();
                }
            }
        }
        let factors: Vec<f32> = errors.iter().map(best_factor).collect();
        for parameters in members {
            let head = &mut parameters[Gru::count(1, shape.hidden)..];
            for row in head.chunks_exact_mut(outputs) {
                for (weight, factor) in row.iter_mut().zip(&factors) {
                    *weight *= factor;
                }
            }
        }
    }
}

fn fit_one(
    parts: &HoldoutSplit<'_>,
    shape: NetworkShape,
    begin: Option<Vec<f32>>,
    source: RandomSource,
    settings: &NetworkSettings,
) -> Vec<f32> {
    let descent = match begin {
        Some(_) => Descent {
            passes: settings.passes_again,
            ..settings.descent
        },
        None => settings.descent,
    };
    let parameters = begin.unwrap_or_else(|| beginning(shape, source.stream("weights")));
    let mut slope = MemberSlope {
        parts,
        backward: WindowActivations::new(shape),
    };
    descent.run(parameters, &mut slope, source)
}

struct MemberSlope<'a> {
    parts: &'a HoldoutSplit<'a>,
    backward: WindowActivations,
}

impl Slope for MemberSlope<'_> {
    fn rows(&self) -> usize {
        self.parts.learnt
    }

    fn add(&mut self, parameters: &[f32], rows: &[usize], gradient: &mut [f32]) {
        let rows = rows.iter().map(|&index| self.parts.rows.row(index));
        self.backward.add(parameters, rows, gradient);
    }

    fn held_out(&mut self, parameters: &[f32]) -> f64 {
        self.parts.judged(parameters, &mut self.backward)
    }
}

/// Even between ± 1 / √units, as in PyTorch, and a tenth of it in the output layer, so that the
/// first answers are near 0.
fn beginning(shape: NetworkShape, source: RandomSource) -> Vec<f32> {
    let bound = 1.0 / count_as_f64(shape.hidden).sqrt();
    let units = Gru::count(1, shape.hidden);
    let number = |index: usize| {
        let step = u64::try_from(index).unwrap_or(u64::MAX);
        let size = if index < units { bound } else { 0.1 * bound };
        narrowed((2.0 * source.unit(step) - 1.0) * size).unwrap_or_default()
    };
    (0..shape.count()).map(number).collect()
}
