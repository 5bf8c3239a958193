//! Keeps a repeating fault from filling the log: one line a period and key. The caller asks before
//! it logs, and gets the number of lines left out since the last one, to be logged with it. Time is
//! an argument.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The usual period: one line a minute.
pub const PERIOD: Duration = Duration::from_mins(1);

/// Keys remembered at once. Beyond it the quiet ones are forgotten; if none is quiet, new keys are
/// not logged: a fault with so many keys is one fault.
const MAX_KEYS: usize = 1024;

/// A limit of one log line a period for each key.
#[derive(Debug)]
pub struct RateLimited<K> {
    period: Duration,
    last: Mutex<HashMap<K, LogSuppression>>,
}

#[derive(Debug)]
struct LogSuppression {
    at: Instant,
    suppressed: u64,
}

impl<K: Eq + Hash> RateLimited<K> {
    /// At most one line in `period` for each key.
    pub fn new(period: Duration) -> Self {
        Self {
            period,
            last: Mutex::new(HashMap::new()),
        }
    }

    /// Permits a line of `key` at `now`, with the number of lines suppressed since the last one.
    pub fn permit(&self, key: K, now: Instant) -> Option<u64> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = last.get_mut(&key) {
            if now.saturating_duration_since(line.at) < self.period {
                line.suppressed = line.suppressed.saturating_add(1);
                return None;
            }
            line.at = now;
            return Some(std::mem::take(&mut line.suppressed));
        }
        if last.len() >= MAX_KEYS {
            last.retain(|_, line| now.saturating_duration_since(line.at) < self.period);
            if last.len() >= MAX_KEYS {
                return None;
            }
        }
        last.insert(
            key,
            LogSuppression {
                at: now,
                suppressed: 0,
            },
        );
        Some(0)
    }
}

impl<K: Eq + Hash> Default for RateLimited<K> {
    fn default() -> Self {
        Self::new(PERIOD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(seconds: u64) -> impl Fn(Instant) -> Instant {
        move |start| start + Duration::from_secs(seconds)
    }

    #[test]
    fn one_line_a_period_is_logged_with_the_number_left_out() {
        let start = evenkeel_clock::instant();
        let limit = RateLimited::default();
        let asked = [0, 1, 30, 59, 60, 61, 200].map(|s| limit.permit("down", after(s)(start)));
        assert_eq!(
            asked,
            [Some(0), None, None, None, Some(3), None, Some(1)],
            "after 0, 1, 30, 59, 60, 61 and 200 seconds"
        );
    }

    #[test]
    fn keys_do_not_share_their_limit() {
        let start = evenkeel_clock::instant();
        let limit = RateLimited::default();
        assert_eq!(limit.permit("slow", start), Some(0));
        assert_eq!(limit.permit("down", start), Some(0));
        assert_eq!(limit.permit("slow", start), None);
    }

    #[test]
    fn memory_is_bounded_and_quiet_keys_make_room() {
        let start = evenkeel_clock::instant();
        let limit = RateLimited::default();
        for key in 0..MAX_KEYS {
            assert_eq!(limit.permit(key, start), Some(0));
        }
        assert_eq!(limit.permit(MAX_KEYS, start), None);
        assert_eq!(limit.permit(MAX_KEYS, after(60)(start)), Some(0));
    }
}
