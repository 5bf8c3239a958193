//! `seasonal-naive` over a day: it reads the history of the load, which has a day on a coarse grid
//! already (5,760 values in steps of 15 s would be too many per series). The forecast does not rest
//! on the last observation, so a missing one costs nothing. A day is one of the calendar: 23 or 25
//! hours where clocks change.

use std::num::NonZeroUsize;

use jiff::{SignedDuration, Timestamp};

use crate::context::ForecastContext;
use crate::interval_widths::Widths;
use crate::model::Model;
use crate::not_ready::NotEnoughHistory;
use crate::prediction::Forecast;

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Every step will be as it was at the same time of the day before.
#[derive(Debug, Clone)]
pub(crate) struct DailySeasonalNaive {
    widths: Widths,
}

impl DailySeasonalNaive {
    pub(crate) const NAME: &str = "seasonal-naive";

    /// Learns its errors `horizon` steps ahead, and at the powers of two below that.
    pub(crate) fn towards(horizon: NonZeroUsize) -> Self {
        Self {
            widths: Widths::towards(horizon),
        }
    }
}

impl Model for DailySeasonalNaive {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn observe(&mut self, observation: Option<f64>, context: &ForecastContext<'_>) {
        if let Some(value) = observation.filter(|_| context.is_judged()) {
            self.widths.score(value);
        }
        let mut known = true;
        let before = DayBefore::new(context);
        self.widths.issue(|means| {
            for (mean, ahead) in means.iter_mut().zip(1..) {
                let value = before.and_then(|before| before.load(ahead));
                known &= value.is_some();
                *mean = value.unwrap_or(0.0);
            }
        });
        if !known {
            self.widths.restart();
        }
    }

    fn forecast(
        &self,
        horizon: usize,
        context: &ForecastContext<'_>,
    ) -> Result<Forecast, NotEnoughHistory> {
        let before = DayBefore::new(context);
        let steps = (1..).take(horizon).map(|ahead| {
            let mean = before?.load(ahead)?;
            self.widths.step(mean, ahead)
        });
        let steps = steps.collect::<Option<_>>();
        Ok(Forecast {
            origin: context.origin,
            step: context.step,
            steps: steps.ok_or_else(|| not_enough(context))?,
            clamped: 0,
            unbounded: Box::default(),
        })
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.widths.heap_bytes()
    }
}

/// The past one calendar day before a context.
#[derive(Clone, Copy)]
struct DayBefore<'a> {
    context: &'a ForecastContext<'a>,
    day: SignedDuration,
}

impl<'a> DayBefore<'a> {
    fn new(context: &'a ForecastContext<'_>) -> Option<Self> {
        let before = context.shared.calendar.days_before(context.origin, 1)?;
        Some(Self {
            context,
            day: context.origin.duration_since(before),
        })
    }

    fn time(self, ahead: usize) -> Option<Timestamp> {
        self.context.time_of(ahead)?.checked_sub(self.day).ok()
    }

    fn load(self, ahead: usize) -> Option<f64> {
        self.context.history.at(self.time(ahead)?)
    }
}

