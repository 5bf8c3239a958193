//! The end of the service: it reports that it is leaving, stops accepting connections, finishes its
//! requests, and only then is over. A Service's endpoints change some time after a Pod was told to
//! end, so it accepts connections for a while after it stopped being ready. A [`Shutdown`] tells
//! each part the phase. The service is over when the last part's handle is gone, at a deadline, or
//! at a second signal.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::task::Poll;

use super::settings::DrainSettings;
use futures::{Stream, StreamExt, stream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

/// Phases of the end of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShutdownPhase {
    /// It has not begun.
    Serving,
    /// Not ready any more; connections are still accepted, and answers say that theirs closes.
    Leaving,
    /// No new connections; what is in flight is finished.
    Draining,
    /// Whatever is still open is dropped.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrainOutcome {
    Complete,
    /// Something was still open at the deadline.
    TimedOut,
    /// A second signal came first.
    Forced,
}

/// Takes the service through the phases of its end.
#[derive(Debug)]
pub struct Drain {
    settings: DrainSettings,
    phase: watch::Sender<ShutdownPhase>,
    part: mpsc::Sender<Infallible>,
    parts: mpsc::Receiver<Infallible>,
}

/// A part's view of the service's end, which waits for all handles from [`Drain::part`] and their
/// clones.
#[derive(Debug, Clone)]
pub struct Shutdown {
    phase: watch::Receiver<ShutdownPhase>,
    drains_at: ShutdownPhase,
    /// Held to be counted.
    _part: Option<mpsc::Sender<Infallible>>,
}

impl Drain {
    pub fn new(settings: DrainSettings) -> Self {
        let (part, parts) = mpsc::channel(1);
        Self {
            settings,
            phase: watch::Sender::new(ShutdownPhase::Serving),
            part,
            parts,
        }
    }

    /// A handle for a part that the service must not end before.
    pub fn part(&self) -> Shutdown {
        Shutdown {
            phase: self.phase.subscribe(),
            drains_at: ShutdownPhase::Draining,
            _part: Some(self.part.clone()),
        }
    }

    /// A handle for what lasts until the service is over, such as the probes.
    pub fn observer(&self) -> Shutdown {
        Shutdown {
            phase: self.phase.subscribe(),
            drains_at: ShutdownPhase::Over,
            _part: None,
        }
    }

    /// Waits for the first of `signals`, then ends the service; a second signal ends it at once.
    pub async fn run(self, signals: impl Stream<Item = ()>) -> DrainOutcome {
        let Self {
            settings: DrainSettings { delay, timeout },
            phase,
            part,
            mut parts,
        } = self;
        drop(part);
        let mut signals = pin!(signals.chain(stream::pending()));
        signals.next().await;
        tracing::info!(
            ?delay,
            ?timeout,
            "shutting down: not ready, still accepting connections"
        );
        phase.send_replace(ShutdownPhase::Leaving);
        let mut ended = tokio::select! {
            () = tokio::time::sleep(delay) => None,
            _ = signals.next() => Some(DrainOutcome::Forced),
        };
        if ended.is_none() {
            tracing::info!("draining: no new connections");
            phase.send_replace(ShutdownPhase::Draining);
            ended = Some(tokio::select! {
                _ = parts.recv() => DrainOutcome::Complete,
                () = tokio::time::sleep(timeout) => DrainOutcome::TimedOut,
                _ = signals.next() => DrainOutcome::Forced,
            });
        }
        phase.send_replace(ShutdownPhase::Over);
        let ended = ended.unwrap_or(DrainOutcome::Forced);
        tracing::info!(?ended, "over");
        ended
    }
}

impl Shutdown {
    pub fn phase(&self) -> ShutdownPhase {
        *self.phase.borrow()
    }

    /// Waits until the holder should take on no more work.
    pub async fn draining(&self) {
        self.reached(self.drains_at).await;
    }

    /// Waits until whatever is still open is dropped.
    pub async fn over(&self) {
        self.reached(ShutdownPhase::Over).await;
    }

    async fn reached(&self, phase: ShutdownPhase) {
        // An error means that the drain has stopped, which is an end as well.
        let _ = self.phase.clone().wait_for(|now| *now >= phase).await;
    }
}

/// SIGTERM from the kubelet, SIGINT from a terminal, and SIGHUP when that is closed, which by
/// default would end the process without cleaning up. A process started to outlive its terminal, as
/// by nohup, goes on.
///
/// # Errors
/// The process cannot receive them.
pub fn signals() -> io::Result<impl Stream<Item = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = if outlives_terminal() {
        None
    } else {
        Some(signal(SignalKind::hangup())?)
    };
    Ok(stream::poll_fn(move |context| {
        let sure = [&mut terminate, &mut interrupt].into_iter();
        let mut all = sure.chain(hang_up.as_mut());
        let arrived = all.find_map(|one| Some(one.poll_recv(context)).filter(Poll::is_ready));
        arrived.unwrap_or(Poll::Pending)
    }))
}

/// True if the starter of the process has it ignore SIGHUP; known on Linux alone.
fn outlives_terminal() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit is that of signal 1, which is SIGHUP.
    mask.is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use futures::channel::mpsc::unbounded;

    use std::time::Duration;

    use super::*;

    const LONG: Duration = Duration::from_hours(1);

    fn settings(delay: Duration, timeout: Duration) -> DrainSettings {
        DrainSettings { delay, timeout }
    }

    #[tokio::test]
    async fn the_phases_follow_the_signal_and_wait_for_the_parts() {
        let drain = Drain::new(settings(Duration::ZERO, LONG));
        let (part, observer) = (drain.part(), drain.observer());
        let (signal, signals) = unbounded();
        let running = tokio::spawn(drain.run(signals));
        assert_eq!(part.phase(), ShutdownPhase::Serving);
        signal.unbounded_send(()).unwrap();
        part.draining().await;
        let other = part.clone();
        drop(part);
        assert_eq!(observer.phase(), ShutdownPhase::Draining, "a clone is held");
        drop(other);
        observer.over().await;
        assert_eq!(running.await.unwrap(), DrainOutcome::Complete);
    }

    #[tokio::test]
    async fn connections_are_accepted_until_the_delay_has_passed() {
        let drain = Drain::new(settings(LONG, LONG));
        let part = drain.part();
        let (signal, signals) = unbounded();
        let running = tokio::spawn(drain.run(signals));
        signal.unbounded_send(()).unwrap();
        part.reached(ShutdownPhase::Leaving).await;
        assert_eq!(part.phase(), ShutdownPhase::Leaving);
        signal.unbounded_send(()).unwrap();
        assert_eq!(
            running.await.unwrap(),
            DrainOutcome::Forced,
            "by the second signal"
        );
        assert_eq!(part.phase(), ShutdownPhase::Over);
    }

    #[tokio::test]
    async fn a_part_that_hangs_is_left_behind_at_the_deadline() {
        let drain = Drain::new(settings(Duration::ZERO, Duration::from_millis(1)));
        let _held = drain.part();
        assert_eq!(drain.run(stream::iter([()])).await, DrainOutcome::TimedOut);
    }

    #[tokio::test]
    async fn a_second_signal_ends_the_wait_for_a_part() {
        let drain = Drain::new(settings(Duration::ZERO, LONG));
        let part = drain.part();
        let (signal, signals) = unbounded();
        let running = tokio::spawn(drain.run(signals));
        signal.unbounded_send(()).unwrap();
        part.draining().await;
        signal.unbounded_send(()).unwrap();
        assert_eq!(running.await.unwrap(), DrainOutcome::Forced);
    }
}
