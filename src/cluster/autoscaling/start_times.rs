//! The last times that Pods of one workload took from creation to readiness.

use std::collections::VecDeque;

use jiff::SignedDuration;

/// The number of times that are kept of each workload.
const KEPT: usize = 50;

/// The times of one workload, the newest last, in milliseconds.
#[derive(Debug, Default)]
pub(super) struct StartTimes(VecDeque<u32>);

impl StartTimes {
    /// Takes one more; a time of weeks is none.
    pub(super) fn push(&mut self, took: SignedDuration) {
        let Ok(milliseconds) = u32::try_from(took.as_millis()) else {
            return;
        };
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(milliseconds);
    }

    /// Takes those of the same Pods under another owner.
    pub(super) fn append(&mut self, other: &Self) {
        other.values().for_each(|took| self.push(took));
    }

    /// The times, oldest first.
    pub(super) fn values(&self) -> impl Iterator<Item = SignedDuration> {
        self.0
            .iter()
            .map(|&milliseconds| SignedDuration::from_millis(i64::from(milliseconds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept() {
        let mut times = StartTimes::default();
        times.push(SignedDuration::MAX);
        (0..60).for_each(|second| times.push(SignedDuration::from_secs(second)));
        let kept: Vec<_> = times.values().collect();
        assert_eq!(
            kept,
            (10..60).map(SignedDuration::from_secs).collect::<Vec<_>>()
        );
        let mut other = StartTimes::default();
        other.push(SignedDuration::ZERO);
        other.append(&times);
        assert!(other.values().eq(times.values()));
    }
}
