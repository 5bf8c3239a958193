//! The coming events, the earliest first; events of one moment in the order of insertion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use jiff::SignedDuration;

use super::policy_pods::PodId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SimulationEvent {
    /// Loads are computed, and counters are read.
    Scrape,
    /// The last scrape reaches the placement policies.
    Measured,
    /// The replicas of the workload at this place may change.
    Resize(usize),
    /// kube-scheduler takes the next Pod.
    Decide,
    /// kube-scheduler's notice of its choice arrives.
    Noticed(PodId),
    /// The kubelet has the Pod, and its binding is seen.
    Bound(PodId),
    Started(PodId),
    Gone(PodId),
    /// A refused Pod is tried again.
    Retry(PodId),
}

#[derive(Debug, Default)]
pub(super) struct SimulationEventQueue {
    events: BinaryHeap<Reverse<(SignedDuration, u64, SimulationEvent)>>,
    added: u64,
}

impl SimulationEventQueue {
    pub(super) fn add(&mut self, at: SignedDuration, event: SimulationEvent) {
        self.events.push(Reverse((at, self.added, event)));
        self.added += 1;
    }

    pub(super) fn next(&mut self) -> Option<(SignedDuration, SimulationEvent)> {
        let Reverse((at, _, event)) = self.events.pop()?;
        Some((at, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_moment_keep_their_order() {
        let (mut agenda, second) = (SimulationEventQueue::default(), SignedDuration::from_secs);
        for (at, event) in [
            (5, SimulationEvent::Gone(1)),
            (2, SimulationEvent::Decide),
            (5, SimulationEvent::Bound(0)),
            (2, SimulationEvent::Scrape),
        ] {
            agenda.add(second(at), event);
        }
        let order: Vec<SimulationEvent> = std::iter::from_fn(|| agenda.next())
            .map(|(_, event)| event)
            .collect();
        assert_eq!(
            order,
            [
                SimulationEvent::Decide,
                SimulationEvent::Scrape,
                SimulationEvent::Gone(1),
                SimulationEvent::Bound(0)
            ]
        );
    }
}
