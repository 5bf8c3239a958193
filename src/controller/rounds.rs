//! The leader's rounds: every second, from the cluster's state to plans for the writer.
//!
//! Every replica lets time pass in its own table; only the leader plans, and it plans on what it
//! sees itself: kube-scheduler may be talking to another replica, but what it was told stands in
//! the conditions of the Pods.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::leadership::Leadership;
use super::metrics::Metrics;
use super::overload::{self, OverloadWatch};
use super::queue::WriteQueue;
use super::scale_in::{self, Costs, ScaleIns};
use super::switch::{WriteSwitch, Writes};
use crate::cluster::ClusterState;
use crate::cluster::records::WaitingPod;
use evenkeel_clock as clock;
use evenkeel_core::placement::Policy;
use evenkeel_kubernetes::extender::judgement::Call;
use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::plan::overload::Tainting;
use evenkeel_kubernetes::plan::wake::{Settings as WakeSettings, Waiting, Wake};
use evenkeel_kubernetes::plan::{Write, mirror, wake};

/// The time between two rounds: a woken Pod waits no longer than this for its headroom to be seen.
const ROUND: SignedDuration = SignedDuration::from_secs(1);

/// The most warnings planned in a round: they matter less than everything else that is written.
const WARNINGS: usize = 4;

/// The parts that the rounds connect.
pub struct Rounds {
    pub cluster: ClusterState,
    /// The policy that waiting Pods are judged by.
    pub policy: Arc<Policy>,
    /// The limits on how often nodes are touched.
    pub wake: WakeSettings,
    /// The samples by which overloaded nodes are tainted.
    pub overload: OverloadWatch,
    /// The scale-ins before which Pods are given costs of deletion, where they are.
    pub scale_ins: Option<ScaleIns>,
    /// The queue of the writer, into which plans go.
    pub queue: WriteQueue,
    /// The leadership, without which nothing is planned.
    pub leadership: Leadership,
    /// The kill switch: nothing is planned that it would stop.
    pub switch: WriteSwitch,
    /// This replica's name in Events.
    pub identity: String,
    pub metrics: Metrics,
}

/// What a leader remembers from round to round.
#[derive(Debug, Default)]
struct Memory {
    wake: Wake,
    tainting: Tainting,
    scale_in: scale_in::Memory,
}

impl Rounds {
    /// Runs until cancelled; `observe` is called at the end of each round, for gauges.
    pub async fn run(self, cancel: CancellationToken, observe: impl Fn() + Send) {
        let mut ticks = tokio::time::interval(self.cluster.clock().period(ROUND));
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut memory = Memory::default();
        let rounds = async {
            loop {
                ticks.tick().await;
                let now = self.cluster.now();
                self.round(&mut memory, now);
                observe();
            }
        };
        cancel.run_until_cancelled(rounds).await;
    }

