//! Activity on a connection, as far as it decides how long the connection stays open. A client may
//! keep a connection quiet for minutes, but must finish a request head that it has begun. hyper's
//! own timeout does not tell the two apart, so arriving bytes and beginning requests are noted
//! here, and checked now and then, without a clock on a request's way. HTTP/2 bounds heads by other
//! means, so only its requests are noted, each until its answer is taken.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Notes on a connection; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Activity(Arc<ActivityCounters>);

#[derive(Debug, Default)]
struct ActivityCounters {
    calls: AtomicU64,
    in_flight: AtomicUsize,
    head_begun: AtomicBool,
    unsent: AtomicBool,
    last_use: AtomicU64,
    looks: AtomicUsize,
    /// Answers not taken yet, by the look before which they were made, in turns of three: when a
    /// turn begins anew, a leftover of the last would have closed its connection.
    untaken: [AtomicUsize; 3],
}

/// A request until its answer is taken.
#[derive(Debug)]
pub(super) struct InFlight {
    activity: Activity,
    answered: Option<usize>,
}

impl Activity {
    /// A request's head is complete.
    pub(super) fn call(&self) -> InFlight {
        self.0.calls.fetch_add(1, Ordering::Relaxed);
        self.0.in_flight.fetch_add(1, Ordering::Relaxed);
        self.0.head_begun.store(false, Ordering::Relaxed);
        InFlight {
            activity: self.clone(),
            answered: None,
        }
    }

    /// A request was answered as its client wished, at a point in the order of all such answers.
    pub(super) fn used(&self, at: u64) {
        self.0.last_use.store(at, Ordering::Relaxed);
    }

    /// The point of the last such answer; 0 where there was none.
    pub(super) fn last_use(&self) -> u64 {
        self.0.last_use.load(Ordering::Relaxed)
    }

    /// True while a request has begun that is not answered yet.
    pub(super) fn is_busy(&self) -> bool {
        self.0.in_flight.load(Ordering::Relaxed) > 0 || self.0.head_begun.load(Ordering::Relaxed)
    }

    fn received(&self) {
        if self.0.in_flight.load(Ordering::Relaxed) == 0 {
            self.0.head_begun.store(true, Ordering::Relaxed);
        }
    }

    /// Takes note that the client has, or has not, taken all bytes of the answers so far.
    fn sent(&self, unsent: bool) {
        self.0.unsent.store(unsent, Ordering::Relaxed);
    }

    /// Begins the next look; true if an answer from before the last one is not taken yet.
    fn is_untaken(&self) -> bool {
        let look = self.0.looks.fetch_add(1, Ordering::Relaxed);
        self.0.untaken[look.wrapping_add(2) % 3].load(Ordering::Relaxed) > 0
    }

    fn look(&self) -> ActivitySample {
        ActivitySample {
            unsent: self.0.unsent.load(Ordering::Relaxed),
            calls: self.0.calls.load(Ordering::Relaxed),
            in_flight: self.0.in_flight.load(Ordering::Relaxed),
            head_begun: self.0.head_begun.load(Ordering::Relaxed),
        }
    }
}

impl InFlight {
    /// The answer is made, and under way until this is dropped.
    pub(super) fn answered(&mut self) {
        let noted = &self.activity.0;
        let turn = noted.looks.load(Ordering::Relaxed) % 3;
        noted.untaken[turn].fetch_add(1, Ordering::Relaxed);
        self.answered = Some(turn);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let noted = &self.activity.0;
        if let Some(turn) = self.answered {
            noted.untaken[turn].fetch_sub(1, Ordering::Relaxed);
        }
        noted.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection as it was at one look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ActivitySample {
    calls: u64,
    in_flight: usize,
    head_begun: bool,
    unsent: bool,
}

/// Conclusion from the looks so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionVerdict {
    Keep,
    /// A request head has been incomplete for more than a whole interval.
    SlowHead,
    /// An answer has been under way to its client for more than a whole interval.
    SlowReader,
    /// Nothing has come for as many intervals as are allowed.
    Idle,
}

/// Judges a connection by looks at a fixed interval.
#[derive(Debug)]
pub(super) struct ConnectionWatchdog {
    activity: Activity,
    last: Option<ActivitySample>,
    quiet: u32,
    most_quiet: u32,
}

impl ConnectionWatchdog {
    /// A connection that may be quiet for `most_quiet` intervals.
    pub(super) fn new(activity: Activity, most_quiet: u32) -> Self {
        Self {
            activity,
            last: None,
            quiet: 0,
            most_quiet,
        }
    }

