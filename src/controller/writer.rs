//! The one writer: everything that the replicas change in the cluster goes through here. (The signer
//! has objects of its own, and writes them by [`send`] as well.)
//!
//! Plans are queued without waiting (`queue`) and made one after the other. Right before each
//! request the writer looks whether the kill switch allows it and whether this replica leads, and
//! each request has a deadline. The Lease is not given back before the request has ended.

use std::time::{Duration, Instant};

use kube::api::{Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::{Api, Client};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::leadership::Leadership;
use super::metrics::{Metrics, Outcome};
use super::queue::{self, Waiting, WriteQueue};
use super::switch::WriteSwitch;
use crate::telemetry::RateLimited;
use evenkeel_clock as clock;
use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::object_ref::ObjectRef;
use evenkeel_kubernetes::plan::{Operation, Purpose, Write};

/// Limits of the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Writes that may wait. At some 10 ms a write, 1,000 are ten seconds of work.
    pub queue: usize,
    /// The deadline of one request. It is shorter than the time between the end of a holder's
    /// right to act and the end of its lease, so that no request outlives the lease.
    pub timeout: Duration,
    /// The least time between two writes: 20 a second are enough for everything planned here, and
    /// no burden for an API server.
    pub pause: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            queue: 1000,
            timeout: Duration::from_secs(3),
            pause: Duration::from_millis(50),
        }
    }
}

/// Name of the writer in `metadata.managedFields`.
pub(super) const MANAGER: &str = "evenkeel";