    fn round(&self, memory: &mut Memory, now: Timestamp) {
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
            // Who goes first cannot be said at present, and no scale-in waits for it.
            let released = scale_in::release(self.scale_ins.as_ref(), &mut memory.scale_in);
            self.put_all(released);
        }
        if !plans || writes != Writes::Enabled {
            *memory = Memory::default();
        }
        if !plans {
            return;
        }
        if writes != Writes::Enabled {
            self.put_all(overload::restored(writes, &nodes));
            self.put_all(scale_in::restored(writes, &self.cluster));
            return;
        }
        let Memory {
            wake,
            tainting,
            scale_in,
        } = memory;
        let failed = self.queue.take_failed();
        if failed.iter().any(|object| object.is(Kind::Node)) {
            wake.failed();
        }
        self.wake(wake, &waiting, now);
        self.mirror();
        let taints = self.overload.plan(tainting, &nodes, &self.identity, now);
        self.put_all(taints);
        let costs = Costs {
            cluster: &self.cluster,
            policy: &self.policy,
            scale_ins: self.scale_ins.as_ref(),
            reporter: &self.identity,
            metrics: &self.metrics,
        };
        self.put_all(costs.plan(scale_in, &failed, now));
        self.tell(now);
    }

    fn put_all(&self, writes: Vec<Write>) {
        for write in writes {
            self.queue.put(write);
        }
    }

    fn wake(&self, wake: &mut Wake, waiting: &[WaitingPod], now: Timestamp) {
        let snapshot = self.cluster.snapshot();
        let classes: Vec<Waiting> = waiting
            .iter()
            .map(|refused| {
                let call = Call {
                    snapshot: &snapshot,
                    policy: &self.policy,
                    now,
                    refused_since: Some(refused.since),
                };
                Waiting::of(&refused.pod, &call)
            })
            .collect();
        let node = wake.plan(&snapshot.nodes, &classes, &self.wake, now);
        let version = node
            .as_deref()
            .and_then(|node| self.cluster.node_version(node));
        if let (Some(node), Some(version)) = (node, version) {
            tracing::info!(node = %node, waiting = waiting.len(), "headroom returned, waking refused Pods");
            self.queue.put(wake::write(&node, &version, now));
        }
    }

    fn mirror(&self) {
        for (name, record) in self.cluster.namespaces() {
            let namespace = mirror::Namespace {
                name: &name,
                resource_version: &record.resource_version,
                enabled: record.policy.enabled,
                label: record.label.as_deref(),
            };
            if let Some(write) = mirror::plan(&namespace) {
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
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster::{Settings, WATCHED};
    use crate::controller::fake_api::FakeApi;
    use crate::controller::writer::{self, Writer};
    use evenkeel_core::max_age;
    use evenkeel_core::placement::balance::{Normalization, Scoring};
    use evenkeel_core::placement::{NoHeadroom, NodesToScore, node_table};
    use evenkeel_core::profile::ProfileTable;
    use evenkeel_core::units::{Ratio, Resources};
    use evenkeel_kubernetes::capacities::Capacities;
    use evenkeel_kubernetes::plan::overload::Settings as Taints;
    use evenkeel_kubernetes::plan::{Purpose, Write};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn policy() -> Policy {
        Policy {
            headroom: Ratio::share(0.8).unwrap(),
            headroom_by_priority_class: [].into(),
            profile_threshold: Ratio::share(0.15).unwrap(),
            no_headroom: NoHeadroom::Reject,
            nodes_to_score: NodesToScore::ALL,
            relax_after: None,
            scoring: Scoring::pure(Normalization::Joint),
            profiles: ProfileTable::default(),
            caps_as_demand: false,
            default_capacity: Resources::default(),
            scheduler_name: None,
            max_age: max_age::DEFAULT,
        }
    }

    /// A namespace to be mirrored with a value to be told of, and a refused Pod that now fits.
    fn cluster() -> ClusterState {
        let cluster = ClusterState::new(Settings {
            table: node_table::Settings::default(),
            capacities: Capacities::default(),
            caps_as_demand: false,
            expects_metrics: false,
            balances_scale_in: false,
        });
        let namespace = json!({"metadata": {"name": "shop", "resourceVersion": "3", "annotations": {
            "evenkeel.dev/enabled": "true", "evenkeel.dev/headroom": "80%"}}});
        cluster.apply_namespace(&serde_json::from_value(namespace).unwrap(), NOW);
        let node = json!({"metadata": {"name": "a", "resourceVersion": "5"}, "status": {
            "allocatable": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]}});
        cluster.apply_node(&serde_json::from_value(node).unwrap(), NOW);
        let pod = json!({
            "metadata": {"name": "p", "namespace": "shop", "uid": "1"},
            "spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]},
            "status": {"conditions": [{"type": "PodScheduled", "status": "False",
                                       "message": "0/1 nodes: 1 evenkeel: no headroom."}]}});
        cluster.apply_pod(&serde_json::from_value(pod).unwrap(), NOW);
        cluster
    }

    fn rounds(leadership: Leadership) -> (Rounds, Writer) {
        let (writer, queue) = Writer::new(
            FakeApi::default().client(),
            writer::Settings::default(),
            leadership.clone(),
            WriteSwitch::new(Writes::Enabled),
            Metrics::default(),
        );
        let rounds = Rounds {
            cluster: cluster(),
            policy: Arc::new(policy()),
            wake: WakeSettings::default(),
            overload: OverloadWatch::new(Taints::default(), max_age::DEFAULT, NOW),
            scale_ins: None,
            queue,
            leadership,
            switch: WriteSwitch::new(Writes::Enabled),
            identity: "evenkeel-0".to_owned(),
            metrics: Metrics::default(),
        };
        (rounds, writer)
    }

    fn purposes(writes: &[Write]) -> Vec<&'static str> {
        writes.iter().map(|write| write.purpose.as_str()).collect()
    }

    #[tokio::test]
    async fn only_a_leader_that_has_seen_everything_plans() {
        let (follower, writer) = rounds(Leadership::default());
        for kind in WATCHED {
            follower.cluster.set_synced(kind);
        }
        follower.round(&mut Memory::default(), NOW);
        assert_eq!(writer.queued(), []);

        let (leader, writer) = rounds(Leadership::leading());
        let mut memory = Memory::default();
        leader.round(&mut memory, NOW);
        assert_eq!(writer.queued(), [], "not all has been listed");
        for kind in WATCHED {
            leader.cluster.set_synced(kind);
        }
        leader.round(&mut memory, NOW);
        let planned = writer.queued();
        let all = [
            Purpose::WakePods,
            Purpose::MirrorNamespace,
            Purpose::AnnotationWarning,
        ];
        assert_eq!(purposes(&planned), all.map(Purpose::as_str));
        // What was told and woken is not told and woken again; the label is still missing.
        leader.round(&mut memory, NOW);
        assert_eq!(
            purposes(&writer.queued()),
            [Purpose::MirrorNamespace.as_str()]
        );
    }

    /// A Pod of a ReplicaSet that carries a cost of ours, of a scale-in that nobody knows any more.
    fn mark(rounds: &Rounds) {
        let pod = json!({
            "metadata": {"name": "web-1", "namespace": "shop", "uid": "web-1",
                "annotations": {"controller.kubernetes.io/pod-deletion-cost": "-1",
                    "evenkeel.dev/deletion-cost": "-1 balance"},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                    "name": "web", "uid": "set", "controller": true}]},
            "spec": {"nodeName": "a", "containers": []},
            "status": {"phase": "Running"}});
        let pod = serde_json::from_value(pod).unwrap();
        rounds.cluster.apply_pod(&pod, NOW);
        for kind in WATCHED {
            rounds.cluster.set_synced(kind);
        }
    }

    #[tokio::test]
    async fn costs_that_are_left_are_the_leaders_to_take_away_and_no_followers() {
        let of_costs = |writer: &Writer| {
            let queued = writer.queued();
            let purposes = queued.iter().map(|write| write.purpose);
            let costs = [Purpose::DeletionCost, Purpose::Restore];
            purposes
                .filter(|purpose| costs.contains(purpose))
                .collect::<Vec<_>>()
        };
        let (follower, writer) = rounds(Leadership::default());
        mark(&follower);
        follower.round(&mut Memory::default(), NOW);
        assert_eq!(of_costs(&writer), []);

        let (leader, writer) = rounds(Leadership::leading());
        mark(&leader);
        let mut memory = Memory::default();
        for (writes, expected) in [
            (Writes::Disabled, vec![]),
            (Writes::Restore, vec![Purpose::Restore]),
            (Writes::Enabled, vec![Purpose::DeletionCost]),
        ] {
            leader.switch.set(writes);
            leader.round(&mut memory, NOW);
            assert_eq!(of_costs(&writer), expected, "{writes:?}");
        }
    }

    #[tokio::test]
    async fn nothing_is_planned_that_the_kill_switch_stops() {
        let (leader, writer) = rounds(Leadership::leading());
        for kind in WATCHED {
            leader.cluster.set_synced(kind);
        }
        let mut memory = Memory::default();
        for writes in [Writes::Disabled, Writes::Restore] {
            leader.switch.set(writes);
            leader.round(&mut memory, NOW);
            assert_eq!(writer.queued(), [], "{writes:?}");
        }
        leader.switch.set(Writes::Enabled);
        leader.round(&mut memory, NOW);
        assert_eq!(
            writer.queued().len(),
            3,
            "nothing that was to be told is lost"
        );
    }
}
