//! One load of a target: its history, the models that follow it, and their forecasts at a tick.

use std::num::NonZeroUsize;

use jiff::{SignedDuration, Timestamp};

use super::tick::TickInput;
use crate::forecast::{
    Between, Candidates, Context, Forecast, History, NotEnoughHistory, Request, Resolution,
    SampleError, Selected, Series, Shared,
};
use crate::scaling::horizon::{self, Lag};
use crate::scaling::input::Estimate;
use crate::scaling::observation::LoadSample;
use crate::scaling::signal::Signal;
use crate::scaling::sum::{Certainty, Load};

const STEP: SignedDuration = Resolution::Fine.step();

/// The distance of measurements up to which they leave no time unseen, whatever their windows:
/// Prometheus scrapes each minute unless it is told otherwise.
const SCRAPES: SignedDuration = SignedDuration::from_secs(60);

/// The longest time of estimates that models are led across. What lies further back is no
/// neighbour of now.
const BRIDGED: SignedDuration = SignedDuration::from_mins(15);

/// The history of one load, and the models that follow it.
#[derive(Debug)]
pub(super) struct TrackedLoad {
    pub(super) signal: Signal,
    pub(super) history: History,
    candidates: Option<Candidates>,
    /// The step that the models took last; `None` where they have to learn anew.
    taken: Option<Timestamp>,
    /// The newest certain sum.
    pub(super) certain: Option<LoadSample>,
    /// The newest estimate, while it is newer than that.
    pub(super) estimate: Option<Estimate>,
    lag: RecentLag,
}

impl TrackedLoad {
    pub(super) fn new(signal: Signal) -> Self {
        Self {
            signal,
            history: History::default(),
            candidates: None,
            taken: None,
            certain: None,
            estimate: None,
            lag: RecentLag::default(),
        }
    }

    /// Takes a load. An estimate is at least what the load last was for certain: what settles has
    /// taken its part over from what is measured.
    pub(super) fn measure(
        &mut self,
        sample: &LoadSample,
        now: Timestamp,
    ) -> Result<(), SampleError> {
        let Load { sum, certainty } = sample.load;
        match (certainty, self.certain) {
            (Certainty::Certain, last) => {
                self.history.insert(sample.at, sum, now)?;
                self.lag.take(sample, now);
                if last.is_none_or(|last| last.measured <= sample.measured) {
                    self.lead_across(last, sample);
                    self.certain = Some(*sample);
                    self.estimate = None;
                }
            }
            (Certainty::Estimated, Some(last)) if last.measured < sample.measured => {
                self.estimate = Some(Estimate {
                    sum: sum.max(last.load.sum),
                    measured: sample.measured,
                });
            }
            // Nothing is known that it could be an estimate of.
            (Certainty::Estimated, _) => {}
        }
        Ok(())
    }

    /// Lays the time since the last certain sum on a line, where something is known of it: that it lies
    /// in the windows of both, or that the load was estimated meanwhile.
    fn lead_across(&mut self, last: Option<LoadSample>, next: &LoadSample) {
        let Some(last) = last else { return };
        let distance = next.at.duration_since(last.at);
        // Scrapes and ticks come a little early or late.
        let seen = next.window.max(SCRAPES) + STEP;
        let between = match self.estimate {
            _ if distance <= seen => Between::Seen,
            Some(_) if distance <= BRIDGED => Between::Uncertain,
            _ => return,
        };
        self.history.bridge(last.at, next.at, between);
    }

    /// What passes between the load and its measurement.
    pub(super) fn lag(&self) -> Lag {
        self.lag.lag()
    }

    /// True where the target's load in this signal is forecast.
    pub(super) fn is_forecast(&self, input: &TickInput<'_>) -> bool {
        let mut signals = input.signals.iter();
        let scaled = signals.find(|scaled| scaled.signal == self.signal);
        input.models.is_some() && scaled.is_some_and(|scaled| scaled.is_forecast)
    }

    /// True where the history lies so far ahead of now that the rings cannot tell the times apart.
    pub(super) fn is_ahead_of(&self, now: Timestamp) -> bool {
        let newest = self.history.newest();
        newest.is_some_and(|newest| newest.duration_since(now) >= ring())
    }

    /// Lets the models learn from the history again, since its past has changed behind them.
    pub(super) fn complete_past(&mut self) {
        self.history.bridge_gaps(BRIDGED);
        self.taken = None;
    }

    /// Leads the models up to the newest step that is over.
    ///
    /// They are scored as far ahead as a decision looks: from the start of a step that is over to
    /// what comes `ahead` of now lies that, the lag of the load and up to two steps. Where that has
    /// changed, or more is missing than the ring holds, they learn anew from the ring.
    pub(super) fn follow(&mut self, ahead: SignedDuration, input: &TickInput<'_>) {
        let Some(models) = input.models.filter(|_| self.is_forecast(input)) else {
            (self.candidates, self.taken) = (None, None);
            return;
        };
        let reach = ahead.saturating_add(self.lag().total());
        let horizon = NonZeroUsize::new(horizon::steps(reach, STEP * 2, STEP));
        let horizon = horizon.unwrap_or(NonZeroUsize::MIN);
        let Some(newest) = self.newest_over(input.now) else {
            return;
        };
        let Self {
            history,
            candidates,
            taken,
            ..
        } = self;
        let context = |origin| context(history, origin, input.shared);
        let followed = candidates.as_mut().zip(*taken);
        let followed = followed.filter(|(candidates, taken)| {
            candidates.are(models, horizon) && newest.duration_since(*taken) < ring()
        });
        if let Some((candidates, mut last)) = followed {
            while let Some(next) = last.checked_add(STEP).ok().filter(|next| *next <= newest) {
                candidates.observe(history.value(next), &context(next));
                last = next;
            }
            *taken = Some(last);
        } else if let Some(series) = ring_before(history, newest) {
            let mut learnt = Candidates::new(models, horizon);
            learnt.learn(&series, &context(newest));
            if let Some(before) = candidates {
                learnt.keep_choice_and_trust_of(before);
            }
            (*candidates, *taken) = (Some(learnt), Some(newest));
        }
    }

