//! Holding the Lease: the loop around [`Election`].
//!
//! The lease is looked at every retry period, with the clock of this process alone. Who asks
//! [`Leadership::acts_until`] right before a write gets an answer that is safe however long this
//! process was paused: the moment until which it may act lies in the past by then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::switch::WriteSwitch;
use crate::clock;
use crate::plan::election::{Election, Record, Step, Timing};

/// Where the Lease is and how it is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// This replica's name, its own among all replicas.
    pub identity: String,
    /// The times.
    pub timing: Timing,
}

/// Whether this replica leads, for whoever is about to write.
#[derive(Debug, Clone, Default)]
pub struct Leadership(Arc<ArcSwapOption<Instant>>);

impl Leadership {
    /// Whether this replica may write at `now`.
    #[must_use]
    pub fn is_leader(&self, now: Instant) -> bool {
        self.0.load().as_deref().is_some_and(|until| *until > now)
    }

    fn set(&self, until: Option<Instant>) {
        self.0.store(until.map(Arc::new));
    }
}

/// Takes part in the election until cancelled, and then gives the Lease back.
pub struct Elector {
    api: Api<Lease>,
    settings: Settings,
    leadership: Leadership,
    switch: WriteSwitch,
}

impl Elector {
    /// A contender; `leadership` shows its standing to others.
    #[must_use]
    pub fn new(
        client: Client,
        settings: Settings,
        leadership: Leadership,
        switch: WriteSwitch,
    ) -> Self {
        Self {
            api: Api::namespaced(client, &settings.namespace),
            settings,
            leadership,
            switch,
        }
    }

    /// Runs until `cancel`.
    pub async fn run(self, cancel: CancellationToken) {
        let timing = self.settings.timing;
        let mut election = Election::new(self.settings.identity.clone(), timing);
        let mut ticks = tokio::time::interval(timing.retry_period);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = cancel.cancelled() => break,
            }
            // The kill switch stops this write too: nobody leads while nothing may be written.
            if self.switch.is_enabled() {
                self.round(&mut election).await;
            } else {
                election.lost();
                self.publish(&election);
            }
        }
        self.give_back(&election).await;
    }

    async fn round(&self, election: &mut Election) {
        let led = self.leadership.is_leader(clock::instant());
        // An answer that takes longer than the next look is of no use.
        let limit = self
            .settings
            .timing
            .retry_period
            .max(Duration::from_secs(1));
        match tokio::time::timeout(limit, self.contend(election)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(%error, "the lease could not be read or written"),
            Err(_) => warn!("the API server did not answer about the lease in time"),
        }
        self.publish(election);
        let leads = self.leadership.is_leader(clock::instant());
        if leads != led {
            info!(
                leads,
                identity = self.settings.identity,
                "leadership changed"
            );
        }
    }

    async fn contend(&self, election: &mut Election) -> Result<(), kube::Error> {
        let lease = self.api.get_opt(&self.settings.name).await?;
        let record = lease.as_ref().map(record_of);
        let step = election.decide(record.as_ref(), clock::instant());
        let sent = clock::instant();
        let written = match &step {
            Step::Wait => {
                election.lost();
                return Ok(());
            }
            Step::Create => {
                let lease = self.lease(None, 0, clock::now());
                self.api.create(&PostParams::default(), &lease).await
            }
            Step::Take {
                resource_version,
                transitions,
            }
            | Step::Renew {
                resource_version,
                transitions,
            } => {
                let mut renewed = self.lease(Some(resource_version), *transitions, clock::now());
                if let (Step::Renew { .. }, Some(known)) = (&step, &lease) {
                    keep_acquire_time(&mut renewed, known);
                }
                self.api
                    .replace(&self.settings.name, &PostParams::default(), &renewed)
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
        lease.metadata.name = Some(self.settings.name.clone());
        lease.metadata.namespace = Some(self.settings.namespace.clone());
        lease.metadata.resource_version = resource_version.cloned();
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(self.settings.identity.clone());
        spec.lease_duration_seconds =
            i32::try_from(self.settings.timing.lease_duration.as_secs()).ok();
        spec.acquire_time = Some(MicroTime(now));
        spec.renew_time = Some(MicroTime(now));
        spec.lease_transitions = Some(transitions);
        lease
    }

    fn publish(&self, election: &Election) {
        self.leadership.set(election.acts_until());
    }

    /// Lets another replica take over at once.
    async fn give_back(&self, election: &Election) {
        let leads = election.acts_until().is_some();
        self.leadership.set(None);
        if !leads || !self.switch.is_enabled() {
            return;
        }
        let released = async {
            let mut lease = self.api.get(&self.settings.name).await?;
            let Some(spec) = lease.spec.as_mut() else {
                return Ok(());
            };
            if spec.holder_identity.as_deref() == Some(&self.settings.identity) {
                spec.holder_identity = Some(String::new());
                spec.renew_time = Some(MicroTime(clock::now()));
                self.api
                    .replace(&self.settings.name, &PostParams::default(), &lease)
                    .await?;
            }
            Ok::<(), kube::Error>(())
        };
        match tokio::time::timeout(self.settings.timing.retry_period, released).await {
            Ok(Ok(())) => info!("gave the lease back"),
            Ok(Err(error)) => warn!(%error, "the lease could not be given back"),
            Err(_) => warn!("the lease could not be given back in time"),
        }
    }
}

fn record_of(lease: &Lease) -> Record {
    let spec = lease.spec.as_ref();
    let seconds = spec
        .and_then(|spec| spec.lease_duration_seconds)
        .unwrap_or(0);
    Record {
        holder: spec
            .and_then(|spec| spec.holder_identity.clone())
            .filter(|holder| !holder.is_empty()),
        resource_version: lease.metadata.resource_version.clone().unwrap_or_default(),
        duration: Duration::from_secs(u64::try_from(seconds).unwrap_or(0)),
        transitions: spec.and_then(|spec| spec.lease_transitions).unwrap_or(0),
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
