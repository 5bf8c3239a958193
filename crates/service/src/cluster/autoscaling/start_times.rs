//! The last starts of Pods of one workload: the wait for a node, and the time from then to
//! readiness.

use std::collections::VecDeque;

use evenkeel_objects::start_time::StartTime;
use jiff::SignedDuration;

/// The number of starts that are kept of each workload.
const KEPT: usize = 50;

/// The starts of one workload, newest last, compactly: waited and started, in milliseconds.
#[derive(Debug, Default)]
pub(super) struct StartTimes(VecDeque<[u32; 2]>);

impl StartTimes {
    /// Takes one more; a time of weeks is none.
    pub(super) fn push(&mut self, start: StartTime) {
        let StartTime { waited, started } = start;
        let milliseconds = |time: SignedDuration| u32::try_from(time.as_millis()).ok();
        let Some((waited, started)) = milliseconds(waited).zip(milliseconds(started)) else {
            return;
        };
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back([waited, started]);
    }

    /// Takes those of the same Pods under another owner.
    pub(super) fn append(&mut self, other: &Self) {
        other.values().for_each(|start| self.push(start));
    }

    pub(super) fn values(&self) -> impl Iterator<Item = StartTime> {
        let time = |milliseconds: u32| SignedDuration::from_millis(i64::from(milliseconds));
        self.0.iter().map(move |&[waited, started]| StartTime {
            waited: time(waited),
            started: time(started),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept() {
        let start = |started: SignedDuration| StartTime {
            waited: SignedDuration::from_millis(3),
            started,
        };
        let mut times = StartTimes::default();
        times.push(start(SignedDuration::MAX));
        let second = |second| start(SignedDuration::from_secs(second));
        (0..60).for_each(|started| times.push(second(started)));
        let kept: Vec<_> = times.values().collect();
        assert_eq!(kept, (10..60).map(second).collect::<Vec<_>>());
        let mut other = StartTimes::default();
        other.push(second(0));
        other.append(&times);
        assert!(other.values().eq(times.values()));
    }
}
