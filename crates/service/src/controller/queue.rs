//! Writes that wait for the writer: in lanes, fair between namespaces ([`Lanes`]). All lanes are
//! bounded, and dropped writes are planned again later. Each lane holds one write per object, the
//! newest planned: one decided on an old state would only be refused. A failed write rests for a
//! while, see [`FailedWrites`]; except for wakes, which are few and planned as often as they are to
//! be tried.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evenkeel_clock as clock;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::failed_writes::{FailedWrites, Fault};
use evenkeel_objects::plan::write_priority::{Lanes, WritePriority};
use evenkeel_objects::plan::{Purpose, Write, WriteOperation, scale};
use tokio::sync::Notify;

use super::metrics::{ControllerMetrics, WriteOutcome};

type QueuedWriteKey = (WritePriority, ObjectRef);

#[derive(Debug)]
struct WriteQueueState {
    lanes: Lanes,
    resting: FailedWrites<QueuedWriteKey>,
    /// The objects with writes that were not made since the last call of `take_failed`.
    failed: HashSet<ObjectRef>,
    /// The Scales written since the scaling loop last asked, each with its last count.
    scaled: HashMap<ObjectRef, i32>,
}

#[derive(Debug)]
struct WriteQueueChannel {
    known: Mutex<WriteQueueState>,
    changed: Notify,
}

impl WriteQueueChannel {
    /// The waiting writes, which a panic while they were locked leaves whole.
    fn locked(&self) -> MutexGuard<'_, WriteQueueState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A queue with lanes of `length` each.
pub(super) fn new(length: usize, metrics: ControllerMetrics) -> (WriteQueue, WriteQueueReceiver) {
    let shared = Arc::new(WriteQueueChannel {
        known: Mutex::new(WriteQueueState {
            lanes: Lanes::new(length),
            resting: FailedWrites::default(),
            failed: HashSet::new(),
            scaled: HashMap::new(),
        }),
        changed: Notify::new(),
    });
    let waiting = WriteQueueReceiver(Arc::clone(&shared));
    (WriteQueue { shared, metrics }, waiting)
}

#[derive(Debug, Clone)]
pub struct WriteQueue {
    shared: Arc<WriteQueueChannel>,
    metrics: ControllerMetrics,
}

impl WriteQueue {
    /// The objects with failed writes since the last call, so that their plans are made again, or
    /// rest.
    pub(crate) fn take_failed(&self) -> HashSet<ObjectRef> {
        std::mem::take(&mut self.shared.locked().failed)
    }

    /// The Scales with counts that were written since the last call, each with its last count.
    pub(crate) fn take_scaled(&self) -> HashMap<ObjectRef, i32> {
        std::mem::take(&mut self.shared.locked().scaled)
    }

    /// Queues a write, in place of a waiting one for the same object in its lane. A write under way
    /// stands: the plan follows on its result.
    pub fn put(&self, write: Write) {
        let place = (WritePriority::of(write.purpose), write.target.clone());
        let mut known = self.shared.locked();
        if known
            .resting
            .rests(&place, || write.basis(), clock::instant())
        {
            self.metrics.count(write.purpose, WriteOutcome::Resting);
            if is_noted(&write) {
                known.failed.insert(place.1);
            }
            return;
        }
        if let Some(shed) = known.lanes.put(write) {
            self.metrics.count(shed.purpose, WriteOutcome::Dropped);
            if is_noted(&shed) {
                known.failed.insert(shed.target);
            }
        }
        drop(known);
        self.shared.changed.notify_one();
    }
}

pub(super) struct WriteQueueReceiver(Arc<WriteQueueChannel>);

impl WriteQueueReceiver {
    pub(super) async fn next(&self) -> Write {
        loop {
            let next = self.0.locked().lanes.take_next();
            if let Some(write) = next {
                return write;
            }
            self.0.changed.notified().await;
        }
    }

    /// Takes note of the end of a write.
    pub(super) fn done(&self, write: &Write, outcome: WriteOutcome) {
        let place = (WritePriority::of(write.purpose), write.target.clone());
        let mut known = self.0.locked();
        known.lanes.done(write);
        match fault(write, outcome).filter(|_| place.0 != WritePriority::Wakes) {
            Some(fault) => {
                let basis = write.basis();
                known.resting.failed(place, basis, fault, clock::instant());
            }
            None => known.resting.forget(&place),
        }
        let count = scale::replicas_written(write).filter(|_| outcome == WriteOutcome::Written);
        if let Some(count) = count {
            known.scaled.insert(write.target.clone(), count);
        }
        if is_lost(outcome) && is_noted(write) {
            known.failed.insert(write.target.clone());
        }
        drop(known);
        // The next write for this object may begin.
        self.0.changed.notify_one();
    }

