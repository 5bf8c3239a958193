//! Portraits at single moments, and what holds of every merge.

use std::borrow::Cow;
use std::sync::Arc;

use evenkeel_cron::{CronSpec, Rule, RuleTiming, Schedule, ScheduleCache, Zone};
use evenkeel_objects::bounds::{ObjectBounds, ReplicaBounds};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::limits::LimitedBy;
use crate::merge;
use crate::merge::MergedRecommendations;
use crate::merge::recommendation::{Ask, Recommendation, Unavailable};
use crate::recommend::merged_portraits::ProviderRef;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

type Asked = (Ask, Option<Timestamp>);

fn value(replicas: i32, until: Option<i64>) -> Asked {
    (Ask::Exactly(replicas), until.map(at))
}

fn absent(until: Option<i64>) -> Asked {
    (Ask::Unavailable(Unavailable::Absent), until.map(at))
}

fn expired(at_second: i64) -> Asked {
    let end = Some(at(at_second));
    (Ask::Unavailable(Unavailable::Expired), end)
}

fn failed(since: i64) -> Asked {
    let failed = Unavailable::Failed {
        reason: "NoAnswer",
        message: Cow::Borrowed("nobody answers"),
        since: at(since),
    };
    (Ask::Unavailable(failed), None)
}

fn provided(name: &str, priority: i32, asked: Asked) -> Recommendation {
    let by = name.into();
    ProviderRef { by, priority }.recommend(asked)
}

/// The merge of counts, for a user without bounds.
fn merge<'a>(
    all: impl IntoIterator<Item = &'a Recommendation>,
    now: Timestamp,
) -> MergedRecommendations {
    let user = ObjectBounds {
        min: None,
        max: i32::MAX,
    };
    let merged = merge::merge(user, all, now);
    assert_eq!(merged.bounds, user);
    merged
}

fn window(name: &str, start: &str, end: &str, replicas: i32) -> Rule {
    let schedule = |text| Schedule::parse(text, None, &Zone::utc()).unwrap();
    Rule {
        name: name.to_owned(),
        when: RuleTiming::Window {
            start: schedule(start),
            end: schedule(end),
        },
        replicas,
        run_once: false,
        suspended: false,
        excluded: Arc::default(),
    }
}

fn series(points: &[(i64, i32)]) -> Result<TimeSeries, TimeSeriesError> {
    let points = points.iter().map(|(second, replicas)| ReplicaPoint {
        at: at(*second),
        replicas: *replicas,
    });
    TimeSeries::new(points.collect())
}

#[test]
fn a_series_holds_from_each_point_to_the_next_and_the_last_until_it_expires() {
    let portrait = Portrait {
        replicas: Replicas::TimeSeries(series(&[(100, 3), (200, 0), (300, 7)]).unwrap()),
        expires: Some(at(400)),
    };
    let mut agenda = ScheduleCache::default();
    for (second, expected) in [
        (99, absent(Some(100))),
        (100, value(3, Some(200))),
        (199, value(3, Some(200))),
        (200, value(0, Some(300))),
        (399, value(7, Some(400))),
        (400, expired(400)),
        (9000, expired(400)),
    ] {
        assert_eq!(portrait.at(&mut agenda, at(second)), expected, "{second}");
    }
}

#[test]
fn a_series_is_in_order() {
    assert_eq!(series(&[]), Err(TimeSeriesError::NoPoint));
    let twice = series(&[(1, 1), (1, 2)]).unwrap();
    assert_eq!(twice.at(at(1)).map(|point| point.replicas), Some(2));
    assert_eq!(
        series(&[(1, 1), (3, 2), (2, 2)]),
        Err(TimeSeriesError::Order { place: 2 })
    );
    let replicas = -1;
    assert_eq!(
        series(&[(1, 1), (3, replicas)]),
        Err(TimeSeriesError::Replicas { place: 1, replicas })
    );
}

#[test]
fn of_windows_that_overlap_the_larger_holds() {
    let rules = vec![
        window("day", "0 8 * * *", "0 18 * * *", 6),
        window("lunch", "0 11 * * *", "0 13 * * *", 9),
        window("tea", "0 12 * * *", "0 16 * * *", 4),
    ];
    let portrait = Portrait {
        replicas: Replicas::Cron(CronSpec::new(rules, false, SignedDuration::ZERO).unwrap()),
        expires: None,
    };
    let mut agenda = ScheduleCache::default();
    let hour = |hour: i64| hour * 3600;
    for (second, expected) in [
        (hour(7), absent(Some(hour(8)))),
        (hour(8), value(6, Some(hour(18)))),
        (hour(11), value(9, Some(hour(13)))),
        (hour(12), value(9, Some(hour(13)))),
        (hour(13), value(6, Some(hour(18)))),
        (hour(18), absent(Some(hour(32)))),
    ] {
        assert_eq!(portrait.at(&mut agenda, at(second)), expected, "{second}");
    }
}

