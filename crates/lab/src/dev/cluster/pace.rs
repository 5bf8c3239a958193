//! Measures how late this machine does its work, and slows the scenario down to what it can keep.

use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::TryRecvError;

use super::events::{DevEvent, DevEventBus, TimedEvent};
use super::governor::{Governor, LagSample};
use evenkeel_clock as clock;
use evenkeel_sandbox::Timeline;

/// How long the probe sleeps: what it sleeps longer is lateness.
const PROBE: Duration = Duration::from_millis(20);
const SAMPLE: Duration = Duration::from_secs(1);

/// Keeps the pace for ever, from `asked` times the speed of the machine's clock on.
pub(super) async fn keep(asked: f64, timeline: Timeline, events: DevEventBus) {
    let mut governor = Governor::new(asked);
    let mut calls = Calls {
        happened: events.subscribe(),
        faults: 0,
    };
    loop {
        let late = lateness().await;
        let unanswered = calls.unanswered();
        if let Some(kept) = governor.take(LagSample { late, unanswered }) {
            timeline.clock().set_speed(kept);
            events.tell(timeline.elapsed(), DevEvent::Pace { asked, kept });
        }
    }
}

/// The longest that the probe was late during one sample.
async fn lateness() -> Duration {
    let begun = clock::instant();
    let mut longest = Duration::ZERO;
    while begun.elapsed() < SAMPLE {
        let asleep = clock::instant();
        tokio::time::sleep(PROBE).await;
        longest = longest.max(asleep.elapsed().saturating_sub(PROBE));
    }
    longest
}

struct Calls {
    happened: Receiver<TimedEvent>,
    /// Faults that are on: they let calls fail on purpose.
    faults: u32,
}

impl Calls {
    /// Those since the last look that no fault explains.
    fn unanswered(&mut self) -> u32 {
        let mut count = 0;
        loop {
            match self.happened.try_recv() {
                Ok(TimedEvent { event, .. }) => match event {
                    DevEvent::Fault { begins: true, .. } => self.faults += 1,
                    DevEvent::Fault { begins: false, .. } => {
                        self.faults = self.faults.saturating_sub(1);
                    }
                    DevEvent::FailedOpen { .. } if self.faults == 0 => count += 1,
                    _ => {}
                },
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return count,
            }
        }
    }
}
