//! Asks the queries of a source, round by round, at most four at a time.
//!
//! A round waits for its queries until its deadline, and is put together from the answers that are
//! there. A query that is still under way goes on; until its answer comes, the previous one counts.
//! So a query that takes longer than a round is always a little behind, and never missing. Queries
//! that date others come first, one after the other, and the rest at half of the round at the
//! latest. If none of the first reaches the server, the rest are not asked, because each would be
//! waited for in full. A query that takes longer than a round rests for as long as it took, so that
//! it leaves its place to the others for half of the time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_scaling::tick::query_answers::CachedValue;
use jiff::{SignedDuration, Timestamp};
use tokio::task::{JoinError, JoinSet};

use super::answer::{Answers, QueryAnswer};
use super::cache;
use super::cache::MetricsCache;
use super::error::MetricsError;
use super::query::{QueryKey, UsageQuery};
use super::query_queue::{Backoff, LanePolicy, QueryEnd, QueueKey};
use super::query_runner::completed;
use super::query_turns::QueryTurns;
use super::round::{FinishedQuery, MetricsRound, QueryCompletion};
use super::source::MetricsSource;

/// Queries under way at once: a round is done in a few turns, and the server is left to others.
const AT_ONCE: usize = 4;

/// Time limits of rounds and queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryTimeLimits {
    /// The longest that a round waits for its queries.
    pub deadline: Duration,
    /// The longest that one query may take.
    pub patience: Duration,
}

/// The queries of one source, with their newest answers.
pub struct QueryRounds {
    source: Arc<dyn MetricsSource>,
    limits: QueryTimeLimits,
    cache: MetricsCache<QueryKey, QueryAnswer>,
    turns: QueryTurns<UsageQuery>,
    under_way: JoinSet<FinishedQuery>,
    /// The last end of each query.
    ends: HashMap<UsageQuery, QueryCompletion>,
}

impl QueueKey for UsageQuery {}

/// The queries that have ended in one round.
type FinishedQueries = HashMap<UsageQuery, FinishedQuery>;

impl QueryRounds {
    /// The queries of a source that has not been asked yet.
    pub fn new(source: Arc<dyn MetricsSource>, limits: QueryTimeLimits) -> Self {
        let cache = MetricsCache::new(&cache::Settings {
            capacity: u64::try_from(source.queries().len()).unwrap_or(u64::MAX),
            time_to_idle: None,
            timeout: limits.patience,
        });
        // A server that is back is soon asked again.
        let longest = SignedDuration::try_from(limits.patience);
        let longest = longest.unwrap_or(SignedDuration::MAX);
        Self {
            turns: QueryTurns::new(LanePolicy {
                at_once: AT_ONCE,
                waiting: source.queries().len(),
                slow_after: None,
                backoff: Backoff::AsItTook { longest },
            }),
            source,
            limits,
            cache,
            under_way: JoinSet::new(),
            ends: HashMap::new(),
        }
    }

