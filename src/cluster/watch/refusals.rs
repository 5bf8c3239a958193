//! The refusals of a watch in a row: the pause after each, and from when on what was seen before no
//! longer counts.
//!
//! A right that is taken away leaves a picture that nobody corrects any more. But an API server
//! that starts refuses everybody until it has read the roles, and roles that are applied anew are
//! gone for a moment; so the picture stands for a while, and the watch is tried again for ever.

use std::time::Duration;

/// The pause after the first refusal, doubled with each further one up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The time of refusals for which the picture stands.
const GRACE: Duration = Duration::from_secs(60);

/// The refusals of one watch since it was last followed.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    in_a_row: u32,
    waited: Duration,
}

impl Refusals {
    /// Takes note of a refusal; the pause until the next try.
    pub(super) fn refused(&mut self) -> Duration {
        let doubled = FIRST_PAUSE.saturating_mul(1_u32 << self.in_a_row.min(16));
        let pause = doubled.min(LONGEST_PAUSE);
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.waited = self.waited.saturating_add(pause);
        pause
    }

    /// Takes note that the watch is followed again.
    pub(super) fn lifted(&mut self) {
        *self = Self::default();
    }

    /// True while the watch is refused.
    pub(super) const fn last(&self) -> bool {
        self.in_a_row > 0
    }

    /// True once it has been refused for so long that what was seen before no longer counts.
    pub(super) fn outlast_the_picture(&self) -> bool {
        self.waited > GRACE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew() {
        let mut refusals = Refusals::default();
        assert!(!refusals.last());
        for (pause, outlast) in [
            (1, false),
            (2, false),
            (4, false),
            (8, false),
            (16, false),
            (30, true),
            (30, true),
        ] {
            assert_eq!(refusals.refused(), Duration::from_secs(pause));
            assert_eq!(refusals.outlast_the_picture(), outlast, "{pause}");
        }
        refusals.lifted();
        assert!(!refusals.last() && !refusals.outlast_the_picture());
        assert_eq!(refusals.refused(), FIRST_PAUSE);
        let ever = (0..100).map(|_| refusals.refused()).max();
        assert_eq!(ever, Some(LONGEST_PAUSE));
    }
}
