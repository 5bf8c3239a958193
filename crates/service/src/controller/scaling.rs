//! The scaling loop: observe, forecast, decide, plan. Every replica observes and decides, so that a
//! new leader knows as much as the old one; only the leader plans writes. Ticks are in the middle
//! of the steps of histories, so each step gets one measurement even if a tick is late. All work on
//! targets runs on the blocking pool, one task at a time, and a panic in one target is caught
//! there. The API, the metrics and the backfill run beside it.

mod contest;
mod external_metric_values;
mod fit_core;
mod fit_resources;
pub mod history_backfill;
mod load_question;
pub mod metrics;
mod model_fitter;
pub mod recent_history;
pub mod samples;
pub mod status_store;
mod swish_networks;

pub use external_metric_values::{LoadsByNamespace, ServedLoads};
pub use fit_resources::{FitResources, FitSettings};
pub use history_backfill::{HistoryBackfill, HistorySource};
pub use load_question::LoadQuestion;
pub use metrics::ScalingMetrics;
pub use recent_history::RecentHistory;
pub use samples::LatestScalingSample;
pub use status_store::StatusStore;
pub use swish_networks::SwishNetworks;

use std::sync::Arc;

use evenkeel_clock as clock;
use evenkeel_forecast::ModelAssets;
use evenkeel_scaling::targets::history_backfill::BackfillRequest;
use evenkeel_scaling::targets::settings::Settings as PlanSettings;
use evenkeel_scaling::tick::cadence::TickSchedule;
use evenkeel_scaling::tick::query_answers::CheckAnswers;
use evenkeel_scaling::tick::{
    ContestedTarget, FitLane, FitTold, FitWork, PanickedWork, Plans, ScalingTargets,
    ScalingTickInput, ScalingTickOutput, WorkPanic,
};
use jiff::{SignedDuration, Timestamp};
use opentelemetry::KeyValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::history_backfill::Progress;
use self::model_fitter::{FitWorkReceivers, ModelFitter};
use super::leadership::Leadership;
use super::queue::WriteQueue;
use super::scale_in::ScaleIns;
use super::switch::{WriteSwitch, Writes};
use super::work::work;
use crate::cluster::ClusterState;
use crate::external_checks::CheckQuestions;
use crate::metrics::signals::Signals;
use crate::telemetry::SpanRecorder;
use crate::telemetry::spans::{ActiveSpan, count};

/// Parts of the past that may wait to be taken: one, since each is some megabytes.
const PARTS: usize = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    pub plan: PlanSettings,
    /// The time for which a round of measurements holds until the next has to be there.
    pub hold: SignedDuration,
}

pub struct ScalingLoop {
    pub settings: Settings,
    pub cluster: ClusterState,
    /// The newest round of measurements.
    pub samples: LatestScalingSample,
    /// The answers to the questions of single targets, which each tick says anew.
    pub signals: Signals,
    /// The answers to external checks, where they are asked.
    pub checks: Option<CheckQuestions>,
    /// The source of the past, where there is one.
    pub past: Option<Arc<dyn HistorySource>>,
    /// Asked for the other writers of contested floors.
    pub client: kube::Client,
    pub queue: WriteQueue,
    /// The lease: only the leader plans.
    pub leadership: Leadership,
    pub switch: WriteSwitch,
    /// The name of this replica in Events.
    pub identity: String,
    pub metrics: ScalingMetrics,
    pub traces: RecentHistory,
    /// The context that the models of all targets share.
    pub shared: Arc<ModelAssets>,
    pub resources: FitResources,
    /// Questions about what is known of loads.
    pub questions: mpsc::Receiver<LoadQuestion>,
    /// Where the loads that are expected go, where they are served.
    pub served: Option<ServedLoads>,
    /// Where scale-ins go, where it is said before which Pods go first.
    pub scale_ins: Option<ScaleIns>,
    /// Starts a span for each tick.
    pub recorder: SpanRecorder,
}

