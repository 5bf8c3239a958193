//! The leader's rounds: every second, from the cluster's state to plans for the writer. Every
//! replica advances its own table, but only the leader plans, on what it sees itself:
//! kube-scheduler may talk to another replica, but its results are in the Pods' conditions.

use std::collections::HashSet;
use std::sync::Arc;

use evenkeel_clock as clock;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::Write;
use evenkeel_placement::SchedulingPolicy;
use evenkeel_placement::extender::placement_rules::PlacementContext;
use evenkeel_placement::plan::headroom_wakeup::{RefusedPod, Settings as WakeSettings, Wake};
use evenkeel_placement::plan::overload::PendingTaintChanges;
use evenkeel_placement::plan::{headroom_wakeup, opt_in_label};
use evenkeel_scaling::status::opt_in_notice;
use evenkeel_scaling::status::opt_in_notice::NoticeMemory;
use evenkeel_scaling::targets::settings::Settings as ScalingSettings;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::leadership::Leadership;
use super::metrics::ControllerMetrics;
use super::overload::OverloadWatch;
use super::profiles::ProfileRounds;
use super::queue::WriteQueue;
use super::scale_in::{Costs, ScaleIns};
use super::score_labels::{ScoreLabelMemory, ScoreLabelRounds};
use super::switch::{WriteSwitch, Writes};
use super::work::work;
use super::{overload, profiles, scale_in, score_labels};
use crate::cluster::ClusterState;
use crate::cluster::records::WaitingPod;

/// The time between two rounds: a woken Pod waits no longer than this for its headroom to be seen.
const ROUND: SignedDuration = SignedDuration::from_secs(1);

/// The most warnings planned in a round: they matter less than everything else that is written.
const WARNINGS: usize = 4;

pub struct Rounds {
    pub cluster: ClusterState,
    pub policy: Arc<SchedulingPolicy>,
    pub wake: WakeSettings,
    pub overload: OverloadWatch,
    /// The scale-ins before which Pods are given costs of deletion, where they are.
    pub scale_ins: Option<ScaleIns>,
    /// The settings of scaling, by which ReplicaProfiles are followed.
    pub scaling: ScalingSettings,
    pub queue: WriteQueue,
    pub leadership: Leadership,
    /// The kill switch: nothing is planned that it would stop.
    pub switch: WriteSwitch,
    pub identity: String,
    pub metrics: ControllerMetrics,
}

#[derive(Debug, Default)]
struct LeaderMemory {
    wake: Wake,
    tainting: PendingTaintChanges,
    scale_in: scale_in::ScaleInMemory,
    profiles: profiles::ProfileRoundMemory,
    notices: NoticeMemory,
    score_labels: ScoreLabelMemory,
}

impl Rounds {
    /// Runs until cancelled; `observe` is called at the end of each round, for gauges.
    pub async fn run(self, cancel: CancellationToken, observe: impl Fn() + Send) {
        let mut ticks = self.cluster.clock().ticks(ROUND);
        self.metrics
            .score_labels_on(self.policy.score_labels.is_some());
        let mut memory = LeaderMemory::default();
        let rounds = async {
            loop {
                ticks.tick().await;
                let now = self.cluster.now();
                self.round(&mut memory, now).await;
                observe();
            }
        };
        cancel.run_until_cancelled(rounds).await;
    }

    async fn round(&self, memory: &mut LeaderMemory, now: Timestamp) {
        self.cluster.advance(now);
        let leads = self.leadership.is_leader(clock::instant());
        self.metrics.lead(leads);
        let waiting = self.cluster.waiting();
        let oldest = waiting
            .iter()
            .map(|pod| now.duration_since(pod.since).as_secs_f64())
            .fold(0.0, f64::max);
        self.metrics.refused(waiting.len(), oldest);
        let nodes = self.cluster.tainted_nodes();
        let tainted = nodes.iter().filter(|node| node.candidate().tainted);
        self.metrics.overloaded(tainted.count());
        let writes = self.switch.get();
        let plans = leads && self.cluster.snapshot().synced;
        if leads && !plans && writes == Writes::Enabled {
            // The first Pods to go cannot be chosen at present, so no scale-in waits for the
            // choice.
            let released = scale_in::release(self.scale_ins.as_ref(), &mut memory.scale_in, now);
            self.put_all(released);
        }
        if !plans || writes != Writes::Enabled {
            // The remains of an earlier time as leader must not affect the next one.
            self.scale_ins
                .as_ref()
                .inspect(|expected| expected.forget());
            *memory = LeaderMemory::default();
            self.metrics.score_labels(0, 0, 0);
        }
        if !plans {
            return;
        }
        if writes != Writes::Enabled {
            self.put_all(overload::restored(writes, &nodes));
            self.put_all(score_labels::restored(writes, &self.cluster, now));
            self.put_all(scale_in::restored(writes, &self.cluster));
            self.put_all(profiles::restored(writes, &self.cluster, now));
            return;
        }
        let LeaderMemory {
            wake,
            tainting,
            scale_in,
            profiles,
            notices,
            score_labels,
        } = memory;
        let failed = self.queue.take_failed();
        if failed.iter().any(|object| object.is(Kind::Node)) {
            wake.failed();
        }
        self.wake(wake, &waiting, now);
        self.mirror();
        let taints = self.overload.plan(tainting, &nodes, &self.identity, now);
        self.put_all(taints);
        self.follow_scores(score_labels, now).await;
        self.follow_profiles(profiles, now).await;
        self.give_costs(scale_in, failed, now).await;
        let unnoticed = self.cluster.unnoticed_objects();
        self.put_all(opt_in_notice::plan(&unnoticed, notices, now));
        self.tell(now);
    }

