//! The bounds and their record: raised, contested, damaged, and in every way put back.

use proptest::prelude::*;

use super::*;
use crate::bounds_record::contest_inquiry::ContestInquiry;

#[test]
fn a_floor_is_raised_in_one_request_with_its_record() {
    let mut world = World::new();
    let writes = world.tick(Some(6), 0);
    let WriteOperation::Conditional(patch) = &writes[0].operation else {
        panic!("a conditional patch")
    };
    let patch = serde_json::to_value(patch.to_patch()).unwrap();
    let operations: Vec<_> = patch
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let text = |field: &str| one[field].as_str().unwrap().to_owned();
            text("op") + " " + &text("path")
        })
        .collect();
    assert_eq!(
        operations,
        [
            "test /metadata/uid",
            "test /spec/minReplicas",
            "test /spec/maxReplicas",
            "test /metadata/annotations/evenkeel.dev~1bounds",
            "add /metadata/annotations/evenkeel.dev~1bounds",
            "add /spec/minReplicas",
            "add /metadata/annotations/evenkeel.dev~1scaling-status",
        ]
    );
    assert_eq!(
        (writes[0].purpose, writes[0].gap),
        (Purpose::ScalingBounds, 4)
    );
    let expected = ("FloorRaised".to_owned(), "the floor is to be 6".to_owned());
    assert_eq!((writes.len(), &world.told), (2, &vec![expected]));
    assert_eq!(
        world.resolve(at(15)).target.unwrap().policy.bounds.min(),
        2,
        "the user's own"
    );

    assert_eq!(world.tick(Some(6), 15), [], "standing by it is no write");
    assert_eq!(world.tick(Some(6), 290), []);
    let renewed = world.tick(Some(6), 310);
    assert_eq!(
        renewed[0].purpose,
        Purpose::ScalingStatus,
        "half of its time is gone, which holds up no floor that is to be raised"
    );
    assert_eq!((renewed.len(), world.bounds()), (1, (Some(6), 10)));
    world.tick(Some(4), 325);
    assert_eq!(
        (world.bounds().0, *world.reasons().last().unwrap()),
        (Some(4), "FloorLowered")
    );
}

#[test]
fn keda_is_asked_through_its_own_object() {
    let mut world = World::with_keda();
    let hpa = world.autoscaler.clone();
    let writes = world.tick(Some(6), 0);
    assert!(writes[0].target.is(Kind::ScaledObject));
    assert_eq!((world.bounds(), &world.autoscaler), ((Some(6), 10), &hpa));
    world.annotate(SCALING, json!("off"));
    world.tick(None, 15);
    assert_eq!(world.bounds(), (Some(2), 10));
    assert_eq!(
        world.owner()["metadata"]["annotations"],
        json!({SCALING: "off"})
    );

    let mut unknown = World::with_keda();
    unknown.scaled_object = None;
    assert_eq!(
        unknown.tick(Some(6), 0),
        [],
        "an HPA of KEDA's is not written"
    );
}

/// Every way in which a floor ends.
const ENDS: [(&str, Change); 8] = [
    ("off", |world| world.annotate(SCALING, json!("off"))),
    ("recommend", |world| {
        world.annotate(SCALING, json!("recommend"));
    }),
    ("the annotation goes", |world| {
        world.annotate(SCALING, json!(null));
    }),
    ("opted out", |world| world.namespace.clear()),
    ("a conflict", |world| world.conflict = true),
    ("no requests", |world| world.requests = None),
    ("no metrics", |world| {
        world.owner()["spec"]["metrics"] = json!([]);
    }),
    ("nothing is predicted any more", |_| {}),
];

#[test]
fn everything_is_put_back_however_it_ends() {
    for (end, change) in ENDS {
        for least in [json!(2), json!(null)] {
            let mut world = World::new();
            world.hpa()["spec"]["minReplicas"] = least.clone();
            world.tick(Some(6), 0);
            assert_eq!(
                (world.bounds().0, world.has_record()),
                (Some(6), true),
                "{end}"
            );
            change(&mut world);
            world.tick(None, 15);
            assert_eq!(world.bounds(), (least.as_i64(), 10), "{end}");
            assert!(!world.has_record(), "{end}");
            assert_eq!(
                world.reasons()[..2],
                ["FloorRaised", "FloorLowered"],
                "{end}"
            );
        }
    }
}

