//! The rest of a query between its end and its next turn.

use std::time::Duration;

use jiff::SignedDuration;

/// How long a query rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backoff {
    /// It is asked once, and forgotten after it.
    Once,
    /// From the second failure in a row on, it rests for `first`, and twice as long and `first` more
    /// after each further one.
    AfterFailures {
        first: SignedDuration,
        longest: SignedDuration,
    },
    /// It is asked every so often, and sooner after a failure: after `first`, doubled with each
    /// further one.
    Every {
        every: SignedDuration,
        first: SignedDuration,
    },
    /// It rests for as long as it took, and doubled with each further failure. So a slow query
    /// leaves its place to the others for half of the time.
    AsItTook { longest: SignedDuration },
}

impl Backoff {
    /// The rest after so many failures in a row, the last of which took so long.
    pub(super) fn rest(self, failures: u32, took: Duration) -> SignedDuration {
        let doubled = 1_i32 << failures.saturating_sub(1).min(16);
        match self {
            Self::Once => SignedDuration::ZERO,
            Self::AfterFailures { first, longest } => {
                first.saturating_mul(doubled - 1).min(longest)
            }
            Self::Every { every, .. } if failures == 0 => every,
            Self::Every { every, first } => first.saturating_mul(doubled).min(every),
            Self::AsItTook { longest } => {
                let took = SignedDuration::try_from(took).unwrap_or(SignedDuration::MAX);
                took.saturating_mul(doubled).min(longest)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seconds of rest after each of some queries, which were answered or not, and took so long.
    fn rests<const N: usize>(backoff: Backoff, ends: [(bool, u64); N]) -> [i64; N] {
        let mut failures = 0;
        ends.map(|(answered, took)| {
            failures = if answered { 0 } else { failures + 1 };
            backoff.rest(failures, Duration::from_secs(took)).as_secs()
        })
    }

    #[test]
    fn a_slow_query_rests_for_as_long_as_it_took_and_longer_while_nothing_comes() {
        let longest = SignedDuration::from_secs(40);
        let ends = [
            (true, 0),
            (true, 30),
            (false, 45),
            (true, 30),
            (false, 15),
            (false, 15),
            (false, 15),
            (false, 45),
            (true, 30),
        ];
        let rests = rests(Backoff::AsItTook { longest }, ends);
        assert_eq!(rests, [0, 30, 40, 30, 15, 30, 40, 40, 30]);
    }

    #[test]
    fn a_query_that_fails_is_asked_sooner_and_never_later_than_the_others() {
        let backoff = Backoff::Every {
            every: SignedDuration::from_mins(5),
            first: SignedDuration::from_mins(1),
        };
        let ends = [false, false, false, false, true, false].map(|answered| (answered, 9));
        assert_eq!(rests(backoff, ends), [60, 120, 240, 300, 300, 60]);
    }

    #[test]
    fn the_first_failure_causes_no_rest_and_the_longest_rest_is_bounded() {
        let backoff = Backoff::AfterFailures {
            first: SignedDuration::from_secs(15),
            longest: SignedDuration::from_mins(2),
        };
        let mut ends = [(false, 9); 40];
        ends[39].0 = true;
        let rests = rests(backoff, ends);
        assert_eq!(rests[..6], [0, 15, 45, 105, 120, 120]);
        assert_eq!(rests[38..], [120, 0]);
    }
}
