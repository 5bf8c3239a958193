//! Writes that wait, in three lanes: what changes how the cluster behaves goes before what only
//! tells of it, so that ten thousand statuses hold up no floor. Statuses and Events take turns, so
//! that neither a storm of the one nor of the other silences the rest.
//!
//! All lanes are bounded, and what does not fit is planned again later. Of one object one write
//! waits in each lane, the newest that was planned: an object changes while its write waits, and
//! one that names an old version would only be refused.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use super::metrics::{Metrics, Outcome};
use evenkeel_kubernetes::object_ref::ObjectRef;
use evenkeel_kubernetes::plan::{Purpose, Write};

/// The lane that a write waits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Lane {
    Acts,
    Tells,
    Events,
}

const fn lane(purpose: Purpose) -> Lane {
    match purpose {
        Purpose::MirrorNamespace
        | Purpose::WakePods
        | Purpose::CaBundle
        | Purpose::Certificates
        | Purpose::ScalingBounds => Lane::Acts,
        Purpose::ScalingStatus => Lane::Tells,
        Purpose::AnnotationWarning | Purpose::ScalingEvent | Purpose::Configuration => Lane::Events,
    }
}

/// The place of one write in the queue.
type Place = (Lane, ObjectRef);

#[derive(Debug, Default)]
struct Known {
    /// The write; `None` while it is being made.
    waiting: HashMap<Place, Option<Write>>,
    failed: HashSet<ObjectRef>,
}

type Shared = Arc<Mutex<Known>>;

/// Names and writes are whole whatever happened while they were locked.
fn locked(known: &Shared) -> MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A queue with lanes of `length` each.
pub(super) fn new(length: usize, metrics: Metrics) -> (WriteQueue, Waiting) {
    let (acts, acting) = mpsc::channel(length);
    let (tells, telling) = mpsc::channel(length);
    let (events, happening) = mpsc::channel(length);
    let known = Shared::default();
    let waiting = Waiting {
        acting,
        telling,
        happening,
        known: Arc::clone(&known),
    };
    let queue = WriteQueue {
        acts,
        tells,
        events,
        known,
        metrics,
    };
    (queue, waiting)
}

/// Puts plans into the writer's queue.
#[derive(Debug, Clone)]
pub struct WriteQueue {
    acts: mpsc::Sender<ObjectRef>,
    tells: mpsc::Sender<ObjectRef>,
    events: mpsc::Sender<ObjectRef>,
    known: Shared,
    metrics: Metrics,
}

impl WriteQueue {
    /// The objects whose writes have not been made since the last call, so that a plan can be made
    /// again, or rest.
    #[must_use]
    pub fn take_failed(&self) -> Vec<ObjectRef> {
        locked(&self.known).failed.drain().collect()
    }

    /// Queues a write, in the place of one for the same object that waits in its lane already. One
    /// that is being made stands: the plan is made again on what it leaves behind.
    pub fn put(&self, write: Write) {
        let mut known = locked(&self.known);
        let (lane, purpose) = (lane(write.purpose), write.purpose);
        let target = write.target.clone();
        let place = (lane, target.clone());
        if let Some(waiting) = known.waiting.get_mut(&place) {
            if let Some(older) = waiting {
                *older = write;
            }
            return;
        }
        let sender = match lane {
            Lane::Acts => &self.acts,
            Lane::Tells => &self.tells,
            Lane::Events => &self.events,
        };
        if sender.try_send(target).is_ok() {
            known.waiting.insert(place, Some(write));
        } else {
            self.metrics.count(purpose, Outcome::Dropped);
            known.failed.insert(place.1);
        }
    }
}

/// The writer's end of the queue.
pub(super) struct Waiting {
    acting: mpsc::Receiver<ObjectRef>,
    telling: mpsc::Receiver<ObjectRef>,
    happening: mpsc::Receiver<ObjectRef>,
    known: Shared,
}

impl Waiting {
    /// The next write; `None` once nobody can queue any more.
    pub(super) async fn next(&mut self) -> Option<Write> {
        loop {
            let place = self.place().await?;
            let mut known = locked(&self.known);
            if let Some(write) = known.waiting.get_mut(&place).and_then(Option::take) {
                return Some(write);
            }
        }
    }

