//! Portraits that others make, by the leader: the HorizontalPortraits that autoscalers name, the CronJobs of external
//! algorithms, and their results.
//!
//! Autoscalers and HorizontalPortraits are watched; of the rest only what belongs to a HorizontalPortrait is asked for, by
//! its name, every half minute: a watch on the ConfigMaps of a cluster would hold everybody's.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use jiff::SignedDuration;
use kube::Client;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::leadership::Leadership;
use super::queue::WriteQueue;
use super::switch::{WriteSwitch, Writes};
use super::writer;
use crate::cluster::ClusterState;
use evenkeel_clock as clock;
use evenkeel_kubernetes::horizontal_portrait::CheckedHorizontalPortrait;
use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::object_ref::ObjectRef;
use evenkeel_kubernetes::plan::external_portraits::{Found, Observed, Settings, plan, result_name};
use evenkeel_kubernetes::portrait_job::job_name;

/// The time between two rounds.
const ROUND: SignedDuration = SignedDuration::from_secs(30);

/// The time that all questions of a round have; who is not answered by then is looked at in the next.
const PATIENCE: Duration = Duration::from_secs(20);

/// The number of questions at a time.
const AT_ONCE: usize = 8;

/// The parts that the rounds connect.
pub struct ExternalPortraits {
    pub cluster: ClusterState,
    pub client: Client,
    pub queue: WriteQueue,
    pub leadership: Leadership,
    pub switch: WriteSwitch,
    pub settings: Settings,
}

impl ExternalPortraits {
    /// Runs until cancelled.
    pub async fn run(self, cancel: CancellationToken) {
        let mut ticks = tokio::time::interval(self.cluster.clock().period(ROUND));
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let rounds = async {
            loop {
                ticks.tick().await;
                self.round().await;
            }
        };
        cancel.run_until_cancelled(rounds).await;
    }

    async fn round(&self) {
        let leads = self.leadership.is_leader(clock::instant());
        if !leads || self.switch.get() != Writes::Enabled {
            return;
        }
        let Some(objects) = self.cluster.external_portraits() else {
            return;
        };
        let found = self.ask(with_job(&objects.portraits)).await;
        let observed = Observed {
            ihpas: &objects.ihpas,
            portraits: &objects.portraits,
            found: &found,
        };
        for write in plan(&observed, &self.settings, self.cluster.now()) {
            self.queue.put(write);
        }
    }

    /// What stands beside each of these HorizontalPortraits, as far as the API server answers in time.
    async fn ask(&self, keys: Vec<(String, String)>) -> HashMap<(String, String), Found> {
        if !self.settings.runs_jobs {
            // Without the right to, nothing is asked.
            let nothing = keys.into_iter().map(|key| (key, Found::default()));
            return nothing.collect();
        }
        let mut found = HashMap::new();
        let asked = stream::iter(keys).map(|key| {
            let client = self.client.clone();
            async move {
                let answer = look(&client, &key).await;
                (key, answer)
            }
        });
        let mut answers = asked.buffer_unordered(AT_ONCE);
        let all = async {
            while let Some((key, answer)) = answers.next().await {
                match answer {
                    Ok(answer) => {
                        found.insert(key, answer);
                    }
                    Err(error) => {
                        let (namespace, name) = &key;
                        tracing::warn!(%error, namespace, name, "the job of a portrait cannot be looked at");
                    }
                }
            }
        };
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            tracing::warn!("not all jobs of portraits could be looked at in time");
        }
        found
    }
}

/// The namespaces and names of those that have a job.
fn with_job(portraits: &[Arc<CheckedHorizontalPortrait>]) -> Vec<(String, String)> {
    let key = |portrait: &Arc<CheckedHorizontalPortrait>| {
        let object = &portrait.object;
        object.spec.portrait.external_job()?;
        let namespace = object.metadata.namespace.clone()?;
        Some((namespace, object.metadata.name.clone()?))
    };
    portraits.iter().filter_map(key).collect()
}

async fn look(client: &Client, (namespace, name): &(String, String)) -> Result<Found, kube::Error> {
    let job = ObjectRef::in_namespace(Kind::CronJob, namespace, job_name(name));
    let result = ObjectRef::in_namespace(Kind::ConfigMap, namespace, result_name(name));
    let cron_job = get(client, &job).await?;
    let result = get(client, &result).await?;
    let data = result.map(|mut object| object["data"].take());
    Ok(Found {
        cron_job,
        result: data.map(|data| serde_json::from_value(data).unwrap_or_default()),
    })
}

