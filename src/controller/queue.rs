//! What waits to be written, in two lanes: what changes how the cluster behaves goes before what
//! only tells of it, so that ten thousand statuses hold up no floor.
//!
//! Both lanes are bounded, and what does not fit is planned again later. Of one object one write
//! waits in each lane: the plan is made again on what that one leaves behind.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use super::metrics::{Metrics, Outcome};
use crate::plan::{Purpose, Target, Write};

/// Which lane a write waits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Lane {
    Acts,
    Tells,
}

const fn lane(purpose: Purpose) -> Lane {
    match purpose {
        Purpose::MirrorNamespace
        | Purpose::WakePods
        | Purpose::CaBundle
        | Purpose::Certificates
        | Purpose::ScalingBounds => Lane::Acts,
        Purpose::Notice | Purpose::ScalingStatus | Purpose::ScalingEvent => Lane::Tells,
    }
}

#[derive(Debug, Default)]
struct Known {
    waiting: HashSet<(Lane, Target)>,
    failed: HashSet<Target>,
}

type Shared = Arc<Mutex<Known>>;

/// Sets of names are whole whatever happened while they were locked.
fn locked(known: &Shared) -> MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A queue with two lanes of `length` each.
pub(super) fn new(length: usize, metrics: Metrics) -> (WriteQueue, Waiting) {
    let (acts, acting) = mpsc::channel(length);
    let (tells, telling) = mpsc::channel(length);
    let known = Shared::default();
    let waiting = Waiting {
        acting,
        telling,
        known: Arc::clone(&known),
    };
    let queue = WriteQueue {
        acts,
        tells,
        known,
        metrics,
    };
    (queue, waiting)
}

/// Puts plans into the writer's queue.
#[derive(Debug, Clone)]
pub struct WriteQueue {
    acts: mpsc::Sender<Write>,
    tells: mpsc::Sender<Write>,
    known: Shared,
    metrics: Metrics,
}

impl WriteQueue {
    /// The objects whose writes have not been made since the last call, so that a plan can be made
    /// again, or rest.
    #[must_use]
    pub fn take_failed(&self) -> Vec<Target> {
        locked(&self.known).failed.drain().collect()
    }

    /// Queues a write, unless one for the same object waits in its lane already.
    pub fn put(&self, write: Write) {
        let mut known = locked(&self.known);
        let (lane, purpose) = (lane(write.purpose), write.purpose);
        let waiting = (lane, write.target.clone());
        if known.waiting.contains(&waiting) {
            return;
        }
        let sender = match lane {
            Lane::Acts => &self.acts,
            Lane::Tells => &self.tells,
        };
        if sender.try_send(write).is_ok() {
            known.waiting.insert(waiting);
        } else {
            self.metrics.count(purpose, Outcome::Dropped);
            known.failed.insert(waiting.1);
        }
    }
}

/// The writer's end of the queue.
pub(super) struct Waiting {
    acting: mpsc::Receiver<Write>,
    telling: mpsc::Receiver<Write>,
    known: Shared,
}

impl Waiting {
    /// The next write; `None` once nobody can queue any more.
    pub(super) async fn next(&mut self) -> Option<Write> {
        tokio::select! {
            biased;
            Some(write) = self.acting.recv() => Some(write),
            Some(write) = self.telling.recv() => Some(write),
            else => None,
        }
    }

    /// Takes note that a write has been tried.
    pub(super) fn done(&self, write: Write, failed: bool) {
        let mut known = locked(&self.known);
        let waiting = (lane(write.purpose), write.target);
        known.waiting.remove(&waiting);
        if failed {
            known.failed.insert(waiting.1);
        }
    }

    /// Everything that waits, in the order in which it would be written.
    #[cfg(test)]
    pub(super) fn take_all(&mut self) -> Vec<Write> {
        locked(&self.known).waiting.clear();
        let acting = std::iter::from_fn(|| self.acting.try_recv().ok());
        let telling = std::iter::from_fn(|| self.telling.try_recv().ok());
        acting.chain(telling).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::Operation;

    fn write(purpose: Purpose, name: &str) -> Write {
        Write {
            purpose,
            target: Target::Namespace(name.to_owned()),
            operation: Operation::Merge(json!({})),
        }
    }

    #[tokio::test]
    async fn what_acts_goes_before_what_tells_also_of_the_same_object() {
        let (queue, mut waiting) = new(10, Metrics::default());
        for (purpose, name) in [
            (Purpose::ScalingStatus, "a"),
            (Purpose::ScalingStatus, "b"),
            (Purpose::ScalingBounds, "b"),
            (Purpose::ScalingBounds, "b"),
        ] {
            queue.put(write(purpose, name));
        }
        let mut order = Vec::new();
        for _ in 0..3 {
            let next = waiting.next().await.unwrap();
            order.push((next.purpose, next.target.clone()));
            waiting.done(next, false);
        }
        let of = |purpose, name| {
            let Write {
                purpose, target, ..
            } = write(purpose, name);
            (purpose, target)
        };
        assert_eq!(
            order,
            [
                of(Purpose::ScalingBounds, "b"),
                of(Purpose::ScalingStatus, "a"),
                of(Purpose::ScalingStatus, "b"),
            ]
        );
        drop(queue);
        assert_eq!(waiting.next().await, None);
    }

    #[test]
    fn a_full_lane_drops_and_says_so_and_leaves_the_other_alone() {
        let (queue, mut waiting) = new(1, Metrics::default());
        for name in ["a", "b"] {
            queue.put(write(Purpose::ScalingStatus, name));
        }
        queue.put(write(Purpose::ScalingBounds, "c"));
        assert_eq!(queue.take_failed(), [Target::Namespace("b".to_owned())]);
        assert_eq!(waiting.take_all().len(), 2);
    }
}
