//! The book-keeping of the targets between two ticks.

use serde_json::json;

use super::*;
use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::object_ref::ObjectRef;
use evenkeel_kubernetes::plan::{Operation, Purpose};

fn key(name: &str) -> Key {
    Key {
        namespace: "shop".into(),
        autoscaler: None,
        workload: scaling::Reference {
            kind: "Deployment".into(),
            name: name.into(),
        },
    }
}

#[test]
fn a_target_that_comes_while_its_namespace_is_filled_is_filled_after() {
    let running = |asked| Kept {
        refill: Some(RefillState::Running),
        asked,
        ..Kept::default()
    };
    let mut targets = Targets {
        shared: Arc::default(),
        kept: HashMap::from([(key("early"), running(3)), (key("late"), running(4))]),
        tick: 5,
    };
    let state = |targets: &Targets| ["early", "late"].map(|name| targets.kept[&key(name)].refill);
    targets.filled(&Asked::from([("other".into(), 9), ("shop".into(), 3)]));
    assert_eq!(
        state(&targets),
        [Some(RefillState::Done), Some(RefillState::Running)]
    );
    targets.filled(&Asked::from([("shop".into(), 4)]));
    assert_eq!(state(&targets), [Some(RefillState::Done); 2]);
}

#[test]
fn no_write_is_always_among_those_that_find_no_room() {
    let all: Vec<Write> = (0..1000)
        .map(|number| Write {
            purpose: Purpose::ScalingStatus,
            target: ObjectRef::in_namespace(
                Kind::HorizontalPodAutoscaler,
                "shop",
                number.to_string(),
            ),
            operation: Operation::Merge(json!({})),
        })
        .collect();
    let mut found_room = HashSet::new();
    for tick in 0..20 {
        let mut writes = all.clone();
        take_turns(&mut writes, tick);
        found_room.extend(writes.into_iter().take(100).map(|write| write.target));
    }
    assert_eq!(found_room.len(), all.len());
    take_turns(&mut [], 7);
}