    /// Everything that waits, in the order in which it would be written.
    #[cfg(test)]
    pub(super) fn take_all(&self) -> Vec<Write> {
        let lanes = &mut self.0.locked().lanes;
        let next = || {
            let write = lanes.take_next()?;
            lanes.done(&write);
            Some(write)
        };
        std::iter::from_fn(next).collect()
    }
}

/// The fault for which a write is left alone for a while. A conditional patch that no longer holds
/// is planned again on the change; until that is seen, it is as good as refused.
const fn fault(write: &Write, outcome: WriteOutcome) -> Option<Fault> {
    match outcome {
        WriteOutcome::Conflict if matches!(write.operation, WriteOperation::Conditional(_)) => {
            Some(Fault::Refused)
        }
        WriteOutcome::Refused => Some(Fault::Refused),
        WriteOutcome::Failed | WriteOutcome::TimedOut => Some(Fault::Unanswered),
        WriteOutcome::Written
        | WriteOutcome::Conflict
        | WriteOutcome::Gone
        | WriteOutcome::NotLeader
        | WriteOutcome::SwitchedOff
        | WriteOutcome::Resting
        | WriteOutcome::Dropped => None,
    }
}

/// False for score labels: they are planned each second from the node itself, and a failure must not
/// look like that of a touch of the same node.
const fn is_noted(write: &Write) -> bool {
    !matches!(write.purpose, Purpose::ScoreLabel)
}

/// True if a wanted change was not made. A lost race shows in the object, and its plan follows by
/// itself; only a node's touch has nothing to show it.
const fn is_lost(outcome: WriteOutcome) -> bool {
    match outcome {
        WriteOutcome::Refused
        | WriteOutcome::Failed
        | WriteOutcome::TimedOut
        | WriteOutcome::Dropped
        | WriteOutcome::Resting
        | WriteOutcome::Conflict => true,
        WriteOutcome::Written
        | WriteOutcome::Gone
        | WriteOutcome::NotLeader
        | WriteOutcome::SwitchedOff => false,
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::kinds::Kind;
    use evenkeel_objects::meta::Meta;
    use evenkeel_objects::plan::Purpose;
    use serde_json::json;

    use super::*;

    fn write(purpose: Purpose, name: &str) -> Write {
        versioned(purpose, name, 1)
    }

    fn versioned(purpose: Purpose, name: &str, version: u32) -> Write {
        let target = ObjectRef::of_cluster(Kind::Namespace, name);
        let patch = json!({"metadata": {"resourceVersion": version}});
        Write::new(purpose, target, WriteOperation::Merge(patch))
    }

    fn labelled(name: &str, version: u32, label: &str) -> Write {
        let patch = json!({"metadata": {"resourceVersion": version, "labels": {"a": label}}});
        Write {
            operation: WriteOperation::Merge(patch),
            ..write(Purpose::MirrorNamespace, name)
        }
    }

    fn dropped(queue: &WriteQueue) -> Vec<ObjectRef> {
        queue.take_failed().into_iter().collect()
    }

    #[tokio::test]
    async fn what_waits_is_the_newest_plan_in_the_place_of_the_oldest() {
        let (queue, waiting) = new(10, ControllerMetrics::default());
        for (name, version) in [("a", 1), ("b", 2), ("a", 3)] {
            queue.put(versioned(Purpose::ScalingBounds, name, version));
        }
        let first = waiting.next().await;
        assert_eq!(first, versioned(Purpose::ScalingBounds, "a", 3));
        // While it is made, nothing newer is known than what it leaves behind.
        queue.put(versioned(Purpose::ScalingBounds, "a", 4));
        waiting.done(&first, WriteOutcome::Written);
        let second = waiting.next().await;
        assert_eq!(second, versioned(Purpose::ScalingBounds, "b", 2));
        waiting.done(&second, WriteOutcome::Written);
        queue.put(versioned(Purpose::ScalingBounds, "a", 5));
        let third = waiting.next().await;
        assert_eq!(third, versioned(Purpose::ScalingBounds, "a", 5));
    }

    #[tokio::test]
    async fn a_count_that_was_written_is_told_once_and_one_that_was_not_never() {
        let (queue, waiting) = new(10, ControllerMetrics::default());
        let web = |name: &str| ObjectRef::in_namespace(Kind::Deployment, "shop", name);
        let count = |name: &str, from: i32, to: i32| {
            scale::set_replicas(web(name), &Meta::default(), from, to).unwrap()
        };
        let outcomes = [
            (count("a", 3, 5), WriteOutcome::Written),
            (count("a", 5, 0), WriteOutcome::Written),
            (count("b", 3, 5), WriteOutcome::Conflict),
            (write(Purpose::ScalingReplicas, "c"), WriteOutcome::Written),
            (write(Purpose::ScalingBounds, "d"), WriteOutcome::Written),
        ];
        for (write, outcome) in outcomes {
            queue.put(write);
            let next = waiting.next().await;
            waiting.done(&next, outcome);
        }
        assert_eq!(queue.take_scaled(), HashMap::from([(web("a").scale(), 0)]));
        assert_eq!(queue.take_scaled(), HashMap::new());
    }

    #[tokio::test]
    async fn a_storm_of_events_does_not_hold_up_statuses_nor_they_the_events() {
        let (queue, waiting) = new(1000, ControllerMetrics::default());
        for name in 0..1000 {
            queue.put(write(Purpose::ScalingEvent, &format!("event-{name}")));
            queue.put(write(Purpose::ScalingStatus, &format!("status-{name}")));
        }
        let mut events = 0;
        for _ in 0..200 {
            let next = waiting.next().await;
            events += u32::from(next.purpose == Purpose::ScalingEvent);
            waiting.done(&next, WriteOutcome::Written);
        }
        assert!((90..=110).contains(&events), "{events} of 200 are Events");
    }

    #[test]
    fn notices_have_room_however_many_statuses_wait() {
        let (queue, waiting) = new(1, ControllerMetrics::default());
        for purpose in [Purpose::ScalingStatus, Purpose::AnnotationWarning] {
            queue.put(write(purpose, "a"));
            queue.put(write(purpose, "b"));
        }
        let left: HashSet<_> = waiting
            .take_all()
            .iter()
            .map(|write| write.purpose)
            .collect();
        let both = [Purpose::ScalingStatus, Purpose::AnnotationWarning];
        assert_eq!(left, HashSet::from(both));
    }

    #[tokio::test]
    async fn what_acts_goes_before_what_tells_also_of_the_same_object() {
        let (queue, waiting) = new(10, ControllerMetrics::default());
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
            let next = waiting.next().await;
            order.push((next.purpose, next.target.name.clone()));
            waiting.done(&next, WriteOutcome::Written);
        }
        let of = |purpose, name: &str| (purpose, name.to_owned());
        assert_eq!(
            order,
            [
                of(Purpose::ScalingBounds, "b"),
                of(Purpose::ScalingStatus, "a"),
                of(Purpose::ScalingStatus, "b"),
            ]
        );
    }

    #[test]
    fn a_full_lane_drops_and_says_so_and_leaves_the_other_alone() {
        let (queue, waiting) = new(1, ControllerMetrics::default());
        for name in ["a", "b"] {
            queue.put(write(Purpose::ScalingStatus, name));
        }
        queue.put(write(Purpose::ScalingBounds, "c"));
        assert_eq!(
            dropped(&queue),
            [ObjectRef::of_cluster(Kind::Namespace, "b")]
        );
        assert_eq!(waiting.take_all().len(), 2);
    }

    #[tokio::test]
    async fn what_was_refused_is_left_alone_until_it_is_another_write() {
        let (queue, waiting) = new(10, ControllerMetrics::default());
        queue.put(labelled("a", 1, "x"));
        waiting.done(&waiting.next().await, WriteOutcome::Refused);
        assert_eq!(dropped(&queue).len(), 1);
        queue.put(labelled("a", 2, "x"));
        assert_eq!(waiting.take_all(), [], "a newer version is the same write");
        assert_eq!(dropped(&queue).len(), 1, "who plans it knows");
        queue.put(labelled("b", 1, "x"));
        queue.put(labelled("a", 2, "y"));
        assert_eq!(waiting.take_all().len(), 2);
        // Once it is made, nothing is held against it.
        waiting.done(&labelled("a", 2, "y"), WriteOutcome::Written);
        queue.put(labelled("a", 3, "x"));
        assert_eq!(waiting.take_all().len(), 1);
    }
}
