//! How soon a query is asked again: at the next round, and after it was slow, once it has rested for
//! as long as it took.
//!
//! A query that takes longer than a round keeps one of few places all that time. The rest leaves it
//! to the others for half of the time, and doubles while the server answers nothing at all. It is
//! never longer than the time that one query is given: a server that is back is soon asked again.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// The pace of one query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct QueryBackoff {
    under_way: bool,
    /// The queries in a row that did not reach the server.
    unreached: u32,
    /// True where the last one was answered.
    answered: bool,
    rests_until: Option<Timestamp>,
}

impl QueryBackoff {
    /// True where a round at `now` asks the query.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        !self.under_way && self.rests_until.is_none_or(|until| until <= now)
    }

    pub(super) const fn is_under_way(&self) -> bool {
        self.under_way
    }

    /// True where the answer before counts until there is a newer one: nothing has failed since.
    pub(super) const fn keeps_the_last(&self) -> bool {
        self.answered
    }

    /// True where the server was not reached the last time.
    pub(super) const fn is_out_of_reach(&self) -> bool {
        self.unreached > 0
    }

    pub(super) fn begin(&mut self) {
        self.under_way = true;
    }

    /// Takes note of the end, seen at `now`, of a query asked at `asked`, which was given `patience`
    /// to end.
    pub(super) fn end(
        &mut self,
        asked: Timestamp,
        now: Timestamp,
        end: QueryCompletion,
        patience: Duration,
    ) {
        let took = now.duration_since(asked).max(SignedDuration::ZERO);
        self.under_way = false;
        self.answered = end == QueryCompletion::Answered;
        self.unreached = match end {
            QueryCompletion::Unreached => self.unreached.saturating_add(1),
            QueryCompletion::Answered | QueryCompletion::Failed => 0,
        };
        let longest = SignedDuration::try_from(patience).unwrap_or(SignedDuration::MAX);
        let doubled = 1_i32 << self.unreached.saturating_sub(1).min(16);
        let rest = took.saturating_mul(doubled).min(longest);
        self.rests_until = now.checked_add(rest).ok();
    }
}

/// The way in which a query ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueryCompletion {
    Answered,
    /// The server was not reached, or did not answer in time.
    Unreached,
    /// It answered something else.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(40);

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_query_that_ends_in_its_round_is_due_at_the_next() {
        for end in [
            QueryCompletion::Answered,
            QueryCompletion::Failed,
            QueryCompletion::Unreached,
        ] {
            let mut pace = QueryBackoff::default();
            assert!(pace.is_due(second(0)));
            pace.begin();
            assert!(!pace.is_due(second(1000)) && pace.is_under_way());
            pace.end(second(0), second(0), end, PATIENCE);
            assert!(pace.is_due(second(15)) && !pace.is_under_way(), "{end:?}");
            assert_eq!(pace.keeps_the_last(), end == QueryCompletion::Answered);
        }
    }

    #[test]
    fn a_slow_query_rests_for_as_long_as_it_took_and_longer_while_nothing_comes_up_to_its_patience()
    {
        let mut pace = QueryBackoff::default();
        let mut now = 0;
        for (end, took, rest) in [
            (QueryCompletion::Answered, 30, 30),
            (QueryCompletion::Unreached, 45, 40),
            (QueryCompletion::Answered, 30, 30),
            (QueryCompletion::Unreached, 15, 15),
            (QueryCompletion::Unreached, 15, 30),
            (QueryCompletion::Unreached, 15, 40),
            (QueryCompletion::Unreached, 45, 40),
            (QueryCompletion::Answered, 30, 30),
            (QueryCompletion::Failed, 15, 15),
        ] {
            pace.begin();
            pace.end(second(now), second(now + took), end, PATIENCE);
            now += took + rest;
            assert!(!pace.is_due(second(now - 1)), "{end:?} {took}");
            assert!(pace.is_due(second(now)), "{end:?} {took}");
        }
    }
}
