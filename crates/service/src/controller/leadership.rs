//! Holding the Lease: the loop around [`Election`].
//!
//! It checks the Lease every retry period, by this machine's monotonic clock alone. A caller takes
//! a [`Permit`] right before a write. The permit is safe even if this process was stopped or
//! without a CPU, because the permitted time has then passed. It is not safe after a machine was
//! suspended, such as a migrated or restored virtual machine, because the monotonic clock stood
//! still: until the next check it may write although another replica leads. Then only the
//! resourceVersion or the tests in each patch protect changed objects.
//!
//! The kill switch does not affect the Lease: one replica must restore bounds, and writes that are
//! enabled again must not wait for an election.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use evenkeel_clock as clock;
use evenkeel_objects::lease::LeaseRecord;
use evenkeel_objects::plan::election::{Election, ElectionStep, Timing};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::{RwLock, RwLockReadGuard};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::telemetry::RateLimited;
use crate::uninstall_plan::installation::LEASE_LABEL;

/// The Lease, and the times of holding it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub lease_name: String,
    pub timing: Timing,
    /// The name of this replica in the Lease; made of host and process where it is not given.
    pub identity: Option<String>,
}

impl Settings {
    /// The longest time to end for the elector, if a write takes at most `write`: its check of the
    /// Lease, the write, and the release of the Lease.
    pub(crate) fn longest_end(&self, write: Duration) -> Duration {
        look_limit(&self.timing) + write + self.timing.retry_period
    }
}

/// Time limit of one read of the Lease: an answer after the next read is of no use.
fn look_limit(timing: &Timing) -> Duration {
    timing.retry_period.max(Duration::from_secs(1))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    pub namespace: String,
    pub identity: String,
}

/// Leadership of this replica, for code that is about to write.
#[derive(Debug, Clone, Default)]
pub struct Leadership(Arc<LeadershipState>);

#[derive(Debug, Default)]
struct LeadershipState {
    until: ArcSwapOption<Instant>,
    writing: RwLock<()>,
}

/// The right to one write, for as long as it is held; the Lease is not given back meanwhile.
#[derive(Debug)]
#[must_use]
pub struct Permit<'a> {
    _writing: RwLockReadGuard<'a, ()>,
}

impl Leadership {
    /// True where this replica may write at `now`.
    pub fn is_leader(&self, now: Instant) -> bool {
        let until = self.0.until.load();
        until.as_deref().is_some_and(|until| *until > now)
    }

    /// The right to a write that is sent at once, if this replica leads.
    pub async fn permit(&self) -> Option<Permit<'_>> {
        let writing = self.0.writing.read().await;
        self.is_leader(clock::instant())
            .then_some(Permit { _writing: writing })
    }

    /// The right of a process that shares its writes with no other process.
    pub(crate) fn alone() -> Self {
        /// Longer than any process lasts.
        const EVER: Duration = Duration::from_hours(24 * 365 * 100);
        let leadership = Self::default();
        leadership.set(Some(clock::instant() + EVER));
        leadership
    }

    /// A replica that leads for an hour.
    #[cfg(test)]
    pub(crate) fn leading() -> Self {
        let leadership = Self::default();
        leadership.set(Some(clock::instant() + Duration::from_hours(1)));
        leadership
    }

    fn set(&self, until: Option<Instant>) {
        self.0.until.store(until.map(Arc::new));
    }

    /// Leads no more, and waits until all writes that were permitted before have ended.
    async fn end(&self) {
        self.set(None);
        drop(self.0.writing.write().await);
    }
}

/// Takes part in the election until cancelled, and then gives the Lease back.
pub struct Elector {
    api: Api<Lease>,
    replica: Replica,
    lease_name: String,
    timing: Timing,
    leadership: Leadership,
    warned: RateLimited<&'static str>,
}

impl Elector {
    /// A contender; `leadership` shows its standing to others.
    pub fn new(
        client: Client,
        replica: Replica,
        settings: Settings,
        leadership: Leadership,
    ) -> Self {
        let Settings {
            lease_name,
            timing,
            identity: _,
        } = settings;
        Self {
            api: Api::namespaced(client, &replica.namespace),
            replica,
            lease_name,
            timing,
            leadership,
            warned: RateLimited::default(),
        }
    }

