//! Fitting of `traffic`: utilisation from the traffic of Pods, and the check that traffic explains
//! it. A model is accepted only if, fitted on all but the newest day, it explains that day: at
//! least half of the variance of the utilisation, and half of what a model of the replicas and the
//! time leaves. Otherwise replicas from it would be guesses, and the error reports the figures.

use std::num::NonZeroUsize;

use evenkeel_forecast::{
    Calendar, CalendarInputs, ElasticNet, HeldOutDay, LinearFunction, LinearResidual, Moments,
    NotSettled, RESIDUAL_INPUTS, TrafficModel,
};
use evenkeel_units::{count_as_f64, narrowed};
use jiff::{SignedDuration, Timestamp};

use crate::boosting::{BoostingError, BoostingSettings, Rows, fit_mean};

/// Length of the held-out part, and least length of the part before it.
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// Fewest samples of each of these parts.
const FEWEST: usize = 24;
/// Smaller deviations of the utilisation, relative to its mean, say nothing.
const STEADY: f64 = 0.02;
/// Fewest rows of a leaf.
const LEAF: f64 = 10.0;

#[derive(Debug, Clone, PartialEq)]
pub struct TrafficSample {
    pub at: Timestamp,
    /// By kind, of all replicas together.
    pub traffic: Vec<f64>,
    pub replicas: f64,
    /// Mean over the replicas.
    pub utilisation: f64,
}

/// Names of a sample's columns, and the calendar of days and weeks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrafficNames {
    pub components: Vec<String>,
    pub utilisation: String,
    /// The calendar's time zone.
    pub zone: String,
    pub calendar: Calendar,
}

/// How `traffic` is fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrafficSettings {
    /// Penalties, counted in deviations of the columns.
    pub linear: ElasticNet,
    /// A leaf has at least an hour's samples.
    pub residual: BoostingSettings,
}

#[derive(Debug, thiserror::Error)]
pub enum TrafficFitError {
    #[error(
        "the samples are too few: {older} before the newest day and {newest} on it; needed: a day and {FEWEST} \
         samples before it, and {FEWEST} on it"
    )]
    TooShort { older: usize, newest: usize },
    #[error(
        "the utilisation hardly changes, so there is nothing to explain: its deviation is {:.1} % \
         of its mean; needed: {:.0} %",
        .share * 100.0, STEADY * 100.0
    )]
    Steady { share: f64 },
    #[error("the utilisation does not rise with any of the traffic per replica")]
    NoTraffic,
    #[error(
        "traffic does not explain the utilisation: {:.0} % of the variance of the newest day, fitted on the time \
         before it; needed: {:.0} %",
        .0.explained * 100.0, HeldOutDay::NEEDED * 100.0
    )]
    Unexplained(HeldOutDay),
    #[error(
        "traffic does not explain the utilisation: {:.0} % of the variance of the newest day with \
         it, {:.0} % from replicas and time alone; needed: {:.0} % of the remainder",
        .0.explained * 100.0, .0.explained_without * 100.0, (1.0 - HeldOutDay::LEFT) * 100.0
    )]
    NotByTraffic(HeldOutDay),
    #[error(transparent)]
    NotSettled(#[from] NotSettled),
    #[error(transparent)]
    Boosting(#[from] BoostingError),
}

impl TrafficFitError {
    /// For conditions and programs.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::TooShort { .. } => "TooShort",
            Self::Steady { .. } => "Steady",
            Self::NoTraffic => "NoTraffic",
            Self::Unexplained(_) => "Unexplained",
            Self::NotByTraffic(_) => "NotByTraffic",
            Self::NotSettled(_) => "NotSettled",
            Self::Boosting(_) => "Boosting",
        }
    }
}

impl TrafficSettings {
    /// Tree settings were chosen on the fifth and sixth week of `tests/fixtures/traffic`, which the
    /// fixture's test does not judge, with fits on the weeks before. Fewer bins blur the edges of a
    /// weekly job. The linear penalty is just enough to split the effect between two kinds of
    /// traffic that rise together, and to leave out what explains nothing.
    pub const fn with(threads: NonZeroUsize) -> Self {
        Self {
            linear: ElasticNet {
                alpha: 1e-3,
                l1_ratio: 0.5,
                positive: true,
            },
            residual: BoostingSettings {
                trees: 200,
                leaves: 15,
                rate: 0.05,
                leaf_weight: LEAF,
                bins: 1024,
                shares: [1.0; 2],
                threads,
            },
        }
    }
}