    async fn place(&mut self) -> Option<Place> {
        let Self {
            acting,
            telling,
            happening,
            ..
        } = self;
        // Without an order between the two, neither waits for the other to be empty.
        let told = async {
            tokio::select! {
                Some(target) = telling.recv() => Some((Lane::Tells, target)),
                Some(target) = happening.recv() => Some((Lane::Events, target)),
                else => None,
            }
        };
        tokio::select! {
            biased;
            Some(target) = acting.recv() => Some((Lane::Acts, target)),
            Some(place) = told => Some(place),
            else => None,
        }
    }

    /// Takes note that a write has been tried.
    pub(super) fn done(&self, write: Write, failed: bool) {
        let mut known = locked(&self.known);
        let place = (lane(write.purpose), write.target);
        known.waiting.remove(&place);
        if failed {
            known.failed.insert(place.1);
        }
    }

    /// Everything that waits, lane by lane in the order in which it would be written.
    #[cfg(test)]
    pub(super) fn take_all(&mut self) -> Vec<Write> {
        let mut known = locked(&self.known);
        let lanes = [
            (Lane::Acts, &mut self.acting),
            (Lane::Tells, &mut self.telling),
            (Lane::Events, &mut self.happening),
        ];
        let places = lanes.into_iter().flat_map(|(lane, receiver)| {
            std::iter::from_fn(move || Some((lane, receiver.try_recv().ok()?)))
        });
        places
            .filter_map(|place| known.waiting.remove(&place).flatten())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use evenkeel_kubernetes::kinds::Kind;
    use evenkeel_kubernetes::object_ref::ObjectRef;
    use evenkeel_kubernetes::plan::Operation;

    fn write(purpose: Purpose, name: &str) -> Write {
        versioned(purpose, name, 1)
    }

    fn versioned(purpose: Purpose, name: &str, version: u32) -> Write {
        Write {
            purpose,
            target: ObjectRef::of_cluster(Kind::Namespace, name),
            operation: Operation::Merge(json!({"metadata": {"resourceVersion": version}})),
        }
    }

    #[tokio::test]
    async fn what_waits_is_the_newest_plan_in_the_place_of_the_oldest() {
        let (queue, mut waiting) = new(10, Metrics::default());
        for (name, version) in [("a", 1), ("b", 2), ("a", 3)] {
            queue.put(versioned(Purpose::ScalingBounds, name, version));
        }
        let first = waiting.next().await.unwrap();
        assert_eq!(first, versioned(Purpose::ScalingBounds, "a", 3));
        // While it is made, nothing newer is known than what it leaves behind.
        queue.put(versioned(Purpose::ScalingBounds, "a", 4));
        waiting.done(first, false);
        let second = waiting.next().await.unwrap();
        assert_eq!(second, versioned(Purpose::ScalingBounds, "b", 2));
        waiting.done(second, false);
        queue.put(versioned(Purpose::ScalingBounds, "a", 5));
        let third = waiting.next().await.unwrap();
        assert_eq!(third, versioned(Purpose::ScalingBounds, "a", 5));
    }

    #[tokio::test]
    async fn a_storm_of_events_does_not_hold_up_statuses_nor_they_the_events() {
        let (queue, mut waiting) = new(1000, Metrics::default());
        for name in 0..1000 {
            queue.put(write(Purpose::ScalingEvent, &format!("event-{name}")));
            queue.put(write(Purpose::ScalingStatus, &format!("status-{name}")));
        }
        let mut events = 0;
        for _ in 0..200 {
            let next = waiting.next().await.unwrap();
            events += u32::from(next.purpose == Purpose::ScalingEvent);
            waiting.done(next, false);
        }
        assert!((1..200).contains(&events), "{events} of 200 are Events");
    }

    #[test]
    fn notices_have_room_however_many_statuses_wait() {
        let (queue, mut waiting) = new(1, Metrics::default());
        for purpose in [Purpose::ScalingStatus, Purpose::AnnotationWarning] {
            queue.put(write(purpose, "a"));
            queue.put(write(purpose, "b"));
        }
        let left: Vec<_> = waiting
            .take_all()
            .iter()
            .map(|write| write.purpose)
            .collect();
        assert_eq!(left, [Purpose::ScalingStatus, Purpose::AnnotationWarning]);
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
        assert_eq!(
            queue.take_failed(),
            [ObjectRef::of_cluster(Kind::Namespace, "b")]
        );
        assert_eq!(waiting.take_all().len(), 2);
    }
}
