//! The order in which the API server is asked about tokens. Any client can show any number of
//! tokens. Never admitted tokens share a few reviews: a bounded number begins each second, a
//! bounded number waits, and the rest is refused at once. Admitted tokens have turns of their own,
//! so strangers do not delay them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// Reviews that are under way at a time, of strangers and of known tokens each.
const AT_ONCE: usize = 4;

/// Unknown tokens that wait for their review.
const WAITING: usize = 16;

/// Reviews of strangers that begin in a second, and after a quiet time together.
const A_SECOND: u32 = 10;

#[derive(Debug)]
pub(super) struct TokenReviewLimiter {
    known: Semaphore,
    strangers: Semaphore,
    queue: Semaphore,
    begun: Mutex<Bucket>,
}

/// The turn of one review, over when it is dropped.
#[derive(Debug)]
pub(super) struct TokenReviewPermit<'a> {
    _turn: SemaphorePermit<'a>,
    _place: Option<SemaphorePermit<'a>>,
}

/// Reviews that may begin, by the time until which their share is used up.
#[derive(Debug, Default)]
struct Bucket {
    used_until: Option<Instant>,
}

impl Default for TokenReviewLimiter {
    fn default() -> Self {
        Self {
            known: Semaphore::new(AT_ONCE),
            strangers: Semaphore::new(AT_ONCE),
            queue: Semaphore::new(AT_ONCE + WAITING),
            begun: Mutex::default(),
        }
    }
}

impl TokenReviewLimiter {
    /// Waits for the turn of a token that was admitted before.
    pub(super) async fn known(&self) -> TokenReviewPermit<'_> {
        TokenReviewPermit {
            _turn: acquired(&self.known).await,
            _place: None,
        }
    }

    /// Waits for the turn of a token that was never admitted, shown at `now`; `None` if too many
    /// others wait.
    pub(super) async fn stranger(&self, now: Instant) -> Option<TokenReviewPermit<'_>> {
        let place = self.queue.try_acquire().ok()?;
        let begins = {
            let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
            begun.take(now)
        };
        if !begins {
            return None;
        }
        Some(TokenReviewPermit {
            _turn: acquired(&self.strangers).await,
            _place: Some(place),
        })
    }
}

impl Bucket {
    /// Takes one of the reviews that may begin at `now`; false where there is none.
    fn take(&mut self, now: Instant) -> bool {
        let share = Duration::from_secs(1) / A_SECOND;
        let used = self.used_until.map_or(now, |until| until.max(now)) + share;
        let is_free = used <= now + Duration::from_secs(1);
        if is_free {
            self.used_until = Some(used);
        }
        is_free
    }
}

async fn acquired(semaphore: &Semaphore) -> SemaphorePermit<'_> {
    let permit = semaphore.acquire().await;
    permit.expect("the semaphore is never closed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_reviews_begin_in_a_second() {
        let start = Instant::from_std(evenkeel_clock::instant());
        let mut bucket = Bucket::default();
        let taken = |bucket: &mut Bucket, millis| {
            let now = start + Duration::from_millis(millis);
            (0..100).filter(|_| bucket.take(now)).count()
        };
        for (millis, expected) in [(0, 10), (99, 0), (100, 1), (350, 2), (400, 1), (9000, 10)] {
            assert_eq!(taken(&mut bucket, millis), expected, "{millis}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn known_tokens_do_not_wait_for_strangers() {
        let turns = TokenReviewLimiter::default();
        let start = Instant::from_std(evenkeel_clock::instant());
        let mut strangers = Vec::new();
        for number in 0..AT_ONCE + WAITING {
            let now = start + Duration::from_secs(number as u64);
            strangers.push(Box::pin(turns.stranger(now)));
        }
        let mut held = Vec::new();
        for stranger in &mut strangers {
            if let std::task::Poll::Ready(turn) = futures::poll!(stranger) {
                held.push(turn.unwrap());
            }
        }
        assert_eq!(held.len(), AT_ONCE);
        let later = start + Duration::from_secs(100);
        assert!(turns.stranger(later).await.is_none());
        let _known = turns.known().await;
        held.clear();
        drop(strangers);
        turns.stranger(later).await.unwrap();
    }
}
