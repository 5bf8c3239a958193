//! Turns by hand, and whole rounds under a virtual clock.

use std::collections::BTreeMap;

use evenkeel_metrics::metric_query::{MetricQuery, MetricSubject, ServedMetric};
use evenkeel_metrics::signal::MetricIdentifier;

use super::*;
use crate::metrics::target_queries;
use crate::metrics::target_queries::TargetQuery as _;

const SOON_ANSWERED: QueryEnd = QueryEnd {
    answered: true,
    took: Duration::from_millis(100),
};
const FAILED: QueryEnd = QueryEnd {
    answered: false,
    took: Duration::from_millis(100),
};
const TIMED_OUT: QueryEnd = QueryEnd {
    answered: false,
    took: Duration::from_secs(10),
};
const CUSTOM: usize = 1;
const EXTERNAL: usize = 2;
const PLACES_ON_TRIAL: usize = MetricQuery::RESPONDENTS[EXTERNAL].at_once / TRIAL;

fn targets() -> QueryQueue<MetricQuery> {
    let endpoints = MetricQuery::RESPONDENTS.iter();
    QueryQueue::new(endpoints.map(|one| target_queries::lane(one.at_once)))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn external(namespace: &str, name: &str) -> MetricQuery {
    let metric = ServedMetric::External(MetricIdentifier::named(name));
    MetricQuery {
        namespace: namespace.into(),
        subject: MetricSubject::Served(metric),
    }
}

fn externals(namespace: &str, count: usize) -> Vec<MetricQuery> {
    let numbers = 0..count;
    numbers
        .map(|number| external(namespace, &number.to_string()))
        .collect()
}

fn promql(namespace: &str) -> MetricQuery {
    MetricQuery {
        namespace: namespace.into(),
        subject: MetricSubject::PromQl("up".into()),
    }
}

fn under_way(queue: &mut QueryQueue<MetricQuery>) -> Vec<MetricQuery> {
    std::iter::from_fn(|| queue.begin_next()).collect()
}

#[test]
fn namespaces_take_turns_and_none_takes_more_than_half_of_the_places() {
    let mut queue = targets();
    let a = externals("a", 9);
    queue.want(a.iter(), at(0));
    let half = PLACES_ON_TRIAL / 2;
    assert_eq!(under_way(&mut queue), a[..half]);
    // The two that come later each find places, and the one that waits longer finds no more.
    let (b, c) = (externals("b", 9), externals("c", 9));
    queue.want([&a, &b, &c].into_iter().flatten(), at(15));
    assert_eq!(
        under_way(&mut queue),
        [&b[0], &c[0], &b[1], &c[1]].map(Clone::clone)
    );
    // Then all namespaces take turns.
    let mut next = Vec::new();
    for query in [&a[0], &b[0], &c[0]] {
        queue.ended(query, SOON_ANSWERED, at(16));
        next.extend(under_way(&mut queue));
    }
    assert_eq!(next, [a[half].clone(), b[2].clone(), c[2].clone()]);
}

#[test]
fn an_api_that_hangs_holds_up_no_other() {
    let mut queue = targets();
    let hanging: Vec<_> = (0..99).map(|n| external(&n.to_string(), "x")).collect();
    queue.want(hanging.iter(), at(0));
    assert_eq!(under_way(&mut queue).len(), PLACES_ON_TRIAL);
    queue.want(hanging.iter().chain([&promql("z")]), at(15));
    assert_eq!(under_way(&mut queue), [promql("z")]);
}

#[test]
fn what_is_under_way_or_waits_is_asked_once_and_what_is_not_wanted_never() {
    let mut queue = targets();
    let query = external("a", "x");
    for second in [0, 15] {
        queue.want([&query].into_iter(), at(second));
    }
    assert_eq!(under_way(&mut queue), std::slice::from_ref(&query));
    queue.want([].into_iter(), at(30));
    queue.ended(&query, FAILED, at(31));
    assert!(queue.queries.is_empty(), "and its failure is forgotten");
    queue.want([&query].into_iter(), at(45));
    queue.want([].into_iter(), at(60));
    assert_eq!(under_way(&mut queue), []);
    queue.want([&query].into_iter(), at(75));
    assert_eq!(under_way(&mut queue), [query]);
}

#[test]
fn what_fails_rests_longer_each_time_and_an_answer_ends_it() {
    let mut queue = targets();
    let query = external("a", "x");
    let mut asked = Vec::new();
    for second in (0..600).step_by(15) {
        queue.want([&query].into_iter(), at(second));
        if queue.begin_next().is_some() {
            asked.push(second);
            let ending = if second == 360 { SOON_ANSWERED } else { FAILED };
            queue.ended(&query, ending, at(second + 1));
        }
    }
    assert_eq!(asked, [0, 15, 45, 105, 225, 360, 375, 390, 420, 480]);
}

#[test]
fn what_was_slow_is_on_trial_until_it_was_answered_soon_several_times() {
    let mut queue = targets();
    let query = external("a", "x");
    let mut lanes = Vec::new();
    let mut second = 0;
    for ending in [
        SOON_ANSWERED,
        SOON_ANSWERED,
        TIMED_OUT,
        SOON_ANSWERED,
        SOON_ANSWERED,
        FAILED,
        SOON_ANSWERED,
        SOON_ANSWERED,
    ] {
        queue.want([&query].into_iter(), at(second));
        assert_eq!(under_way(&mut queue), std::slice::from_ref(&query));
        let Place::Taken(kind) = queue.queries[&query].place else {
            panic!("{queue:?}");
        };
        lanes.push(PLACES[kind]);
        queue.ended(&query, ending, at(second + 1));
        second += 300;
    }
    let trial = "trial";
    assert_eq!(
        lanes,
        [trial, "soon", "soon", trial, trial, trial, trial, "soon"]
    );
}

impl QueueKey for &'static str {}

#[test]
fn each_is_asked_every_so_often_a_new_one_at_once_and_what_is_due_for_longest_first() {
    let mut queue = QueryQueue::new([LanePolicy {
        at_once: 8,
        waiting: usize::MAX,
        slow_after: None,
        backoff: Backoff::Every {
            every: SignedDuration::from_secs(300),
            first: SignedDuration::from_secs(60),
        },
    }]);
    let due = |queue: &mut QueryQueue<&'static str>, names: &[&'static str], second| {
        queue.want(names.iter(), at(second));
        let due: Vec<_> = std::iter::from_fn(|| queue.begin_next()).collect();
        due.join(" ")
    };
    assert_eq!(due(&mut queue, &["a", "b"], 0), "a b");
    assert_eq!(due(&mut queue, &["a", "b"], 1), "", "both are under way");
    queue.ended(&"a", SOON_ANSWERED, at(60));
    queue.ended(&"b", SOON_ANSWERED, at(0));
    assert_eq!(due(&mut queue, &["a", "b"], 240), "");
    assert_eq!(due(&mut queue, &["a", "b", "c"], 360), "c b a");
    for name in ["b", "c"] {
        queue.ended(&name, FAILED, at(360));
    }
    assert_eq!(due(&mut queue, &["b", "c"], 419), "");
    assert_eq!(due(&mut queue, &["b", "c"], 420), "b c");
    // One that went while it was asked, and is there again.
    queue.ended(&"a", SOON_ANSWERED, at(360));
    assert_eq!(due(&mut queue, &["a"], 420), "a");
}