    /// The name of the source.
    pub fn source(&self) -> &'static str {
        self.source.name()
    }

    /// Asks all queries that are due at `now`, and puts together what is there at the deadline.
    ///
    /// # Errors
    /// There is no answer to any query; the first cause is given.
    pub async fn round(&mut self, now: Timestamp) -> Result<MetricsRound, Arc<MetricsError>> {
        let mut ended = FinishedQueries::default();
        while let Some(joined) = self.under_way.try_join_next() {
            self.take(joined, now, &mut ended);
        }
        // A query that does not end until then goes on without the round.
        let deadline = self.limits.deadline;
        let _ = tokio::time::timeout(deadline, self.ask(now, &mut ended)).await;
        self.put_together(ended).await
    }

    /// The time of the newest measurement of any node, of the last round or one before it.
    pub(super) async fn newest(&self) -> Option<Timestamp> {
        let mut newest = None;
        for &query in self.source.queries() {
            let kept = self.kept(query).await;
            newest = newest.max(kept.and_then(|kept| kept.value.newest()));
        }
        newest
    }

    async fn ask(&mut self, now: Timestamp, ended: &mut FinishedQueries) {
        let (dating, others) = self.queries();
        let mut half = std::pin::pin!(tokio::time::sleep(self.limits.deadline / 2));
        for &query in &dating {
            self.begin(query, now, ended).await;
            while !self.turns.is_idle(&query) {
                tokio::select! {
                    joined = self.under_way.join_next() => {
                        let Some(joined) = joined else { break };
                        self.take(joined, now, ended);
                    }
                    // Older times make values no fresher than they are, and one query that hangs
                    // leaves undated only what it alone would date.
                    () = &mut half => break,
                }
            }
        }
        // A server that has dated nothing yet may be one that hangs.
        while self.before(ended).await.is_empty()
            && dating.iter().any(|query| !self.turns.is_idle(query))
            && let Some(joined) = self.under_way.join_next().await
        {
            self.take(joined, now, ended);
        }
        let out_of_reach = |query| self.ends.get(query) == Some(&QueryCompletion::Unreached);
        if !dating.is_empty() && dating.iter().all(out_of_reach) {
            ended.extend(
                others
                    .into_iter()
                    .map(|query| (query, FinishedQuery::skipped(query, now))),
            );
            return;
        }
        for query in others {
            self.begin(query, now, ended).await;
        }
        while let Some(joined) = self.under_way.join_next().await {
            self.take(joined, now, ended);
        }
    }

    /// The queries that others are dated by, and the others.
    fn queries(&self) -> (Vec<UsageQuery>, Vec<UsageQuery>) {
        let queries = self.source.queries().iter().copied();
        queries.partition(|query| query.dates_others())
    }

    /// Asks a query, if it is due.
    async fn begin(&mut self, query: UsageQuery, now: Timestamp, ended: &FinishedQueries) {
        if ended.contains_key(&query) {
            return;
        }
        let before = self.before(ended).await;
        // From here on nothing waits: what has begun has to be under way.
        let Ok(turn) = self.turns.join(query, now) else {
            return;
        };
        let (source, cache) = (Arc::clone(&self.source), self.cache.clone());
        let key = self.key(query);
        self.under_way.spawn(async move {
            let _turn = turn.await;
            let begun = clock::instant();
            let fetch = source.fetch(query, &before, now);
            let answer = cache.refresh(key, now, fetch).await;
            FinishedQuery {
                query,
                at: now,
                took: begun.elapsed(),
                outcome: answer.map(|entry| entry.value),
            }
        });
    }

    /// The answers that others are dated by: of this round, or else the last ones.
    async fn before(&self, ended: &FinishedQueries) -> Answers {
        let mut before = Answers::default();
        for query in self.queries().0 {
            let answer = match ended.get(&query) {
                Some(asked) => asked.outcome.as_ref().ok().cloned(),
                None => self.last(query).await.map(|entry| entry.value),
            };
            if let Some(answer) = answer {
                before.push(query, answer);
            }
        }
        before
    }

    fn take(
        &mut self,
        joined: Result<FinishedQuery, JoinError>,
        now: Timestamp,
        ended: &mut FinishedQueries,
    ) {
        let Some(asked) = completed(joined) else {
            return;
        };
        let (query, end) = (asked.query, asked.end());
        let took = Duration::try_from(now.duration_since(asked.at)).unwrap_or_default();
        let answered = end != QueryCompletion::Unreached;
        self.turns.ended(&query, QueryEnd { answered, took }, now);
        self.ends.insert(query, end);
        ended.insert(query, asked);
    }

    async fn put_together(
        &self,
        mut ended: FinishedQueries,
    ) -> Result<MetricsRound, Arc<MetricsError>> {
        let mut all = Vec::new();
        for &query in self.source.queries() {
            all.push(match ended.remove(&query) {
                Some(asked) => (asked, None),
                None => (FinishedQuery::late(query), self.last(query).await),
            });
        }
        MetricsRound::of(all)
    }

    /// The last answer to a query, where nothing has failed since.
    async fn last(&self, query: UsageQuery) -> Option<CachedValue<QueryAnswer>> {
        let end = *self.ends.get(&query)?;
        match end {
            QueryCompletion::Answered => self.kept(query).await,
            QueryCompletion::Unreached | QueryCompletion::Failed => None,
        }
    }

    async fn kept(&self, query: UsageQuery) -> Option<CachedValue<QueryAnswer>> {
        self.cache.get(&self.key(query)).await
    }

    fn key(&self, query: UsageQuery) -> QueryKey {
        QueryKey {
            source: self.source.name(),
            query,
        }
    }
}

#[cfg(test)]
mod tests;
