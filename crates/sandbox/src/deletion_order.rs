//! Pods of the sandbox in the form for the order of deletion.

use evenkeel_placement::deletion_order::{ActivePodPhase, Victim};
use jiff::SignedDuration;

use crate::lifecycle::{Lifecycle, Stage};

/// A Pod made at `made`, which its node has had since `life` began.
pub(crate) fn victim<N, I>(
    node: Option<N>,
    life: Option<Lifecycle>,
    made: SignedDuration,
    at: SignedDuration,
    identity: I,
) -> Victim<N, I> {
    let stage = life.map(|life| life.stage(at));
    Victim {
        node,
        phase: if stage.is_some_and(|stage| stage >= Stage::Warming) {
            ActivePodPhase::Running
        } else {
            ActivePodPhase::Pending
        },
        is_ready: stage == Some(Stage::Ready),
        cost: 0,
        ready_for: life.map(|life| at.saturating_sub(life.ready)),
        restarts: [0, 0],
        age: Some(at.saturating_sub(made)),
        identity,
    }
}