#[test]
fn the_end_of_a_turn_is_not_the_end_of_a_query_before_it_is_noted() {
    let mut queue = QueryQueue::new([LanePolicy {
        at_once: 1,
        waiting: 2,
        slow_after: None,
        backoff: Backoff::AsItTook {
            longest: SignedDuration::from_secs(40),
        },
    }]);
    assert_eq!(queue.add(&"a", at(0)), Ok(()));
    assert_eq!(queue.add(&"a", at(0)), Err(NotAdded::NotDue), "it waits");
    assert_eq!(queue.begin_next(), Some("a"));
    assert_eq!(queue.add(&"a", at(0)), Err(NotAdded::NotDue), "it is asked");
    for name in ["b", "c"] {
        assert_eq!(queue.add(&name, at(0)), Ok(()));
    }
    assert_eq!(queue.add(&"d", at(0)), Err(NotAdded::Full));
    assert_eq!(queue.begin_next(), None, "there is one place");
    queue.leave(&"b");
    queue.leave(&"a");
    assert_eq!(queue.begin_next(), Some("c"));
    assert!(!queue.is_idle(&"a"));
    assert_eq!(queue.add(&"a", at(0)), Err(NotAdded::NotDue));
    let end = QueryEnd {
        answered: true,
        took: Duration::from_secs(10),
    };
    queue.ended(&"a", end, at(10));
    assert!(queue.is_idle(&"a"));
    assert_eq!(queue.add(&"a", at(19)), Err(NotAdded::NotDue), "it rests");
    assert_eq!(queue.add(&"a", at(20)), Ok(()));
}

