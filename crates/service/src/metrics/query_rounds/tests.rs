//! Rounds of a source that answers fast, slowly, or not at all, in virtual time.

use std::sync::Mutex;

use async_trait::async_trait;
use evenkeel_metrics::usage::UsageSample;
use evenkeel_objects::pod_name::PodName;
use evenkeel_units::{Amount, Bytes, Resource, Resources};

use super::*;
use crate::metrics::answer::{Content, SampleTimes};

const TIMES: UsageQuery = UsageQuery::SampleTime(Resource::Cpu);
const MEMORY: UsageQuery = UsageQuery::Pod(Resource::Memory);
const PODS: [UsageQuery; 5] = [
    UsageQuery::Pod(Resource::Cpu),
    MEMORY,
    UsageQuery::Pod(Resource::NetworkIo),
    UsageQuery::Pod(Resource::DiskIo),
    UsageQuery::Pod(Resource::Disk),
];
/// The seconds from one round to the next.
const TICK: i64 = 15;
const LIMITS: QueryTimeLimits = QueryTimeLimits {
    deadline: Duration::from_secs(10),
    patience: Duration::from_secs(40),
};

/// The seconds that a query takes, and how it then ends.
type Script = fn(UsageQuery) -> (u64, Result<(), MetricsError>);

#[derive(Debug, Default)]
struct Seen {
    /// The queries asked, with the number of dating answers before each.
    asked: Vec<(UsageQuery, usize)>,
    running: Vec<UsageQuery>,
    most_at_once: usize,
}

/// Answers with a value of one Pod, as the script says.
struct Fake {
    queries: Vec<UsageQuery>,
    script: Mutex<Script>,
    seen: Mutex<Seen>,
}

impl Fake {
    fn new(queries: &[UsageQuery], script: Script) -> Arc<Self> {
        Arc::new(Self {
            queries: queries.to_vec(),
            script: Mutex::new(script),
            seen: Mutex::default(),
        })
    }

    fn asked(&self) -> usize {
        self.seen.lock().unwrap().asked.len()
    }
}

/// A query under way, until it ends or is given up.
struct Running<'a>(&'a Fake, UsageQuery);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut seen = self.0.seen.lock().unwrap();
        seen.running.retain(|one| *one != self.1);
    }
}

#[async_trait]
impl MetricsSource for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn queries(&self) -> &[UsageQuery] {
        &self.queries
    }

    async fn fetch(
        &self,
        query: UsageQuery,
        before: &Answers,
        _now: Timestamp,
    ) -> Result<QueryAnswer, MetricsError> {
        let (seconds, outcome) = {
            let mut seen = self.seen.lock().unwrap();
            let held = self.queries.iter().filter(|query| before.hold(**query));
            seen.asked.push((query, held.count()));
            assert!(
                !seen.running.contains(&query),
                "{query:?} is under way twice"
            );
            seen.running.push(query);
            seen.most_at_once = seen.most_at_once.max(seen.running.len());
            (self.script.lock().unwrap())(query)
        };
        let running = Running(self, query);
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        drop(running);
        outcome?;
        let UsageQuery::Pod(resource) = query else {
            return Ok(QueryAnswer {
                content: Content::Times(SampleTimes::default()),
                ..QueryAnswer::default()
            });
        };
        let mut used = Resources::default();
        used[resource] = Some(Amount::new(1));
        let mut usage = UsageSample::default();
        usage.insert_pod(&PodName::new("shop", "web"), &used);
        Ok(usage.into())
    }
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

type Outcome = Result<MetricsRound, Arc<MetricsError>>;

/// Rounds at the ticks of a poller.
struct Rounds {
    asking: QueryRounds,
    ticks: tokio::time::Interval,
    next: i64,
}

impl Rounds {
    fn new(source: &Arc<Fake>) -> Self {
        Self {
            asking: QueryRounds::new(source.clone(), LIMITS),
            ticks: tokio::time::interval(Duration::from_secs(TICK.unsigned_abs())),
            next: 0,
        }
    }

    /// The round of the next tick, with its second.
    async fn next(&mut self) -> (i64, Outcome) {
        self.ticks.tick().await;
        let tick = self.next;
        self.next += TICK;
        (tick, self.asking.round(second(tick)).await)
    }
}

fn reasons(round: &MetricsRound) -> Vec<&'static str> {
    let errors = round.reports.iter().map(|report| report.error.as_deref());
    errors
        .map(|error| error.map_or("", MetricsError::reason))
        .collect()
}

