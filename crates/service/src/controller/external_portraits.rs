//! Portraits from external sources. The leader writes the HorizontalPortraits that autoscalers
//! name; a separate process and account handles the CronJobs of external algorithms and their
//! results.
//!
//! Only autoscalers and HorizontalPortraits are watched; other objects are read by name every 30
//! seconds, because a watch would hold all ConfigMaps of the cluster. Tenants' data is never held
//! all at once: few fields of a job are read, and results of running jobs only, one by one. If a
//! round runs out of time, the next one begins with the unanswered objects.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::Write;
use evenkeel_scaling::horizontal_portraits::{
    ExternalPortraitObjects, FoundJob, FoundResult, NamespacedName, Settings, job_name, jobs,
    key_of, portraits, restore, result, result_name, vouch, vouched,
};
use evenkeel_scaling::specs::horizontal_portrait::CheckedHorizontalPortrait;
use futures::{StreamExt as _, stream};
use jiff::SignedDuration;
use kube::Client;
use kube::api::GetParams;
use kube::core::Request;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::leadership::Leadership;
use super::queue::WriteQueue;
use super::switch::{WriteSwitch, Writes};
use super::writer;
use crate::cluster::{ClusterState, PortraitObjects};

const ROUND: SignedDuration = SignedDuration::from_secs(30);

/// Time limit of all requests of one sort in a round; unanswered objects come first in the next.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of rounds after which what was told on namespaces is told again.
const VOUCH_EVERY: usize = 20;

/// The number of questions at a time: each answer may be of a megabyte and a half.
const AT_ONCE: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortraitWorkerRole {
    /// The HorizontalPortraits, and word of jobs that are not run at all.
    Portraits,
    /// Jobs, and what they leave.
    Jobs,
}

pub struct ExternalPortraits {
    pub part: PortraitWorkerRole,
    pub cluster: ClusterState,
    pub client: Client,
    pub queue: WriteQueue,
    pub leadership: Leadership,
    pub switch: WriteSwitch,
    pub settings: Settings,
}

#[derive(Debug, Default)]
struct ExternalPortraitMemory {
    jobs: HashMap<NamespacedName, Option<FoundJob>>,
    /// The last objects that were answered, for jobs and for results.
    last_job: Option<NamespacedName>,
    last_result: Option<NamespacedName>,
    /// True where jobs may not even be seen, as where they are off.
    is_denied: bool,
    /// The last note on each namespace about its portraits that have a job.
    vouched: BTreeMap<String, String>,
    rounds: usize,
}

impl ExternalPortraits {
    pub async fn run(self, cancel: CancellationToken) {
        let mut ticks = self.cluster.clock().ticks(ROUND);
        let mut memory = ExternalPortraitMemory::default();
        let rounds = async {
            loop {
                ticks.tick().await;
                self.round(&mut memory).await;
            }
        };
        cancel.run_until_cancelled(rounds).await;
    }

    async fn round(&self, memory: &mut ExternalPortraitMemory) {
        let writes = self.switch.get();
        if !self.leadership.is_leader(clock::instant()) || writes == Writes::Disabled {
            return;
        }
        let objects = self.cluster.scaling().portrait_objects();
        let Some(objects) = objects else {
            return;
        };
        if self.part == PortraitWorkerRole::Jobs {
            self.look_at_jobs(&objects, memory).await;
        }
        let observed = ExternalPortraitObjects {
            ihpas: &objects.ihpas,
            portraits: &objects.portraits,
            outlines: &objects.outlines,
            jobs: &memory.jobs,
        };
        if writes == Writes::Restore {
            return self.put(restore(&observed));
        }
        if self.part == PortraitWorkerRole::Portraits {
            self.put(portraits(&observed));
            if self.settings.runs_jobs {
                return self.vouch(vouched(&observed, &self.settings), memory);
            }
        }
        let planned = jobs(&observed, &self.settings);
        self.put(planned.writes);
        let mut run = HashMap::new();
        for portrait in &objects.portraits {
            let key = key_of(&portrait.object);
            let key = key.filter(|_| portrait.object.spec.portrait.external_job().is_some());
            let Some(key) = key else { continue };
            if let Some(problem) = planned.problems.get(&key) {
                self.put(result(portrait, Err(problem), self.cluster.now()));
            } else if memory.jobs.contains_key(&key) {
                run.insert(key, Arc::clone(portrait));
            }
        }
        self.tell_results(&run, &mut memory.last_result).await;
    }

