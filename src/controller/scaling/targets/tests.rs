//! The book-keeping of the targets between two ticks.

use super::*;

fn key(name: &str) -> Key {
    Key {
        namespace: "shop".into(),
        autoscaler: None,
        workload: TargetRef::new("apps/v1", "Deployment", "shop", name),
    }
}

#[test]
fn a_target_that_comes_while_its_namespace_is_filled_is_filled_after() {
    let running = |asked| {
        Box::new(TargetState {
            refill: Some(RefillState::Running),
            asked,
            ..TargetState::default()
        })
    };
    let mut targets = Targets {
        states: HashMap::from([(key("early"), running(3)), (key("late"), running(4))]),
        tick: 5,
    };
    let state = |targets: &Targets| ["early", "late"].map(|name| targets.states[&key(name)].refill);
    targets.filled(&Asked::from([("other".into(), 9), ("shop".into(), 3)]));
    assert_eq!(
        state(&targets),
        [Some(RefillState::Done), Some(RefillState::Running)]
    );
    targets.filled(&Asked::from([("shop".into(), 4)]));
    assert_eq!(state(&targets), [Some(RefillState::Done); 2]);
}