impl TrafficSample {
    fn per_replica(&self) -> Vec<f64> {
        let each = self.traffic.iter();
        each.map(|traffic| traffic / self.replicas).collect()
    }

    /// Every moment has the same traffic.
    fn without_traffic(&self) -> Self {
        Self {
            traffic: vec![1.0],
            ..self.clone()
        }
    }

    /// All numbers are known and possible; a workload at 0 replicas has no utilisation.
    fn is_whole(&self, kinds: usize) -> bool {
        let good = |value: f64| value.is_finite() && value >= 0.0;
        self.traffic.len() == kinds
            && self.traffic.iter().copied().all(good)
            && good(self.utilisation)
            && good(self.replicas)
            && self.replicas > 0.0
    }
}

/// Fits a model on samples, oldest first, if on the newest day traffic explains the utilisation.
/// Samples without replicas or with a NaN are left out.
///
/// # Errors
/// Too few samples, or traffic does not explain the utilisation; see the variants.
pub fn fit_traffic(
    samples: &[TrafficSample],
    names: TrafficNames,
    settings: &TrafficSettings,
) -> Result<TrafficModel, TrafficFitError> {
    let TrafficNames {
        components,
        utilisation,
        zone,
        calendar,
    } = names;
    let whole = samples
        .iter()
        .filter(|sample| sample.is_whole(components.len()));
    let samples: Vec<TrafficSample> = whole.cloned().collect();
    let held_out = hold_out(&samples, &calendar, settings)?;
    if !held_out.is_explained() {
        return Err(TrafficFitError::Unexplained(held_out));
    }
    if !held_out.is_by_traffic() {
        return Err(TrafficFitError::NotByTraffic(held_out));
    }
    let at = |sample: Option<&TrafficSample>| sample.map_or(Timestamp::UNIX_EPOCH, |one| one.at);
    Ok(TrafficModel {
        components,
        utilisation,
        zone,
        step: median_step(&samples),
        learnt: (at(samples.first()), at(samples.last())),
        held_out,
        seen: ranges(&samples),
        function: fit_function(&samples, &calendar, settings)?,
    })
}

/// Least and most traffic of one replica, for each kind.
fn ranges(samples: &[TrafficSample]) -> Vec<(f64, f64)> {
    let mut rows = samples.iter().map(TrafficSample::per_replica);
    let first = rows.next().unwrap_or_default();
    let first = first.into_iter().map(|value| (value, value)).collect();
    rows.fold(first, |seen: Vec<(f64, f64)>, row| {
        let both = seen.into_iter().zip(row);
        both.map(|((least, most), value)| (least.min(value), most.max(value)))
            .collect()
    })
}

/// Fits on all but the newest day, and judges on that day.
fn hold_out(
    samples: &[TrafficSample],
    calendar: &Calendar,
    settings: &TrafficSettings,
) -> Result<HeldOutDay, TrafficFitError> {
    let begin = samples
        .last()
        .and_then(|last| last.at.checked_sub(DAY).ok());
    let begin = begin.unwrap_or(Timestamp::MIN);
    let (older, newest) = samples.split_at(samples.partition_point(|one| one.at <= begin));
    let spans_a_day = older
        .first()
        .is_some_and(|first| begin.duration_since(first.at) >= DAY);
    if !spans_a_day || older.len() < FEWEST || newest.len() < FEWEST {
        return Err(TrafficFitError::TooShort {
            older: older.len(),
            newest: newest.len(),
        });
    }
    let function = fit_function(older, calendar, settings)?;
    let blind = older
        .iter()
        .map(TrafficSample::without_traffic)
        .collect::<Vec<_>>();
    let without = fit_residual(fit_linear(&blind, settings)?, &blind, calendar, settings)?;
    let told = |function: &LinearResidual, sample: &TrafficSample| {
        let moment = CalendarInputs::of(sample.at, calendar);
        function.utilisation(&sample.traffic, sample.replicas, moment)
    };
    let linear =
        |sample: &TrafficSample| function.linear_utilisation(&sample.traffic, sample.replicas);
    Ok(HeldOutDay {
        samples: u32::try_from(newest.len()).unwrap_or(u32::MAX),
        error: error(newest, |sample| told(&function, sample)),
        linear_error: error(newest, linear),
        explained: explained(newest, |sample| told(&function, sample)),
        explained_without: explained(newest, |sample| told(&without, &sample.without_traffic())),
    })
}