async fn get(client: &Client, object: &ObjectRef) -> Result<Option<Value>, kube::Error> {
    let found = writer::api(client, object).get_opt(&object.name).await?;
    let found = found.map(serde_json::to_value).transpose();
    found.map_err(kube::Error::SerdeError)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::cluster::{ScalingObject, Settings as ClusterSettings, WATCHED};
    use crate::controller::fake_api::FakeApi;
    use crate::controller::metrics::Metrics;
    use crate::controller::writer::Writer;
    use evenkeel_core::placement::node_table;
    use evenkeel_kubernetes::capacities::Capacities;
    use evenkeel_kubernetes::plan::{Operation, Write};

    const CRON_JOB: &str = "/apis/batch/v1/namespaces/shop/cronjobs/web-predictive";
    const RESULT: &str = "/api/v1/namespaces/shop/configmaps/web-predictive-result";

    fn cluster() -> ClusterState {
        let cluster = ClusterState::new(ClusterSettings {
            table: node_table::Settings::default(),
            capacities: Capacities::default(),
            caps_as_demand: false,
            expects_metrics: false,
            balances_scale_in: false,
        });
        let namespace = json!({"metadata": {"name": "shop", "resourceVersion": "3",
            "annotations": {"evenkeel.dev/enabled": "true"}}});
        let namespace = serde_json::from_value(namespace).unwrap();
        cluster.apply_namespace(&namespace, Timestamp::UNIX_EPOCH);
        let ihpa = json!({
            "metadata": {"name": "web", "namespace": "shop", "uid": "i"},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "minReplicas": 1,
                "maxReplicas": 9, "portraitProviders": [{"type": "Dynamic", "priority": 1, "dynamic": {
                    "portraitType": "Predictive", "algorithm": {"type": "ExternalJob", "externalJob": {
                        "job": {"type": "CronJob", "cronJob": {"template": {"spec": {"schedule": "@hourly",
                            "jobTemplate": {"spec": {"template": {"spec": {"containers": [
                                {"name": "algorithm", "image": "a"}]}}}}}}}}}}}}]},
        });
        let ihpa = Arc::new(serde_json::from_value(ihpa).unwrap());
        cluster.apply_scaling_object(ScalingObject::Ihpa(ihpa));
        cluster
    }

    fn portraits(api: &FakeApi, leadership: Leadership) -> (ExternalPortraits, Writer) {
        let switch = WriteSwitch::new(Writes::Enabled);
        let (writer, queue) = Writer::new(
            api.client(),
            writer::Settings::default(),
            leadership.clone(),
            switch.clone(),
            Metrics::default(),
        );
        let portraits = ExternalPortraits {
            cluster: cluster(),
            client: api.client(),
            queue,
            leadership,
            switch,
            settings: Settings {
                own_namespace: "evenkeel-system".to_owned(),
                runs_jobs: true,
                most_jobs: 10,
            },
        };
        (portraits, writer)
    }

    fn synced(portraits: &ExternalPortraits) {
        for kind in WATCHED {
            portraits.cluster.set_synced(kind);
        }
    }

    /// What is asked for, by resource.
    fn asked(writes: &[Write]) -> Vec<(&str, bool)> {
        let of = |write: &Write| matches!(write.operation, Operation::Create(_));
        let asked = writes
            .iter()
            .map(|write| (&*write.target.resource, of(write)));
        asked.collect()
    }

    #[tokio::test]
    async fn the_leader_makes_portraits_and_jobs_and_reads_their_results() {
        let api = FakeApi::default();
        let (follower, writing) = portraits(&api, Leadership::default());
        synced(&follower);
        follower.round().await;
        assert_eq!(writing.queued(), [], "it does not lead");

        let (leader, writing) = portraits(&api, Leadership::leading());
        leader.round().await;
        assert_eq!(writing.queued(), [], "not all has been listed");
        synced(&leader);
        leader.round().await;
        let queued = writing.queued();
        assert_eq!(asked(&queued), [("horizontalportraits", true)]);
        let Operation::Create(made) = &queued[0].operation else {
            panic!("{queued:?}")
        };

        let (leader, writing) = portraits(&api, Leadership::leading());
        synced(&leader);
        let mut portrait = made.clone();
        portrait["metadata"]["uid"] = json!("p");
        let portrait = Arc::new(serde_json::from_value(portrait).unwrap());
        leader
            .cluster
            .apply_scaling_object(ScalingObject::HorizontalPortrait(portrait));
        let before = api.requests();
        leader.round().await;
        assert_eq!(
            api.requests() - before,
            2,
            "one job and one result are asked for"
        );
        let queued = writing.queued();
        let job = queued.iter().find_map(|write| match &write.operation {
            Operation::Create(job) if write.target.resource == "cronjobs" => Some(job.clone()),
            _ => None,
        });
        api.set(CRON_JOB, job.expect("a CronJob is made"));
        api.set(
            RESULT,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-predictive-result"},
                "data": {"type": "TimeSeries", "expireTime": "2100-01-01T00:00:00Z",
                    "timeSeries": "{\"60\": 4}"}}),
        );
        leader.round().await;
        let status = writing.queued().into_iter().find_map(|write| {
            let is_status = write.target.subresource.as_deref() == Some("status");
            match write.operation {
                Operation::Merge(body) if is_status => Some(body),
                _ => None,
            }
        });
        let status = status.expect("the result is told")["status"].clone();
        assert_eq!(status["conditions"][0]["reason"], "ResultRead", "{status}");
        let points = &status["portraitData"]["timeSeries"]["timeSeries"];
        assert_eq!(points, &json!([{"timestamp": 60, "replicas": 4}]));
    }
}