    /// Takes part until `cancel`, and then gives the Lease back.
    pub async fn run(self, cancel: CancellationToken) {
        let timing = self.timing;
        let mut election = Election::new(self.replica.identity.clone(), timing);
        let mut ticks = tokio::time::interval(timing.retry_period);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = cancel.cancelled() => break,
            }
            self.round(&mut election).await;
        }
        self.give_back(&election).await;
    }

    async fn round(&self, election: &mut Election) {
        let led = self.leadership.is_leader(clock::instant());
        let limit = look_limit(&self.timing);
        match tokio::time::timeout(limit, self.contend(election)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                if let Some(suppressed) = self.warned.permit("failed", clock::instant()) {
                    warn!(%error, suppressed, "the lease could not be read or written");
                }
            }
            Err(_) => {
                if let Some(suppressed) = self.warned.permit("slow", clock::instant()) {
                    warn!(
                        suppressed,
                        "the API server did not answer about the lease in time"
                    );
                }
            }
        }
        self.publish(election);
        let leads = self.leadership.is_leader(clock::instant());
        if leads != led {
            info!(
                leads,
                identity = self.replica.identity,
                "leadership changed"
            );
        }
    }

    async fn contend(&self, election: &mut Election) -> Result<(), kube::Error> {
        let lease = self.api.get_opt(&self.lease_name).await?;
        let record = lease.as_ref().map(LeaseRecord::of);
        let step = election.decide(record.as_ref(), clock::instant());
        let sent = clock::instant();
        let written = match &step {
            ElectionStep::Wait => {
                election.lost();
                return Ok(());
            }
            ElectionStep::Create => {
                let lease = self.lease(None, 0, clock::now());
                self.api.create(&PostParams::default(), &lease).await
            }
            ElectionStep::Take {
                resource_version,
                transitions,
            }
            | ElectionStep::Renew {
                resource_version,
                transitions,
            } => {
                let mut renewed = self.lease(Some(resource_version), *transitions, clock::now());
                if let (ElectionStep::Renew { .. }, Some(known)) = (&step, &lease) {
                    keep_acquire_time(&mut renewed, known);
                }
                self.api
                    .replace(&self.lease_name, &PostParams::default(), &renewed)
                    .await
            }
        };
        match written {
            Ok(_) => election.won(sent),
            // Another contender was faster, which is how a race should end.
            Err(kube::Error::Api(status)) if status.code == 409 => election.lost(),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn lease(&self, resource_version: Option<&String>, transitions: i32, now: Timestamp) -> Lease {
        let mut lease = Lease::default();
        lease.metadata.name = Some(self.lease_name.clone());
        // Readers find the leader's Lease by this label, whatever its name.
        let (key, value) = LEASE_LABEL;
        let labels = lease.metadata.labels.get_or_insert_default();
        labels.insert(key.to_owned(), value.to_owned());
        lease.metadata.namespace = Some(self.replica.namespace.clone());
        lease.metadata.resource_version = resource_version.cloned();
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(self.replica.identity.clone());
        spec.lease_duration_seconds = i32::try_from(self.timing.lease_duration.as_secs()).ok();
        spec.acquire_time = Some(MicroTime(now));
        spec.renew_time = Some(MicroTime(now));
        spec.lease_transitions = Some(transitions);
        lease
    }

    fn publish(&self, election: &Election) {
        self.leadership.set(election.acts_until());
    }

    /// Lets another replica take over at once, when nothing of this one is under way any more.
    async fn give_back(&self, election: &Election) {
        let leads = election.acts_until().is_some();
        self.leadership.end().await;
        if !leads {
            return;
        }
        let released = async {
            let mut lease = self.api.get(&self.lease_name).await?;
            let Some(spec) = lease.spec.as_mut() else {
                return Ok(());
            };
            if spec.holder_identity.as_deref() == Some(&self.replica.identity) {
                spec.holder_identity = Some(String::new());
                spec.renew_time = Some(MicroTime(clock::now()));
                self.api
                    .replace(&self.lease_name, &PostParams::default(), &lease)
                    .await?;
            }
            Ok::<(), kube::Error>(())
        };
        match tokio::time::timeout(self.timing.retry_period, released).await {
            Ok(Ok(())) => info!("released the lease"),
            Ok(Err(error)) => warn!(%error, "the lease could not be released"),
            Err(_) => warn!("the lease could not be released in time"),
        }
    }
}

fn keep_acquire_time(renewed: &mut Lease, known: &Lease) {
    let acquired = known
        .spec
        .as_ref()
        .and_then(|spec| spec.acquire_time.clone());
    if let (Some(spec), Some(acquired)) = (renewed.spec.as_mut(), acquired) {
        spec.acquire_time = Some(acquired);
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::kinds::Kind;
    use evenkeel_objects::object_ref::ObjectRef;
    use evenkeel_objects::plan::{Purpose, Write, WriteOperation};
    use serde_json::{Value, json};
    use tokio::task::JoinHandle;

    use super::*;
    use crate::controller::fake_api::{FakeApi, FakeApiBehavior, eventually};
    use crate::controller::metrics::ControllerMetrics;
    use crate::controller::switch::{WriteSwitch, Writes};
    use crate::controller::writer;
    use crate::controller::writer::Writer;

    const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/system/leases/evenkeel";

    const TIMING: Timing = Timing {
        lease_duration: Duration::from_secs(3),
        renew_deadline: Duration::from_secs(2),
        retry_period: Duration::from_millis(20),
    };

    struct Contender {
        leadership: Leadership,
        cancel: CancellationToken,
        task: JoinHandle<()>,
    }

    impl Contender {
        fn start(api: &FakeApi, identity: &str) -> Self {
            let replica = Replica {
                namespace: "system".to_owned(),
                identity: identity.to_owned(),
            };
            let settings = Settings {
                lease_name: "evenkeel".to_owned(),
                timing: TIMING,
                identity: None,
            };
            let leadership = Leadership::default();
            let cancel = CancellationToken::new();
            let (client, leads) = (api.client(), leadership.clone());
            let elector = Elector::new(client, replica, settings, leads);
            let task = tokio::spawn(elector.run(cancel.clone()));
            Self {
                leadership,
                cancel,
                task,
            }
        }

        fn leads(&self) -> bool {
            self.leadership.is_leader(clock::instant())
        }

        async fn end(self) {
            self.cancel.cancel();
            self.task.await.unwrap();
        }
    }

    fn holder(api: &FakeApi) -> Value {
        api.get(LEASE)
            .map_or(Value::Null, |lease| lease["spec"]["holderIdentity"].clone())
    }

    async fn asked_more(api: &FakeApi) {
        let before = api.requests();
        eventually("more rounds", || api.requests() > before + 6).await;
    }

    #[tokio::test]
    async fn one_of_two_leads_and_the_other_follows_when_the_lease_is_given_back() {
        let api = FakeApi::default();
        let first = Contender::start(&api, "first");
        eventually("the first leads", || first.leads()).await;
        let second = Contender::start(&api, "second");
        asked_more(&api).await;
        assert!(first.leads() && !second.leads());
        assert_eq!(holder(&api), "first");
        let acquired = api.get(LEASE).unwrap()["spec"]["acquireTime"].clone();
        asked_more(&api).await;
        assert_eq!(
            api.get(LEASE).unwrap()["spec"]["acquireTime"],
            acquired,
            "renewed, not taken"
        );
        first.end().await;
        eventually("the second leads", || second.leads()).await;
        assert_eq!(api.get(LEASE).unwrap()["spec"]["leaseTransitions"], 1);
        let leadership = second.leadership.clone();
        second.end().await;
        assert_eq!(holder(&api), "");
        assert!(!leadership.is_leader(clock::instant()));
    }

    #[tokio::test]
    async fn the_lease_is_given_back_after_the_writes_under_way_and_not_before() {
        let api = FakeApi::default();
        let leader = Contender::start(&api, "a");
        eventually("it leads", || leader.leads()).await;
        let (writer, queue) = Writer::new(
            api.client(),
            writer::Settings {
                timeout: Duration::from_hours(1),
                ..writer::Settings::default()
            },
            leader.leadership.clone(),
            WriteSwitch::new(Writes::Enabled),
            ControllerMetrics::default(),
        );
        let writing = tokio::spawn(writer.run(leader.cancel.clone()));
        api.mood(FakeApiBehavior::HoldsPatches);
        let touch = json!({"metadata": {"annotations": {"touched": "yes"}}});
        for node in ["a", "b", "c"] {
            api.set(
                &format!("/api/v1/nodes/{node}"),
                json!({"metadata": {"name": node}}),
            );
            let (target, touch) = (ObjectRef::of_cluster(Kind::Node, node), touch.clone());
            queue.put(Write::new(
                Purpose::WakePods,
                target,
                WriteOperation::Merge(touch),
            ));
        }
        eventually("the writes are under way", || api.held() == 3).await;
        leader.cancel.cancel();
        eventually("it leads no more", || !leader.leads()).await;
        // The Lease would be back after a few turns of the runtime: nothing in its way takes time.
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(holder(&api), "a");
        api.mood(FakeApiBehavior::Answers);
        leader.end().await;
        writing.await.unwrap();
        assert_eq!(holder(&api), "");
        let made = api.writes();
        let mut last: Vec<&str> = made.iter().rev().take(4).map(|(_, path)| &**path).collect();
        assert_eq!(last.remove(0), LEASE);
        last.sort_unstable();
        assert_eq!(
            last,
            ["a", "b", "c"].map(|node| format!("/api/v1/nodes/{node}"))
        );
    }

    #[tokio::test]
    async fn a_lost_race_is_no_leadership() {
        let api = FakeApi::default();
        api.mood(FakeApiBehavior::RefusesWrites(409));
        let contender = Contender::start(&api, "a");
        asked_more(&api).await;
        assert!(!contender.leads() && !api.writes().is_empty());
        contender.end().await;
    }

    #[tokio::test]
    async fn a_leader_that_is_cut_off_stops_before_its_lease_is_over() {
        for mood in [FakeApiBehavior::Hangs, FakeApiBehavior::Refuses(500)] {
            let api = FakeApi::default();
            let contender = Contender::start(&api, "a");
            eventually("it leads", || contender.leads()).await;
            api.mood(mood);
            asked_more_or_hangs(&api).await;
            let deadline = clock::instant() + TIMING.renew_deadline;
            assert!(!contender.leadership.is_leader(deadline), "{mood:?}");
            contender.end().await;
            assert_eq!(holder(&api), "a", "{mood:?}");
        }
    }

    /// At least one more request has arrived, which may be all that a hanging server gets.
    async fn asked_more_or_hangs(api: &FakeApi) {
        let before = api.requests();
        eventually("another request", || api.requests() > before).await;
    }

    #[tokio::test]
    async fn a_lease_of_somebody_else_is_left_alone() {
        let api = FakeApi::default();
        api.set(
            LEASE,
            json!({"metadata": {"name": "evenkeel", "namespace": "system"},
            "spec": {"holderIdentity": "other", "leaseDurationSeconds": 3600}}),
        );
        let contender = Contender::start(&api, "a");
        asked_more(&api).await;
        assert!(!contender.leads());
        assert_eq!(api.writes(), []);
        contender.end().await;
        assert_eq!(api.writes(), []);
    }

    /// The Lease as 0.1.0 wrote it.
    #[tokio::test]
    async fn the_lease_of_the_version_before_is_honoured_and_written_in_its_form() {
        let api = FakeApi::default();
        let text = include_str!("../../../../tests/fixtures/upgrade/lease-0.1.0.json");
        let previous: Value = serde_json::from_str(text).unwrap();
        api.set(LEASE, previous.clone());
        let other = Contender::start(&api, "other");
        asked_more(&api).await;
        assert!(!other.leads(), "its holder may be alive");
        other.end().await;
        assert_eq!(api.writes(), []);
        let identity = previous["spec"]["holderIdentity"].as_str().unwrap();
        let holder = Contender::start(&api, identity);
        eventually("its holder goes on", || holder.leads()).await;
        let written = api.get(LEASE).unwrap()["spec"].clone();
        holder.end().await;
        let form = |spec: &Value| -> Vec<(String, bool)> {
            let fields = spec.as_object().unwrap().iter();
            fields
                .map(|(name, value)| (name.clone(), value.is_string()))
                .collect()
        };
        assert_eq!(form(&written), form(&previous["spec"]));
        for kept in ["holderIdentity", "acquireTime", "leaseTransitions"] {
            assert_eq!(written[kept], previous["spec"][kept], "{kept}");
        }
    }
}
