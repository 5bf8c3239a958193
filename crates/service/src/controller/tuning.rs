//! Tuning in place, by the leader. It measures the containers of tuned workloads once a minute,
//! follows every resize to its end, and at each node's turn decides on the Pods that use most of
//! the node. The Pods carry the only record of resizes; a new leader needs five minutes of new
//! measurements. Scaling comes first: a workload is left alone if its replicas changed recently, or
//! a forecast asks for others.

mod candidates;
mod limits;
mod memory;
mod metrics;
mod request_deadline;
mod resize_planner;
mod resize_tracker;
mod settings;
mod workloads;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use evenkeel_clock as clock;
use evenkeel_objects::lenient_object::LenientObject;
use evenkeel_objects::plan::Write;
use evenkeel_placement::SchedulingPolicy;
use evenkeel_tuning::plan::TunedWorkload;
use evenkeel_tuning::resize::ResizeRules;
use jiff::{SignedDuration, Timestamp};
use kube::{Api, Client};
use limits::ResizeLimits;
use memory::TuningMemory;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::leadership::Leadership;
use super::queue::WriteQueue;
use super::scaling::StatusStore;
use super::switch::{WriteSwitch, Writes};
use super::work::work;
use crate::cluster::ClusterState;
use crate::metrics::Containers;
use crate::telemetry::RateLimited;
use crate::watched_types::WatchedPod;
pub use metrics::TuningMetrics;
use request_deadline::{TimedRequestError, for_each_in_time, in_time};
use resize_planner::ResizePlanner;
use resize_tracker::{ResizeRestoration, ResizeTracker};
pub use settings::Settings;
use workloads::tuned;

/// The time between two looks.
const TICK: SignedDuration = SignedDuration::from_secs(15);
/// The minor version of Kubernetes from which on a memory limit may be lowered in place.
const LOWERS_MEMORY: u32 = 34;

pub struct TuningLoop {
    pub settings: Settings,
    pub cluster: ClusterState,
    /// The policy that says what nodes have left.
    pub policy: Arc<SchedulingPolicy>,
    /// The source of containers' usage; `None` where nothing is measured.
    pub containers: Option<Containers>,
    /// The decisions of scaling.
    pub board: StatusStore,
    pub client: Client,
    pub queue: WriteQueue,
    pub leadership: Leadership,
    pub switch: WriteSwitch,
    /// This replica's name in Events.
    pub identity: String,
    pub metrics: TuningMetrics,
    pub warned: RateLimited<&'static str>,
}

impl TuningLoop {
    pub async fn run(self, cancel: CancellationToken) {
        let mut ticks = self.cluster.clock().ticks(TICK);
        let ticking = async {
            let mut memory = TuningMemory::default();
            loop {
                ticks.tick().await;
                memory = self.tick(memory, self.cluster.now()).await;
            }
        };
        cancel.run_until_cancelled(ticking).await;
    }

    async fn tick(&self, mut memory: TuningMemory, now: Timestamp) -> TuningMemory {
        let leads = self.leadership.is_leader(clock::instant());
        let writes = self.switch.get();
        if !leads || writes == Writes::Disabled || !self.cluster.snapshot().synced {
            return TuningMemory::default();
        }
        let workloads = self.cluster.scaling().tuned_workloads(self.settings.mode);
        let Some(workloads) = workloads else {
            return TuningMemory::default();
        };
        let Some(rules) = self.rules(&mut memory).await else {
            return memory;
        };
        if writes == Writes::Restore {
            self.restore(&self.following(rules, now), &workloads);
            return TuningMemory::default();
        }
        self.list_late_namespaces().await;
        memory.see_replicas(&workloads, now);
        self.sample(&mut memory, &workloads, now).await;
        let limits = self.limits(&mut memory, &workloads, now).await;
        let following = self.following(rules, now);
        let deciding = ResizePlanner {
            cluster: self.cluster.clone(),
            policy: Arc::clone(&self.policy),
            settings: self.settings,
            targets: self.board.targets(),
            rules,
            limits,
            reporter: self.identity.clone(),
            metrics: self.metrics.clone(),
            now,
        };
        let worked = work(memory, move |memory| {
            let mut planned = following.plan(memory, &workloads);
            planned.extend(deciding.plan(memory, &workloads));
            planned.extend(following.tell(memory, &workloads));
            planned
        });
        let planned;
        (memory, planned) = worked.await;
        self.put_all(planned);
        memory
    }

    fn put_all(&self, writes: Vec<Write>) {
        for write in writes {
            self.queue.put(write);
        }
    }

    fn following(&self, rules: ResizeRules, now: Timestamp) -> ResizeTracker {
        ResizeTracker {
            cluster: self.cluster.clone(),
            settings: self.settings,
            rules,
            reporter: self.identity.clone(),
            metrics: self.metrics.clone(),
            now,
        }
    }

