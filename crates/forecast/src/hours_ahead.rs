//! The load of the next hours: its highest minute in each ten minutes, up to a day ahead.
//!
//! It is made from the highest minutes of the last eight days, which every load that is forecast keeps anyway
//! ([`LoadRingBuffer::ten_minute_highs`]). The model is fitted anew for each forecast, so nothing else is kept. One
//! fit of `auto` on eight days takes two seconds of a core.
//!
//! [`LoadRingBuffer::ten_minute_highs`]: crate::LoadRingBuffer::ten_minute_highs

use std::num::NonZeroUsize;

use jiff::{SignedDuration, Timestamp};

use super::context::{ForecastContext, ModelAssets};
use super::historical_load::Recording;
use super::load_ring_buffer::LoadHighs;
use super::models::ModelSet;
use super::network::SWISH_STEPS;
use super::not_ready::{NotEnoughHistory, NotReady};
use super::prediction::Forecast;
use super::scored_model::ScoredModel;
use super::series::RegularSeries;

/// Length of a step.
pub const HOURS_AHEAD_STEP: SignedDuration = SignedDuration::from_secs(LoadHighs::STEP);
/// The most steps: a day.
pub const HOURS_AHEAD_STEPS: NonZeroUsize = NonZeroUsize::new(144).expect("not zero");
const SWISH_AHEAD: NonZeroUsize = NonZeroUsize::new(SWISH_STEPS).expect("not zero");
/// Known steps for each step ahead: models learn their intervals on the newest fifth of the past.
const KNOWN_FOR_EACH: usize = 6;
/// Known steps from which there is a forecast: six hours, for one hour ahead.
const LEAST: usize = 36;

impl ModelSet {
    /// The model that makes the forecast hours ahead in place of this one. `s-hpa` and `tes` extrapolate the last
    /// minutes: for these it is `auto`.
    pub const fn for_hours_ahead(self) -> Self {
        match self {
            Self::SHpa | Self::Tes => Self::Auto,
            other => other,
        }
    }
}

/// Forecasts `past`, which has a step of ten minutes: as far ahead as a sixth of what is known of it, at most a day,
/// and two hours for `swish-net`, which answers twelve steps.
///
/// # Errors
/// [`NotReady`]: the newest half hour is missing, or too little is known for the model.
pub fn hours_ahead(
    past: &RegularSeries,
    set: ModelSet,
    shared: &ModelAssets,
) -> Result<Forecast, NotReady> {
    let usable = past.usable();
    let have = usable.values.len();
    let not_ready = |history| NotReady::new(set.as_str(), history, past.step());
    if have < LEAST {
        return Err(not_ready(NotEnoughHistory { need: LEAST, have }));
    }
    let horizon = NonZeroUsize::new(have / KNOWN_FOR_EACH).unwrap_or(NonZeroUsize::MIN);
    let horizon = horizon.min(match set {
        ModelSet::SwishNet => SWISH_AHEAD,
        _ => HOURS_AHEAD_STEPS,
    });
    let back = |steps: usize| {
        let steps = i32::try_from(steps).ok()?;
        past.end().checked_sub(past.step().checked_mul(steps)?).ok()
    };
    let first = back(have + usable.missing - 1).unwrap_or(Timestamp::MIN);
    let context = ForecastContext {
        history: &Recording::new(first, past.step(), &usable.values),
        origin: past.end(),
        step: past.step(),
        shared,
    };
    let model = fitted_anew(set, horizon, past, &context).map_err(not_ready)?;
    let request = model.request(horizon.get(), context);
    let forecast = request.model.forecast(request.horizon, &context);
    forecast.map_err(not_ready)
}

/// A new model that knows `past`.
pub(crate) fn fitted_anew(
    set: ModelSet,
    horizon: NonZeroUsize,
    past: &RegularSeries,
    context: &ForecastContext<'_>,
) -> Result<ScoredModel, NotEnoughHistory> {
    let mut model = ScoredModel::for_hours_ahead(set, horizon);
    // A fit of `swish-net` takes a network that was trained before, and no errors for its intervals.
    let is_learnt_by_fit = set.is_fitted() && set != ModelSet::SwishNet;
    if is_learnt_by_fit || set == ModelSet::Auto {
        model.fit(past, context)?;
    } else {
        model.learn(past, context);
    }
    Ok(model)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;
    use crate::noise::normal as noise;

    fn start() -> Timestamp {
        Timestamp::from_second(1_800_000_000 - 1_800_000_000 % 86_400).unwrap()
    }

    /// A load that has a wave each day.
    fn daily(step: usize) -> f64 {
        let share = f64::from(u32::try_from(step).unwrap()) / 144.0;
        1000.0 + 400.0 * (TAU * share).sin()
    }

    fn past(values: impl IntoIterator<Item = Option<f64>>) -> RegularSeries {
        RegularSeries::new(start(), HOURS_AHEAD_STEP, values.into_iter().collect()).unwrap()
    }

    fn noisy(steps: usize) -> Vec<Option<f64>> {
        let noise = noise(7, steps).into_iter().enumerate();
        let values = noise.map(|(step, noise)| Some(daily(step) + 10.0 * noise));
        values.collect()
    }

    #[test]
    fn a_load_that_repeats_each_day_is_known_a_day_ahead() {
        let shared = ModelAssets::default();
        let series = past(noisy(8 * 144));
        let ahead = hours_ahead(&series, ModelSet::Auto, &shared).unwrap();
        assert_eq!((ahead.origin, ahead.step), (series.end(), series.step()));
        assert_eq!(ahead.steps.len(), 144);
        let inside = ahead.steps.iter().zip(8 * 144..).filter(|(step, index)| {
            assert!(
                (step.mean - daily(*index)).abs() < 120.0,
                "{index} {step:?}"
            );
            step.interval80.contains(daily(*index))
        });
        assert!(inside.count() > 110);
    }

    #[test]
    fn it_reaches_as_far_as_the_past_allows() {
        let shared = ModelAssets::default();
        let reach = |steps: usize| {
            let ahead = hours_ahead(&past(noisy(steps)), ModelSet::Auto, &shared);
            ahead.map(|ahead| ahead.steps.len())
        };
        assert_eq!(reach(36), Ok(6));
        assert_eq!(reach(3 * 144), Ok(72));
        let refused = reach(35).unwrap_err();
        assert_eq!(refused.to_string(), "auto ready in 10 min");
        // The newest half hour is missing.
        let mut values = noisy(8 * 144);
        values.extend([None, None]);
        assert!(hours_ahead(&past(values.clone()), ModelSet::Auto, &shared).is_ok());
        values.push(None);
        assert!(hours_ahead(&past(values), ModelSet::Auto, &shared).is_err());
    }

    #[test]
    fn models_of_the_last_minutes_leave_it_to_auto() {
        let made_by = ModelSet::ALL.map(ModelSet::for_hours_ahead);
        for (set, by) in ModelSet::ALL.into_iter().zip(made_by) {
            let is_left = [ModelSet::SHpa, ModelSet::Tes].contains(&set);
            assert_eq!(by, if is_left { ModelSet::Auto } else { set });
            let ahead = hours_ahead(&past(noisy(300)), by, &ModelAssets::default());
            // Trees and networks need a trainer, or a network that was trained before.
            let needs_more = matches!(
                by,
                ModelSet::Gbdt | ModelSet::Gru | ModelSet::ArimaGru | ModelSet::SwishNet
            );
            assert_eq!(ahead.is_err(), needs_more, "{set}");
        }
    }
}