/// Both models on all samples.
fn fit_function(
    samples: &[TrafficSample],
    calendar: &Calendar,
    settings: &TrafficSettings,
) -> Result<LinearResidual, TrafficFitError> {
    let linear = fit_linear(samples, settings)?;
    if linear.coefficients.iter().all(|&one| one <= 0.0) {
        return Err(TrafficFitError::NoTraffic);
    }
    fit_residual(linear, samples, calendar, settings)
}

/// The utilisation must vary.
fn fit_linear(
    samples: &[TrafficSample],
    settings: &TrafficSettings,
) -> Result<LinearFunction, TrafficFitError> {
    let kinds = samples.first().map_or(0, |sample| sample.traffic.len());
    let mut moments = Moments::new(kinds);
    for sample in samples {
        moments.push(&sample.per_replica(), sample.utilisation);
    }
    let share = moments.deviation() / moments.mean().max(f64::MIN_POSITIVE);
    if share.is_nan() || share < STEADY {
        return Err(TrafficFitError::Steady { share });
    }
    Ok(settings.linear.fit_in_deviations(&moments)?)
}

fn mean(samples: &[TrafficSample]) -> f64 {
    let sum: f64 = samples.iter().map(|sample| sample.utilisation).sum();
    sum / count_as_f64(samples.len().max(1))
}

/// Trees for the error of the linear model.
fn fit_residual(
    linear: LinearFunction,
    samples: &[TrafficSample],
    calendar: &Calendar,
    settings: &TrafficSettings,
) -> Result<LinearResidual, TrafficFitError> {
    let scale = mean(samples);
    let mut rows = Rows::new(RESIDUAL_INPUTS);
    let mut seen = (0.0_f64, 0.0_f64);
    for sample in samples {
        let told = linear.at(&sample.per_replica());
        let missed = sample.utilisation - told;
        seen = (seen.0.min(missed), seen.1.max(missed));
        let moment = CalendarInputs::of(sample.at, calendar);
        let inputs = LinearResidual::inputs(told, scale, moment);
        if let Some(label) = narrowed(missed / scale) {
            rows.push(&inputs, label, 0.0);
        }
    }
    let step = median_step(samples).as_secs().max(1);
    let hour = count_as_f64(usize::try_from(3600 / step).unwrap_or_default());
    let boosting = BoostingSettings {
        leaf_weight: settings.residual.leaf_weight.max(hour),
        ..settings.residual
    };
    let trees = fit_mean(&rows, &boosting)?;
    Ok(LinearResidual::new(linear, scale, seen, trees))
}

fn median_step(samples: &[TrafficSample]) -> SignedDuration {
    let pairs = samples.windows(2);
    let mut steps: Vec<SignedDuration> = pairs
        .map(|pair| pair[1].at.duration_since(pair[0].at))
        .collect();
    steps.sort_unstable();
    steps.get(steps.len() / 2).copied().unwrap_or_default()
}

fn error(samples: &[TrafficSample], told: impl Fn(&TrafficSample) -> f64) -> f64 {
    let errors = samples
        .iter()
        .map(|one| (one.utilisation - told(one)).abs());
    errors.sum::<f64>() / count_as_f64(samples.len().max(1))
}

/// Explained share of the variance; 0 of a constant utilisation.
fn explained(samples: &[TrafficSample], told: impl Fn(&TrafficSample) -> f64) -> f64 {
    let mean = mean(samples);
    let sum = |told: &dyn Fn(&TrafficSample) -> f64| -> f64 {
        let errors = samples
            .iter()
            .map(|one| (one.utilisation - told(one)).powi(2));
        errors.sum()
    };
    let whole = sum(&|_| mean);
    if whole > 0.0 {
        1.0 - sum(&told) / whole
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests;