#[test]
fn the_longest_wait_of_each_lane_is_told() {
    let mut queue = targets();
    let queries = externals("a", 9);
    queue.want(queries.iter(), at(0));
    assert_eq!(queue.waits(at(0)), vec![[SignedDuration::ZERO; 2]; 4]);
    under_way(&mut queue);
    let waits = queue.waits(at(40));
    assert_eq!(
        waits[EXTERNAL],
        [SignedDuration::ZERO, SignedDuration::from_secs(40)]
    );
    assert_eq!(waits[CUSTOM], [SignedDuration::ZERO; 2]);
}

/// Asks the questions at each tick of 15 seconds for so many seconds, where the n-th time that a question
/// is asked takes as long as `takes` says, of which ten seconds are a timeout. Gives the seconds of the
/// answers to each.
fn rounds(
    questions: &[MetricQuery],
    seconds: i64,
    takes: impl Fn(usize, usize) -> i64,
) -> Vec<Vec<i64>> {
    let places: HashMap<&MetricQuery, usize> = questions.iter().zip(0..).collect();
    let mut queue = targets();
    let mut asked = vec![0_usize; questions.len()];
    let mut answers = vec![Vec::new(); questions.len()];
    // By the millisecond of their ends.
    let mut ends: BTreeMap<(i64, usize), i64> = BTreeMap::new();
    let millis = |millis: i64| Timestamp::from_millisecond(millis).unwrap();
    let mut tick = 0;
    while tick < seconds * 1000 {
        let end = ends.keys().next().copied().filter(|(end, _)| *end <= tick);
        let ended = end.and_then(|end| Some((end, ends.remove(&end)?)));
        let now = if let Some(((now, place), took)) = ended {
            let answered = took < 10_000;
            let ending = QueryEnd {
                answered,
                took: Duration::from_millis(took.unsigned_abs()),
            };
            queue.ended(&questions[place], ending, millis(now));
            answers[place].extend(answered.then_some(now / 1000));
            now
        } else {
            let now = tick;
            queue.want(questions.iter(), millis(now));
            tick += 15_000;
            now
        };
        while let Some(query) = queue.begin_next() {
            let place = places[&query];
            let took = takes(place, asked[place]);
            asked[place] += 1;
            ends.insert((now + took, place), took);
        }
    }
    answers
}

/// The longest time without an answer, after the first `warm` seconds and until `end`.
fn longest_gap(answers: &[i64], warm: i64, end: i64) -> i64 {
    let since = answers.iter().copied().filter(|at| *at >= warm);
    let times: Vec<_> = std::iter::once(warm).chain(since).chain([end]).collect();
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.max().unwrap()
}

/// The harm: with four places in all, two namespaces with questions that hang left one or two to
/// all others. The signals of those grew too old.
#[test]
fn namespaces_whose_questions_hang_make_nobody_else_wait() {
    let bad = ["bad-1", "bad-2"].map(|namespace| externals(namespace, 100));
    let good = (0..10).map(|number| externals(&format!("good-{number}"), 30));
    let questions: Vec<_> = bad.into_iter().chain(good).flatten().collect();
    for (how, takes) in [
        ("always", (|_| 10_000) as fn(usize) -> i64),
        ("every second time", |time| {
            if time % 2 == 1 { 10_000 } else { 100 }
        }),
    ] {
        let answers = rounds(
            &questions,
            900,
            |place, time| {
                if place < 200 { takes(time) } else { 100 }
            },
        );
        let gaps = answers[200..].iter();
        let longest = gaps.map(|answers| longest_gap(answers, 300, 885)).max();
        assert!(longest <= Some(30), "{how}: {longest:?} s");
    }
}

/// The harm: without any malice a round of so many took four minutes.
#[test]
fn ten_thousand_questions_of_a_tenth_of_a_second_are_answered_within_ninety_seconds() {
    let questions = (0..100).map(|number| externals(&format!("team-{number}"), 100));
    let questions: Vec<_> = questions.flatten().collect();
    let answers = rounds(&questions, 600, |_, _| 100);
    let gaps = answers.iter();
    let longest = gaps.map(|answers| longest_gap(answers, 240, 585)).max();
    assert!(longest <= Some(90), "{longest:?} s");
}
