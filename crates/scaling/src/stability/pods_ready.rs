//! The readiness of the Pods that are to be online.

use jiff::{SignedDuration, Timestamp};

use super::verdict::CheckVerdict;

/// The share of the Pods that have to be ready, and the time that they have for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodsReady {
    /// 1 to 100.
    pub percent: u8,
    /// The time after a step within which they have to be.
    pub within: SignedDuration,
}

impl PodsReady {
    /// The verdict on so many Pods that are ready of so many that are to be online, where the last step was
    /// made at `stepped`.
    pub fn judge(
        &self,
        ready: i32,
        online: i32,
        stepped: Option<Timestamp>,
        now: Timestamp,
    ) -> CheckVerdict {
        let Self { percent, within } = *self;
        let needed = (i64::from(online) * i64::from(percent) + 99) / 100;
        let words = format!("{ready} of {online} Pods are ready, {needed} are needed");
        let late = stepped.map(|stepped| now.duration_since(stepped));
        if i64::from(ready) >= needed {
            CheckVerdict::Pass(words)
        } else if late.is_some_and(|late| late <= within) {
            CheckVerdict::Unknown(format!("{words} within {} s", within.as_secs()))
        } else {
            CheckVerdict::Fail(words)
        }
    }
}