impl ScalingLoop {
    pub async fn run(mut self, cancel: CancellationToken) {
        let questions = std::mem::replace(&mut self.questions, mpsc::channel(1).1);
        let (ask, asked) = mpsc::unbounded_channel();
        let (told, progress) = mpsc::channel(PARTS);
        let refill = async {
            if let Some(past) = self.past.clone() {
                let refill = HistoryBackfill::new(past, self.cluster.clock(), self.metrics.clone());
                refill.run(asked, told, cancel.clone()).await;
            }
        };
        let (to_workloads, by_workloads) = mpsc::channel(1);
        let (to_queries, by_queries) = mpsc::channel(1);
        let given = FitWorkReceivers {
            by_workloads,
            by_queries,
        };
        let (tell, fitted) = mpsc::channel(1);
        let fits = async {
            if let Some(past) = self.past.clone() {
                let shared = Arc::clone(&self.shared);
                let (resources, metrics) = (self.resources.clone(), self.metrics.clone());
                let fits = ModelFitter::new(past, shared, resources, metrics);
                fits.run(given, tell, cancel.clone()).await;
            }
        };
        let background = BackgroundChannels {
            ask,
            progress,
            lanes: [
                (FitLane::Workloads, to_workloads),
                (FitLane::Queries, to_queries),
            ],
            fitted,
            questions,
        };
        let all = async { tokio::join!(refill, fits, self.follow(background)) };
        // Boxed, being large: it stands among all the other parts of the service.
        cancel.run_until_cancelled(Box::pin(all)).await;
    }

    /// Ticks, and takes what comes of the past between two ticks.
    async fn follow(&self, background: BackgroundChannels) {
        let BackgroundChannels {
            ask,
            mut progress,
            lanes,
            mut fitted,
            mut questions,
        } = background;
        let mut targets = ScalingTargets::default();
        let mut ticks = TickSchedule::new(self.settings.plan.interval, self.cluster.now());
        loop {
            let left = ticks.next().duration_since(self.cluster.now());
            let wait = self.cluster.clock().wait(left);
            tokio::select! {
                biased;
                () = tokio::time::sleep(wait) => {
                    let now = self.cluster.now();
                    let ticked;
                    (targets, ticked) = self.tick(targets, ticks.pass(now), now).await;
                    for wish in ticked.asks.wishes() {
                        // Where nothing is refilled nothing asks for the past either.
                        let _ = ask.send(wish);
                    }
                    targets = self.name_contesters(targets, ticked.contested).await;
                    targets = hand_on(targets, &lanes, now).await;
                }
                Some(one) = fitted.recv() => {
                    let now = self.cluster.now();
                    (targets, ()) = work(targets, move |targets| targets.take_told(one, now)).await;
                    targets = hand_on(targets, &lanes, now).await;
                }
                Some(progress) = progress.recv() => {
                    targets = self.fill(targets, progress).await;
                }
                Some(question) = questions.recv() => {
                    targets = question.answer(targets, self.cluster.now()).await;
                }
            }
        }
    }

    /// One tick; nothing is decided before everything has been listed.
    async fn tick(
        &self,
        targets: ScalingTargets,
        decides: bool,
        now: Timestamp,
    ) -> (ScalingTargets, ScalingTickOutput) {
        let view = self.cluster.scaling_view();
        if !view.synced {
            return (targets, ScalingTickOutput::default());
        }
        let (begun, span) = (clock::instant(), self.recorder.begin("tick"));
        let leads = self.leadership.is_leader(clock::instant());
        let settings = self.settings;
        let sample = self.samples.newest();
        let sample = sample.filter(|sample| now.duration_since(sample.at) <= settings.hold);
        let plans = match self.switch.get() {
            _ if !leads => Plans::Nothing,
            Writes::Enabled => Plans::Decisions(self.identity.clone()),
            Writes::Disabled => Plans::Nothing,
            Writes::Restore => Plans::Restore,
        };
        let (has_past, traces) = (self.past.is_some(), self.traces.clone());
        let (shared, serves) = (Arc::clone(&self.shared), self.served.is_some());
        let balances_scale_in = self.scale_ins.is_some();
        let (signals, checks) = (self.signals.newest().await, self.newest_checks().await);
        let scaled = self.queue.take_scaled();
        let worked = work(targets, move |targets| {
            let tick = ScalingTickInput {
                now,
                settings: settings.plan,
                shared: &shared,
                sample: sample.as_deref(),
                signals: &signals,
                checks: &checks,
                decides,
                plans: &plans,
                has_past,
                serves,
                balances_scale_in,
                scaled: &scaled,
                crons: &view.crons,
            };
            let mut ticked = targets.tick(&view.targets, &tick);
            log_panics(&ticked.panics);
            if decides {
                traces.record(&ticked.shown, now);
            }
            ticked.bytes += traces.bytes();
            ticked
        });
        let (targets, mut ticked) = worked.await;
        trace_tick(&span, &ticked, leads);
        self.want(&mut ticked);
        let ScalingTickOutput {
            bytes, quarantined, ..
        } = ticked;
        self.metrics.ticked(begun.elapsed(), bytes, quarantined);
        if decides {
            self.publish(&mut ticked);
        }
        self.hand_over(&mut ticked, now, decides && leads);
        (targets, ticked)
    }

