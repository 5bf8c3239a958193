//! The shadow run, a replay of the last days: floors at several levels, beside the plain HPA with lower targets,
//! which also buy safety.
//!
//! Each minute of a load runs through simulated counts of Pods: with floors at several distances
//! from the middle of its forecast, and without floors at several shares of the target. The means
//! of each simulation give the level that meets a risk or is worth more, and whether floors at it
//! pay. They are kept by quarter of the day too, so a restless night does not end floors that
//! foresee the morning. There is no noise within a minute, so the plain HPA looks slightly too good.

pub mod cost_benefit;
mod hpa_rate_limits;
mod outcome;
pub mod pareto_frontier;
mod pods;
mod policy_run;
mod time_of_day;

pub use self::outcome::PolicyRunResult;
pub(crate) use self::pods::PodsKind;
pub use self::pods::TrialPods;
pub use self::time_of_day::TimeOfDay;

use evenkeel_forecast::{A_TENTH, Lookback as _, MinuteForecast, Minutes, Quantiles};

use self::policy_run::{Minute, PolicyRun};
use self::time_of_day::MINUTES_OF_QUARTER;

/// The distances from the middle (see [`Quantiles::at`]) that are tried.
const DISTANCES: [f64; 7] = [0.2, 0.84, 1.25, 1.7, 2.2, 2.9, 4.0];
/// The targets of the rival, as shares of the target's own.
const SHARES: [f64; 5] = [1.0, 0.92, 0.83, 0.75, 2.0 / 3.0];

/// The minutes after which what was tried has faded to 1/e: two days.
const MEMORY: f64 = 2880.0;
const MEMORY_OF_QUARTER: f64 = MEMORY / 4.0;
/// The minutes that what is assumed at the beginning counts as.
const ASSUMED: f64 = 360.0;
/// The distance that is assumed to hold a risk of 1 %: the 90 % quantile.
const BEGIN: f64 = 1.28;
const RISK_OF_BEGIN: f64 = 0.01;
/// How far below the distance that is assumed for its risk a floor may lie.
const SPARED: f64 = 0.4;
/// The largest distance that is taken for its worth at a risk of 1 %.
const MOST_FOR_WORTH: f64 = 1.38;
/// How much further it may lie for a tenth of the risk.
const MORE_FOR_A_TENTH: f64 = 0.2;
/// The minutes before which nothing is said of what pays: half a day.
const JUDGED_FROM: f64 = 720.0;
/// The minutes that are added on both sides of the ratio: where hardly anything went wrong either way,
/// nothing speaks against floors.
const EVIDENCE: f64 = 30.0;

/// The share of the time that is added on both sides where distances are compared.
const LITTLE: f64 = 1e-3;
/// Ratios within this factor of the best are about as good.
const ABOUT_AS_GOOD: f64 = 1.05;
/// Floors have at most so many times the replicas of the plain HPA.
const MOST_COST: f64 = 1.3;
/// Replicas beyond those of the HPA with the lowest target by less than this factor are as many.
const BEYOND: f64 = 1.01;

/// Counts of Pods side by side, and what came of each.
#[derive(Debug, Clone, PartialEq)]
pub struct Counterfactual {
    floored: [PolicyRun; DISTANCES.len()],
    plain: [PolicyRun; SHARES.len()],
    /// Floors at the largest distance that was affordable at each minute, and at [`BEGIN`] before that
    /// was known. Where they have more replicas than they may, less is affordable from then on.
    limited: PolicyRun,
    /// The minutes that were run since the begin.
    run: usize,
    /// The newest of them, since the epoch.
    newest: i64,
    /// The share of the initial assumption that is left in the means.
    assumed: f64,
    /// Those of each quarter of the day.
    of_quarter: [usize; TimeOfDay::COUNT],
}

/// The result of floors, beside the plain HPA.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CounterfactualResult {
    pub floors: PolicyRunResult,
    /// The plain HPA as it is.
    pub plain: PolicyRunResult,
    /// The plain HPA with the lower target that has as many replicas as the floors, or with the lowest.
    pub rival: PolicyRunResult,
    /// True where floors have more replicas than the plain HPA at the lowest target.
    pub cost_more: bool,
}

impl Default for Counterfactual {
    fn default() -> Self {
        Self {
            floored: DISTANCES.map(|distance| PolicyRun::new(assumed(distance))),
            plain: SHARES.map(|_| PolicyRun::new(0.0)),
            limited: PolicyRun::new(0.0),
            run: 0,
            newest: i64::MIN,
            assumed: 1.0,
            of_quarter: [0; TimeOfDay::COUNT],
        }
    }
}

impl Counterfactual {
    /// Runs the minutes of a past from `from` on, with floors by what `forecast` says at the end of each of
    /// what the load is to rise to, for which it is to know nothing that came later.
    pub fn over(
        past: &Minutes,
        from: usize,
        pods: &TrialPods,
        mut forecast: impl FnMut(usize) -> Option<Quantiles>,
    ) -> Self {
        let mut trial = Self::default();
        let minutes = past.values().iter().enumerate().skip(from);
        for (index, &load) in minutes.filter(|(_, load)| !load.is_nan()) {
            let lookback = past.past(index);
            let followed = MinuteForecast {
                minute: lookback.origin().div_euclid(60),
                second_of_day: lookback.second_of_day(),
                load: f64::from(load),
                forecast: forecast(index),
            };
            trial.pass(&followed, pods);
        }
        trial
    }

