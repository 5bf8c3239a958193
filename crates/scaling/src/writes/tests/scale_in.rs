//! Which scale-ins are told of before they come, and which write is handed over with them.

use super::*;

const MIN: &str = "evenkeel.dev/min-replicas";
const MAX: &str = "evenkeel.dev/max-replicas";

/// The scale-in that a report leads to, with the counts, the purpose of the write that is handed over, and
/// how many other writes stay.
type Told = Option<(i32, i32, Option<Purpose>)>;

fn told(world: &mut World, report: &TickReport, now: Timestamp) -> (Told, Vec<Purpose>) {
    let mut writes = world.plan(Some(report), now);
    let (observed, resolved) = (world.observed(), world.resolve(now));
    let report = Some(report).filter(|_| resolved.target.is_some());
    let found = scale_in(&observed, &resolved, report, now, &mut writes);
    let left = writes.iter().map(|write| write.purpose).collect();
    let found = found.map(|one| (one.from, one.to, one.lowering.map(|one| one.write.purpose)));
    (found, left)
}

#[test]
fn in_mode_direct_the_count_waits_with_the_scale_in() {
    for (to, expected) in [
        (3, Some((4, 3, Some(Purpose::ScalingReplicas)))),
        (4, None),
        (6, None),
        (0, None),
    ] {
        let mut world = World::alone(&[(SCALING, "direct"), (MIN, "2"), (MAX, "10")]);
        world.started();
        let (found, left) = told(&mut world, &report(Some(to), 0), at(0));
        assert_eq!(found, expected, "{to}");
        let raised = left.contains(&Purpose::ScalingReplicas);
        assert_eq!(raised, expected.is_none() && to != 4, "{to} {left:?}");
    }
}

#[test]
fn a_floor_that_holds_the_count_is_told_of_when_it_falls() {
    let mut world = World::new();
    world.tick(Some(4), 0);
    let (found, left) = told(&mut world, &report(Some(3), 60), at(60));
    assert_eq!(found, Some((4, 3, Some(Purpose::ScalingBounds))));
    assert!(!left.contains(&Purpose::ScalingBounds), "{left:?}");
    // Where the HPA holds more than the floor anyway, nothing follows from it.
    let mut world = World::new();
    world.tick(Some(3), 0);
    let (found, left) = told(&mut world, &report(Some(2), 60), at(60));
    assert_eq!(found, None);
    assert!(left.contains(&Purpose::ScalingBounds), "{left:?}");
}

#[test]
fn an_hpa_tells_of_its_own_and_no_namespace_that_has_not_opted_in() {
    let mut world = World::new();
    world.hpa()["status"]["desiredReplicas"] = json!(2);
    let (found, _) = told(&mut world, &report(None, 0), at(0));
    assert_eq!(found, Some((4, 2, None)));
    world.namespace.clear();
    let (found, _) = told(&mut world, &report(None, 0), at(0));
    assert_eq!(found, None);
}

/// The reasons of Events.
fn reasons<'a>(writes: impl IntoIterator<Item = &'a Write>) -> Vec<String> {
    let events = writes
        .into_iter()
        .filter_map(|write| match &write.operation {
            WriteOperation::Create(event) => event["reason"].as_str().map(str::to_owned),
            WriteOperation::Merge(_)
            | WriteOperation::Conditional(_)
            | WriteOperation::Delete { .. } => None,
        });
    events.collect()
}

/// The Events that go with the lowering, and those that are written at once.
fn told_when(world: &mut World, report: &TickReport, second: i64) -> (Vec<String>, Vec<String>) {
    let now = at(second);
    let mut writes = world.plan(Some(report), now);
    let (observed, resolved) = (world.observed(), world.resolve(now));
    let found = scale_in(&observed, &resolved, Some(report), now, &mut writes);
    // Nothing on the object itself says that it has happened.
    let status = |write: &Write| write.purpose == Purpose::ScalingStatus;
    assert!(!writes.iter().any(status), "{writes:?}");
    let lowering = found.and_then(|found| found.lowering);
    let told = lowering.map(|lowering| lowering.told).unwrap_or_default();
    (reasons(&told), reasons(&writes))
}

#[test]
fn the_fall_of_a_floor_is_told_with_the_write_that_brings_it_about() {
    let mut world = World::new();
    world.tick(Some(4), 0);
    let (told, at_once) = told_when(&mut world, &report(Some(3), 60), 60);
    assert_eq!(told, ["FloorLowered"]);
    assert!(!at_once.contains(&"FloorLowered".to_owned()), "{at_once:?}");
    // It is told once for each change, and nothing with what is not held.
    let (told, _) = told_when(&mut world, &report(Some(3), 75), 75);
    assert_eq!(told, Vec::<String>::new());
    let (told, at_once) = told_when(&mut world, &report(Some(6), 90), 90);
    assert_eq!(
        (told, at_once),
        (Vec::new(), vec!["FloorRaised".to_owned()])
    );
}
