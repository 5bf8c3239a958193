//! Forecasts the largest load of one load's next minutes, scores itself, and keeps the cover.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;

use super::cover::Cover;
use super::inputs::{LEAST, Masks, inputs};
use super::lookback::{Lookback as _, TrackedLookback};
use super::model::{GlobalPeaks, OwnPeaks};
use super::quantiles::{LEVELS, Quantiles};
use super::score::Score;
use crate::accuracy::HorizonAccuracy;
use crate::calendar::Calendar;
use crate::historical_load::HistoricalLoad as _;
use crate::load_ring_buffer::{LoadRingBuffer, Resolution};
use crate::not_ready::{NotEnoughHistory, NotReady};
use crate::prediction::{Forecast, ForecastStep, Interval};
use crate::selected_forecast::SelectedForecast;
use crate::trust::ModelTrust;

/// Minutes of a past that came at once on which forecasts are proven.
const PROVEN_ON: i64 = 60;
/// Most minutes that one call follows.
const AT_ONCE: usize = 5;
/// The cover is at most this multiple of the highest load remembered.
const MOST: f64 = 1.5;

#[derive(Debug, Clone)]
pub struct PeakForecaster {
    own: Option<Arc<OwnPeaks>>,
    cover: Cover,
    /// The minute followed last, since the epoch.
    followed: Option<i64>,
    /// Forecasts with unfinished windows, the oldest first.
    issued: VecDeque<PendingPeakForecast>,
    /// Forecasts are judged up to this minute.
    judged: i64,
    score: Score,
}

/// A forecast with an unfinished window.
#[derive(Debug, Clone, Copy)]
struct PendingPeakForecast {
    /// The minute of the window's end, since the epoch.
    due: i64,
    window: u16,
    last: f32,
    levels: [f32; LEVELS.len()],
}

#[derive(Debug, Clone, Copy)]
pub struct PeakContext<'a> {
    pub calendar: &'a Calendar,
    pub global: &'a GlobalPeaks,
}

/// A whole minute of a load, and the forecast at its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MinuteForecast {
    /// The minute of the end, since the epoch.
    pub minute: i64,
    /// From local midnight to that end.
    pub second_of_day: i64,
    /// Mean load of the minute.
    pub load: f64,
    pub forecast: Option<Quantiles>,
}

/// The largest load to expect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    pub quantiles: Quantiles,
    /// The load to have capacity for.
    pub cover: f64,
    pub model: &'static str,
}

impl PeakForecaster {
    pub fn new(cover: Cover) -> Self {
        Self {
            own: None,
            cover,
            followed: None,
            issued: VecDeque::new(),
            judged: i64::MIN,
            score: Score::default(),
        }
    }

    pub fn adopt(&mut self, own: Arc<OwnPeaks>) {
        self.own = Some(own);
    }

    /// Drops trees of the target's own, where `global` does better.
    pub fn retire(&mut self) {
        self.own = None;
    }

    /// The risk, and the achieved share.
    pub const fn cover(&self) -> &Cover {
        &self.cover
    }

    pub const fn cover_mut(&mut self) -> &mut Cover {
        &mut self.cover
    }

    /// Follows the whole minutes of a history, from an hour before `newest`, the newest finished
    /// step: judges forecasts with finished windows, and forecasts the `window` minutes after each
    /// minute. One call takes a few minutes, so that it does not learn at once from a past that
    /// came at once. Returns the minutes with a known load.
    pub fn follow(
        &mut self,
        history: &LoadRingBuffer,
        newest: Timestamp,
        known: PeakContext<'_>,
        window: usize,
    ) -> Vec<MinuteForecast> {
        let Some(newest) = TrackedLookback::from(history, known.calendar, newest) else {
            return Vec::new();
        };
        let newest = newest.origin().div_euclid(60);
        let from = self
            .followed
            .map_or(i64::MIN, |last| last + 1)
            .max(newest - PROVEN_ON);
        let minutes = (from..=newest).take(AT_ONCE);
        let followed = minutes.filter_map(|minute| {
            self.followed = Some(minute);
            self.step(history, known, window, minute)
        });
        followed.collect()
    }

    /// Forgets pending forecasts and the position, because the past has changed. No minute is
    /// judged twice.
    pub fn begin_anew(&mut self) {
        self.issued.clear();
        self.followed = None;
    }

