//! Turns by hand, and whole rounds under a virtual clock.

use std::collections::BTreeMap;

use super::*;
use evenkeel_core::scaling::signal::MetricIdentifier;
use evenkeel_kubernetes::metric_query::{MetricQuery, MetricSubject, ServedMetric};

const SOON_ANSWERED: TargetQueryTiming = TargetQueryTiming {
    answered: true,
    took: Duration::from_millis(100),
};
const FAILED: TargetQueryTiming = TargetQueryTiming {
    answered: false,
    took: Duration::from_millis(100),
};
const TIMED_OUT: TargetQueryTiming = TargetQueryTiming {
    answered: false,
    took: Duration::from_secs(10),
};
const CUSTOM: usize = 1;
const EXTERNAL: usize = 2;
const PLACES_ON_TRIAL: usize = MetricQuery::RESPONDENTS[EXTERNAL].at_once / TRIAL;

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

fn under_way(agenda: &mut TargetQuerySchedule<MetricQuery>) -> Vec<MetricQuery> {
    std::iter::from_fn(|| agenda.next()).collect()
}

#[test]
fn namespaces_take_turns_and_none_takes_more_than_half_of_the_places() {
    let mut agenda = TargetQuerySchedule::default();
    let a = externals("a", 9);
    agenda.want(a.iter(), at(0));
    let half = PLACES_ON_TRIAL / 2;
    assert_eq!(under_way(&mut agenda), a[..half]);
    // The two that come later each find places, and the one that waits longer finds no more.
    let (b, c) = (externals("b", 9), externals("c", 9));
    agenda.want([&a, &b, &c].into_iter().flatten(), at(15));
    assert_eq!(
        under_way(&mut agenda),
        [&b[0], &c[0], &b[1], &c[1]].map(Clone::clone)
    );
    // Then all namespaces take turns.
    let mut next = Vec::new();
    for query in [&a[0], &b[0], &c[0]] {
        agenda.ended(query, at(16), SOON_ANSWERED);
        next.extend(under_way(&mut agenda));
    }
    assert_eq!(next, [a[half].clone(), b[2].clone(), c[2].clone()]);
}

#[test]
fn an_api_that_hangs_holds_up_no_other() {
    let mut agenda = TargetQuerySchedule::default();
    let hanging: Vec<_> = (0..99).map(|n| external(&n.to_string(), "x")).collect();
    agenda.want(hanging.iter(), at(0));
    assert_eq!(under_way(&mut agenda).len(), PLACES_ON_TRIAL);
    agenda.want(hanging.iter().chain([&promql("z")]), at(15));
    assert_eq!(under_way(&mut agenda), [promql("z")]);
}

#[test]
fn what_is_under_way_or_waits_is_asked_once_and_what_is_not_wanted_never() {
    let mut agenda = TargetQuerySchedule::default();
    let query = external("a", "x");
    for second in [0, 15] {
        agenda.want([&query].into_iter(), at(second));
    }
    assert_eq!(under_way(&mut agenda), std::slice::from_ref(&query));
    agenda.want([].into_iter(), at(30));
    agenda.ended(&query, at(31), FAILED);
    assert!(agenda.turns.is_empty(), "and its failure is forgotten");
    agenda.want([&query].into_iter(), at(45));
    agenda.want([].into_iter(), at(60));
    assert_eq!(under_way(&mut agenda), []);
    agenda.want([&query].into_iter(), at(75));
    assert_eq!(under_way(&mut agenda), [query]);
}

#[test]
fn what_fails_rests_longer_each_time_and_an_answer_ends_it() {
    let mut agenda = TargetQuerySchedule::default();
    let query = external("a", "x");
    let mut asked = Vec::new();
    for second in (0..600).step_by(15) {
        agenda.want([&query].into_iter(), at(second));
        if agenda.next().is_some() {
            asked.push(second);
            let ending = if second == 360 { SOON_ANSWERED } else { FAILED };
            agenda.ended(&query, at(second + 1), ending);
        }
    }
    assert_eq!(asked, [0, 15, 45, 105, 225, 360, 375, 390, 420, 480]);
}

#[test]
fn what_was_slow_is_on_trial_until_it_was_answered_soon_several_times() {
    let mut agenda = TargetQuerySchedule::default();
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
        agenda.want([&query].into_iter(), at(second));
        assert_eq!(under_way(&mut agenda), std::slice::from_ref(&query));
        let TargetQueryState::UnderWay(speed) = agenda.turns[&query].state else {
            panic!("{agenda:?}");
        };
        lanes.push(speed.as_str());
        agenda.ended(&query, at(second + 1), ending);
        second += 300;
    }
    let trial = "trial";
    assert_eq!(
        lanes,
        [trial, "soon", "soon", trial, trial, trial, trial, "soon"]
    );
}

#[test]
fn the_longest_wait_of_each_lane_is_told() {
    let mut agenda = TargetQuerySchedule::default();
    let queries = externals("a", 9);
    agenda.want(queries.iter(), at(0));
    assert_eq!(agenda.waits(at(0)), vec![[SignedDuration::ZERO; 2]; 4]);
    under_way(&mut agenda);
    let waits = agenda.waits(at(40));
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
    let mut agenda = TargetQuerySchedule::default();
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
            let ending = TargetQueryTiming {
                answered,
                took: Duration::from_millis(took.unsigned_abs()),
            };
            agenda.ended(&questions[place], millis(now), ending);
            answers[place].extend(answered.then_some(now / 1000));
            now
        } else {
            let now = tick;
            agenda.want(questions.iter(), millis(now));
            tick += 15_000;
            now
        };
        while let Some(query) = agenda.next() {
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
