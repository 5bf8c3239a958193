//! The order of outgoing queries: which one is asked next, and when one is asked again.
//!
//! Each lane has places of its own, so an endpoint that hangs delays no other. In a lane, tenants
//! take turns, and one alone may take half of the places. A lane may also put queries on trial: a
//! query that is new or was slow then waits for one of fewer places, so queries that hang delay only
//! each other.

mod backoff;
mod key;
mod lane;

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

pub use self::backoff::Backoff;
pub use self::key::QueueKey;
use self::lane::FairLane;

/// For each two places of a lane, one for queries on trial.
const TRIAL: usize = 2;
/// The fast answers in a row after which a slow query is no longer on trial. A query that hangs
/// every now and then is so on trial most of the time.
const TRIALS: u8 = 4;
/// The part of the waiting queries that may be of one tenant.
const TENANTS: usize = 8;

/// The bounds of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LanePolicy {
    /// Queries under way at once.
    pub at_once: usize,
    /// Queries that may be added and wait, an eighth of them of one tenant.
    pub waiting: usize,
    /// The longest time that a fast answer takes; `None` where no query is put on trial.
    pub slow_after: Option<Duration>,
    pub backoff: Backoff,
}

/// Why a query was not added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAdded {
    /// It waits already, is under way, or rests.
    NotDue,
    /// Too many queries wait.
    Full,
    /// Too many queries of its tenant wait.
    TenantFull,
}

/// The end of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryEnd {
    /// False where the query is to rest longer each time.
    pub answered: bool,
    pub took: Duration,
}

/// The names of the two kinds of places of a lane: of queries that are answered fast, and on trial.
pub const PLACES: [&str; 2] = ["soon", "trial"];

/// Queries that are asked or to be asked, in the order of their turns.
#[derive(Debug)]
pub struct QueryQueue<K> {
    lanes: Vec<(LanePolicy, [FairLane<K>; 2])>,
    queries: HashMap<K, QueryState>,
}

#[derive(Debug)]
struct QueryState {
    place: Place,
    wanted: bool,
    /// The fast answers that it needs to leave the trial.
    trials: u8,
    /// The failures in a row.
    failures: u32,
    rests_until: Option<Timestamp>,
}

/// A place of a kind, as in [`PLACES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    None,
    /// For a place, since then.
    Waiting(usize, Timestamp),
    Taken(usize),
    /// Given back, before the end of the query was noted.
    Left,
}

impl QueryState {
    fn new(policy: &LanePolicy) -> Self {
        Self {
            place: Place::None,
            wanted: true,
            trials: policy.slow_after.map_or(0, |_| 1),
            failures: 0,
            rests_until: None,
        }
    }

    fn is_due(&self, now: Timestamp) -> bool {
        self.place == Place::None && self.rests_until.is_none_or(|until| until <= now)
    }
}

impl<K: QueueKey> QueryQueue<K> {
    /// A queue without queries.
    pub fn new(lanes: impl IntoIterator<Item = LanePolicy>) -> Self {
        let lane = |policy: LanePolicy| {
            let places = [policy.at_once, policy.at_once / TRIAL];
            (policy, places.map(FairLane::new))
        };
        Self {
            lanes: lanes.into_iter().map(lane).collect(),
            queries: HashMap::new(),
        }
    }