fn has(round: &MetricsRound, query: UsageQuery) -> bool {
    matches!(query, UsageQuery::Pod(resource) if !round.usage.pods[resource].is_empty())
}

#[tokio::test(start_paused = true)]
async fn a_round_shares_the_answers_that_are_kept_by_the_key_of_each_query() {
    let source = Fake::new(&PODS, |_| (0, Ok(())));
    let mut asking = QueryRounds::new(source.clone(), LIMITS);
    let round = asking.round(second(0)).await.unwrap();
    assert_eq!(reasons(&round), [""; 5]);
    for query in PODS {
        let kept = asking.kept(query).await.unwrap();
        let (Content::Usage(usage), UsageQuery::Pod(resource)) = (&kept.value.content, query)
        else {
            panic!("{query:?} has {kept:?}");
        };
        assert!(Arc::ptr_eq(
            &usage.pods[resource],
            &round.usage.pods[resource]
        ));
        assert_eq!(round.pods_as_of[resource], Some(second(0)));
    }
    assert_eq!(source.asked(), PODS.len());
    asking.round(second(15)).await.unwrap();
    assert_eq!(source.asked(), 2 * PODS.len());
}

#[tokio::test(start_paused = true)]
async fn four_queries_are_under_way_at_once_after_those_that_date_them() {
    let disk = UsageQuery::SampleTime(Resource::Disk);
    let source = Fake::new(&[&[TIMES, disk], &PODS[..]].concat(), |_| (1, Ok(())));
    let mut asking = QueryRounds::new(source.clone(), LIMITS);
    // Two, one after the other, then four and one.
    let four_turns = Duration::from_millis(4500);
    let round = tokio::time::timeout(four_turns, asking.round(second(0))).await;
    assert_eq!(reasons(&round.unwrap().unwrap()), [""; 7]);
    let seen = source.seen.lock().unwrap();
    assert_eq!(seen.most_at_once, 4);
    assert_eq!(seen.asked[..2], [(TIMES, 0), (disk, 1)]);
    assert!(seen.asked[2..].iter().all(|(_, before)| *before == 2));
}

#[tokio::test(start_paused = true)]
async fn a_query_that_fails_leaves_its_part_absent_and_takes_no_other_with_it() {
    let source = Fake::new(&PODS, |_| (0, Ok(())));
    let mut asking = QueryRounds::new(source.clone(), LIMITS);
    asking.round(second(0)).await.unwrap();
    *source.script.lock().unwrap() = |query| match query {
        MEMORY => (0, Err(MetricsError::TooLarge { limit: Bytes(1) })),
        _ => (0, Ok(())),
    };
    let round = asking.round(second(15)).await.unwrap();
    assert_eq!(reasons(&round), ["", "TooLarge", "", "", ""]);
    assert_eq!(
        PODS.map(|query| has(&round, query)),
        [true, false, true, true, true]
    );
    assert_eq!(asking.kept(MEMORY).await.unwrap().fetched_at, second(0));
}

/// The harm of one slow query: the whole round was thrown away.
#[tokio::test(start_paused = true)]
async fn a_query_slower_than_a_round_comes_late_and_the_others_in_time() {
    let source = Fake::new(&PODS, |query| match query {
        MEMORY => (25, Ok(())),
        _ => (1, Ok(())),
    });
    let mut rounds = Rounds::new(&source);
    for expected in [false, false, true, true, true, true, true, true] {
        let (tick, round) = rounds.next().await;
        let round = round.unwrap();
        assert_eq!(has(&round, MEMORY), expected, "{tick}");
        for query in PODS {
            let UsageQuery::Pod(resource) = query else {
                unreachable!("all are of Pods");
            };
            let as_of = round.pods_as_of[resource];
            if query == MEMORY {
                let oldest = second(tick - 75);
                assert!(
                    as_of.is_none_or(|as_of| as_of >= oldest),
                    "{tick}: {as_of:?}"
                );
            } else {
                assert_eq!(as_of, Some(second(tick)), "{query:?}");
            }
        }
    }
}

