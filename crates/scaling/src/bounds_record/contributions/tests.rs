//! Single merges in numbers, and what holds of all of them.

use evenkeel_objects::bounds::ObjectBounds;
use proptest::prelude::*;

use super::*;
use crate::bounds_record::BoundsRecord;
use crate::merge::merge;
use crate::merge::recommendation::Ask;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn one(who: &str, min: Option<i32>, max: Option<i32>, second: i64) -> Recommendation {
    let by = Provider::from(who);
    Recommendation {
        priority: by.default_priority(),
        by,
        ask: Ask::AtLeast { min, max },
        until: Some(at(second)),
    }
}

const fn bounds(min: Option<i32>, max: i32) -> ObjectBounds {
    ObjectBounds { min, max }
}

#[test]
fn a_schedule_stands_in_for_the_users_least_and_a_prediction_raises_it() {
    let user = bounds(Some(5), 10);
    for (contributions, merged) in [
        (vec![], (Some(5), 10)),
        (vec![one("prediction", Some(7), None, 9)], (Some(7), 10)),
        (vec![one("prediction", Some(3), None, 9)], (Some(5), 10)),
        (vec![one("prediction", Some(40), None, 9)], (Some(10), 10)),
        (vec![one("cron/night", Some(4), None, 9)], (Some(4), 10)),
        (vec![one("cron/day", Some(11), Some(11), 9)], (Some(11), 11)),
        (
            vec![
                one("cron/night", Some(4), None, 9),
                one("cron/day", Some(6), None, 9),
            ],
            (Some(6), 10),
        ),
        (
            vec![
                one("cron/night", Some(4), None, 9),
                one("prediction", Some(8), None, 9),
            ],
            (Some(8), 10),
        ),
        (vec![one("portrait/x", Some(8), None, 9)], (Some(8), 10)),
    ] {
        let found = merge(user, &contributions, at(0)).bounds;
        assert_eq!((found.min, found.max), merged, "{contributions:?}");
    }
    let floor = [one("prediction", Some(3), None, 9)];
    assert_eq!(
        merge(bounds(None, 10), &floor, at(0)).bounds,
        bounds(Some(3), 10)
    );
    assert_eq!(merge(bounds(None, 10), &[], at(0)).bounds, bounds(None, 10));
}

#[test]
fn the_highest_priority_sets_the_count_and_the_larger_of_equals() {
    let with = |who, priority, replicas| {
        let least = Recommendation {
            priority,
            ..one(who, Some(replicas), None, 9)
        };
        let exactly = Recommendation {
            ask: Ask::Exactly(replicas),
            ..least.clone()
        };
        [least, exactly]
    };
    let all = [with("a", 1, 7), with("b", 2, 4), with("c", 2, 5)].concat();
    let merged = merge(bounds(Some(2), 10), &all, at(0));
    let asked = merged.asked.map(|asked| asked.replicas);
    assert_eq!((asked, merged.bounds.min), (Some(5), Some(5)));
    assert_eq!(merge(bounds(Some(2), 10), &all, at(9)).asked, None);
}

#[test]
fn asking_for_the_same_is_seldom_a_change() {
    let mut all = Contributions::default();
    all.contribute(Recommendation::of_prediction(6, at(600)), at(0));
    for (second, min, until) in [(100, 6, 600), (299, 6, 600), (310, 6, 910), (320, 7, 920)] {
        let again = Recommendation::of_prediction(min, at(second + 600));
        all.contribute(again, at(second));
        let held = all.of(&Provider::Prediction).unwrap();
        assert_eq!(
            (held.min(), held.until),
            (Some(min), Some(at(until))),
            "{second}"
        );
    }
}

