//! The last answers to kube-scheduler, by Pod, for explanations. An answer is explained by the
//! snapshot that it was decided on, which shares unchanged parts with its neighbours. A round of
//! measurements changes all of it, so snapshots are kept for as much memory as [`PICTURES`] says,
//! and the verdict for longer.

mod placement_log;
mod placement_reasons;
mod verdict;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_name::PodName;
use evenkeel_placement::SchedulingPolicy;
use evenkeel_placement::extender::decide::{FilterResult, PrioritizeResult};
use evenkeel_placement::extender::explain::Explanation;
use evenkeel_placement::extender::{CandidateNodes, ExtenderRequest, PlacementContext, explain};
use evenkeel_placement::node_table::NodeState;
use evenkeel_placement::snapshot::Snapshot;
use jiff::Timestamp;
use moka::sync::Cache;

use self::placement_log::{PlacementLog, PlacementOutcome};
use crate::api::explain::{BindNotification, ExtenderVerdict, PastVerdict};

pub(crate) use self::placement_log::KEPT;

/// Pods remembered at a time.
const MOST: u64 = 10_000;

/// Time that a Pod is remembered without a call: longer than one waits to be tried again.
const REMEMBERED: Duration = Duration::from_hours(1);

/// Memory for snapshots in bytes, each counted in full: eight Pods' two answers at 5,000 nodes,
/// four hundred at 100.
const PICTURES: u64 = 32 << 20;

/// The last answers, by the name of the Pod; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Decisions {
    records: Cache<PodName, DecisionRecord>,
    pictures: Cache<(PodName, PlacementVerb), Arc<PlacementDecisionInput>>,
    placements: Arc<Mutex<PlacementLog>>,
}

#[derive(Debug, Clone)]
pub(crate) struct DecisionRecord {
    pub(crate) pod: Arc<Pod>,
    filter: Option<TimestampedVerdict>,
    prioritize: Option<TimestampedVerdict>,
    pub(crate) notice: Option<BindNotification>,
}

/// An answer in short.
#[derive(Debug, Clone)]
struct TimestampedVerdict {
    at: Timestamp,
    verdict: ExtenderVerdict,
}

/// One of the two questions that decide where a Pod goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum PlacementVerb {
    Filter,
    Prioritize,
}

#[derive(Debug)]
struct PlacementDecisionInput {
    uid: Box<str>,
    snapshot: Arc<Snapshot>,
    /// The nodes asked about, by position.
    asked: Box<[usize]>,
    /// Those of them that were not known, by name.
    strangers: Box<[Box<str>]>,
    at: Timestamp,
    refused_since: Option<Timestamp>,
}

impl PlacementDecisionInput {
    fn of(
        request: &ExtenderRequest<'_>,
        asked: Option<&CandidateNodes>,
        call: &PlacementContext<'_>,
        snapshot: &Arc<Snapshot>,
    ) -> Self {
        let found: CandidateNodes;
        let asked = if let Some(asked) = asked {
            asked
        } else {
            found = CandidateNodes::of(&request.names, &snapshot.nodes);
            &found
        };
        let strangers = request.names.iter().zip(asked.iter());
        let strangers = strangers.filter(|(_, position)| position.is_none());
        let strangers = strangers.map(|(name, _)| (**name).into());
        Self {
            uid: request.pod.uid().into(),
            snapshot: Arc::clone(snapshot),
            asked: asked.iter().flatten().collect(),
            strangers: strangers.collect(),
            at: call.now,
            refused_since: call.refused_since,
        }
    }

    fn bytes(&self) -> u32 {
        let nodes = self.snapshot.nodes.len() * size_of::<NodeState>();
        u32::try_from(nodes + size_of_val(&*self.asked)).unwrap_or(u32::MAX)
    }

    fn explained(
        &self,
        question: PlacementVerb,
        pod: &Pod,
        policy: &SchedulingPolicy,
    ) -> Explanation {
        let nodes = &self.snapshot.nodes;
        let asked = self.asked.iter().filter_map(|&position| nodes.at(position));
        let names = asked.map(|node| &*node.name);
        let names = names.chain(self.strangers.iter().map(|name| &**name));
        let names = names.map(Cow::Borrowed).collect();
        let request = explain::request(pod, names);
        let call = PlacementContext {
            snapshot: &self.snapshot,
            policy,
            now: self.at,
            refused_since: self.refused_since,
        };
        match question {
            PlacementVerb::Filter => explain::explain_filter(&request, &call),
            PlacementVerb::Prioritize => explain::explain_prioritize(&request, &call),
        }
    }
}

impl Default for Decisions {
    fn default() -> Self {
        let pictures = Cache::builder()
            .weigher(|_, picture: &Arc<PlacementDecisionInput>| picture.bytes())
            .max_capacity(PICTURES)
            .eviction_policy(moka::policy::EvictionPolicy::lru());
        let records = Cache::builder().max_capacity(MOST);
        Self {
            records: records.time_to_idle(REMEMBERED).build(),
            pictures: pictures.time_to_idle(REMEMBERED).build(),
            placements: Arc::default(),
        }
    }
}