    /// Sets all that is wanted from `now` on. Queries that rest are left out, and those that have
    /// been due for longest come first.
    pub fn want<'a>(&mut self, wanted: impl Iterator<Item = &'a K>, now: Timestamp)
    where
        K: 'a,
    {
        for query in self.queries.values_mut() {
            query.wanted = false;
        }
        let mut due = Vec::new();
        for key in wanted {
            let policy = &self.lanes[key.lane()].0;
            let query = self.queries.entry(key.clone());
            let query = query.or_insert_with(|| QueryState::new(policy));
            query.wanted = true;
            if query.is_due(now) {
                due.push((query.rests_until, key));
            }
        }
        let queries = &mut self.queries;
        for lane in self.lanes.iter_mut().flat_map(|(_, lanes)| lanes) {
            lane.retain(|key| queries.get(key).is_some_and(|query| query.wanted));
        }
        queries.retain(|_, query| query.wanted || matches!(query.place, Place::Taken(_)));
        due.sort_by_key(|(since, _)| *since);
        for (_, key) in due {
            self.wait(key, now);
        }
    }

    /// Wants one query more.
    ///
    /// # Errors
    /// It is not due, or too many wait.
    pub fn add(&mut self, key: &K, now: Timestamp) -> Result<(), NotAdded> {
        let query = self.queries.get(key);
        if query.is_some_and(|query| !query.is_due(now)) {
            return Err(NotAdded::NotDue);
        }
        let (policy, lanes) = &self.lanes[key.lane()];
        let waiting = |count: fn(&FairLane<K>, &K) -> usize| -> usize {
            lanes.iter().map(|lane| count(lane, key)).sum()
        };
        if waiting(|lane, _| lane.waiting()) >= policy.waiting {
            return Err(NotAdded::Full);
        }
        if key.tenant().is_some() && waiting(FairLane::waiting_of) >= policy.waiting / TENANTS {
            return Err(NotAdded::TenantFull);
        }
        let query = self.queries.entry(key.clone());
        query.or_insert_with(|| QueryState::new(policy)).wanted = true;
        self.wait(key, now);
        Ok(())
    }

    /// Gives the next query a place; `None` while all places are taken or nothing waits.
    pub(crate) fn begin_next(&mut self) -> Option<K> {
        for (_, lanes) in &mut self.lanes {
            for (kind, lane) in lanes.iter_mut().enumerate() {
                let Some(key) = lane.take() else {
                    continue;
                };
                if let Some(query) = self.queries.get_mut(&key) {
                    query.place = Place::Taken(kind);
                }
                return Some(key);
            }
        }
        None
    }

    /// Gives a place back, or the wait for one up; the end is noted by [`Self::ended`].
    pub fn leave(&mut self, key: &K) {
        let Some(query) = self.queries.get_mut(key) else {
            return;
        };
        let (policy, lanes) = &mut self.lanes[key.lane()];
        match query.place {
            Place::Waiting(kind, _) => lanes[kind].retain(|other| other != key),
            Place::Taken(kind) => lanes[kind].give_back(key),
            Place::None | Place::Left => {}
        }
        query.place = Place::Left;
        if policy.backoff == Backoff::Once {
            self.queries.remove(key);
        }
    }

    /// Takes note of the end of a query.
    pub fn ended(&mut self, key: &K, end: QueryEnd, now: Timestamp) {
        self.leave(key);
        let Some(query) = self.queries.get_mut(key) else {
            return;
        };
        let policy = &self.lanes[key.lane()].0;
        query.place = Place::None;
        if let Some(longest) = policy.slow_after {
            query.trials = if end.took > longest {
                TRIALS
            } else {
                query.trials.saturating_sub(1)
            };
        }
        query.failures = if end.answered {
            0
        } else {
            query.failures.saturating_add(1)
        };
        let rest = policy.backoff.rest(query.failures, end.took);
        query.rests_until = now.checked_add(rest).ok().filter(|_| !rest.is_zero());
        if !query.wanted {
            self.queries.remove(key);
        }
    }

    /// True where a query neither waits nor is under way.
    pub(crate) fn is_idle(&self, key: &K) -> bool {
        let query = self.queries.get(key);
        query.is_none_or(|query| query.place == Place::None)
    }

    /// The longest wait for a place at `now`, for both kinds of places of each lane.
    pub fn waits(&self, now: Timestamp) -> Vec<[SignedDuration; 2]> {
        let mut longest = vec![[SignedDuration::ZERO; 2]; self.lanes.len()];
        for (key, query) in &self.queries {
            if let Place::Waiting(kind, since) = query.place {
                let known = &mut longest[key.lane()][kind];
                *known = now.duration_since(since).max(*known);
            }
        }
        longest
    }

    #[cfg(test)]
    pub(super) fn under_way(&self) -> usize {
        let queries = self.queries.values();
        let taken = queries.filter(|query| matches!(query.place, Place::Taken(_)));
        taken.count()
    }

    fn wait(&mut self, key: &K, now: Timestamp) {
        let query = self.queries.get_mut(key);
        if let Some(query) = query.filter(|query| query.place == Place::None) {
            let kind = usize::from(query.trials > 0);
            query.place = Place::Waiting(kind, now);
            self.lanes[key.lane()].1[kind].wait(key.clone());
        }
    }
}

#[cfg(test)]
mod tests;
