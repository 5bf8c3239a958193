//! Recorded lives of Pods (`pod_lifecycles`), for Pods that end by themselves, such as those of
//! Jobs. Keys are a pair of the owner's kind (`batch/v1.Job`) and name (`shop/report`), and then a
//! hash of the Pod, which is ignored: Pods of one owner are alike.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::Deserialize;

/// Kind, namespace and name of an object with Pods.
pub(super) type PodOwnerKey = (String, String, String);

/// By owner, in the form of the trace.
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub(super) struct RecordedLifecycles(BTreeMap<(String, String), BTreeMap<u64, Vec<RecordedLife>>>);

/// Life of one Pod, in seconds of the epoch.
#[derive(Deserialize)]
enum RecordedLife {
    /// Unknown.
    Empty,
    /// It ran from then on.
    Running(i64),
    /// It ran from the first to the second time.
    Finished(i64, i64),
}

/// No end for a Pod that was still running.
#[derive(Debug, Clone, Copy)]
struct Life {
    start: SignedDuration,
    end: Option<SignedDuration>,
}

/// By owner, in the time of the scenario.
#[derive(Default)]
pub(super) struct Lives(BTreeMap<PodOwnerKey, Vec<Life>>);

impl Lives {
    /// `at` moves times into the scenario.
    pub(super) fn of(recorded: RecordedLifecycles, at: impl Fn(i64) -> SignedDuration) -> Self {
        let mut lives: BTreeMap<PodOwnerKey, Vec<Life>> = BTreeMap::new();
        for ((kind, name), by_pod) in recorded.0 {
            let Some((_, kind)) = kind.rsplit_once('.') else {
                continue;
            };
            let (namespace, name) = name.split_once('/').unwrap_or(("default", &name));
            let key = (kind.to_owned(), namespace.to_owned(), name.to_owned());
            let life = |recorded: &RecordedLife| match *recorded {
                RecordedLife::Empty => None,
                RecordedLife::Running(start) => Some(Life {
                    start: at(start),
                    end: None,
                }),
                RecordedLife::Finished(start, end) => Some(Life {
                    start: at(start),
                    end: Some(at(end)),
                }),
            };
            let all = by_pod.values().flatten().filter_map(life);
            lives.entry(key).or_default().extend(all);
        }
        Self(lives)
    }

    pub(super) fn has(&self, owner: &PodOwnerKey) -> bool {
        self.0.get(owner).is_some_and(|lives| !lives.is_empty())
    }

    /// The owner's Pods that run at a time.
    pub(super) fn running(&self, owner: &PodOwnerKey, at: SignedDuration) -> u32 {
        let lives = self.0.get(owner).into_iter().flatten();
        let runs = |life: &&Life| life.start <= at && life.end.is_none_or(|end| at < end);
        u32::try_from(lives.filter(runs).count()).unwrap_or(u32::MAX)
    }

    /// The changes of the number after `from` and before `until`.
    pub(super) fn changes(
        &self,
        owner: &PodOwnerKey,
        from: SignedDuration,
        until: SignedDuration,
    ) -> Vec<(SignedDuration, u32)> {
        let mut steps: BTreeMap<SignedDuration, i64> = BTreeMap::new();
        for life in self.0.get(owner).into_iter().flatten() {
            *steps.entry(life.start).or_default() += 1;
            if let Some(end) = life.end {
                *steps.entry(end).or_default() -= 1;
            }
        }
        let mut running = i64::from(self.running(owner, from));
        let within = steps
            .into_iter()
            .filter(|(at, _)| from < *at && *at < until);
        let changed = within.filter(|(_, step)| *step != 0);
        changed
            .map(|(at, step)| {
                running += step;
                (at, u32::try_from(running).unwrap_or(0))
            })
            .collect()
    }
}
