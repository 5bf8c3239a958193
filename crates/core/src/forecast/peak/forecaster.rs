//! The largest load of one load's next minutes, how good these forecasts were, and what they cover.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;

use super::cover::Cover;
use super::inputs::{LEAST, Masks, inputs};
use super::lookback::{Lookback as _, TrackedLookback};
use super::model::{GlobalPeaks, OwnPeaks};
use super::quantiles::{LEVELS, Quantiles};
use super::score::Score;
use crate::forecast::accuracy::HorizonAccuracy;
use crate::forecast::calendar::Calendar;
use crate::forecast::historical_load::HistoricalLoad as _;
use crate::forecast::load_ring_buffer::{LoadRingBuffer, Resolution};
use crate::forecast::not_ready::{NotEnoughHistory, NotReady};
use crate::forecast::prediction::{Forecast, ForecastStep, Interval};
use crate::forecast::selected_forecast::SelectedForecast;
use crate::forecast::trust::ModelTrust;

/// The minutes of a past that came at once on which forecasts are proven.
const PROVEN_ON: i64 = 60;
/// The minutes that are followed at one call.
const AT_ONCE: usize = 5;
/// The cover is at most this many times the highest load that is remembered.
const MOST: f64 = 1.5;

/// The forecaster of one load.
#[derive(Debug, Clone)]
pub struct PeakForecaster {
    own: Option<Arc<OwnPeaks>>,
    cover: Cover,
    /// The minute that was followed last, counted from the epoch.
    followed: Option<i64>,
    /// The forecasts with unfinished windows, the oldest first.
    issued: VecDeque<PendingPeakForecast>,
    /// The minute up to which forecasts were judged.
    judged: i64,
    score: Score,
}

/// A forecast that waits for the end of its window.
#[derive(Debug, Clone, Copy)]
struct PendingPeakForecast {
    /// The minute of the end, since the epoch.
    due: i64,
    window: u16,
    last: f32,
    levels: [f32; LEVELS.len()],
}

/// The data that the forecasts of all loads share.
#[derive(Debug, Clone, Copy)]
pub struct PeakContext<'a> {
    /// The calendar that loads live by.
    pub calendar: &'a Calendar,
    pub global: &'a GlobalPeaks,
}

/// A whole minute of a load, and the forecast at its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MinuteForecast {
    /// The minute of the end, since the epoch.
    pub minute: i64,
    /// The seconds from midnight to that end, by the clocks that the load lives by.
    pub second_of_day: i64,
    /// The mean load.
    pub load: f64,
    pub forecast: Option<Quantiles>,
}

/// The largest load that is to be expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    pub quantiles: Quantiles,
    /// The load that capacity is to be there for.
    pub cover: f64,
    /// The model that answered.
    pub model: &'static str,
}

impl PeakForecaster {
    /// A forecaster that has judged nothing.
    #[must_use]
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

    /// Goes on from trees of the target's own.
    pub fn adopt(&mut self, own: Arc<OwnPeaks>) {
        self.own = Some(own);
    }

    /// Leaves trees of the target's own, where `global` does better.
    pub fn retire(&mut self) {
        self.own = None;
    }

    /// The share of time asked for, and what was achieved.
    #[must_use]
    pub const fn cover(&self) -> &Cover {
        &self.cover
    }

    /// The level that the largest load is covered at.
    pub const fn cover_mut(&mut self) -> &mut Cover {
        &mut self.cover
    }

    /// Follows the whole minutes of a history. It judges the forecasts with finished windows, and
    /// makes one for the `window` minutes after each minute. It takes a few minutes per call, so
    /// that it does not learn at once from a past that came at once. It begins an hour before
    /// `newest`, the newest finished step. Returns the minutes with a known load.
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

    /// Forgets what is pending and how far it has followed, since the past has changed behind it. No minute is
    /// judged twice.
    pub fn begin_anew(&mut self) {
        self.issued.clear();
        self.followed = None;
    }

    /// Follows the minute that ends with `minute`.
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

    /// The largest load to expect within the `window` minutes after the step at `newest`. `None` if
    /// too little is known.
    #[must_use]
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

    /// The forecast as a decision reads it: at each step, what the largest load until then may be.
    pub(crate) fn select(
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

    /// Errors and coverage so far.
    #[must_use]
    pub fn accuracy(&self) -> HorizonAccuracy {
        self.score.accuracy()
    }

    /// The trust that the forecasts have earned by their losses.
    #[must_use]
    pub fn trust(&self) -> ModelTrust {
        self.score.trust()
    }

    /// The memory in bytes, itself included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let own = self.own.as_ref().map_or(0, |own| own.bytes());
        size_of::<Self>() + own + self.issued.capacity() * size_of::<PendingPeakForecast>()
    }

    fn own_for(&self, window: usize) -> Option<&OwnPeaks> {
        self.own.as_deref().filter(|own| own.serves(window))
    }
}

/// True where a step of the window is not known for certain.
fn is_uncertain(history: &LoadRingBuffer, issued: &PendingPeakForecast) -> bool {
    let steps = i64::from(issued.window) * 4;
    let mut times =
        (1..=steps).filter_map(|step| Timestamp::from_second(issued.due * 60 - step * 15).ok());
    times.any(|time| history.is_uncertain(time))
}