    /// Writes on each namespace which portraits have a job: the guard allows no other job.
    fn vouch(&self, found: BTreeMap<String, String>, memory: &mut ExternalPortraitMemory) {
        if memory.rounds.is_multiple_of(VOUCH_EVERY) {
            // The one before may have been lost, or taken away.
            memory
                .vouched
                .retain(|namespace, _| !found.contains_key(namespace));
        }
        memory.rounds += 1;
        self.put(vouch(&memory.vouched, &found));
        memory.vouched = found;
    }

    fn put(&self, writes: impl IntoIterator<Item = Write>) {
        for write in writes {
            self.queue.put(write);
        }
    }

    /// Reads the jobs of all HorizontalPortraits, as far as the API server answers in time.
    async fn look_at_jobs(&self, objects: &PortraitObjects, memory: &mut ExternalPortraitMemory) {
        let checked = objects.portraits.iter().map(|one| &*one.object);
        let all = checked.chain(objects.outlines.iter().map(|one| &**one));
        let with_job = all.filter(|one| one.spec.portrait.external_job().is_some());
        let keys: HashSet<NamespacedName> = with_job.filter_map(key_of).collect();
        let ExternalPortraitMemory {
            jobs,
            last_job,
            is_denied,
            ..
        } = memory;
        jobs.retain(|key, _| keys.contains(key));
        if *is_denied {
            return;
        }
        let job = |(namespace, name): &NamespacedName| {
            ObjectRef::in_namespace(Kind::CronJob, namespace.as_str(), job_name(name))
        };
        let take = |key, answer: Result<Option<FoundJob>, kube::Error>| match answer {
            Ok(found) => {
                jobs.insert(key, found);
            }
            Err(kube::Error::Api(status)) if status.code == 403 && !self.settings.runs_jobs => {
                *is_denied = true;
            }
            Err(error) => warn(&error, &key),
        };
        self.ask(keys.into_iter().collect(), last_job, job, take)
            .await;
    }

    async fn tell_results(
        &self,
        run: &HashMap<NamespacedName, Arc<CheckedHorizontalPortrait>>,
        last: &mut Option<NamespacedName>,
    ) {
        let config_map = |(namespace, name): &NamespacedName| {
            ObjectRef::in_namespace(Kind::ConfigMap, namespace.as_str(), result_name(name))
        };
        let take =
            |key: NamespacedName, answer: Result<Option<FoundResult>, kube::Error>| match answer {
                Ok(found) => {
                    let told = run.get(&key).and_then(|portrait| {
                        result(portrait, Ok(found.as_ref()), self.cluster.now())
                    });
                    self.put(told);
                }
                Err(error) => warn(&error, &key),
            };
        let keys = run.keys().cloned().collect();
        self.ask(keys, last, config_map, take).await;
    }

    /// Requests object after object while there is time, beginning behind `last`, the last
    /// answered.
    async fn ask<T: DeserializeOwned>(
        &self,
        mut keys: Vec<NamespacedName>,
        last: &mut Option<NamespacedName>,
        object: impl Fn(&NamespacedName) -> ObjectRef,
        mut take: impl FnMut(NamespacedName, Result<Option<T>, kube::Error>),
    ) {
        keys.sort();
        let begin = |last: &NamespacedName| keys.partition_point(|key| key <= last);
        let begin = last.as_ref().map_or(0, begin);
        keys.rotate_left(begin);
        let asked = stream::iter(keys).map(|key| {
            let (client, object) = (self.client.clone(), object(&key));
            async move {
                let answer = get(&client, &object).await;
                (key, answer)
            }
        });
        let mut answers = asked.buffered(AT_ONCE);
        let all = async {
            while let Some((key, answer)) = answers.next().await {
                *last = Some(key.clone());
                take(key, answer);
            }
        };
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            tracing::warn!("not all jobs of portraits could be checked in time");
        }
    }
}