impl Decisions {
    pub(crate) fn get(&self, pod: &PodName) -> Option<DecisionRecord> {
        self.records.get(pod)
    }

    /// The last answer to filter for the Pod of a record, with its terms where they are kept.
    pub(crate) fn last_filter(
        &self,
        of: &DecisionRecord,
        policy: &SchedulingPolicy,
    ) -> Option<PastVerdict> {
        self.past(of, PlacementVerb::Filter, policy)
    }

    pub(crate) fn last_prioritize(
        &self,
        of: &DecisionRecord,
        policy: &SchedulingPolicy,
    ) -> Option<PastVerdict> {
        self.past(of, PlacementVerb::Prioritize, policy)
    }

    fn past(
        &self,
        of: &DecisionRecord,
        question: PlacementVerb,
        policy: &SchedulingPolicy,
    ) -> Option<PastVerdict> {
        let said = match question {
            PlacementVerb::Filter => of.filter.as_ref(),
            PlacementVerb::Prioritize => of.prioritize.as_ref(),
        };
        let TimestampedVerdict { at, verdict } = said?.clone();
        let picture = self.pictures.get(&(name_of(&of.pod), question));
        let picture = picture.filter(|picture| *picture.uid == *of.pod.uid() && picture.at == at);
        Some(PastVerdict {
            at,
            verdict,
            terms: picture.map(|picture| picture.explained(question, &of.pod, policy)),
        })
    }

    /// Records an answer to filter, which begins a new attempt to place the Pod. The answers of the
    /// attempt before are dropped.
    pub(super) fn filtered(
        &self,
        request: &ExtenderRequest<'_>,
        filtered: &FilterResult,
        call: &PlacementContext<'_>,
        snapshot: &Arc<Snapshot>,
    ) {
        let pod = &request.pod;
        let stored = Arc::new(pod.clone());
        let record = DecisionRecord {
            pod: Arc::clone(&stored),
            filter: Some(TimestampedVerdict {
                at: call.now,
                verdict: verdict::of_filter(filtered),
            }),
            prioritize: None,
            notice: None,
        };
        self.records.insert(name_of(pod), record);
        let picture = PlacementDecisionInput::of(request, filtered.asked.as_ref(), call, snapshot);
        self.pictures
            .insert((name_of(pod), PlacementVerb::Filter), Arc::new(picture));
        let only = filtered.only().and_then(|only| request.names.get(only));
        let outcome = match filtered.passed() {
            0 => PlacementOutcome::Refused,
            1 => PlacementOutcome::Expected,
            _ => PlacementOutcome::Passed,
        };
        // Last, so that a reader of the log finds the record.
        if !filtered.refused.is_empty() {
            let mut log = self.placements();
            log.put(&stored, call.now, only.map(|name| &**name), outcome);
        }
    }

    pub(super) fn prioritized(
        &self,
        request: &ExtenderRequest<'_>,
        prioritized: &PrioritizeResult,
        call: &PlacementContext<'_>,
        snapshot: &Arc<Snapshot>,
    ) {
        let pod = &request.pod;
        let mut record = self.of(pod).unwrap_or_else(|| DecisionRecord {
            pod: Arc::new(pod.clone()),
            filter: None,
            prioritize: None,
            notice: None,
        });
        record.prioritize = Some(TimestampedVerdict {
            at: call.now,
            verdict: verdict::of_prioritize(prioritized, request),
        });
        let stored = Arc::clone(&record.pod);
        self.records.insert(name_of(pod), record);
        let picture =
            PlacementDecisionInput::of(request, prioritized.asked.as_ref(), call, snapshot);
        self.pictures
            .insert((name_of(pod), PlacementVerb::Prioritize), Arc::new(picture));
        let best = prioritized.best.and_then(|best| request.names.get(best));
        if let Some(best) = best {
            let mut log = self.placements();
            log.put(&stored, call.now, Some(best), PlacementOutcome::Expected);
        }
    }

    /// Records the node that kube-scheduler told it has chosen.
    pub(super) fn noticed(&self, pod: &PodName, uid: &str, notice: BindNotification) {
        if let Some(record) = self
            .records
            .get(pod)
            .filter(|record| record.pod.uid() == uid)
        {
            let (stored, at, node) = (Arc::clone(&record.pod), notice.at, notice.node.clone());
            let record = DecisionRecord {
                notice: Some(notice),
                ..record
            };
            self.records.insert(pod.clone(), record);
            let mut log = self.placements();
            log.put(&stored, at, Some(&*node), PlacementOutcome::Chosen);
        }
    }

    fn placements(&self) -> MutexGuard<'_, PlacementLog> {
        // An entry is put or not; half of one is never seen.
        self.placements
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The record of this Pod, not of an earlier one of the same name.
    fn of(&self, pod: &Pod) -> Option<DecisionRecord> {
        let record = self.records.get(&name_of(pod));
        record.filter(|record| record.pod.uid() == pod.uid())
    }
}

fn name_of(pod: &Pod) -> PodName {
    PodName::new(pod.namespace(), pod.name())
}