    /// Runs a minute with its load, and with what the load was to rise to from its end on, where that was
    /// forecast. One that was run before is not run again.
    pub fn pass(&mut self, followed: &MinuteForecast, pods: &TrialPods) {
        if followed.minute <= self.newest {
            return;
        }
        self.newest = followed.minute;
        self.run += 1;
        let quarter = TimeOfDay::of(followed.second_of_day);
        self.of_quarter[quarter.place()] += 1;
        let of_quarter = remembered(self.of_quarter[quarter.place()], MEMORY_OF_QUARTER);
        let minutes = remembered(self.run, MEMORY);
        let minute = Minute {
            pods,
            run: self.run,
            load: followed.load,
            share: 1.0,
            floor: 0.0,
            weights: [1.0 / minutes; 2],
            quarter,
            weight_in_quarter: 1.0 / of_quarter,
        };
        let of_floors = 1.0 / (minutes + ASSUMED).min(MEMORY);
        self.assumed *= 1.0 - of_floors;
        let forecast = followed.forecast.as_ref();
        let is_judged = self.minutes() >= JUDGED_FROM;
        let limited = if is_judged { self.affordable() } else { BEGIN };
        self.limited.pass(&Minute {
            floor: forecast.map_or(0.0, |quantiles| quantiles.at(limited)),
            ..minute
        });
        for (lane, distance) in self.floored.iter_mut().zip(DISTANCES) {
            lane.pass(&Minute {
                floor: forecast.map_or(0.0, |quantiles| quantiles.at(distance)),
                weights: [of_floors, minute.weights[1]],
                ..minute
            });
        }
        for (lane, share) in self.plain.iter_mut().zip(SHARES) {
            lane.pass(&Minute { share, ..minute });
        }
    }

    /// The distance that meets a risk, or a larger one with a better benefit, as far as its replicas are
    /// affordable.
    pub fn distance(&self, risk: f64) -> f64 {
        let meeting = self.meeting_distance(risk);
        meeting
            .max(self.worthwhile_distance(risk))
            .min(self.affordable())
    }

    /// The distance with the best benefit, or a limit if that is nearer. The limit is lower for a
    /// larger risk, which asks for cheaper floors. Distances beyond the limit are compared as well:
    /// without them, floors were worth less on recorded loads. The smallest distance before half a
    /// day has run.
    pub(crate) fn worthwhile_distance(&self, risk: f64) -> f64 {
        if self.minutes() < JUDGED_FROM {
            return DISTANCES[0];
        }
        let most = MOST_FOR_WORTH - MORE_FOR_A_TENTH * decades(risk);
        self.worth_most().min(most)
    }

    /// The distance at which floors meet a risk; if none does, the distance with the best benefit. It
    /// is at most `SPARED` below the distance assumed for the risk: floors down to there cost less
    /// than they save.
    pub(crate) fn meeting_distance(&self, risk: f64) -> f64 {
        // A share of none has no logarithm.
        let log = |share: f64| (share + 1e-4).ln();
        let under = |index: usize| log(self.floored[index].outcome().under);
        let asked = log(risk);
        let held = (0..DISTANCES.len()).find(|&index| under(index) <= asked);
        let distance = match held.map(|held| (held.checked_sub(1), held)) {
            None => self.worth_most(),
            Some((None, held)) => DISTANCES[held],
            Some((Some(before), held)) => {
                let share = (under(before) - asked) / (under(before) - under(held));
                DISTANCES[before] + (DISTANCES[held] - DISTANCES[before]) * share
            }
        };
        distance.max(BEGIN - A_TENTH * decades(risk) - SPARED)
    }

    /// The distance with the best benefit beside the HPA of equal cost; of several about as good,
    /// the cheapest.
    fn worth_most(&self) -> f64 {
        let ratios = DISTANCES.map(|distance| {
            let mut tried = self.weighed(distance, PolicyRun::outcome);
            // The initial assumption says nothing of either side.
            let seen = tried.floors.under - assumed(distance) * self.assumed;
            tried.floors.under = (seen / (1.0 - self.assumed).max(LITTLE)).max(0.0);
            tried.ratio_of(LITTLE)
        });
        let best = ratios.into_iter().fold(f64::INFINITY, f64::min);
        let mut about = DISTANCES.into_iter().zip(ratios);
        let found = about.find(|(_, ratio)| *ratio <= best * ABOUT_AS_GOOD);
        found.map_or(BEGIN, |(distance, _)| distance)
    }