#[test]
fn an_end_may_come_earlier_and_nobody_renews_by_asking_for_the_same() {
    let mut all = Contributions::default();
    for (second, until, held) in [
        (0, 3600, 3600),
        (10, 1800, 1800), // the schedule's window was cut short
        (20, 1800, 1800),
        (30, 2000, 1800), // a later end waits until half of the time is gone
        (40, 30, 30),     // over at once
    ] {
        all.contribute(one("cron/day", Some(6), None, until), at(second));
        let found = all.of(&Provider::Cron("day".to_owned())).unwrap();
        assert_eq!(found.until, Some(at(held)), "{second}");
    }
    // A prediction keeps the floor of another leader that has renewed it meanwhile.
    all.contribute(Recommendation::of_prediction(6, at(600)), at(0));
    all.contribute(Recommendation::of_prediction(6, at(400)), at(200));
    let held = all.of(&Provider::Prediction).unwrap();
    assert_eq!(
        held.until,
        Some(at(600)),
        "what is withdrawn needs no earlier end"
    );
}

#[test]
fn nothing_stands_for_longer_than_its_contributor_may_be_away() {
    let later = i64::MAX / 1_000_000_000_000;
    let mut all: Contributions = ["prediction", "cron/day", "portrait/web"]
        .map(|who| one(who, Some(6), None, later))
        .into_iter()
        .collect();
    let most = at(0).checked_add(LONGEST).unwrap();
    all.expire(at(0));
    assert!(all.iter().all(|one| one.until == Some(most)));
    let before = all.clone();
    all.expire(at(600));
    assert_eq!(all, before, "it does not move along");
    all.expire(most);
    assert!(all.is_empty());
    // A longer request is renewed once half of the time is over.
    let hours = |hours: i64| at(hours * 3600);
    for (now, until) in [(0, 6), (2, 6), (4, 10)] {
        all.contribute(one("cron/week", Some(6), None, later), hours(now));
        let found = all.of(&Provider::Cron("week".to_owned())).unwrap();
        assert_eq!(found.until, Some(hours(until)), "{now}");
    }
}

#[test]
fn an_edit_below_a_contribution_takes_the_contribution_with_it() {
    let day = [one("cron/day", Some(8), None, 9)];
    assert_eq!(
        merge(bounds(Some(2), 5), &day, at(0)).bounds,
        bounds(Some(5), 5)
    );
    let raised = [one("cron/day", Some(8), Some(8), 9)];
    assert_eq!(
        merge(bounds(Some(2), 5), &raised, at(0)).bounds,
        bounds(Some(8), 8),
        "a schedule may raise the most"
    );
    let odd = bounds(Some(9), 5);
    assert_eq!(
        merge(odd, &[], at(0)).bounds,
        odd,
        "what only the user says is the user's"
    );
}

#[test]
fn contributors_are_read_as_they_are_written() {
    for name in ["prediction", "cron/a/b", "portrait/web", ""] {
        assert_eq!(Provider::from(name).to_string(), name);
    }
    assert_eq!(Provider::from("cron/a/b"), Provider::Cron("a/b".to_owned()));
}

fn contribution() -> impl Strategy<Value = Recommendation> {
    let who = prop_oneof![
        Just(Provider::Prediction),
        "[a-c]".prop_map(Provider::Cron),
        "[a-c]".prop_map(|name| Provider::Other(name.into())),
    ];
    let count = || prop::option::of(0..20_i32);
    let ask = prop_oneof![
        3 => (count(), count()).prop_map(|(min, max)| Ask::AtLeast { min, max }),
        1 => (0..20_i32).prop_map(Ask::Exactly),
    ];
    (who, ask, 0..4_i32, 0..100_i64).prop_map(|(by, ask, priority, until)| Recommendation {
        by,
        priority,
        ask,
        until: Some(at(until)),
    })
}

fn user() -> impl Strategy<Value = ObjectBounds> {
    (prop::option::of(0..10_i32), 1..20_i32).prop_map(|(min, max)| ObjectBounds {
        min: min.map(|min| min.min(max)),
        max,
    })
}