    fn restore(&self, following: &ResizeTracker, workloads: &[TunedWorkload]) {
        let ResizeRestoration { writes, left, why } = following.restored(workloads);
        self.put_all(writes);
        if let Some(why) = why
            && let Some(suppressed) = self.warned.permit("left", clock::instant())
        {
            warn!(pods = left, %why, suppressed, "Pods do not have their original resources");
        }
    }

    /// The resize rules of the API server, from its version, read once. Until then nothing is
    /// decided: with wrong rules, a resize would only be partly undone.
    async fn rules(&self, memory: &mut TuningMemory) -> Option<ResizeRules> {
        if memory.lowers_limits.is_none() {
            memory.lowers_limits = match in_time(lowers_memory_limits(&self.client)).await {
                Ok(lowers) => Some(lowers),
                Err(error) => {
                    if let Some(suppressed) = self.warned.permit("version", clock::instant()) {
                        warn!(%error, suppressed, "the API server does not report its version, so \
                            no Pod is resized or put back");
                    }
                    None
                }
            };
        }
        Some(ResizeRules {
            may_restart: false,
            may_lower_memory_limits: memory.lowers_limits?,
        })
    }

    /// Lists the Pods of namespaces that have opted in after these had been seen.
    async fn list_late_namespaces(&self) {
        let mut is_late = false;
        let late = self.cluster.resizable().take_unlisted();
        for namespace in late {
            if is_late {
                self.cluster.resizable().unlisted(&namespace);
                continue;
            }
            if let Err(error) = self.list(&namespace).await {
                debug!(%error, %namespace, "the Pods of a namespace cannot be listed");
                self.cluster.resizable().unlisted(&namespace);
                // The next one would hang as well.
                is_late = matches!(error, TimedRequestError::Late);
            }
        }
    }

    async fn list(&self, namespace: &str) -> Result<(), TimedRequestError> {
        let pods: Api<WatchedPod> = Api::namespaced(self.client.clone(), namespace);
        let take = |LenientObject(pod): LenientObject<WatchedPod>| match pod {
            Ok(watched) => self.cluster.resizable().update(&watched.pod),
            Err(unreadable) => debug!(error = %unreadable, %namespace, "a Pod cannot be read"),
        };
        for_each_in_time(&pods, take).await
    }

    async fn sample(&self, memory: &mut TuningMemory, workloads: &[TunedWorkload], now: Timestamp) {
        let Some(containers) = &self.containers else {
            return;
        };
        if !memory.is_sample_due(now) {
            return;
        }
        let pods = tuned(workloads).flat_map(|workload| &workload.controllers);
        let pods = pods.flat_map(|controller| self.cluster.resizable().of(controller));
        let by_name: HashMap<_, _> = pods
            .filter(|pod| pod.has_limits())
            .map(|pod| ((Arc::clone(&pod.namespace), Arc::clone(&pod.name)), pod))
            .collect();
        let namespaces: BTreeSet<&str> =
            by_name.keys().map(|(namespace, _)| &**namespace).collect();
        if namespaces.is_empty() {
            memory.take_samples(&[], &by_name);
            return;
        }
        let namespaces: Vec<&str> = namespaces.into_iter().collect();
        match containers.usage(&namespaces).await {
            Ok(usage) => {
                self.metrics.sampled(usage.len());
                memory.take_samples(&usage, &by_name);
            }
            Err(error) => {
                self.metrics.unsampled();
                warn!(%error, "the use of containers cannot be measured, so none is tuned");
            }
        }
    }

    /// The room under LimitRanges and quotas, and Pods' other writers, if readable here.
    async fn limits(
        &self,
        memory: &mut TuningMemory,
        workloads: &[TunedWorkload],
        now: Timestamp,
    ) -> Arc<ResizeLimits> {
        if !self.settings.resizes || tuned(workloads).next().is_none() {
            return Arc::default();
        }
        if let Some(known) = memory.limits(now) {
            return known;
        }
        let limits = match ResizeLimits::list(&self.client).await {
            Ok(limits) => Arc::new(limits),
            Err(error) => {
                warn!(%error, "LimitRanges, ResourceQuotas or VerticalPodAutoscalers cannot be \
                    listed, so no Pod is resized");
                Arc::new(ResizeLimits::unlisted(&error))
            }
        };
        let unreadable = limits.unreadable();
        if let Some((namespace, why)) = unreadable.first_key_value()
            && let Some(suppressed) = self.warned.permit("unreadable", clock::instant())
        {
            let namespaces = unreadable.len();
            warn!(%namespace, %why, namespaces, suppressed, "no Pod of these namespaces is resized");
        }
        memory.know_limits(&limits, now);
        limits
    }
}

/// True where the API server lets a memory limit of a container that goes on running be lowered.
///
/// # Errors
/// It does not tell its version.
pub async fn lowers_memory_limits(client: &Client) -> kube::Result<bool> {
    let version = client.apiserver_version().await?;
    let digits = version
        .minor
        .trim_end_matches(|c: char| !c.is_ascii_digit());
    Ok(digits
        .parse::<u32>()
        .is_ok_and(|minor| minor >= LOWERS_MEMORY))
}

#[cfg(test)]
mod tests;
