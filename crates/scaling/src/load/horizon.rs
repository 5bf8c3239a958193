//! The horizon of a forecast: what passes between a load and the capacity for it.
//!
//! A measurement speaks of the centre of its rate window, which lies back by half the window and by
//! its own age. From the decision on it, a Pod is ready once the floor is written, the HPA has looked,
//! a node has room and the Pod has started. A forecast on that measurement has to reach over all of
//! it.

use evenkeel_hpa::Settings;
use evenkeel_objects::start_time::StartTime;
use jiff::SignedDuration;

/// The shortest horizon: below it a forecast is not worth its error.
pub const LEAST: SignedDuration = SignedDuration::from_secs(60);

/// The longest horizon: a Pod that waited for hours for a node says nothing of how long starts take,
/// and models that remember half an hour say nothing of hours. Each further step also costs memory
/// and time for every target.
pub const MOST: SignedDuration = SignedDuration::from_mins(15);

/// The number of Pods that the last scale-outs had: what waited for a node a while ago does so no
/// more.
const LAST_PODS: usize = 10;

/// The wait that kube-scheduler needs by itself; what waits longer waits for a node.
const SCHEDULING: SignedDuration = SignedDuration::from_secs(10);

/// The time since the load that a measurement describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lag {
    /// The age of measurements when they are taken, the largest of late.
    pub age: SignedDuration,
    /// Half of the rate window.
    pub half_window: SignedDuration,
}

/// The time from a decision until the Pods that it asks for are ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lead {
    /// The time between two looks of the HPA.
    pub sync: SignedDuration,
    /// The time between two decisions.
    pub tick: SignedDuration,
    /// The time from a node to readiness, the 90th percentile of the target's Pods.
    pub start_up: SignedDuration,
    /// The wait for a node, where the last scale-outs waited for nodes; else zero.
    pub node_start_up: SignedDuration,
}

/// The horizon of a target, in its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Horizon {
    pub lag: Lag,
    pub lead: Lead,
}

impl Lag {
    /// The whole of it.
    pub const fn total(&self) -> SignedDuration {
        self.age.saturating_add(self.half_window)
    }
}

impl Lead {
    /// The lead of a target with a decision every `tick`. `starts` are the times that its last Pods
    /// took, the newest last. Percentiles are by nearest rank.
    pub fn of(starts: &[StartTime], tick: SignedDuration) -> Self {
        let last = &starts[starts.len().saturating_sub(LAST_PODS)..];
        let waited = percentile(last.iter().map(|start| start.waited));
        Self {
            sync: Settings::DEFAULT.sync_period,
            tick,
            start_up: percentile(starts.iter().map(|start| start.started)),
            node_start_up: Some(waited)
                .filter(|waited| *waited > SCHEDULING)
                .unwrap_or_default(),
        }
    }

    pub(crate) const fn total(&self) -> SignedDuration {
        let starts = self.start_up.saturating_add(self.node_start_up);
        starts.saturating_add(self.sync).saturating_add(self.tick)
    }
}

impl Horizon {
    /// From the load that was measured until there is capacity for it; at least 60 s and at most 15
    /// minutes.
    pub fn total(&self) -> SignedDuration {
        let total = self.lag.total().saturating_add(self.lead.total());
        total.clamp(LEAST, MOST)
    }

    /// The whole minutes in which a load is to be covered, from the one that was measured on: 2 to 16.
    pub fn window(&self) -> usize {
        window(self.ahead().saturating_add(self.lag.total()))
    }

    /// The part of it that is still to come at the time of a decision.
    pub fn ahead(&self) -> SignedDuration {
        let ahead = self.total().saturating_sub(self.lag.total());
        ahead.max(SignedDuration::ZERO)
    }
}

/// The whole minutes that a reach takes, 2 to 16.
pub(crate) fn window(reach: SignedDuration) -> usize {
    let minutes = reach.as_secs().saturating_add(59) / 60;
    usize::try_from(minutes).unwrap_or_default().clamp(2, 16)
}

/// The 90th percentile; zero of no times.
fn percentile(times: impl Iterator<Item = SignedDuration>) -> SignedDuration {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    let rank = (times.len() * 9).div_ceil(10);
    let time = rank.checked_sub(1).and_then(|index| times.get(index));
    time.copied().unwrap_or_default()
}

/// The number of steps that a forecast needs to reach over `distance` from a measurement that may be
/// as old as `max_age`.
pub fn steps(distance: SignedDuration, max_age: SignedDuration, step: SignedDuration) -> usize {
    let reach = distance.saturating_add(max_age).as_secs().max(1);
    let steps = (reach - 1) / step.as_secs().max(1) + 1;
    usize::try_from(steps).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECONDS: fn(i64) -> SignedDuration = SignedDuration::from_secs;

    #[test]
    fn a_forecast_reaches_the_horizon_from_an_old_measurement() {
        for (horizon, max_age, expected) in [(60, 0, 4), (61, 0, 5), (75, 180, 17), (0, 0, 1)] {
            let found = steps(SECONDS(horizon), SECONDS(max_age), SECONDS(15));
            assert_eq!(found, expected, "{horizon} + {max_age}");
        }
    }

    fn starts(times: impl IntoIterator<Item = (i64, i64)>) -> Vec<StartTime> {
        let start = |(waited, started)| StartTime {
            waited: SECONDS(waited),
            started: SECONDS(started),
        };
        times.into_iter().map(start).collect()
    }

    #[test]
    fn the_slow_pods_decide_and_the_last_that_waited_for_a_node() {
        for (times, start_up, node) in [
            (vec![], 0, 0),
            (vec![(1, 5)], 5, 0),
            ((1..=10).map(|i| (0, i * 10)).collect(), 90, 0),
            ((1..=11).rev().map(|i| (0, i * 10)).collect(), 100, 0),
            (vec![(1, 20), (90, 20)], 20, 90),
            // The wait is long ago, and later Pods did not wait.
            ([vec![(90, 20)], vec![(2, 20); 10]].concat(), 20, 0),
            ([vec![(2, 20); 20], vec![(90, 20); 2]].concat(), 20, 90),
            ([vec![(2, 20); 20], vec![(90, 20); 1]].concat(), 20, 0),
        ] {
            let lead = Lead::of(&starts(times.clone()), SECONDS(15));
            let expected = Lead {
                sync: SECONDS(15),
                tick: SECONDS(15),
                start_up: SECONDS(start_up),
                node_start_up: SECONDS(node),
            };
            assert_eq!(lead, expected, "{times:?}");
        }
    }

    #[test]
    fn the_horizon_is_all_that_passes_between_load_and_capacity() {
        for (age, half_window, start, total, ahead) in [
            (0, 0, 0, 60, 60),
            (15, 60, 20, 125, 50),
            (15, 10, 0, 60, 35),
            (20, 60, 3600, 900, 820),
            (20, 60, i64::MAX, 900, 820),
            (900, 60, 20, 900, 0),
        ] {
            let horizon = Horizon {
                lag: Lag {
                    age: SECONDS(age),
                    half_window: SECONDS(half_window),
                },
                lead: Lead::of(&starts([(0, start)]), SECONDS(15)),
            };
            let found = (horizon.total().as_secs(), horizon.ahead().as_secs());
            assert_eq!(found, (total, ahead), "{age} {half_window} {start}");
        }
    }
}