    /// Brings the score labels of nodes in line with their loads.
    async fn follow_scores(&self, memory: &mut ScoreLabelMemory, now: Timestamp) {
        let rounds = ScoreLabelRounds {
            cluster: self.cluster.clone(),
            policy: Arc::clone(&self.policy),
            metrics: self.metrics.clone(),
        };
        let worked = work(std::mem::take(memory), move |memory| {
            rounds.plan(memory, now)
        });
        let writes;
        (*memory, writes) = worked.await;
        self.put_all(writes);
    }

    /// Brings the Pods of ReplicaProfiles in line with them.
    async fn follow_profiles(&self, memory: &mut profiles::ProfileRoundMemory, now: Timestamp) {
        let rounds = ProfileRounds {
            cluster: self.cluster.clone(),
            settings: self.scaling,
            reporter: self.identity.clone(),
            metrics: self.metrics.clone(),
        };
        let worked = work(std::mem::take(memory), move |memory| {
            rounds.plan(memory, now)
        });
        let writes;
        (*memory, writes) = worked.await;
        self.put_all(writes);
    }

    /// Chooses the Pods that go first in scale-ins, which takes some passes over Pods and nodes.
    async fn give_costs(
        &self,
        memory: &mut scale_in::ScaleInMemory,
        failed: HashSet<ObjectRef>,
        now: Timestamp,
    ) {
        let costs = Costs {
            cluster: self.cluster.clone(),
            policy: Arc::clone(&self.policy),
            scale_ins: self.scale_ins.clone(),
            reporter: self.identity.clone(),
            metrics: self.metrics.clone(),
        };
        let worked = work(std::mem::take(memory), move |memory| {
            costs.plan(memory, &failed, now)
        });
        let plan;
        (*memory, plan) = worked.await;
        self.put_all(plan.writes);
        if let Some(scale_ins) = &self.scale_ins {
            memory.let_go(scale_ins, plan.freed, |write| self.queue.put(write));
        }
    }

    fn put_all(&self, writes: Vec<Write>) {
        for write in writes {
            self.queue.put(write);
        }
    }

    fn wake(&self, wake: &mut Wake, waiting: &[WaitingPod], now: Timestamp) {
        let snapshot = self.cluster.snapshot();
        let classes: Vec<RefusedPod> = waiting
            .iter()
            .map(|refused| {
                let call = PlacementContext {
                    snapshot: &snapshot,
                    policy: &self.policy,
                    now,
                    refused_since: Some(refused.since),
                };
                RefusedPod::of(&refused.pod, &call)
            })
            .collect();
        let node = wake.plan(&snapshot.nodes, &classes, &self.wake, now);
        let version = node
            .as_deref()
            .and_then(|node| self.cluster.node_version(node));
        if let (Some(node), Some(version)) = (node, version) {
            tracing::info!(node = %node, waiting = waiting.len(), "headroom returned, refused Pods are retried");
            self.queue.put(headroom_wakeup::write(&node, &version, now));
        }
    }

    fn mirror(&self) {
        for (name, record) in self.cluster.namespaces() {
            let namespace = opt_in_label::MirroredNamespace {
                name: &name,
                resource_version: &record.resource_version,
                enabled: record.policy.enabled,
                label: record.label.as_deref(),
            };
            if let Some(write) = opt_in_label::plan(&namespace) {
                self.queue.put(write);
            }
        }
    }

    fn tell(&self, now: Timestamp) {
        for warning in self.cluster.take_warnings(WARNINGS) {
            self.queue.put(warning.write(&self.identity, now));
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