    /// Publishes what a tick decided.
    fn publish(&self, ticked: &mut ScalingTickOutput) {
        self.metrics.crons(&ticked.crons);
        self.metrics.restoring(ticked.restoring);
        let board = self.metrics.board();
        board.publish(std::mem::take(&mut ticked.shown));
        if let Some(served) = &self.served {
            served.publish(std::mem::take(&mut ticked.served));
        }
    }

    async fn newest_checks(&self) -> CheckAnswers {
        match &self.checks {
            Some(checks) => checks.newest().await,
            None => CheckAnswers::default(),
        }
    }

    /// Says what is to be asked until the next tick.
    fn want(&self, ticked: &mut ScalingTickOutput) {
        self.signals.want(std::mem::take(&mut ticked.asks.wanted));
        if let Some(checks) = &self.checks {
            checks.want(std::mem::take(&mut ticked.asks.checks));
        }
    }

    /// Hands scale-ins to the rounds that choose Pods, and queues the other writes. No earlier
    /// tick's lowering is released after that, so none replaces a raise.
    fn hand_over(&self, ticked: &mut ScalingTickOutput, now: Timestamp, plans: bool) {
        if let Some(scale_ins) = self.scale_ins.as_ref().filter(|_| plans) {
            scale_ins.expect(std::mem::take(&mut ticked.scale_ins), now);
        }
        for write in ticked.writes.drain(..) {
            self.queue.put(write);
        }
    }

    async fn fill(&self, targets: ScalingTargets, progress: Progress) -> ScalingTargets {
        let now = self.cluster.now();
        let worked = work(targets, move |targets| match &progress {
            Progress::Part(filled) => targets.fill(filled, now),
            Progress::Query(filled) => targets.fill_query(filled, now),
            Progress::Done(namespaces) => {
                targets.filled(namespaces);
                Vec::new()
            }
        });
        let (targets, panics) = worked.await;
        log_panics(&panics);
        targets
    }

    async fn name_contesters(
        &self,
        mut targets: ScalingTargets,
        contested: Vec<ContestedTarget>,
    ) -> ScalingTargets {
        for contested in &contested {
            targets.contested_by(&contested.key, None);
        }
        let objects = contested.into_iter().map(|one| (one.key, one.object));
        for (key, manager) in contest::managers(&self.client, objects).await {
            targets.contested_by(&key, Some(manager));
        }
        targets
    }
}

/// Describes a tick on its span.
fn trace_tick(span: &ActiveSpan, ticked: &ScalingTickOutput, leads: bool) {
    span.set(|| {
        [
            count("evenkeel.targets", ticked.shown.len()),
            count("evenkeel.writes", ticked.writes.len()),
            KeyValue::new("evenkeel.leader", leads),
        ]
    });
    if !ticked.panics.is_empty() {
        span.fail("Panic");
    }
}

fn log_panics(panics: &[WorkPanic]) {
    for panic in panics {
        let WorkPanic {
            work,
            namespace,
            object,
            error,
        } = panic;
        match work {
            PanickedWork::Target => tracing::error!(
                %namespace, target = %object, %error,
                "the work on a scaling target panicked; it is paused, and other targets continue"
            ),
            PanickedWork::Quarantined => tracing::error!(
                %namespace, target = %object, %error,
                "a target in quarantine cannot be shown"
            ),
            PanickedWork::CronHpa => tracing::error!(
                %namespace, cron_hpa = %object, %error,
                "the work on a CronHPA panicked; its previous request stays"
            ),
            PanickedWork::History => tracing::error!(
                target = %object, %error,
                "the history of a target causes a panic, so the target starts without it"
            ),
        }
    }
}

/// The channels to the parts that work beside the loop: requests to them, and their results.
struct BackgroundChannels {
    ask: mpsc::UnboundedSender<BackfillRequest>,
    progress: mpsc::Receiver<Progress>,
    /// Where work for the fits goes, by its lane.
    lanes: [(FitLane, mpsc::Sender<FitWork>); 2],
    fitted: mpsc::Receiver<FitTold>,
    questions: mpsc::Receiver<LoadQuestion>,
}

/// Gives each lane its next work, if it has room. It waits while some is done, and the work after
/// it is not chosen yet.
async fn hand_on(
    mut targets: ScalingTargets,
    lanes: &[(FitLane, mpsc::Sender<FitWork>)],
    now: Timestamp,
) -> ScalingTargets {
    for (lane, works) in lanes {
        let Ok(place) = works.try_reserve() else {
            continue;
        };
        let lane = *lane;
        let next;
        (targets, next) = work(targets, move |targets| targets.next_work(lane, now)).await;
        if let Some(next) = next {
            place.send(next);
        }
    }
    targets
}

#[cfg(test)]
mod tests;
