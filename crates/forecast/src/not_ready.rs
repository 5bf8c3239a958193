//! A model with too little history, and when it will have enough.

use std::fmt;

use jiff::SignedDuration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{have} samples without a gap of 3 or more steps, and {need} are needed")]
pub struct NotEnoughHistory {
    /// Steps needed without an unfilled gap.
    pub need: usize,
    /// Steps known, fewer than `need`.
    pub have: usize,
}

/// A model that cannot forecast yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotReady {
    pub model: &'static str,
    /// Until it can, if no measurement is missing until then.
    pub ready_in: SignedDuration,
}

impl NotReady {
    pub(crate) fn new(
        model: &'static str,
        history: NotEnoughHistory,
        step: SignedDuration,
    ) -> Self {
        let missing = history.need.saturating_sub(history.have);
        let steps = i32::try_from(missing).unwrap_or(i32::MAX);
        let ready_in = step.checked_mul(steps).unwrap_or(SignedDuration::MAX);
        Self { model, ready_in }
    }
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.ready_in.as_secs();
        if seconds <= 0 {
            return write!(f, "{} waits to be fitted", self.model);
        }
        let (count, unit) = match seconds {
            0..120 => (seconds, "s"),
            120..7200 => ((seconds - 1) / 60 + 1, "min"),
            _ => ((seconds - 1) / 3600 + 1, "h"),
        };
        write!(f, "{} ready in {count} {unit}", self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_told_in_the_unit_that_fits() {
        for (seconds, told) in [
            (-5, "tes waits to be fitted"),
            (0, "tes waits to be fitted"),
            (45, "tes ready in 45 s"),
            (120, "tes ready in 2 min"),
            (700, "tes ready in 12 min"),
            (7200, "tes ready in 2 h"),
            (86_000, "tes ready in 24 h"),
        ] {
            let not_ready = NotReady {
                model: "tes",
                ready_in: SignedDuration::from_secs(seconds),
            };
            assert_eq!(not_ready.to_string(), told, "{seconds}");
        }
    }
}
