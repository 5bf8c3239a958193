//! The one writer: all changes by the replicas in the cluster go through here. (The signer writes
//! its own objects, by `send` as well.) Plans are queued without waiting (`queue`) and made a few
//! at a time, at a steady pace. Right before each request the writer checks the kill switch and the
//! leadership, and each request has a deadline. The Lease is not given back before all have ended.

use std::pin::pin;
use std::time::{Duration, Instant};

use evenkeel_clock as clock;
use evenkeel_objects::managed_fields::MANAGER;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::{Purpose, Write, WriteOperation};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{DynamicObject, Status};
use kube::{Api, Client};
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::leadership::Leadership;
use super::metrics::{ControllerMetrics, WriteOutcome};
use super::queue;
use super::queue::{WriteQueue, WriteQueueReceiver};
use super::switch::WriteSwitch;
use crate::telemetry::RateLimited;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Writes that may wait in each lane. At a hundred a second, 2,000 are 20 seconds of work.
    pub queue: usize,
    /// The deadline of one request: shorter than the time between the end of a holder's right to
    /// act and the end of its lease, so that no request outlives the lease.
    pub timeout: Duration,
    /// The least time between the begins of two writes. At a hundred a second, 1,000 simultaneous
    /// floors take ten seconds, no burden for an API server with as many targets.
    pub pause: Duration,
    pub in_flight: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            queue: 2000,
            timeout: Duration::from_secs(3),
            pause: Duration::from_millis(10),
            in_flight: 8,
        }
    }
}

