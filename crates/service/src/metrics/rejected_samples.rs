//! Values of answers that were not taken, counted by their cause.

use evenkeel_units::words;

words! {
    /// Cause for which a value of an answer was not taken.
    pub enum DropCause {
        /// It is not a number, or a histogram.
        NotANumber = "NotANumber",
        Infinite = "Infinite",
        /// It is below zero.
        Negative = "Negative",
        /// Its labels name no node, or no Pod.
        Unnamed = "Unnamed",
        /// Another series speaks of the same node or Pod, and was taken in its place.
        Ambiguous = "Ambiguous",
        /// Nothing says when it was measured.
        Undated = "Undated",
        /// It is of a time that was not asked for, such as one to come.
        Misdated = "Misdated",
    }
}

/// Values not taken, counted by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RejectedSamples([u64; DropCause::ALL.len()]);

impl RejectedSamples {
    pub(crate) fn add(&mut self, cause: DropCause) {
        if let Some(position) = DropCause::ALL.iter().position(|known| *known == cause) {
            self.0[position] += 1;
        }
    }

    /// Counts those of another part of the same answer, too.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    pub fn count(&self, cause: DropCause) -> u64 {
        self.iter()
            .find_map(|(known, count)| (known == cause).then_some(count))
            .unwrap_or(0)
    }

    pub fn iter(&self) -> impl Iterator<Item = (DropCause, u64)> {
        DropCause::ALL.into_iter().zip(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_counted_for_itself() {
        let mut dropped = RejectedSamples::default();
        for (times, cause) in DropCause::ALL.into_iter().enumerate() {
            for _ in 0..times {
                dropped.add(cause);
            }
        }
        let counts: Vec<u64> = dropped.iter().map(|(_, count)| count).collect();
        assert_eq!(counts, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(dropped.count(DropCause::Negative), 2);
    }
}