proptest! {
    #[test]
    fn neither_order_nor_repetition_matters(
        user in user(),
        (all, shuffled) in prop::collection::vec(contribution(), 0..8)
            .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        now in 0..100_i64,
    ) {
        let merged = merge(user, &all, at(now));
        prop_assert_eq!(&merge(user, &shuffled, at(now)), &merged);
        prop_assert_eq!(merge(user, all.iter().chain(&shuffled), at(now)), merged);
    }

    #[test]
    fn what_has_ended_is_as_what_was_never_there(
        user in user(),
        all in prop::collection::vec(contribution(), 0..8),
        now in 0..100_i64,
    ) {
        let alive: Vec<_> = all.iter().filter(|one| Some(at(now)) < one.until).cloned().collect();
        prop_assert_eq!(merge(user, &all, at(now)), merge(user, &alive, at(now)));
        let mut kept: Contributions = all.iter().cloned().collect();
        let before = merge(user, kept.iter(), at(now));
        kept.expire(at(now));
        prop_assert_eq!(merge(user, kept.iter(), at(now)), before);
        prop_assert!(kept.iter().all(|one| Some(at(now)) < one.until));
        prop_assert_eq!(merge(user, kept.iter(), at(100)).bounds, user);
    }

    #[test]
    fn a_contribution_that_is_withdrawn_leaves_no_trace(
        all in prop::collection::vec(contribution(), 0..8),
        new in contribution(),
    ) {
        let mut without: Contributions = all.into_iter().collect();
        without.withdraw(&new.by);
        let mut with = without.clone();
        with.withdraw(&new.by);
        prop_assert_eq!(&with, &without, "withdrawing what is not there changes nothing");
        with.contribute(new.clone(), at(0));
        prop_assert_eq!(with.of(&new.by), Some(&new));
        with.contribute(new.clone(), at(0));
        prop_assert_eq!(with.iter().count(), without.iter().count() + 1);
        with.withdraw(&new.by);
        prop_assert_eq!(with, without);
    }

    #[test]
    fn the_least_never_passes_the_most(
        user in user(),
        all in prop::collection::vec(contribution(), 0..8),
        now in 0..100_i64,
    ) {
        let merged = merge(user, &all, at(now)).bounds;
        prop_assert!(merged.min.is_none_or(|min| min <= merged.max), "{merged:?}");
        prop_assert!(merged.max >= user.max);
    }

    #[test]
    fn the_most_only_rises_and_a_floor_stays_below_it(
        user in user(),
        all in prop::collection::vec(contribution(), 0..8),
    ) {
        let floors: Vec<_> = all
            .into_iter()
            .map(|one| Recommendation { priority: 0, ..one })
            .collect();
        let merged = merge(user, &floors, at(0)).bounds;
        prop_assert!(merged.max >= user.max);
        prop_assert!(merged.min >= user.min);
        prop_assert!(merged.min <= Some(merged.max));
    }
}

/// The bounds that follow from a cron contribution beside the floor of a prediction.
fn merged(cron: Option<i32>, floor: Option<i32>) -> (i32, i32) {
    let user = bounds(Some(2), 10);
    let (now, until) = (at(0), at(3600));
    let mut record = BoundsRecord::of_user(user);
    if let Some(floor) = floor {
        record.contribute(Recommendation::of_prediction(floor, until), now);
    }
    if let Some(min) = cron {
        let who = Provider::Cron("shop".to_owned());
        record.contribute(Recommendation::of_cron(who, min, user, Some(until)), now);
    }
    let bounds = record.settle(now);
    (bounds.min.unwrap(), bounds.max)
}

#[test]
fn a_cron_ends_during_a_live_floor_and_the_reverse() {
    assert_eq!(merged(Some(8), Some(6)), (8, 10));
    assert_eq!(merged(None, Some(6)), (6, 10), "the cron has ended");
    assert_eq!(merged(Some(8), None), (8, 10), "the floor has ended");
    assert_eq!(merged(Some(12), Some(10)), (12, 12));
    assert_eq!(merged(None, Some(10)), (10, 10), "the most is put back");
    assert_eq!(
        merged(Some(1), Some(6)),
        (6, 10),
        "a night does not lower a floor"
    );
    assert_eq!(merged(Some(1), None), (1, 10));
    assert_eq!(merged(None, None), (2, 10));
}