fn by_us() -> PatchParams {
    PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// True where a plan has to know that its write was not made. What has changed meanwhile is planned
/// anew by itself, but for a node, which was only to be touched.
fn is_failure(outcome: Outcome, target: &ObjectRef) -> bool {
    match outcome {
        Outcome::Failed | Outcome::TimedOut | Outcome::Dropped => true,
        Outcome::Conflict => target.is(Kind::Node),
        Outcome::Written | Outcome::Gone | Outcome::NotLeader | Outcome::SwitchedOff => false,
    }
}

/// Makes the queued writes, one after the other.
pub struct Writer {
    client: Client,
    settings: Settings,
    queue: Waiting,
    leadership: Leadership,
    switch: WriteSwitch,
    metrics: Metrics,
    warned: RateLimited<(Purpose, Outcome)>,
}

impl Writer {
    /// A writer and the queue that feeds it.
    #[must_use]
    pub fn new(
        client: Client,
        settings: Settings,
        leadership: Leadership,
        switch: WriteSwitch,
        metrics: Metrics,
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

    /// The writes that wait, taken out of the queue.
    #[cfg(test)]
    pub(super) fn queued(&mut self) -> Vec<Write> {
        self.queue.take_all()
    }

    /// Makes the queued writes until `cancel`.
    pub async fn run(mut self, cancel: CancellationToken) {
        loop {
            let write = tokio::select! {
                write = self.queue.next() => write,
                () = cancel.cancelled() => None,
            };
            let Some(write) = write else { return };
            let outcome = self.make(&write).await;
            self.metrics.count(write.purpose, outcome);
            let failed = is_failure(outcome, &write.target);
            self.queue.done(write, failed);
            if outcome != Outcome::NotLeader && outcome != Outcome::SwitchedOff {
                tokio::time::sleep(self.settings.pause).await;
            }
        }
    }

    async fn make(&self, write: &Write) -> Outcome {
        if !self.switch.is_enabled() {
            return Outcome::SwitchedOff;
        }
        let Some(_permit) = self.leadership.permit().await else {
            return Outcome::NotLeader;
        };
        let sent: Instant = clock::instant();
        let outcome =
            match tokio::time::timeout(self.settings.timeout, send(&self.client, write)).await {
                Ok(Ok(())) => Outcome::Written,
                Ok(Err(kube::Error::Api(status))) if status.code == 409 => {
                    // For a patch the object has changed since the plan; for a new one it is there.
                    Outcome::Conflict
                }
                Ok(Err(kube::Error::Api(status))) if status.code == 404 => Outcome::Gone,
                Ok(Err(error)) => {
                    self.warn(write, Outcome::Failed, Some(&error));
                    Outcome::Failed
                }
                Err(_) => {
                    self.warn(write, Outcome::TimedOut, None);
                    Outcome::TimedOut
                }
            };
        let took = clock::instant().duration_since(sent);
        debug!(purpose = write.purpose.as_str(), target = %write.target, ?outcome, ?took, "wrote");
        outcome
    }

    fn warn(&self, write: &Write, outcome: Outcome, error: Option<&kube::Error>) {
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

/// Makes one write.
pub(crate) async fn send(client: &Client, write: &Write) -> Result<(), kube::Error> {
    let target = &write.target;
    let (api, name) = (api(client, target), target.name.as_str());
    match &write.operation {
        Operation::Merge(patch) => {
            let patch = Patch::Merge(patch);
            match &target.subresource {
                None => api.patch(name, &by_us(), &patch).await,
                Some(part) => api.patch_subresource(part, name, &by_us(), &patch).await,
            }
            .map(drop)
        }
        Operation::Create(body) => {
            let object: DynamicObject =
                serde_json::from_value(Value::clone(body)).map_err(kube::Error::SerdeError)?;
            api.create(&PostParams::default(), &object).await.map(drop)
        }
    }
}

/// The API that serves the object.
pub(super) fn api(client: &Client, object: &ObjectRef) -> Api<DynamicObject> {
    let resource = object.api_resource();
    match &object.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controller::fake_api::{FakeApi, Mood, eventually};

    const NODE: &str = "/api/v1/nodes/a";

    fn touch(node: &str, version: &str) -> Write {
        Write {
            purpose: Purpose::WakePods,
            target: ObjectRef::of_cluster(Kind::Node, node),
            operation: Operation::Merge(json!({
                "metadata": {"resourceVersion": version, "annotations": {"touched": "yes"}}})),
        }
    }

    fn event() -> Write {
        Write {
            purpose: Purpose::AnnotationWarning,
            target: ObjectRef::in_namespace(Kind::Event, "shop", "e"),
            operation: Operation::Create(json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event",
                "metadata": {"name": "e", "namespace": "shop"}})),
        }
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
            Metrics::default(),
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
        let switch = WriteSwitch::new(true);
        let (follower, _queue) = writer(&api, Leadership::default(), &switch);
        assert_eq!(follower.make(&touch("a", "1")).await, Outcome::NotLeader);
        let (leader, _queue) = writer(&api, Leadership::leading(), &switch);
        assert!(switch.set(false));
        assert_eq!(leader.make(&touch("a", "1")).await, Outcome::SwitchedOff);
        assert_eq!(api.requests(), 0);
        assert!(switch.set(true));
        assert_eq!(leader.make(&touch("a", "1")).await, Outcome::Written);
        assert_eq!(
            api.get(NODE).unwrap()["metadata"]["annotations"]["touched"],
            "yes"
        );
        assert_eq!(leader.make(&event()).await, Outcome::Written);
        let event = "/apis/events.k8s.io/v1/namespaces/shop/events/e";
        assert!(api.get(event).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn each_end_of_a_write_is_told_apart() {
        let api = with_node();
        let (leader, _queue) = writer(&api, Leadership::leading(), &WriteSwitch::new(true));
        assert_eq!(leader.make(&touch("a", "0")).await, Outcome::Conflict);
        assert_eq!(
            api.get(NODE).unwrap()["metadata"]["annotations"],
            json!(null)
        );
        assert_eq!(leader.make(&touch("gone", "1")).await, Outcome::Gone);
        assert_eq!(leader.make(&event()).await, Outcome::Written);
        assert_eq!(
            leader.make(&event()).await,
            Outcome::Conflict,
            "it is there already"
        );
        api.mood(Mood::Refuses(403));
        assert_eq!(leader.make(&touch("a", "1")).await, Outcome::Failed);
        api.mood(Mood::Hangs);
        assert_eq!(leader.make(&touch("a", "1")).await, Outcome::TimedOut);
    }

    #[tokio::test]
    async fn the_queue_holds_one_write_an_object_and_no_more_than_its_bound() {
        let api = with_node();
        let switch = WriteSwitch::new(true);
        let (mut leader, queue) = writer(&api, Leadership::leading(), &switch);
        queue.put(touch("a", "1"));
        queue.put(touch("a", "2"));
        queue.put(touch("b", "1"));
        queue.put(touch("c", "1"));
        assert_eq!(leader.queued(), [touch("a", "2"), touch("b", "1")]);
        // What was dropped is not taken for waiting.
        queue.put(touch("c", "1"));
        assert_eq!(leader.queued(), [touch("c", "1")]);
    }

    #[tokio::test]
    async fn a_write_that_was_made_may_be_planned_again() {
        let api = with_node();
        let switch = WriteSwitch::new(true);
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
}