    /// The largest distance with no more replicas than the HPA at the lowest target, and than
    /// [`MOST_COST`] times those of the HPA as it is. If such floors have lately had more, the limit is
    /// lower by as much. It is the smallest distance if even that needs more, and the largest before
    /// anything is judged.
    pub(crate) fn affordable(&self) -> f64 {
        let plain = self.plain[0].outcome().replicas;
        let beyond = self.limited.outcome().replicas / (plain * MOST_COST);
        let most = self.dearest().min(plain * MOST_COST / beyond.max(1.0));
        if self.minutes() < JUDGED_FROM {
            return DISTANCES[DISTANCES.len() - 1];
        }
        let replicas = self.floored.iter().map(|lane| lane.outcome().replicas);
        let mut points = DISTANCES.into_iter().zip(replicas);
        let mut before: Option<(f64, f64)> = None;
        let beyond = points.find(|&(distance, replicas)| {
            let is_beyond = replicas > most;
            if !is_beyond {
                before = Some((distance, replicas));
            }
            is_beyond
        });
        match (before, beyond) {
            (None, _) => DISTANCES[0],
            (Some(_), None) => DISTANCES[DISTANCES.len() - 1],
            (Some((from, low)), Some((to, high))) => {
                from + (to - from) * (most - low) / (high - low)
            }
        }
    }

    /// The replicas of the HPA with the lowest target.
    fn dearest(&self) -> f64 {
        self.plain[SHARES.len() - 1].outcome().replicas
    }

    /// The result of floors at a distance; `None` before half a day has run.
    pub fn tried(&self, distance: f64) -> Option<CounterfactualResult> {
        self.of(distance, PolicyRun::outcome)
    }

    /// The same of a quarter of the day; `None` before as much of it was run as it has.
    pub(crate) fn tried_in(
        &self,
        quarter: TimeOfDay,
        distance: f64,
    ) -> Option<CounterfactualResult> {
        let minutes = i64::try_from(self.of_quarter[quarter.place()]);
        if minutes.is_ok_and(|minutes| minutes < MINUTES_OF_QUARTER) {
            return None;
        }
        self.of(distance, |lane| lane.outcome_in(quarter))
    }

    fn of(
        &self,
        distance: f64,
        outcome: impl Fn(&PolicyRun) -> PolicyRunResult,
    ) -> Option<CounterfactualResult> {
        (self.minutes() >= JUDGED_FROM).then(|| self.weighed(distance, outcome))
    }

    fn weighed(
        &self,
        distance: f64,
        outcome: impl Fn(&PolicyRun) -> PolicyRunResult,
    ) -> CounterfactualResult {
        let points = DISTANCES.into_iter().zip(self.floored.iter().map(&outcome));
        let floors = along(points, distance);
        let plain = self.plain.each_ref().map(&outcome);
        let costs = plain.map(|outcome| (outcome.replicas, outcome));
        let dearest = plain[SHARES.len() - 1].replicas;
        CounterfactualResult {
            floors,
            plain: plain[0],
            rival: along(costs.into_iter(), floors.replicas),
            cost_more: floors.replicas > dearest * BEYOND,
        }
    }

    /// The minutes that were run, as far as they are remembered.
    pub fn minutes(&self) -> f64 {
        remembered(self.run, MEMORY)
    }
}

impl CounterfactualResult {
    /// The time in which Pods carried too much above floors, over that of the rival that has as many
    /// replicas; below 1 floors are better.
    pub fn ratio(&self) -> f64 {
        self.ratio_of(EVIDENCE / MEMORY)
    }

    /// The same with a share of the time added on both sides.
    fn ratio_of(&self, added: f64) -> f64 {
        (self.floors.under + added) / (self.rival.under + added)
    }
}

/// The logarithm to base 10 of a risk over that of [`BEGIN`].
fn decades(risk: f64) -> f64 {
    (risk / RISK_OF_BEGIN).log10()
}

/// The share of the time in which Pods are assumed to carry too much above floors at a distance.
fn assumed(distance: f64) -> f64 {
    let under = RISK_OF_BEGIN * 10.0_f64.powf((BEGIN - distance) / A_TENTH);
    under.min(0.2)
}

/// As many of the minutes that were run as are remembered.
fn remembered(run: usize, memory: f64) -> f64 {
    evenkeel_units::count_as_f64(run).min(memory)
}

/// The outcome at a place between the points of a curve with ascending places. Beyond its ends the
/// first or the last one.
fn along(curve: impl Iterator<Item = (f64, PolicyRunResult)>, place: f64) -> PolicyRunResult {
    let log = |under: f64| (under + 1e-5).ln();
    let mut before: Option<(f64, PolicyRunResult)> = None;
    for (at, outcome) in curve {
        if at >= place {
            let Some((from, low)) = before else {
                return outcome;
            };
            let share = (place - from) / (at - from).max(f64::MIN_POSITIVE);
            let under = log(low.under) + (log(outcome.under) - log(low.under)) * share;
            return PolicyRunResult {
                under: (under.exp() - 1e-5).max(0.0),
                replicas: low.replicas + (outcome.replicas - low.replicas) * share,
            };
        }
        before = Some((at, outcome));
    }
    before.map_or(
        PolicyRunResult {
            under: 0.0,
            replicas: 0.0,
        },
        |(_, outcome)| outcome,
    )
}

#[cfg(test)]
mod tests;