/// A record with contributors that no component renews: a schedule, and one of a later version.
fn held_by_others(world: &mut World) {
    world.hpa()["spec"]["minReplicas"] = json!(8);
    world.record_by(
        MANAGER,
        &json!(
            json!({
                "user": {"min": 2, "max": 10}, "written": {"min": 8, "max": 10},
                "contributions": {
                    "cron/day": {"min": 8, "until": "2027-01-15T09:00:00Z"},
                    "plan/x": {"how": [1, 2]},
                    "portrait/web": {"min": 7, "until": "2027-01-15T09:00:00Z"},
                },
                "version": 2,
            })
            .to_string()
        ),
    );
}

#[test]
fn off_gives_the_bounds_back_whoever_else_holds_them() {
    for (end, change) in &ENDS[..7] {
        let mut world = World::new();
        held_by_others(&mut world);
        world.tick(Some(9), 0);
        assert_eq!(world.bounds(), (Some(9), 10), "{end}");
        change(&mut world);
        world.tick(None, 15);
        let off = ["off", "opted out"].contains(end);
        let least = if off { 2 } else { 8 };
        assert_eq!(world.bounds(), (Some(least), 10), "{end}");
        assert_eq!(world.has_record(), !off, "{end}");
        world.tick(None, 30);
        assert_eq!(world.bounds(), (Some(least), 10), "{end}: it stays so");
        assert_eq!(world.has_record(), !off, "{end}");
    }
}

#[test]
fn a_record_that_is_taken_away_alone_forgets_who_else_contributed() {
    for off in [false, true] {
        let mut world = World::new();
        held_by_others(&mut world);
        world.tick(Some(4), 0);
        assert_eq!(world.bounds(), (Some(8), 10));
        world.annotate(BOUNDS, json!(null));
        if off {
            world.namespace.clear();
        }
        world.tick(Some(4), 15);
        let least = if off { 2 } else { 4 };
        assert_eq!((world.bounds().0, world.has_record()), (Some(least), !off));
        world.tick(Some(4), 30);
        assert_eq!(world.bounds().0, Some(least));
    }
}

#[test]
fn a_record_is_remembered_until_its_bounds_are_back() {
    let mut world = World::new();
    world.tick(Some(6), 0);
    world.annotate(BOUNDS, json!(null));
    world.annotate(SCALING, json!("off"));
    let lost = world.plan(None, at(15));
    assert_eq!(lost.len(), 2, "bounds, and an Event: {lost:?}");
    world.tick(None, 30);
    assert_eq!(world.bounds(), (Some(2), 10));
    world.annotate(SCALING, json!("floor"));
    world.hpa()["spec"]["minReplicas"] = json!(6);
    world.tick(None, 45);
    assert_eq!(world.bounds(), (Some(6), 10), "and no longer");
}

#[test]
fn a_record_is_remembered_however_long_its_repair_fails() {
    let mut world = World::new();
    world.tick(Some(6), 0);
    world.annotate(BOUNDS, json!(null));
    world.annotate(SCALING, json!("off"));
    for second in (15..7200).step_by(15) {
        let lost = world.plan(None, at(second));
        assert!(!lost.is_empty(), "{second}: it is wanted still");
        assert_eq!(world.bounds(), (Some(6), 10));
    }
    world.tick(None, 7200);
    assert_eq!(world.bounds(), (Some(2), 10));
}

#[test]
fn a_record_that_goes_while_nobody_leads_is_known_to_whoever_takes_over() {
    let mut world = World::new();
    world.tick(Some(6), 0);
    let mut follower = PlanMemory::default();
    let follow = |world: &World, memory: &mut PlanMemory, second: i64| {
        follow(&world.resolved_by(memory, at(second)), memory, at(second));
    };
    follow(&world, &mut follower, 15);
    let (mut restored, mut other) = (world.clone(), follower.clone());
    world.annotate(BOUNDS, json!(null));
    for second in (30..600).step_by(15) {
        follow(&world, &mut follower, second);
    }
    world.memory = follower.clone();
    world.annotate(SCALING, json!("off"));
    world.tick(None, 600);
    assert_eq!((world.bounds(), world.has_record()), ((Some(2), 10), false));

    // A record that the leader has put back is remembered no longer.
    restored.annotate(SCALING, json!("off"));
    restored.tick(None, 15);
    follow(&restored, &mut other, 30);
    restored.hpa()["spec"]["minReplicas"] = json!(6);
    let bounds = restored.resolved_by(&other, at(45)).bounds.unwrap();
    assert_eq!(bounds.user().min, Some(6));
}