    /// Follows the minute that ends at `minute`.
    fn step(
        &mut self,
        history: &LoadRingBuffer,
        known: PeakContext<'_>,
        window: usize,
        minute: i64,
    ) -> Option<MinuteForecast> {
        let past = TrackedLookback::of_minute(history, known.calendar, minute)?;
        while let Some(issued) = self
            .issued
            .front()
            .copied()
            .filter(|issued| issued.due <= minute)
        {
            self.issued.pop_front();
            let loads = (0..usize::from(issued.window)).map(|ago| past.minute(ago));
            let loads = loads
                .collect::<Option<Vec<f64>>>()
                .filter(|_| issued.due == minute);
            let largest = loads.and_then(|loads| loads.into_iter().reduce(f64::max));
            let is_new = issued.due > self.judged;
            self.judged = self.judged.max(issued.due);
            let largest = largest.filter(|_| is_new && !is_uncertain(history, &issued));
            if let Some(largest) = largest {
                self.score.take(issued.last, &issued.levels, largest);
            }
        }
        let followed = past.minute(0).map(|load| MinuteForecast {
            minute,
            second_of_day: past.second_of_day(),
            load,
            forecast: None,
        });
        let Some(inputs) = inputs(&past, window, Masks::NONE) else {
            return followed;
        };
        let quantiles = known.global.quantiles(self.own_for(window), &inputs);
        #[expect(clippy::cast_possible_truncation, reason = "histories are of 32 bits")]
        let narrow = |value: f64| value as f32;
        let window = u16::try_from(window).unwrap_or(u16::MAX);
        self.issued.reserve_exact(1);
        self.issued.push_back(PendingPeakForecast {
            due: minute + i64::from(window),
            window,
            last: narrow(inputs.last),
            levels: std::array::from_fn(|level| narrow(quantiles.level(level))),
        });
        followed.map(|followed| MinuteForecast {
            forecast: Some(quantiles),
            ..followed
        })
    }

    /// The largest load within the `window` minutes after the step at `newest`. `None` if too
    /// little is known.
    pub fn peak(
        &self,
        history: &LoadRingBuffer,
        newest: Timestamp,
        known: PeakContext<'_>,
        window: usize,
    ) -> Option<Peak> {
        let past = TrackedLookback::from(history, known.calendar, newest)?;
        let inputs = inputs(&past, window, Masks::NONE)?;
        let own = self.own_for(window);
        let quantiles = known.global.quantiles(own, &inputs);
        let most = history.highest()? * MOST;
        Some(Peak {
            quantiles,
            cover: quantiles.at(self.cover.distance()).min(most),
            model: own.map_or(GlobalPeaks::NAME, |_| OwnPeaks::NAME),
        })
    }

    /// The forecast as a decision reads it: at each step, the largest load until then.
    pub fn select(
        &self,
        history: &LoadRingBuffer,
        newest: Timestamp,
        known: PeakContext<'_>,
        window: usize,
    ) -> SelectedForecast {
        let step = Resolution::Fine.step();
        let name = self
            .own_for(window)
            .map_or(GlobalPeaks::NAME, |_| OwnPeaks::NAME);
        let per_minute = usize::try_from(60 / step.as_secs().max(1)).unwrap_or(1);
        let peak = self.peak(history, newest, known, window);
        let forecast = peak.map(|peak| {
            let interval = |(lower, upper)| Interval { lower, upper };
            let expected = ForecastStep {
                mean: peak.quantiles.median(),
                interval80: interval(peak.quantiles.interval80()),
                interval95: interval(peak.quantiles.interval95()),
            };
            Forecast {
                origin: newest,
                step,
                steps: vec![expected; (window + 1) * per_minute],
                clamped: 0,
                unbounded: Box::default(),
            }
        });
        let lacking = NotEnoughHistory {
            need: LEAST * per_minute,
            have: history.known(Resolution::Fine).min(LEAST * per_minute - 1),
        };
        let lacking = NotReady::new(name, lacking, step);
        SelectedForecast {
            model: name,
            cover: peak.map(|peak| peak.cover),
            lacking: if peak.is_some() {
                Vec::new()
            } else {
                vec![lacking]
            },
            forecast: forecast.ok_or(lacking),
            trust: self.trust(),
            accuracy: self.accuracy(),
        }
    }

    pub fn accuracy(&self) -> HorizonAccuracy {
        self.score.accuracy()
    }

    /// By the losses of the forecasts.
    pub fn trust(&self) -> ModelTrust {
        self.score.trust()
    }

    /// In bytes, itself included.
    pub fn bytes(&self) -> usize {
        let own = self.own.as_ref().map_or(0, |own| own.bytes());
        size_of::<Self>() + own + self.issued.capacity() * size_of::<PendingPeakForecast>()
    }

    fn own_for(&self, window: usize) -> Option<&OwnPeaks> {
        self.own.as_deref().filter(|own| own.serves(window))
    }
}

/// A step of the window was uncertain.
fn is_uncertain(history: &LoadRingBuffer, issued: &PendingPeakForecast) -> bool {
    let steps = i64::from(issued.window) * 4;
    let mut times =
        (1..=steps).filter_map(|step| Timestamp::from_second(issued.due * 60 - step * 15).ok());
    times.any(|time| history.is_uncertain(time))
}