/// The steps of a day, and how many have passed since the load is known.
fn not_enough(context: &ForecastContext<'_>) -> NotEnoughHistory {
    let first = DayBefore::new(context).and_then(|before| before.time(1));
    let known = first.and_then(|time| Some((time, context.history.known_from(time)?)));
    let wait = known.map_or(DAY, |(first, known)| known.duration_since(first));
    // One step more, because an interval takes one error.
    let wait = wait.saturating_add(context.step).min(DAY);
    let steps = |span: SignedDuration| {
        let seconds = context.step.as_secs().max(1);
        let steps = (span.as_secs() + seconds - 1) / seconds;
        usize::try_from(steps).unwrap_or_default()
    };
    NotEnoughHistory {
        need: steps(DAY),
        have: steps(DAY).saturating_sub(steps(wait)),
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::calendar::Calendar;
    use crate::context::ModelAssets;
    use crate::load_ring_buffer::{LoadRingBuffer, Resolution};
    use crate::not_ready::NotReady;

    const STEP: SignedDuration = SignedDuration::from_secs(15);

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// The load equals the second, from the middle of one 5-minute slot to that of another.
    fn known(slots: std::ops::Range<i64>) -> LoadRingBuffer {
        let mut history = LoadRingBuffer::default();
        for slot in slots {
            let middle = f64::from(i32::try_from(slot * 300 + 150).unwrap());
            let now = time(2 * 86_400);
            let refilled = history.refill(Resolution::FiveMinutes, time(slot * 300), middle, now);
            refilled.unwrap();
        }
        history
    }

    /// On the second day, after so many seconds.
    fn context<'a>(
        history: &'a LoadRingBuffer,
        shared: &'a ModelAssets,
        seconds: i64,
    ) -> ForecastContext<'a> {
        ForecastContext {
            history,
            origin: time(86_400 + seconds),
            step: STEP,
            shared,
        }
    }

    #[test]
    fn a_day_repeats_and_its_errors_are_its_interval() {
        let (history, shared) = (known(0..8), ModelAssets::default());
        let mut model = DailySeasonalNaive::towards(NonZeroUsize::new(4).unwrap());
        for second in (300..1050).step_by(15) {
            let context = context(&history, &shared, second);
            let load = f64::from(i32::try_from(second).unwrap()) + 7.0;
            model.observe(Some(load), &context);
        }
        let context = context(&history, &shared, 1035);
        let forecast = model.forecast(6, &context).unwrap();
        assert_eq!(forecast.origin, context.origin);
        for (step, second) in forecast.steps.iter().zip([1050.0, 1065.0, 1080.0, 1095.0]) {
            assert!((step.mean - second).abs() < 1e-9);
            assert!(step.interval80.contains(second + 7.0) && step.interval95.lower >= 0.0);
        }
    }

    #[test]
    fn the_day_is_that_of_the_calendar() {
        let history = known(0..24);
        let zone = TimeZone::posix("CET-1CEST,M1.1.6/1,M10.5.0/3").unwrap();
        let shared = ModelAssets {
            calendar: Calendar::new(zone),
            ..ModelAssets::default()
        };
        // The clocks went forward by an hour on the first Saturday of 1970, the third of January.
        let context = ForecastContext {
            origin: time(2 * 86_400 + 3600),
            ..context(&history, &shared, 0)
        };
        let before = DayBefore::new(&context).unwrap();
        assert_eq!(before.time(1), Some(time(86_400 + 2 * 3600 + 15)));
    }

    #[test]
    fn without_a_day_it_says_when_there_will_be_one() {
        let told = |not_enough| {
            let not_ready = NotReady::new("seasonal-naive", not_enough, STEP);
            not_ready.to_string()
        };
        let (none, history, shared) = (
            LoadRingBuffer::default(),
            known(2..12),
            ModelAssets::default(),
        );
        let mut model = DailySeasonalNaive::towards(NonZeroUsize::new(4).unwrap());
        let not_enough = model.forecast(4, &context(&none, &shared, 0)).unwrap_err();
        assert_eq!((not_enough.need, not_enough.have), (5760, 0));
        assert_eq!(told(not_enough), "seasonal-naive ready in 24 h");
        // Known from 750 s on, and one step more.
        let not_enough = model
            .forecast(4, &context(&history, &shared, 0))
            .unwrap_err();
        assert_eq!((not_enough.need, not_enough.have), (5760, 5710));
        assert_eq!(told(not_enough), "seasonal-naive ready in 13 min");
        for second in (0..=750).step_by(15) {
            model.observe(Some(1.0), &context(&history, &shared, second));
        }
        let ready = model.forecast(4, &context(&history, &shared, 750));
        assert!(ready.is_ok(), "{ready:?}");
    }
}
