//! Which model has too little history, and when that will be over, in words.

use std::fmt;

use jiff::SignedDuration;

/// A model that cannot forecast yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lacking {
    /// The name of the model.
    pub model: &'static str,
    /// When it can, if no measurement is missing until then.
    pub ready_in: SignedDuration,
}

impl Lacking {
    /// The kind of state, for conditions, Events and metrics.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        "NotEnoughHistory"
    }
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.ready_in.as_secs().max(0);
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
            (-5, "tes ready in 0 s"),
            (45, "tes ready in 45 s"),
            (120, "tes ready in 2 min"),
            (700, "tes ready in 12 min"),
            (7200, "tes ready in 2 h"),
            (86_000, "tes ready in 24 h"),
        ] {
            let lacking = Lacking {
                model: "tes",
                ready_in: SignedDuration::from_secs(seconds),
            };
            assert_eq!(lacking.to_string(), told, "{seconds}");
        }
    }
}