#[test]
fn the_highest_priority_that_has_a_value_holds_and_the_others_stand_where_one_fails() {
    let asked = |providers: &[Recommendation]| {
        let merged = merge(providers, at(1000));
        let by = merged
            .asked
            .map(|asked| (asked.by.to_string(), asked.replicas));
        let unheard = merged.unheard.iter().map(|one| one.by.to_string());
        (by, unheard.collect::<Vec<_>>())
    };
    let cron = provided("cron", 2, value(4, None));
    let reactive = provided("reactive", 1, value(9, None));
    let predictive = provided("predictive", 1, value(7, None));
    let by = |name: &str, replicas| Some((name.to_owned(), replicas));
    assert_eq!(
        asked(&[reactive.clone(), cron.clone(), predictive.clone()]),
        (by("cron", 4), vec![])
    );
    let silent = provided("cron", 2, absent(None));
    assert_eq!(
        asked(&[silent, predictive.clone(), reactive.clone()]),
        (by("reactive", 9), vec![])
    );
    let old = provided("reactive", 1, expired(5));
    let broken = provided("cron", 2, failed(0));
    assert_eq!(
        asked(&[broken.clone(), predictive, old.clone()]),
        (
            by("predictive", 7),
            vec!["cron".to_owned(), "reactive".to_owned()]
        )
    );
    let nobody = merge(&[broken, old], at(1000));
    assert_eq!(nobody.asked, None);
    let target = nobody.target(5, ReplicaBounds::new(1, 10).unwrap());
    assert_eq!(
        (target.replicas, target.limited_by),
        (5, Some(LimitedBy::MissingData))
    );
}

#[test]
fn who_fails_and_could_ask_for_more_keeps_the_count_for_five_minutes() {
    let bounds = ReplicaBounds::new(1, 10).unwrap();
    let low = provided("reactive", 1, value(2, None));
    for (priority, second, replicas) in [(1, 1299, 8), (1, 1300, 2), (2, 1299, 8), (0, 1001, 2)] {
        let broken = provided("predictive", priority, failed(1000));
        let merged = merge(&[broken, low.clone()], at(second));
        let target = merged.target(8, bounds);
        assert_eq!(target.replicas, replicas, "{priority} {second}");
        assert_eq!(
            matches!(target.limited_by, Some(LimitedBy::FailedPortrait { .. })),
            replicas == 8
        );
        assert_eq!(
            merged.target(1, bounds).replicas,
            2,
            "more is not kept back"
        );
    }
}

#[test]
fn bounds_hold_whatever_is_asked_for() {
    let bounds = ReplicaBounds::new(3, 6).unwrap();
    for (asked, replicas, limit) in [
        (1, 3, Some(LimitedBy::MinReplicas(3))),
        (4, 4, None),
        (9, 6, Some(LimitedBy::MaxReplicas(6))),
    ] {
        let merged = merge(&[provided("a", 0, value(asked, None))], at(0));
        let target = merged.target(5, bounds);
        assert_eq!((target.replicas, target.limited_by), (replicas, limit));
    }
    assert_eq!(merge(&[], at(0)).target(9, bounds).replicas, 6);
}

const fn exactly(one: &Recommendation) -> Option<i32> {
    match one.ask {
        Ask::Exactly(replicas) => Some(replicas),
        _ => None,
    }
}

fn any_outcome() -> impl Strategy<Value = Asked> {
    prop_oneof![
        4 => (0i32..20, prop::option::of(1001i64..2000)).prop_map(|(replicas, until)| value(replicas, until)),
        1 => Just(absent(None)),
        1 => Just(expired(10)),
        1 => (500i64..1000).prop_map(failed),
    ]
}

fn any_providers() -> impl Strategy<Value = Vec<Recommendation>> {
    let one = (-2i32..3, any_outcome());
    prop::collection::vec(one, 0..8).prop_map(|all| {
        let named = all.into_iter().enumerate();
        let provided = named
            .map(|(place, (priority, outcome))| provided(&format!("p{place}"), priority, outcome));
        provided.collect()
    })
}

proptest! {
    #[test]
    fn neither_order_nor_repetition_matters(
        (given, shuffled) in any_providers().prop_flat_map(|all| {
            (Just(all.clone()), Just([all.clone(), all].concat()).prop_shuffle())
        }),
    ) {
        prop_assert_eq!(merge(&given, at(1000)), merge(&shuffled, at(1000)));
    }

    #[test]
    fn nobody_who_has_a_value_is_passed_over(given in any_providers()) {
        let merged = merge(&given, at(1000));
        let values = given.iter().filter_map(|one| exactly(one).map(|replicas| (one.priority, replicas)));
        let asked = merged.asked.as_ref().map(|asked| (asked.priority, asked.replicas));
        prop_assert_eq!(asked, values.max());
        let unheard = given.iter().filter(|one| {
            matches!(one.ask, Ask::Unavailable(Unavailable::Failed { .. } | Unavailable::Expired))
        });
        prop_assert_eq!(merged.unheard.len(), unheard.count());
    }
}
