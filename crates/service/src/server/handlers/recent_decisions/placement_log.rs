//! The newest placements, in the order of their last change: one entry for each Pod, in a ring. A
//! scheduler call adds an entry under a short lock; reasons are made by the readers.

use std::collections::VecDeque;
use std::sync::Arc;

use evenkeel_objects::pod::Pod;
use jiff::Timestamp;

/// Placements that are kept.
pub(crate) const KEPT: usize = 500;

/// The state of a placement, by the calls of kube-scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlacementOutcome {
    /// kube-scheduler reported the node.
    Chosen,
    /// The node has the best score or is the only one with headroom, and kube-scheduler has not reported
    /// its choice.
    Expected,
    /// Several nodes passed, and kube-scheduler has not asked for scores, or decides without them.
    Passed,
    /// No node has headroom.
    Refused,
}

impl PlacementOutcome {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Chosen => "chosen",
            Self::Expected => "expected",
            Self::Passed => "passed",
            Self::Refused => "refused",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct PlacementEntry {
    pub(crate) sequence: u64,
    pub(crate) at: Timestamp,
    pub(crate) pod: Arc<Pod>,
    pub(crate) node: Option<Arc<str>>,
    pub(crate) outcome: PlacementOutcome,
    /// The reason in words, once a reader has asked for it.
    pub(crate) reason: Option<Arc<str>>,
}

/// A ring of entries, oldest first.
#[derive(Debug, Default)]
pub(super) struct PlacementLog {
    entries: VecDeque<PlacementEntry>,
    last: u64,
}

impl PlacementLog {
    /// Adds the newest state of a Pod's placement, in place of an earlier one.
    pub(super) fn put(
        &mut self,
        pod: &Arc<Pod>,
        at: Timestamp,
        node: Option<&str>,
        outcome: PlacementOutcome,
    ) {
        let mut newest_first = self.entries.iter().rev();
        if let Some(behind) = newest_first.position(|entry| entry.pod.uid() == pod.uid()) {
            self.entries.remove(self.entries.len() - 1 - behind);
        }
        if self.entries.len() == KEPT {
            self.entries.pop_front();
        }
        self.last += 1;
        self.entries.push_back(PlacementEntry {
            sequence: self.last,
            at,
            pod: Arc::clone(pod),
            node: node.map(Into::into),
            outcome,
            reason: None,
        });
    }

    /// The entries that changed after this number.
    pub(super) fn since(&self, sequence: u64) -> Vec<PlacementEntry> {
        let first = self.first_after(sequence);
        self.entries.range(first..).cloned().collect()
    }

    /// Keeps the reason of an entry that is still there.
    pub(super) fn explain(&mut self, sequence: u64, reason: &Arc<str>) {
        let place = self.first_after(sequence.saturating_sub(1));
        if let Some(entry) = self.entries.get_mut(place)
            && entry.sequence == sequence
        {
            entry.reason = Some(Arc::clone(reason));
        }
    }

    fn first_after(&self, sequence: u64) -> usize {
        self.entries
            .partition_point(|entry| entry.sequence <= sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(uid: &str) -> Arc<Pod> {
        let pod = serde_json::json!({"metadata": {"name": uid, "uid": uid}, "spec": {}});
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    fn shown(log: &PlacementLog, after: u64) -> Vec<(u64, String)> {
        let entries = log.since(after).into_iter();
        entries
            .map(|entry| (entry.sequence, entry.pod.uid().to_owned()))
            .collect()
    }

    #[test]
    fn a_pod_keeps_one_entry_that_moves_to_the_end() {
        let mut log = PlacementLog::default();
        let now = Timestamp::UNIX_EPOCH;
        for uid in ["a", "b"] {
            log.put(&pod(uid), now, Some("n"), PlacementOutcome::Expected);
        }
        log.put(&pod("a"), now, Some("n"), PlacementOutcome::Chosen);
        assert_eq!(shown(&log, 0), [(2, "b".to_owned()), (3, "a".to_owned())]);
        assert_eq!(shown(&log, 2), [(3, "a".to_owned())]);
        assert!(shown(&log, 3).is_empty());
        log.explain(1, &"gone".into());
        log.explain(3, &"even".into());
        let reasons: Vec<_> = log.since(0).into_iter().map(|entry| entry.reason).collect();
        assert_eq!(reasons, [None, Some("even".into())]);
    }

    #[test]
    fn the_ring_is_bounded() {
        let mut log = PlacementLog::default();
        for number in 0..2 * KEPT {
            let pod = pod(&number.to_string());
            log.put(&pod, Timestamp::UNIX_EPOCH, None, PlacementOutcome::Refused);
        }
        let all = shown(&log, 0);
        assert_eq!(all.len(), KEPT);
        assert_eq!(all[0].1, KEPT.to_string());
    }
}
