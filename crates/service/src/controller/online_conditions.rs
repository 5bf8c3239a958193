//! Opens the readiness gates of Pods, and closes those of Pods that are taken out of traffic.
//!
//! A Pod with the gate waits, whichever replica leads, so every replica makes this write. It
//! follows from the Pod alone, so no two replicas write against each other; a replica that does not
//! lead waits a moment, so that usually one write is made. The kill switch does not stop it: a Pod
//! with a gate must be opened.
//!
//! A replica also finds out if it can write conditions, which decides if new Pods get a gate: if no
//! Pod waits, it patches a Pod that does not exist, and only an account with the right gets the
//! answer "not found".

use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evenkeel_clock as clock;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::pod::Pod;
use evenkeel_replica_profile::online_condition;
use evenkeel_replica_profile::online_condition::OnlinePatch;
use futures::StreamExt as _;
use kube::Client;
use kube::api::Patch;
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::leadership::Leadership;
use super::metrics::{ControllerMetrics, WriteOutcome};
use super::switch::{WriteSwitch, Writes};
use super::writer::{accepted, api, by_us};
use crate::cluster::ClusterState;
use crate::telemetry::RateLimited;

/// The deadline of one request.
const TIMEOUT: Duration = Duration::from_secs(3);
/// The most requests under way at a time.
const IN_FLIGHT: usize = 16;
/// The time for which a replica that does not lead leaves a Pod to the one that does.
const FOLLOWS: Duration = Duration::from_millis(250);
/// The pause after a first failure; it doubles with each.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(16);
/// The time between two checks that conditions can be written; shorter while that is unknown.
const PROBE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_secs(1);
/// The name of a Pod that does not exist.
const NOBODY: &str = "evenkeel-could-write-a-condition";

pub struct OnlineConditions {
    pub client: Client,
    pub cluster: ClusterState,
    pub leadership: Leadership,
    /// The kill switch: while it is thrown, no new Pod is given the gate.
    pub switch: WriteSwitch,
    /// True where new Pods are given the gate at all.
    pub is_enabled: bool,
    pub namespace: String,
    pub metrics: ControllerMetrics,
}

/// The Pods that wait, since when, and what failed.
#[derive(Default)]
struct AwaitedConditions(HashMap<String, ConditionAttempt>);

struct ConditionAttempt {
    /// When it was seen to wait, or its condition was written last.
    since: Instant,
    failures: u32,
    /// True where the API server refused the last write, and no other Pod's.
    is_refused: bool,
    next: Instant,
}

impl OnlineConditions {
    pub async fn run(self, cancel: CancellationToken) {
        cancel.run_until_cancelled(self.go_on()).await;
    }

    async fn go_on(self) {
        let mut waiting = AwaitedConditions::default();
        let warned = RateLimited::default();
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut probed: Option<Instant> = None;
        let condition_due = Arc::clone(&self.cluster.profiles().condition_due);
        loop {
            let pause = self.round(&mut waiting, &warned).await;
            let mut due = pin!(condition_due.notified());
            tokio::select! {
                () = due.as_mut() => {}
                () = sleep(pause) => {}
                _ = looks.tick() => {
                    let now = clock::instant();
                    let is_known = self.cluster.is_gate_open(now);
                    let lately = probed.is_some_and(|at| now.duration_since(at) < PROBE);
                    if !(is_known && lately) {
                        self.probe(&warned).await;
                        probed = Some(clock::instant());
                    }
                }
            }
        }
    }

    /// Writes what is due; gives the time until something is due again.
    async fn round(
        &self,
        waiting: &mut AwaitedConditions,
        warned: &RateLimited<&'static str>,
    ) -> Duration {
        let now = clock::instant();
        let pods = self.cluster.profiles().due();
        let leads = self.leadership.is_leader(now);
        let ready = waiting.take_ready(&pods, leads, now);
        let made = futures::stream::iter(ready)
            .map(|pod| async move {
                let outcome = self.write(&pod, warned).await;
                (pod.uid().to_owned(), outcome)
            })
            .buffer_unordered(IN_FLIGHT)
            .collect::<Vec<_>>()
            .await;
        let now = clock::instant();
        for (uid, outcome) in made {
            waiting.tried(&uid, outcome, now);
        }
        let (awaited, refused) = waiting.by_namespace(&pods, |pod| self.cluster.is_profiled(pod));
        self.cluster.conditions_wait(awaited, refused);
        self.metrics
            .online_gate(self.cluster.is_gate_open(now), pods.len());
        waiting.pause(now)
    }

    async fn write(&self, pod: &Pod, warned: &RateLimited<&'static str>) -> WriteOutcome {
        let Some(patch) = online_condition::patch(pod, self.cluster.now()) else {
            return WriteOutcome::Written;
        };
        let OnlinePatch {
            target,
            body,
            status,
        } = patch;
        let answer = self.send(&target, &body).await;
        let outcome = match &answer {
            Ok(()) => WriteOutcome::Written,
            Err(Some(kube::Error::Api(status))) => match status.code {
                404 => WriteOutcome::Gone,
                // Another Pod has its name.
                409 => WriteOutcome::Conflict,
                // Too many requests say nothing about this one, and a missing right is missing for
                // all.
                401 | 403 | 429 => WriteOutcome::Failed,
                400..=499 => WriteOutcome::Refused,
                _ => WriteOutcome::Failed,
            },
            Err(Some(_)) => WriteOutcome::Failed,
            Err(None) => WriteOutcome::TimedOut,
        };
        self.metrics.online_condition(status, outcome);
        match outcome {
            WriteOutcome::Written | WriteOutcome::Gone | WriteOutcome::Conflict => {
                self.report(true);
            }
            _ => {
                Self::warn(&answer, warned, pod.name());
                // A refusal may come from the content of the one Pod, which its user controls.
                if outcome != WriteOutcome::Refused {
                    self.report(false);
                }
            }
        }
        debug!(
            pod = pod.name(),
            namespace = pod.namespace(),
            status,
            ?outcome,
            "wrote a condition"
        );
        outcome
    }