/// The harm of a slow server: each query was given up after ten seconds, and asked again to be
/// given up again, so that nothing was ever known.
#[tokio::test(start_paused = true)]
async fn a_server_whose_every_query_is_slower_than_a_round_blinds_only_at_the_start() {
    for slow in [12, 20, 30] {
        let script: Script = match slow {
            12 => |_| (12, Ok(())),
            20 => |_| (20, Ok(())),
            _ => |_| (30, Ok(())),
        };
        let source = Fake::new(&[&[TIMES], &PODS[..]].concat(), script);
        let mut rounds = Rounds::new(&source);
        let (mut known, mut oldest) = (0, 0);
        for _ in 0..60 {
            let (tick, round) = rounds.next().await;
            if tick < 150 {
                continue;
            }
            let round = round.unwrap();
            assert!(
                PODS.iter().all(|query| has(&round, *query)),
                "{slow}: {tick}"
            );
            for as_of in round.pods_as_of.values().iter().flatten() {
                oldest = oldest.max(tick - as_of.as_second());
            }
            known += 1;
        }
        assert!(known > 40 && oldest <= 180, "{slow}: {known} {oldest}");
        let seen = source.seen.lock().unwrap();
        assert!(seen.most_at_once <= 4);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_is_asked_seldom_and_is_back_when_it_is() {
    let source = Fake::new(&[&[TIMES], &PODS[..]].concat(), |_| (3600, Ok(())));
    let mut rounds = Rounds::new(&source);
    let (_, first) = rounds.next().await;
    assert_eq!(first.unwrap_err().reason(), "Late");
    let mut gone = 0;
    for _ in 0..80 {
        let (tick, round) = rounds.next().await;
        assert!(round.is_err(), "{tick}");
        gone = tick;
    }
    assert!(source.asked() <= 16, "{}", source.asked());
    *source.script.lock().unwrap() = |_| (1, Ok(()));
    let back = loop {
        let (tick, round) = rounds.next().await;
        if round.is_ok_and(|round| reasons(&round) == [""; 6]) {
            break tick;
        }
    };
    // A hanging query is given up, and rests no longer than it took; both end between two rounds.
    let patience = i64::try_from(LIMITS.patience.as_secs()).unwrap();
    assert!(back - gone <= 2 * (patience + TICK), "{gone} {back}");
}

/// The harm of one dating query that never answers: it took every round for itself, and nothing
/// else was known any more.
#[tokio::test(start_paused = true)]
async fn a_dating_query_that_hangs_leaves_the_others_fresh_in_every_round() {
    let disk = UsageQuery::SampleTime(Resource::Disk);
    let node = UsageQuery::Node(Resource::Disk);
    for (hangs, script) in [
        (
            TIMES,
            (|query| (if query == TIMES { 3600 } else { 1 }, Ok(()))) as Script,
        ),
        (disk, |query| {
            let hangs = query == UsageQuery::SampleTime(Resource::Disk);
            (if hangs { 3600 } else { 1 }, Ok(()))
        }),
    ] {
        let source = Fake::new(&[&[TIMES, disk, node], &PODS[..]].concat(), script);
        let mut rounds = Rounds::new(&source);
        for _ in 0..40 {
            let (tick, round) = rounds.next().await;
            let round = round.unwrap();
            for query in PODS {
                let UsageQuery::Pod(resource) = query else {
                    unreachable!("all are of Pods");
                };
                let as_of = round.pods_as_of[resource];
                assert_eq!(as_of, Some(second(tick)), "{hangs:?} {query:?}");
            }
            let mut reports = round.reports.iter();
            let late = reports.find(|report| report.query == hangs).unwrap();
            assert!(late.error.is_some(), "{hangs:?} {tick}");
            let others = round.failures().filter(|(query, _)| *query != hangs);
            assert_eq!(others.count(), 0, "{hangs:?} {tick}");
        }
        let seen = source.seen.lock().unwrap();
        let mut of_nodes = seen.asked.iter().filter(|(query, _)| *query == node);
        assert!(of_nodes.all(|(_, before)| *before == 1), "{hangs:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_no_query_that_dates_others_reaches_the_server_the_rest_is_skipped() {
    let source = Fake::new(&[&[TIMES], &PODS[..]].concat(), |query| match query {
        TIMES => (1, Err(MetricsError::Timeout)),
        _ => (0, Ok(())),
    });
    let mut asking = QueryRounds::new(source.clone(), LIMITS);
    assert_eq!(
        asking.round(second(0)).await.unwrap_err().reason(),
        "Timeout"
    );
    assert_eq!(source.asked(), 1);
}

#[tokio::test]
async fn a_source_without_queries_has_an_empty_round() {
    let mut asking = QueryRounds::new(Arc::new(crate::metrics::NoMetrics), LIMITS);
    let round = asking.round(second(0)).await.unwrap();
    assert_eq!(*round.usage, UsageSample::default());
}