fn warn(error: &kube::Error, (namespace, name): &NamespacedName) {
    tracing::warn!(%error, namespace, name, "the job of a portrait cannot be checked");
}

/// Reads as much of an object as its type holds; `None` where there is none.
async fn get<T: DeserializeOwned>(
    client: &Client,
    object: &ObjectRef,
) -> Result<Option<T>, kube::Error> {
    let url = writer::api(client, object).resource_url().to_owned();
    let request = Request::new(url).get(&object.name, &GetParams::default());
    let answer = client.request(request.map_err(kube::Error::BuildRequest)?);
    match answer.await {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::plan::{Purpose, WriteOperation};
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::cluster::{ScalingObject, Settings as ClusterSettings, WATCHED};
    use crate::controller::fake_api::{FakeApi, FakeApiBehavior};
    use crate::controller::metrics::ControllerMetrics;
    use crate::controller::writer::Writer;

    const CRON_JOB: &str = "/apis/batch/v1/namespaces/shop/cronjobs/web-predictive";
    const RESULT: &str = "/api/v1/namespaces/shop/configmaps/web-predictive-result";

    fn cluster() -> ClusterState {
        let cluster = ClusterState::new(ClusterSettings::default());
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
            ControllerMetrics::default(),
        );
        let portraits = ExternalPortraits {
            part: PortraitWorkerRole::Jobs,
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

    /// The writes by resource, each with true for a create.
    fn asked(writes: &[Write]) -> Vec<(&str, bool)> {
        let of = |write: &Write| matches!(write.operation, WriteOperation::Create(_));
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
        follower.round(&mut ExternalPortraitMemory::default()).await;
        assert_eq!(writing.queued(), [], "it does not lead");

        let (mut leader, writing) = portraits(&api, Leadership::leading());
        leader.part = PortraitWorkerRole::Portraits;
        leader.round(&mut ExternalPortraitMemory::default()).await;
        assert_eq!(writing.queued(), [], "not all has been listed");
        synced(&leader);
        leader.round(&mut ExternalPortraitMemory::default()).await;
        let queued = writing.queued();
        assert_eq!(asked(&queued), [("horizontalportraits", true)]);
        let WriteOperation::Create(made) = &queued[0].operation else {
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
        leader.round(&mut ExternalPortraitMemory::default()).await;
        assert_eq!(
            api.requests() - before,
            2,
            "one job and one result are asked for"
        );
        let queued = writing.queued();
        let job = queued.iter().find_map(|write| match &write.operation {
            WriteOperation::Create(job) if write.target.resource == "cronjobs" => Some(job.clone()),
            _ => None,
        });
        api.set(CRON_JOB, job.expect("a CronJob is made"));
        api.set(
            RESULT,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-predictive-result"},
                "data": {"type": "TimeSeries", "expireTime": "2100-01-01T00:00:00Z",
                    "timeSeries": "{\"60\": 4}"}}),
        );
        leader.round(&mut ExternalPortraitMemory::default()).await;
        let status = writing.queued().into_iter().find_map(|write| {
            let is_status = write.target.subresource.as_deref() == Some("status");
            match write.operation {
                WriteOperation::Merge(body) if is_status => Some(body),
                _ => None,
            }
        });
        let status = status.expect("the result is told")["status"].clone();
        assert_eq!(status["conditions"][0]["reason"], "ResultRead", "{status}");
        let points = &status["portraitData"]["timeSeries"]["timeSeries"];
        assert_eq!(points, &json!([{"timestamp": 60, "replicas": 4}]));
    }

    /// Applies a HorizontalPortrait with a job, as a user writes it.
    fn apply_portrait(portraits: &ExternalPortraits, namespace: &str, name: &str) {
        let object = json!({
            "metadata": {"name": name, "namespace": namespace, "uid": name},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "portraitType": "Predictive",
                "algorithm": {"type": "ExternalJob", "externalJob": {"job": {"type": "CronJob",
                    "cronJob": {"template": {"spec": {"schedule": "@hourly", "jobTemplate": {"spec": {"template": {
                        "spec": {"containers": [{"name": "algorithm", "image": "a"}]}}}}}}}}}}},
        });
        let object = Arc::new(serde_json::from_value(object).unwrap());
        portraits
            .cluster
            .apply_scaling_object(ScalingObject::HorizontalPortrait(object));
    }

    fn opt_out(portraits: &ExternalPortraits) {
        let namespace = json!({"metadata": {"name": "shop", "resourceVersion": "4"}});
        let namespace = serde_json::from_value(namespace).unwrap();
        portraits
            .cluster
            .apply_namespace(&namespace, Timestamp::UNIX_EPOCH);
    }

    /// The harm: jobs ran on after their namespace had opted out, and after all was to be put back.
    #[tokio::test]
    async fn jobs_are_suspended_when_their_namespace_opts_out_and_when_all_is_put_back() {
        let api = FakeApi::default();
        let (leader, writing) = portraits(&api, Leadership::leading());
        synced(&leader);
        apply_portrait(&leader, "shop", "alone");
        let mut memory = ExternalPortraitMemory::default();
        leader.round(&mut memory).await;
        let queued = writing.queued();
        let job = queued.iter().find_map(|write| match &write.operation {
            WriteOperation::Create(job) if write.target.resource == "cronjobs" => Some(job.clone()),
            _ => None,
        });
        api.set(
            "/apis/batch/v1/namespaces/shop/cronjobs/alone",
            job.expect("a CronJob is made"),
        );
        let suspends = |writes: &[Write], purpose| {
            writes.iter().any(|write| {
                let WriteOperation::Conditional(patch) = &write.operation else {
                    return false;
                };
                let patch = serde_json::to_string(&patch.to_patch()).unwrap();
                write.purpose == purpose && patch.contains("/spec/suspend")
            })
        };
        leader.round(&mut memory).await;
        assert!(!suspends(&writing.queued(), Purpose::Portrait));
        leader.switch.set(Writes::Restore);
        leader.round(&mut memory).await;
        assert!(suspends(&writing.queued(), Purpose::Restore));
        leader.switch.set(Writes::Enabled);
        opt_out(&leader);
        leader.round(&mut memory).await;
        assert!(suspends(&writing.queued(), Purpose::Portrait));
    }

    /// The harm: all results of a cluster were held at once, and the last ones were never read.
    #[tokio::test(start_paused = true)]
    async fn the_next_round_begins_where_time_was_over() {
        let api = FakeApi::default();
        let (leader, _writing) = portraits(&api, Leadership::leading());
        let keys = |many: usize| -> Vec<NamespacedName> {
            let key = |number| ("shop".to_owned(), format!("{number:02}"));
            (0..many).map(key).collect()
        };
        let job = |(_, name): &NamespacedName| {
            ObjectRef::in_namespace(Kind::CronJob, "shop", name.as_str())
        };
        let mut last = Some(keys(5).remove(2));
        let mut asked = Vec::new();
        let take =
            |(_, name): NamespacedName, _: Result<Option<FoundJob>, kube::Error>| asked.push(name);
        leader.ask(keys(5), &mut last, job, take).await;
        assert_eq!(asked, ["03", "04", "00", "01", "02"]);
        api.mood(FakeApiBehavior::Hangs);
        let none =
            |_: NamespacedName, _: Result<Option<FoundJob>, kube::Error>| panic!("nobody answers");
        leader.ask(keys(9), &mut last, job, none).await;
        assert_eq!(last.map(|(_, name)| name).as_deref(), Some("02"));
    }
}