    /// Finds out whether a condition could be written, also while there is no profile yet, so that
    /// Pods made right after the first profile have the gate.
    async fn probe(&self, warned: &RateLimited<&'static str>) {
        if !self.is_enabled {
            return;
        }
        let nobody = ObjectRef::in_namespace(Kind::Pod, self.namespace.as_str(), NOBODY).status();
        let answer = self.send(&nobody, &json!({"status": {}})).await;
        let could = matches!(&answer, Err(Some(kube::Error::Api(status))) if status.code == 404);
        if !could {
            Self::warn(&answer, warned, NOBODY);
        }
        self.report(could);
    }

    /// Tells admission whether conditions can be written, where gates are to be given at all.
    fn report(&self, was_written: bool) {
        let gives = self.is_enabled && self.switch.get() == Writes::Enabled;
        self.cluster
            .condition_written(was_written && gives, clock::instant());
    }

    /// Sends a patch; the error of none is that there was no answer in time.
    async fn send(
        &self,
        target: &ObjectRef,
        body: &serde_json::Value,
    ) -> Result<(), Option<kube::Error>> {
        let api = api(&self.client, target);
        let (name, by_us, patch) = (target.name.as_str(), by_us(), Patch::Strategic(body));
        let sent = api.patch_status(name, &by_us, &patch);
        match timeout(TIMEOUT, sent).await {
            Ok(answer) => accepted(answer.map(drop)).map_err(Some),
            Err(_) => Err(None),
        }
    }

    fn warn(
        answer: &Result<(), Option<kube::Error>>,
        warned: &RateLimited<&'static str>,
        pod: &str,
    ) {
        let Some(suppressed) = warned.permit("condition", clock::instant()) else {
            return;
        };
        let error = match answer {
            Err(Some(error)) => error.to_string(),
            Err(None) => "no answer in time".to_owned(),
            Ok(()) => "a Pod was changed that should not exist".to_owned(),
        };
        warn!(
            pod,
            error, suppressed, "the condition that lets Pods take traffic could not be written"
        );
    }
}

impl AwaitedConditions {
    fn take_ready(&mut self, pods: &[Arc<Pod>], leads: bool, now: Instant) -> Vec<Arc<Pod>> {
        let due: HashSet<&str> = pods.iter().map(|pod| pod.uid()).collect();
        self.0.retain(|uid, _| due.contains(uid.as_str()));
        let mut ready = Vec::new();
        for pod in pods {
            let attempt = self
                .0
                .entry(pod.uid().to_owned())
                .or_insert(ConditionAttempt {
                    since: now,
                    failures: 0,
                    is_refused: false,
                    next: now,
                });
            if attempt.failures == 0 {
                attempt.next = attempt.since + if leads { Duration::ZERO } else { FOLLOWS };
            }
            if attempt.next <= now {
                ready.push(Arc::clone(pod));
            }
        }
        ready
    }

    fn tried(&mut self, uid: &str, outcome: WriteOutcome, now: Instant) {
        let Some(attempt) = self.0.get_mut(uid) else {
            return;
        };
        attempt.is_refused = outcome == WriteOutcome::Refused;
        // Also after a write that was made: until the watch shows it there is nothing to do.
        attempt.failures = match outcome {
            WriteOutcome::Written | WriteOutcome::Gone | WriteOutcome::Conflict => {
                attempt.since = now;
                1
            }
            _ => attempt.failures.saturating_add(1),
        };
        let pause = PAUSE.saturating_mul(1 << (attempt.failures - 1).min(8));
        attempt.next = now + pause.min(LONGEST_PAUSE);
    }

    /// By namespace of the Pods that `counts` accepts: the start of the first wait, and any
    /// refusal.
    fn by_namespace(
        &self,
        pods: &[Arc<Pod>],
        counts: impl Fn(&Pod) -> bool,
    ) -> (HashMap<Box<str>, Instant>, HashSet<Box<str>>) {
        let (mut awaited, mut refused) = (HashMap::new(), HashSet::new());
        for pod in pods.iter().filter(|pod| counts(pod)) {
            let Some(attempt) = self.0.get(pod.uid()) else {
                continue;
            };
            let first = awaited.entry(pod.namespace().into());
            let first: &mut Instant = first.or_insert(attempt.since);
            *first = attempt.since.min(*first);
            if attempt.is_refused {
                refused.insert(pod.namespace().into());
            }
        }
        (awaited, refused)
    }

    /// The time until the next turn of any that waits.
    fn pause(&self, now: Instant) -> Duration {
        let next = self.0.values().map(|attempt| attempt.next).min();
        next.map_or(LONGEST_PAUSE, |next| next.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests;
