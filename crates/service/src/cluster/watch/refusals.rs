//! The refusals of a watch in a row, and failed lists that count as such: the pause after each, and
//! the time from which earlier data no longer counts. If a right is revoked, no update corrects the
//! data any more. But a starting API server refuses all clients until it has read the roles, and
//! roles applied anew are missing for a moment. So the data counts for a while longer, and the
//! watch is retried for ever.

use std::time::Duration;

use kube::runtime::watcher::Error;

/// The pause after the first refusal, doubled with each further one up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The time of refusals for which the picture stands.
const GRACE: Duration = Duration::from_mins(1);
/// The longest wait for the next object in a list of custom resources.
pub(super) const OBJECT_WITHIN: Duration = Duration::from_mins(1);

/// Why a watch begins again from a new list.
pub(super) struct WatchFailure {
    pub(super) why: String,
    /// True where the API server refuses the watch, false where a list failed.
    pub(super) is_refusal: bool,
    /// The time for which it was waited in vain.
    pub(super) waited: Duration,
}

impl WatchFailure {
    pub(super) fn of(error: &Error) -> Self {
        Self {
            why: error.to_string(),
            is_refusal: is_refusal(error),
            waited: Duration::ZERO,
        }
    }

    pub(super) fn unanswered() -> Self {
        Self {
            why: format!("no object of the list within {OBJECT_WITHIN:?}"),
            is_refusal: false,
            waited: OBJECT_WITHIN,
        }
    }
}

/// True where the API server knows the caller and does not let it (403), or does not know it (401).
pub(super) fn is_refusal(error: &Error) -> bool {
    let code = match error {
        Error::InitialListFailed(kube::Error::Api(status))
        | Error::WatchStartFailed(kube::Error::Api(status))
        | Error::WatchFailed(kube::Error::Api(status))
        | Error::WatchError(status) => status.code,
        _ => return false,
    };
    matches!(code, 401 | 403)
}

#[derive(Debug, Default)]
pub(super) struct Refusals {
    in_a_row: u32,
    waited: Duration,
}

impl Refusals {
    /// Takes note of a refusal that was `waited` for; the pause until the next try.
    pub(super) fn refused(&mut self, waited: Duration) -> Duration {
        let doubled = FIRST_PAUSE.saturating_mul(1_u32 << self.in_a_row.min(16));
        let pause = doubled.min(LONGEST_PAUSE);
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.waited = self.waited.saturating_add(waited).saturating_add(pause);
        pause
    }

    /// Takes note that the watch is followed again.
    pub(super) fn lifted(&mut self) {
        *self = Self::default();
    }

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
            assert_eq!(refusals.refused(Duration::ZERO), Duration::from_secs(pause));
            assert_eq!(refusals.outlast_the_picture(), outlast, "{pause}");
        }
        refusals.lifted();
        assert!(!refusals.last() && !refusals.outlast_the_picture());
        assert_eq!(refusals.refused(Duration::ZERO), FIRST_PAUSE);
        refusals.lifted();
        refusals.refused(GRACE);
        assert!(refusals.outlast_the_picture(), "what it waited for counts");
        let ever = (0..100).map(|_| refusals.refused(Duration::ZERO)).max();
        assert_eq!(ever, Some(LONGEST_PAUSE));
    }
}