    /// The forecasts of so many `steps` that its models are to make for a tick; none where there are
    /// no models.
    pub(super) fn requests<'a>(
        &'a self,
        steps: usize,
        shared: &'a Shared,
    ) -> impl Iterator<Item = Request<'a>> {
        let models = self.candidates.as_ref().zip(self.taken);
        models.into_iter().flat_map(move |(candidates, taken)| {
            candidates.requests(steps, context(&self.history, taken, shared))
        })
    }

    /// Takes the answers to [`Self::requests`] from `forecasts`, and chooses among the models.
    pub(super) fn select(
        &mut self,
        forecasts: &mut impl Iterator<Item = Result<Forecast, NotEnoughHistory>>,
        now: Timestamp,
    ) -> Option<Selected> {
        let (candidates, _) = self.candidates.as_mut().zip(self.taken)?;
        let answers = forecasts.take(candidates.count()).collect();
        Some(candidates.select(answers, STEP, now))
    }

    /// The newest step that is over and before which, or in which, something was measured.
    fn newest_over(&self, now: Timestamp) -> Option<Timestamp> {
        let seconds = STEP.as_secs();
        let begun = now.as_second().div_euclid(seconds) * seconds;
        let over = Timestamp::from_second(begun - seconds).ok()?;
        Some(self.history.newest()?.min(over))
    }

    /// The models that follow the load.
    #[cfg(test)]
    pub(super) const fn candidates(&mut self) -> Option<&mut Candidates> {
        self.candidates.as_mut()
    }

    pub(super) fn bytes(&self) -> usize {
        let models = self.candidates.as_ref().map_or(0, Candidates::bytes);
        let inline = size_of::<Option<Candidates>>();
        let own = size_of::<Self>() - size_of::<History>() - inline;
        own + History::BYTES + models.max(inline)
    }
}

/// The context in which models forecast from the step at `origin` on.
const fn context<'a>(history: &'a History, origin: Timestamp, shared: &'a Shared) -> Context<'a> {
    Context {
        history,
        origin,
        step: STEP,
        shared,
    }
}

/// The steps of the finest ring up to `newest`.
fn ring_before(history: &History, newest: Timestamp) -> Option<Series> {
    let start = newest.checked_sub(ring() - STEP).unwrap_or(Timestamp::MIN);
    let times = std::iter::successors(Some(start), |time| time.checked_add(STEP).ok());
    let values = times.take_while(|time| *time <= newest);
    let values = values.map(|time| history.value(time)).collect();
    Series::new(start, STEP, values).ok()
}

/// The time that the finest ring spans.
fn ring() -> SignedDuration {
    let steps = i32::try_from(Resolution::Fine.length()).expect("the ring is short");
    STEP * steps
}

/// The lag of the measurements of late: the largest of the last ten to twenty minutes. It is rounded,
/// since models learn anew where it changes.
#[derive(Debug, Default)]
struct RecentLag {
    /// The begin of the present ten minutes.
    since: Option<Timestamp>,
    /// The largest of the present ten minutes and of those before.
    largest: [Lag; 2],
}

impl RecentLag {
    const PERIOD: SignedDuration = SignedDuration::from_mins(10);
    const ROUND: SignedDuration = SignedDuration::from_secs(5);

    fn take(&mut self, sample: &LoadSample, now: Timestamp) {
        let passed = self.since.map(|since| now.duration_since(since));
        match passed {
            Some(passed) if !passed.is_negative() && passed < Self::PERIOD => {}
            passed => {
                let recent = passed.is_some_and(|passed| passed < Self::PERIOD * 2);
                let before = self.largest[0];
                self.largest = [Lag::default(), if recent { before } else { Lag::default() }];
                self.since = Some(now);
            }
        }
        let age = now
            .duration_since(sample.measured)
            .max(SignedDuration::ZERO);
        let half_window = sample.window / 2;
        self.largest[0] = larger(
            self.largest[0],
            Lag {
                age: rounded(age, STEP, STEP - SignedDuration::from_secs(1)),
                // Windows of the metrics API differ by fractions of seconds.
                half_window: rounded(half_window, Self::ROUND, Self::ROUND / 2),
            },
        );
    }

    fn lag(&self) -> Lag {
        larger(self.largest[0], self.largest[1])
    }
}

fn larger(one: Lag, other: Lag) -> Lag {
    Lag {
        age: one.age.max(other.age),
        half_window: one.half_window.max(other.half_window),
    }
}

/// A whole number of `units`: the most that are no longer than the time and `more`.
fn rounded(time: SignedDuration, unit: SignedDuration, more: SignedDuration) -> SignedDuration {
    let (whole, unit) = (time.saturating_add(more).as_millis(), unit.as_millis());
    let milliseconds = whole - whole.rem_euclid(unit.max(1));
    SignedDuration::from_millis_i128(milliseconds)
}
