//! The check that the horizontal scaling of a workload allows a resize: if both change at
//! once, neither change can be measured.

use evenkeel_objects::scaling_mode::ScalingMode;
use jiff::{SignedDuration, Timestamp};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HpaActivity {
    /// Last change of its replicas or bounds.
    pub scaled: Option<Timestamp>,
    /// A forecast asks for other replicas than it has.
    pub is_called_for: bool,
}

impl HpaActivity {
    /// Nothing has scaled the workload for `fresh`, and no forecast is about to.
    pub fn allows(&self, now: Timestamp, fresh: SignedDuration) -> bool {
        let is_fresh = |at: Timestamp| now.duration_since(at) < fresh;
        !self.is_called_for && !self.scaled.is_some_and(is_fresh)
    }
}

/// A forecast's decision, in this mode, is not yet applied to the replicas.
pub fn is_called_for(mode: ScalingMode, current: Option<i32>, decided: Option<i32>) -> bool {
    let Some((current, decided)) = current.zip(decided) else {
        return false;
    };
    match mode {
        ScalingMode::Direct => current != decided,
        // A floor takes no replicas away.
        ScalingMode::Floor => current < decided,
        ScalingMode::Off | ScalingMode::Recommend => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_replicas_are_called_for_where_a_decision_acts() {
        for (mode, fewer, more) in [
            (ScalingMode::Off, false, false),
            (ScalingMode::Recommend, false, false),
            (ScalingMode::Floor, false, true),
            (ScalingMode::Direct, true, true),
        ] {
            let called = |decided| is_called_for(mode, Some(4), decided);
            let found = [Some(3), Some(4), Some(5), None].map(called);
            assert_eq!(found, [fewer, false, more, false], "{mode:?}");
            assert!(!is_called_for(mode, None, Some(5)), "{mode:?}");
        }
    }
}