#[test]
fn a_forged_record_is_refused_and_said() {
    let mut world = World::new();
    let many: Vec<_> = (0..20_000).map(|n| format!(r#""x{n}":{{}}"#)).collect();
    let bounds = r#"{"min":2,"max":10}"#;
    let record = format!(
        r#"{{"user":{bounds},"written":{bounds},"contributions":{{{}}}}}"#,
        many.join(",")
    );
    world.record_by(MANAGER, &json!(record));
    let report = report(Some(6), 0);
    let writes = world.plan(Some(&report), at(0));
    world.apply(&writes);
    assert_eq!(
        world.holds("BoundsRecordDamaged"),
        Some(ConditionStatus::True)
    );
    assert_eq!(world.reasons(), ["BoundsRecordDamaged"]);
    assert_eq!((world.bounds(), world.has_record()), ((Some(2), 10), false));
    world.tick(Some(6), 15);
    assert_eq!(world.bounds(), (Some(6), 10), "it begins anew");
}

#[test]
fn a_floor_that_its_record_has_no_room_for_is_not_raised() {
    let user = r#"{"min":2,"max":10}"#;
    let until = r#""until":"2027-01-15T09:00:00Z""#;
    let by_count: Vec<_> = (0..16)
        .map(|n| format!(r#""x{n:02}":{{"min":3,{until}}}"#))
        .collect();
    let by_length = format!(r#""x":{{"min":3,{until},"y":"{}"}}"#, "z".repeat(3900));
    for contributions in [by_count.join(","), by_length] {
        let mut world = World::new();
        let record =
            format!(r#"{{"user":{user},"written":{user},"contributions":{{{contributions}}}}}"#);
        world.record_by(MANAGER, &json!(record));
        world.tick(Some(6), 0);
        assert_eq!((world.bounds(), world.has_record()), ((Some(3), 10), true));
        assert_eq!(world.holds("BoundsRecordDamaged"), None);
    }
}

#[test]
fn a_floor_lapses_for_a_tracker_that_says_nothing_of_it() {
    let mut world = World::new();
    world.tick(Some(6), 0);
    let floor = world.resolve(at(15)).target.unwrap().floor.unwrap();
    assert_eq!((floor.replicas, floor.until), (6, at(FLOOR_STANDS)));
    assert_eq!(world.resolve(at(FLOOR_STANDS)).target.unwrap().floor, None);
    let writes = world.plan(None, at(20));
    assert_eq!(writes, [], "without a report a target stays as it is");
}

#[test]
fn who_undoes_twice_is_left_the_field_and_named() {
    let mut world = World::new();
    world.tick(Some(6), 0);
    for second in [15, 30] {
        world.hpa()["spec"]["minReplicas"] = json!(2);
        world.tick(Some(6), second);
    }
    assert_eq!(world.bounds(), (Some(2), 10));
    assert_eq!(world.holds("FloorContested"), Some(ConditionStatus::True));
    assert_eq!(world.memory.contest.writer(), None);
    world.memory.contest = ContestInquiry::Answered(Some("kustomize-controller".to_owned()));
    world.tick(Some(6), 45);
    let status = world.status().unwrap();
    let told = &status.condition("FloorContested").unwrap().message;
    assert!(
        told.starts_with("kustomize-controller reverted the floor"),
        "{told}"
    );
    assert_eq!(
        world.reasons(),
        ["FloorRaised", "FloorRaised", "FloorContested"]
    );
    assert!(told.contains("until 20"), "{told}");
    for second in (60..630).step_by(30) {
        world.tick(Some(6), second);
        assert_eq!(world.bounds(), (Some(2), 10), "{second}: it is his");
    }
    let mut ended = world.clone();
    ended.tick(Some(6), 630);
    assert_eq!(
        (ended.bounds(), ended.holds("FloorContested")),
        ((Some(6), 10), None),
        "the contest ends by itself"
    );
    ended.hpa()["spec"]["minReplicas"] = json!(2);
    for second in (645..1845).step_by(30) {
        ended.tick(Some(6), second);
        assert_eq!(ended.bounds(), (Some(2), 10), "{second}: he goes on");
    }
    ended.tick(Some(6), 1845);
    assert_eq!(ended.bounds(), (Some(6), 10));

    let mut edited = world.clone();
    edited.hpa()["spec"]["minReplicas"] = json!(3);
    edited.tick(Some(6), 615);
    assert_eq!(
        (edited.bounds(), edited.holds("FloorContested")),
        ((Some(6), 10), None)
    );
    world.annotate(SCALING, json!("off"));
    world.tick(None, 615);
    assert!(!world.has_record());
    world.annotate(SCALING, json!("floor"));
    world.tick(Some(6), 625);
    assert_eq!(
        (world.bounds().0, world.memory.contest.writer()),
        (Some(6), None)
    );
}

#[test]
fn a_contest_ends_with_the_wish_for_a_floor() {
    let mut world = World::new();
    for second in [0, 15] {
        world.tick(Some(3), second);
        world.hpa()["spec"]["minReplicas"] = json!(2);
    }
    world.annotate(SCALING, json!("recommend"));
    world.tick(None, 30);
    assert_eq!(
        (world.holds("FloorContested"), world.has_record()),
        (None, false)
    );
}

#[test]
fn a_writer_who_replaces_the_whole_object_is_a_contester_too() {
    let mut world = World::new();
    let mut replacement = world.hpa().clone();
    for (second, least) in [(0, Some(6)), (15, Some(6)), (30, Some(2)), (45, Some(2))] {
        world.tick(Some(6), second);
        assert_eq!(world.bounds().0, least, "{second}");
        let version = world.hpa()["metadata"]["resourceVersion"].clone();
        replacement["metadata"]["resourceVersion"] = version;
        if second < 30 {
            *world.hpa() = replacement.clone();
        }
    }
    assert_eq!(world.holds("FloorContested"), Some(ConditionStatus::True));
}

#[test]
fn a_record_that_is_taken_away_alone_is_written_again() {
    let mut world = World::new();
    world.tick(Some(6), 0);
    world.annotate(BOUNDS, json!(null));
    let written = world.tick(Some(6), 15);
    assert!(world.has_record());
    assert_eq!(written[0].purpose, Purpose::ScalingBounds);
    world.annotate(SCALING, json!("off"));
    world.tick(None, 30);
    assert_eq!(
        world.bounds(),
        (Some(2), 10),
        "what the user had is not lost"
    );
}

#[test]
fn a_damaged_record_leaves_the_bounds_to_the_user() {
    let mut world = World::new();
    world.tick(Some(6), 0);
    world.annotate(BOUNDS, json!("{\"user\":"));
    let report = report(Some(8), 15);
    let writes = world.plan(Some(&report), at(15));
    world.apply(&writes);
    assert_eq!((world.bounds(), world.has_record()), ((Some(6), 10), false));
    assert_eq!(
        world.holds("BoundsRecordDamaged"),
        Some(ConditionStatus::True)
    );
    assert_eq!(world.reasons(), ["FloorRaised", "BoundsRecordDamaged"]);
    world.tick(Some(8), 30);
    assert_eq!(world.bounds(), (Some(8), 10));
    world.tick(None, 45);
    assert_eq!(world.bounds(), (Some(6), 10), "they are the user's now");
    assert_eq!(
        world.holds("BoundsRecordDamaged"),
        Some(ConditionStatus::True)
    );
    world.tick(None, 4000);
    assert_eq!(
        world.holds("BoundsRecordDamaged"),
        None,
        "it is told for an hour"
    );
}

#[test]
fn a_damaged_record_is_not_quoted_at_length() {
    let mut world = World::new();
    let quoted = "\u{7f}".repeat(100_000);
    let record = format!(r#"{{"user":{{"max":"{quoted}"}},"written":{{"max":9}}}}"#);
    world.record_by(MANAGER, &json!(record));
    world.tick(None, 0);
    assert_eq!(
        world.holds("BoundsRecordDamaged"),
        Some(ConditionStatus::True)
    );
    let told = world.owner()["metadata"]["annotations"][SCALING_STATUS].clone();
    assert!(told.as_str().unwrap().len() < 4096);
}

#[test]
fn a_most_below_the_floor_takes_the_floor_with_it() {
    let mut world = World::with_keda();
    world.tick(Some(8), 0);
    world.owner()["spec"]["maxReplicaCount"] = json!(5);
    world.tick(Some(8), 15);
    assert_eq!(world.bounds(), (Some(5), 5));
    world.tick(None, 30);
    assert_eq!(world.bounds(), (Some(2), 5));
}

/// The record of a floor of 8 over the user's bounds.
fn record_of(user: &Value) -> Value {
    json!(
        json!({"user": user, "written": {"min": 8, "max": 10}, "contributions": {
            "prediction": {"min": 8, "until": "2027-01-15T09:00:00Z"}}})
        .to_string()
    )
}

#[test]
fn a_record_that_somebody_else_wrote_is_taken_for_none_and_left_there() {
    let forged = record_of(&json!({"min": 1, "max": 10}));
    for mode in ["recommend", "off"] {
        let mut world = World::new();
        world.record_by("kubectl", &forged);
        world.hpa()["spec"]["minReplicas"] = json!(8);
        world.annotate(SCALING, json!(mode));
        for second in [0, 15, 6000] {
            world.tick(None, second);
            assert_eq!(world.bounds(), (Some(8), 10), "{mode}");
            assert!(world.has_record(), "{mode}: it is somebody's");
        }
        let told = world.status();
        let reason =
            told.and_then(|told| Some(told.condition("BoundsRecordDamaged")?.reason.clone()));
        let reason = reason.as_deref();
        assert_eq!(reason, (mode != "off").then_some("ForeignRecord"));
    }
    // A floor is held above the bounds as they were found, and they are put back.
    let mut world = World::new();
    world.record_by("kubectl", &forged);
    world.tick(Some(6), 0);
    assert_eq!(world.bounds(), (Some(6), 10));
    world.tick(None, 15);
    assert_eq!((world.bounds(), world.has_record()), ((Some(2), 10), false));
}

#[test]
fn a_record_is_still_known_for_ours_when_its_managers_were_cleared() {
    let mut world = World::new();
    world.tick(Some(6), 0);
    let cleared = |world: &mut World| world.hpa()["metadata"]["managedFields"] = json!([{}]);
    cleared(&mut world);
    world.tick(Some(6), 15);
    assert!(
        world
            .observed()
            .autoscaler
            .unwrap()
            .metadata
            .own_records
            .bounds,
        "written anew"
    );
    assert_eq!(world.bounds(), (Some(6), 10));
    assert_eq!(world.holds("BoundsRecordDamaged"), None);
    cleared(&mut world);
    world.annotate(SCALING, json!("off"));
    world.tick(None, 30);
    assert_eq!(world.bounds(), (Some(2), 10), "the user's own are not lost");
}

#[test]
fn a_record_that_makes_no_sense_is_refused_whoever_wrote_it() {
    let bounds = |min, max| json!({"min": min, "max": max});
    let external = json!([{"type": "External", "external": {"metric": {"name": "queue"},
        "target": {"type": "AverageValue", "averageValue": "5"}}}]);
    for (keda, metrics, user, refused) in [
        (false, None, bounds(9, 8), true),
        (false, None, bounds(-1, 8), true),
        (false, None, bounds(1, 0), true),
        (false, None, json!({"max": 8}), false),
        (false, Some(external), bounds(0, 8), false),
        (true, None, bounds(0, 8), false),
        (true, None, bounds(-1, 8), true),
    ] {
        let mut world = if keda {
            World::with_keda()
        } else {
            World::new()
        };
        if let Some(metrics) = metrics {
            world.hpa()["spec"]["metrics"] = metrics;
        }
        world.record_by(MANAGER, &record_of(&user));
        let resolved = world.resolve(at(0));
        let found = resolved.bounds.as_ref().unwrap();
        assert_eq!(found.refused().is_some(), refused, "{user}");
        if refused {
            let reason = found.refused().unwrap().reason;
            assert_eq!(reason, "SenselessRecord", "{user}");
            world.plan(Some(&report(None, 0)), at(0));
            assert_eq!(found.user().min, Some(2), "{user}: as they were found");
        }
    }
}

#[test]
fn a_least_of_none_that_the_metrics_allow_no_more_goes_back_as_one() {
    let external = json!({"type": "External", "external": {"metric": {"name": "queue"},
        "target": {"type": "AverageValue", "averageValue": "5"}}});
    let mut world = World::new();
    let metrics = world.hpa()["spec"]["metrics"].clone();
    let with_queue = world.hpa()["spec"]["metrics"].as_array_mut().unwrap();
    with_queue.push(external);
    world.hpa()["spec"]["minReplicas"] = json!(0);
    world.tick(Some(6), 0);
    assert_eq!(world.bounds(), (Some(6), 10));
    world.hpa()["spec"]["metrics"] = metrics;
    world.tick(Some(6), 15);
    assert_eq!(world.bounds(), (Some(6), 10), "the floor stands");
    assert_eq!(world.holds("BoundsRecordDamaged"), None);
    world.tick(None, 30);
    assert_eq!((world.bounds(), world.has_record()), ((Some(1), 10), false));
}

#[test]
fn a_write_outlives_a_change_of_what_it_was_not_decided_on() {
    let changes: [(Change, bool); 5] = [
        (
            |world| world.hpa()["status"]["currentReplicas"] = json!(5),
            true,
        ),
        (
            |world| world.hpa()["metadata"]["labels"] = json!({"a": "b"}),
            true,
        ),
        (|world| world.hpa()["spec"]["minReplicas"] = json!(3), false),
        (
            |world| world.hpa()["spec"]["maxReplicas"] = json!(12),
            false,
        ),
        (|world| world.annotate(BOUNDS, json!("{}")), false),
    ];
    for (number, (change, applies)) in changes.into_iter().enumerate() {
        let mut world = World::new();
        let writes = world.plan(Some(&report(Some(6), 0)), at(0));
        let WriteOperation::Conditional(patch) = &writes[0].operation else {
            panic!("a conditional patch")
        };
        change(&mut world);
        let applied = conditional_patch::apply(world.hpa(), patch);
        assert_eq!(applied.is_ok(), applies, "change {number}: {applied:?}");
    }
}

#[test]
fn restoring_leaves_a_damaged_record_to_somebody_who_can_read_it() {
    for mode in ["floor", "off"] {
        let mut world = World::new();
        world.tick(Some(6), 0);
        let damaged = json!("{\"user\":");
        world.annotate(BOUNDS, damaged.clone());
        world.annotate(SCALING, json!(mode));
        let resolved = world.resolve(at(15));
        assert!(resolved.has_damaged_record());
        world.apply(&restore(&world.observed(), &resolved));
        assert_eq!(world.bounds(), (Some(6), 10), "{mode}");
        assert_eq!(world.owner()["metadata"]["annotations"][BOUNDS], damaged);
    }
}

#[test]
fn restoring_leaves_nothing_behind_whoever_contributes() {
    for keda in [false, true] {
        let mut world = if keda {
            World::with_keda()
        } else {
            World::new()
        };
        world.tick(Some(6), 0);
        let resolved = world.resolve(at(15));
        let writes = restore(&world.observed(), &resolved);
        let purposes: Vec<_> = writes.iter().map(|write| write.purpose).collect();
        assert_eq!(purposes, [Purpose::Restore]);
        world.apply(&writes);
        assert_eq!(world.bounds(), (Some(2), 10));
        assert_eq!(
            world.owner()["metadata"]["annotations"],
            json!({SCALING: "floor"})
        );
        let left = restore(&world.observed(), &world.resolve(at(30)));
        assert_eq!(left, [], "and then it stops");
    }
    let mut world = World::new();
    held_by_others(&mut world);
    world.hpa()["spec"]["maxReplicas"] = json!(12);
    world.apply(&restore(&world.observed(), &world.resolve(at(0))));
    assert_eq!(world.bounds(), (Some(2), 12), "the user's edits count");
    assert!(!world.has_record());
}

#[derive(Debug, Clone)]
enum Happens {
    /// Prediction asks for a floor, or none.
    Tick(Option<i32>),
    /// The user sets the least, or takes it away.
    Least(Option<i32>),
    /// The user sets the most.
    Most(i32),
    /// Another writer sets the least to what the user had.
    Undone,
    /// The user switches the mode.
    Mode(bool),
    /// No replica leads for a while, in seconds.
    Pause(i64),
}

fn happens() -> impl Strategy<Value = Vec<Happens>> {
    let one = prop_oneof![
        6 => prop::option::of(2..12_i32).prop_map(Happens::Tick),
        2 => prop::option::of(1..9_i32).prop_map(Happens::Least),
        2 => (9..15_i32).prop_map(Happens::Most),
        2 => Just(Happens::Undone),
        1 => any::<bool>().prop_map(Happens::Mode),
        1 => (16..2000_i64).prop_map(Happens::Pause),
    ];
    prop::collection::vec(one, 1..40)
}

proptest! {
    /// Whatever users and other writers do, what the user last said is what is there in the end,
    /// and the bounds never leave what he allows.
    #[test]
    fn the_users_edits_win(happens in happens(), keda in any::<bool>()) {
        let mut world = if keda { World::with_keda() } else { World::new() };
        let names = if keda { ["minReplicaCount", "maxReplicaCount"] } else { ["minReplicas", "maxReplicas"] };
        let (mut least, mut most, mut second) = (Some(2), 10, 0);
        let mut seen = world.bounds();
        for one in happens {
            second += 15;
            let before = world.bounds();
            match one {
                Happens::Tick(floor) => {
                    world.tick(floor, second);
                    let (min, max) = world.bounds();
                    let highest = floor.unwrap_or(0).max(least.unwrap_or(1));
                    prop_assert!(min.unwrap_or(1) <= i64::from(highest), "{min:?} {floor:?} {least:?}");
                    prop_assert!(min.unwrap_or(1) >= i64::from(least.unwrap_or(1)));
                    prop_assert!(min.unwrap_or(1) <= max && max == i64::from(most));
                }
                Happens::Least(value) => {
                    // The same value again is no edit that anyone could see, nor is one that was
                    // changed and changed back between two looks.
                    if [before.0, seen.0].contains(&value.map(i64::from)) {
                        continue;
                    }
                    least = value;
                    world.owner()["spec"][names[0]] = json!(value);
                    world.tick(None, second);
                }
                Happens::Most(value) => {
                    if before.1 == i64::from(value) {
                        continue;
                    }
                    most = value;
                    world.owner()["spec"][names[1]] = json!(value);
                    world.tick(None, second);
                }
                Happens::Undone => world.owner()["spec"][names[0]] = json!(least),
                Happens::Mode(on) => {
                    world.annotate(SCALING, json!(if on { "floor" } else { "recommend" }));
                    world.tick(None, second);
                }
                Happens::Pause(seconds) => second += seconds,
            }
            if !matches!(one, Happens::Undone | Happens::Pause(_)) {
                seen = world.bounds();
            }
        }
        world.annotate(SCALING, json!("off"));
        world.tick(None, second + 15);
        prop_assert_eq!(world.bounds(), (least.map(i64::from), i64::from(most)));
        prop_assert!(!world.has_record() && world.status().is_none());
    }
}

#[test]
fn bounds_in_annotations_count_before_the_fields_that_git_leaves_out() {
    const LEAST: &str = "evenkeel.dev/min-replicas";
    const MOST: &str = "evenkeel.dev/max-replicas";
    let mut world = World::new();
    // Git says the most alone, since Kubernetes wants it, and Kubernetes fills in a least of 1.
    world.hpa()["spec"]["minReplicas"] = json!(1);
    world.annotate(LEAST, json!("3"));
    world.annotate(MOST, json!("12"));
    world.tick(None, 0);
    assert_eq!(world.bounds(), (Some(3), 12));
    assert!(!world.has_record(), "nothing is lent");
    world.tick(Some(7), 15);
    assert_eq!(world.bounds(), (Some(7), 12));

    world.annotate(LEAST, json!("5"));
    world.tick(None, 30);
    assert_eq!(
        world.bounds(),
        (Some(5), 12),
        "the floor goes, to what Git says now"
    );
    assert!(!world.has_record());
    // A minimum that an HPA by cpu cannot have, and a minimum above the maximum.
    for (least, most) in [("0", "12"), ("20", "12")] {
        world.annotate(LEAST, json!(least));
        world.annotate(MOST, json!(most));
        world.tick(None, 45);
        assert_eq!(world.bounds(), (Some(5), 12), "{least} {most}");
    }
    // In another mode nothing is written.
    world.annotate(LEAST, json!("6"));
    world.annotate(SCALING, json!("recommend"));
    world.tick(None, 60);
    assert_eq!(world.bounds(), (Some(5), 12));
}