/// Patches in the name by which the API server knows what this program writes.
pub(crate) fn by_us() -> PatchParams {
    PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// True if a conditional patch failed on outdated state: a version that is gone, or failed tests. A
/// refused result is also answered 422, but then the answer names the fields at fault, or the
/// webhook that denied it.
pub(crate) fn is_lost_race(status: &Status) -> bool {
    let causes = status.details.as_ref().map(|details| &details.causes);
    let is_denied = status.message.starts_with("admission webhook ");
    status.code == 409 || status.code == 422 && causes.is_none_or(Vec::is_empty) && !is_denied
}

/// The meaning of an answer of the API server that is no success.
fn refusal(write: &Write, status: &Status) -> WriteOutcome {
    match status.code {
        // For a patch the object has changed since the plan; for a new one it is there.
        409 => WriteOutcome::Conflict,
        404 => WriteOutcome::Gone,
        _ if matches!(write.operation, WriteOperation::Conditional(_)) && is_lost_race(status) => {
            WriteOutcome::Conflict
        }
        // Too many requests say nothing about this one.
        429 => WriteOutcome::Failed,
        400..=499 => WriteOutcome::Refused,
        _ => WriteOutcome::Failed,
    }
}

pub struct Writer {
    client: Client,
    settings: Settings,
    queue: WriteQueueReceiver,
    leadership: Leadership,
    switch: WriteSwitch,
    metrics: ControllerMetrics,
    warned: RateLimited<(Purpose, WriteOutcome)>,
}

impl Writer {
    pub fn new(
        client: Client,
        settings: Settings,
        leadership: Leadership,
        switch: WriteSwitch,
        metrics: ControllerMetrics,
    ) -> (Self, WriteQueue) {
        let (put, queue) = queue::new(settings.queue, metrics.clone());
        let writer = Self {
            client,
            settings,
            queue,
            leadership,
            switch,
            metrics,
            warned: RateLimited::default(),
        };
        (writer, put)
    }

    #[cfg(test)]
    pub(super) fn queued(&self) -> Vec<Write> {
        self.queue.take_all()
    }

    /// Makes the queued writes until `cancel`, and then ends those under way.
    pub async fn run(self, cancel: CancellationToken) {
        let Settings {
            pause, in_flight, ..
        } = self.settings;
        let mut under_way = FuturesUnordered::new();
        let (mut rest, mut rests) = (pin!(tokio::time::sleep(pause)), false);
        loop {
            let free = !rests && under_way.len() < in_flight;
            tokio::select! {
                biased;
                () = cancel.cancelled() => break,
                Some(()) = under_way.next() => {}
                () = rest.as_mut(), if rests => rests = false,
                write = self.queue.next(), if free => {
                    if let Some(held) = self.held(&write) {
                        self.end(&write, held);
                    } else {
                        rest.set(tokio::time::sleep(pause));
                        rests = true;
                        under_way.push(self.write(write));
                    }
                }
            }
        }
        while under_way.next().await.is_some() {}
    }

    /// Why a write may not be made at present.
    fn held(&self, write: &Write) -> Option<WriteOutcome> {
        if !self.switch.get().allows(write.purpose) {
            return Some(WriteOutcome::SwitchedOff);
        }
        let leads = self.leadership.is_leader(clock::instant());
        (!leads).then_some(WriteOutcome::NotLeader)
    }

    async fn write(&self, write: Write) {
        let outcome = self.make(&write).await;
        self.end(&write, outcome);
    }

    fn end(&self, write: &Write, outcome: WriteOutcome) {
        self.metrics.count(write.purpose, outcome);
        self.queue.done(write, outcome);
    }

    async fn make(&self, write: &Write) -> WriteOutcome {
        if let Some(held) = self.held(write) {
            return held;
        }
        let Some(_permit) = self.leadership.permit().await else {
            return WriteOutcome::NotLeader;
        };
        let sent: Instant = clock::instant();
        let made = send(&self.client, &write.target, &write.operation);
        let outcome = match tokio::time::timeout(self.settings.timeout, made).await {
            Ok(Ok(())) => WriteOutcome::Written,
            Ok(Err(error)) => {
                let outcome = match &error {
                    kube::Error::Api(status) => refusal(write, status),
                    _ => WriteOutcome::Failed,
                };
                if matches!(outcome, WriteOutcome::Refused | WriteOutcome::Failed) {
                    self.warn(write, outcome, Some(&error));
                }
                outcome
            }
            Err(_) => {
                self.warn(write, WriteOutcome::TimedOut, None);
                WriteOutcome::TimedOut
            }
        };
        let took = clock::instant().duration_since(sent);
        debug!(purpose = write.purpose.as_str(), target = %write.target, ?outcome, ?took, "wrote");
        outcome
    }

    fn warn(&self, write: &Write, outcome: WriteOutcome, error: Option<&kube::Error>) {
        let Write {
            purpose, target, ..
        } = write;
        if let Some(suppressed) = self.warned.permit((*purpose, outcome), clock::instant()) {
            let error = error.map(tracing::field::display);
            let (purpose, outcome) = (purpose.as_str(), outcome.as_str());
            warn!(
                purpose,
                outcome,
                %target,
                error,
                suppressed,
                "a write failed"
            );
        }
    }
}

pub(crate) async fn send(
    client: &Client,
    target: &ObjectRef,
    operation: &WriteOperation,
) -> Result<(), kube::Error> {
    let api = api(client, target);
    match operation {
        WriteOperation::Merge(body) => patch(&api, target, &Patch::Merge(body)).await,
        WriteOperation::Conditional(changes) => {
            let changes = Patch::<()>::Json(changes.to_patch());
            patch(&api, target, &changes).await
        }
        WriteOperation::Create(body) => {
            let object: DynamicObject =
                serde_json::from_value(Value::clone(body)).map_err(kube::Error::SerdeError)?;
            let params = PostParams {
                field_manager: Some(MANAGER.to_owned()),
                ..PostParams::default()
            };
            api.create(&params, &object).await.map(drop)
        }
        WriteOperation::Delete { uid } => {
            let params = DeleteParams {
                preconditions: Some(Preconditions {
                    uid: Some(uid.clone()),
                    resource_version: None,
                }),
                ..DeleteParams::background()
            };
            api.delete(&target.name, &params).await.map(drop)
        }
    }
}

async fn patch<P: Serialize + std::fmt::Debug + Sync>(
    api: &Api<DynamicObject>,
    target: &ObjectRef,
    patch: &Patch<P>,
) -> Result<(), kube::Error> {
    let (name, by_us) = (target.name.as_str(), by_us());
    let answer = match &target.subresource {
        None => api.patch(name, &by_us, patch).await,
        Some(part) => api.patch_subresource(part, name, &by_us, patch).await,
    };
    accepted(answer.map(drop))
}

/// A write was made even if its answer is unreadable: any user may have put content into the object
/// that nests too deep.
pub(super) fn accepted(answer: Result<(), kube::Error>) -> Result<(), kube::Error> {
    match answer {
        Err(kube::Error::SerdeError(_)) => Ok(()),
        answer => answer,
    }
}

pub(super) fn api(client: &Client, object: &ObjectRef) -> Api<DynamicObject> {
    let resource = object.api_resource();
    match &object.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::kinds::Kind;
    use evenkeel_objects::plan::conditional_patch::ConditionalPatch;
    use serde_json::json;

    use super::*;
    use crate::controller::fake_api::{FakeApi, FakeApiBehavior, eventually};
    use crate::controller::switch::Writes;

    const NODE: &str = "/api/v1/nodes/a";

    fn touch(node: &str, version: &str) -> Write {
        let patch = json!({
            "metadata": {"resourceVersion": version, "annotations": {"touched": "yes"}}});
        let target = ObjectRef::of_cluster(Kind::Node, node);
        Write::new(Purpose::WakePods, target, WriteOperation::Merge(patch))
    }

    fn event() -> Write {
        let body = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": "e", "namespace": "shop"}});
        let target = ObjectRef::in_namespace(Kind::Event, "shop", "e");
        Write::new(
            Purpose::AnnotationWarning,
            target,
            WriteOperation::Create(body),
        )
    }

    /// Raises the least of an HPA from one count to another.
    fn raise(name: &str, from: i32, to: i32) -> Write {
        let meta = serde_json::from_value(json!({"annotations": {"a": "b"}})).unwrap();
        let mut patch = ConditionalPatch::of(&meta);
        patch.expect(&["spec", "minReplicas"], json!(from));
        patch.change(&["spec", "minReplicas"], true, json!(to));
        let target = ObjectRef::in_namespace(Kind::HorizontalPodAutoscaler, "shop", name);
        Write::new(
            Purpose::ScalingBounds,
            target,
            WriteOperation::Conditional(patch),
        )
    }

    fn hpa(name: &str) -> String {
        format!("/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/{name}")
    }

    fn writer(api: &FakeApi, leadership: Leadership, switch: &WriteSwitch) -> (Writer, WriteQueue) {
        let settings = Settings {
            queue: 2,
            pause: Duration::ZERO,
            ..Settings::default()
        };
        Writer::new(
            api.client(),
            settings,
            leadership,
            switch.clone(),
            ControllerMetrics::default(),
        )
    }

    fn with_node() -> FakeApi {
        let api = FakeApi::default();
        api.set(NODE, json!({"metadata": {"name": "a"}}));
        api
    }

    #[tokio::test]
    async fn only_the_leader_writes_and_only_while_that_is_switched_on() {
        let api = with_node();
        let switch = WriteSwitch::new(Writes::Enabled);
        let (follower, _queue) = writer(&api, Leadership::default(), &switch);
        assert_eq!(
            follower.make(&touch("a", "1")).await,
            WriteOutcome::NotLeader
        );
        let (leader, _queue) = writer(&api, Leadership::leading(), &switch);
        for writes in [Writes::Disabled, Writes::Restore] {
            assert!(switch.set(writes));
            assert_eq!(
                leader.make(&touch("a", "1")).await,
                WriteOutcome::SwitchedOff
            );
        }
        assert_eq!(api.requests(), 0);
        assert!(switch.set(Writes::Enabled));
        assert_eq!(leader.make(&touch("a", "1")).await, WriteOutcome::Written);
        assert_eq!(
            api.get(NODE).unwrap()["metadata"]["annotations"]["touched"],
            "yes"
        );
        assert_eq!(leader.make(&event()).await, WriteOutcome::Written);
        let event = "/apis/events.k8s.io/v1/namespaces/shop/events/e";
        assert!(api.get(event).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn each_end_of_a_write_is_told_apart() {
        let api = with_node();
        let (leader, _queue) = writer(
            &api,
            Leadership::leading(),
            &WriteSwitch::new(Writes::Enabled),
        );
        assert_eq!(leader.make(&touch("a", "0")).await, WriteOutcome::Conflict);
        assert_eq!(
            api.get(NODE).unwrap()["metadata"]["annotations"],
            json!(null)
        );
        assert_eq!(leader.make(&touch("gone", "1")).await, WriteOutcome::Gone);
        assert_eq!(leader.make(&event()).await, WriteOutcome::Written);
        assert_eq!(
            leader.make(&event()).await,
            WriteOutcome::Conflict,
            "it is there already"
        );
        api.set(&hpa("web"), json!({"spec": {"minReplicas": 2}}));
        assert_eq!(
            leader.make(&raise("web", 3, 6)).await,
            WriteOutcome::Conflict
        );
        assert_eq!(
            leader.make(&raise("web", 2, 6)).await,
            WriteOutcome::Written
        );
        for (status, outcome) in [
            (403, WriteOutcome::Refused),
            (422, WriteOutcome::Refused),
            (429, WriteOutcome::Failed),
            (500, WriteOutcome::Failed),
        ] {
            api.mood(FakeApiBehavior::Refuses(status));
            assert_eq!(leader.make(&touch("a", "1")).await, outcome, "{status}");
        }
        api.mood(FakeApiBehavior::Hangs);
        assert_eq!(leader.make(&touch("a", "1")).await, WriteOutcome::TimedOut);
    }

    #[tokio::test]
    async fn the_queue_holds_one_write_an_object_and_no_more_than_its_bound() {
        let api = with_node();
        let switch = WriteSwitch::new(Writes::Enabled);
        let (leader, queue) = writer(&api, Leadership::leading(), &switch);
        queue.put(touch("a", "1"));
        queue.put(touch("a", "2"));
        queue.put(touch("b", "1"));
        queue.put(touch("c", "1"));
        assert_eq!(leader.queued(), [touch("a", "2"), touch("b", "1")]);
        // A dropped write does not count as waiting.
        queue.put(touch("c", "1"));
        assert_eq!(leader.queued(), [touch("c", "1")]);
    }

    #[tokio::test]
    async fn a_write_that_was_made_may_be_planned_again() {
        let api = with_node();
        let switch = WriteSwitch::new(Writes::Enabled);
        let (leader, queue) = writer(&api, Leadership::leading(), &switch);
        let cancel = CancellationToken::new();
        let running = tokio::spawn(leader.run(cancel.clone()));
        for writes in 1..=3 {
            let version = api.get(NODE).unwrap()["metadata"]["resourceVersion"].clone();
            eventually("the write is taken", || {
                queue.put(touch("a", version.as_str().unwrap()));
                api.writes().len() >= writes
            })
            .await;
        }
        cancel.cancel();
        running.await.unwrap();
    }

    #[tokio::test]
    async fn no_more_are_under_way_than_are_allowed_and_each_object_once() {
        let api = FakeApi::default();
        let (leader, queue) = Writer::new(
            api.client(),
            Settings {
                pause: Duration::ZERO,
                in_flight: 8,
                ..Settings::default()
            },
            Leadership::leading(),
            WriteSwitch::new(Writes::Enabled),
            ControllerMetrics::default(),
        );
        for number in 0..100 {
            let name = format!("web-{number}");
            api.set(&hpa(&name), json!({"spec": {"minReplicas": 2}}));
            queue.put(raise(&name, 2, 6));
        }
        api.mood(FakeApiBehavior::HoldsPatches);
        let cancel = CancellationToken::new();
        let running = tokio::spawn(leader.run(cancel.clone()));
        eventually("as many as are allowed are under way", || api.held() == 8).await;
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(api.held(), 8);
        api.mood(FakeApiBehavior::Answers);
        let raised = |number: i32| {
            let object = api.get(&hpa(&format!("web-{number}"))).unwrap();
            object["spec"]["minReplicas"] == 6
        };
        eventually("all are written", || (0..100).all(raised)).await;
        cancel.cancel();
        running.await.unwrap();
        assert_eq!(api.writes().len(), 100, "each once");
    }

    #[tokio::test]
    async fn writes_that_are_refused_are_not_tried_again_and_again() {
        let api = with_node();
        let switch = WriteSwitch::new(Writes::Enabled);
        let (leader, queue) = writer(&api, Leadership::leading(), &switch);
        api.mood(FakeApiBehavior::RefusesWrites(422));
        let cancel = CancellationToken::new();
        let running = tokio::spawn(leader.run(cancel.clone()));
        for _ in 0..1000 {
            // As the loops do, which plan the same at every tick.
            queue.put(raise("web", 2, 6));
            tokio::task::yield_now().await;
        }
        assert_eq!(api.writes().len(), 1);
        cancel.cancel();
        running.await.unwrap();
    }
    /// The harm: a webhook that denies with 422 passed for a race, so no warning named it.
    #[test]
    fn a_denial_is_no_lost_race() {
        let is_race = |status: serde_json::Value| {
            let status: Status = serde_json::from_value(status).unwrap();
            is_lost_race(&status)
        };
        let rejected = "the server rejected our request due to an error in our request";
        let denied = "admission webhook \"tenant\" denied the request: no";
        let causes = json!({"causes": [{"reason": "FieldValueInvalid", "message": "no"}]});
        for (status, expected) in [
            (json!({"code": 409, "message": "modified"}), true),
            (json!({"code": 422, "message": rejected}), true),
            (json!({"code": 422, "message": denied}), false),
            (
                json!({"code": 422, "message": "invalid", "details": causes}),
                false,
            ),
            (json!({"code": 403, "message": "forbidden"}), false),
        ] {
            assert_eq!(is_race(status.clone()), expected, "{status}");
        }
    }
}