    /// The verdict at the end of an interval.
    pub(super) fn look(&mut self) -> ConnectionVerdict {
        if self.activity.is_untaken() {
            return ConnectionVerdict::SlowReader;
        }
        let look = self.activity.look();
        let unchanged = self.last.replace(look) == Some(look);
        if unchanged && look.unsent {
            return ConnectionVerdict::SlowReader;
        }
        if !unchanged || look.in_flight > 0 {
            self.quiet = 0;
            return ConnectionVerdict::Keep;
        }
        if look.head_begun {
            return ConnectionVerdict::SlowHead;
        }
        self.quiet += 1;
        if self.quiet >= self.most_quiet {
            ConnectionVerdict::Idle
        } else {
            ConnectionVerdict::Keep
        }
    }
}

/// A stream that notes its bytes: those that arrive and those that are not taken.
#[derive(Debug)]
pub(super) struct ActivityStream<I> {
    stream: I,
    activity: Activity,
}

impl<I> ActivityStream<I> {
    pub(super) fn new(stream: I, activity: Activity) -> Self {
        Self { stream, activity }
    }

    fn written(&self, polled: &Poll<std::io::Result<usize>>) {
        if polled.is_pending() {
            self.activity.sent(true);
        }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for ActivityStream<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.activity.received();
        }
        polled
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for ActivityStream<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, buffer);
        self.written(&polled);
        polled
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        // All has gone out only then: a write that was taken may have been a part.
        self.activity.sent(polled.is_pending());
        polled
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.written(&polled);
        polled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paced() -> (Activity, ConnectionWatchdog) {
        let activity = Activity::default();
        let pace = ConnectionWatchdog::new(activity.clone(), 3);
        (activity, pace)
    }

    #[test]
    fn a_silent_connection_is_idle_after_the_intervals_allowed() {
        let (_, mut pace) = paced();
        let looks: Vec<_> = (0..4).map(|_| pace.look()).collect();
        assert_eq!(
            looks,
            [
                ConnectionVerdict::Keep,
                ConnectionVerdict::Keep,
                ConnectionVerdict::Keep,
                ConnectionVerdict::Idle
            ],
            "the first look only begins"
        );
    }

    #[test]
    fn a_request_now_and_then_keeps_it() {
        let (activity, mut pace) = paced();
        for _ in 0..20 {
            activity.received();
            drop(activity.call());
            assert_eq!(pace.look(), ConnectionVerdict::Keep);
            assert_eq!(pace.look(), ConnectionVerdict::Keep);
        }
    }

    #[test]
    fn a_head_may_take_one_interval_and_not_two() {
        let (activity, mut pace) = paced();
        pace.look();
        activity.received();
        assert_eq!(pace.look(), ConnectionVerdict::Keep);
        activity.received();
        assert_eq!(pace.look(), ConnectionVerdict::SlowHead);
    }

    #[test]
    fn an_answer_may_be_under_way_for_one_interval_and_not_for_two() {
        let (activity, mut pace) = paced();
        drop(activity.call());
        activity.sent(true);
        assert_eq!(pace.look(), ConnectionVerdict::Keep);
        activity.sent(false);
        assert_eq!(pace.look(), ConnectionVerdict::Keep, "it was taken");
        activity.sent(true);
        assert_eq!(pace.look(), ConnectionVerdict::Keep);
        assert_eq!(pace.look(), ConnectionVerdict::SlowReader);
    }

    #[test]
    fn later_requests_do_not_hide_an_answer_that_is_not_taken() {
        let (activity, mut pace) = paced();
        let answered = || {
            let mut request = activity.call();
            request.answered();
            request
        };
        for _ in 0..9 {
            let request = answered();
            assert_eq!(pace.look(), ConnectionVerdict::Keep);
            drop(request);
        }
        let _untaken = answered();
        assert_eq!(pace.look(), ConnectionVerdict::Keep);
        drop(answered());
        assert_eq!(pace.look(), ConnectionVerdict::SlowReader);
    }

    #[test]
    fn a_long_request_is_neither_idle_nor_slow() {
        let (activity, mut pace) = paced();
        activity.received();
        let request = activity.call();
        for _ in 0..9 {
            activity.received();
            assert_eq!(pace.look(), ConnectionVerdict::Keep);
            assert!(activity.is_busy());
        }
        drop(request);
        assert!(!activity.is_busy());
    }
}
