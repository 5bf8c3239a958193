//! Fits the targets' own trees, and the models that targets name, in the background, on their past
//! in Prometheus.
//!
//! Pasts are queried newest first, in parts, at the pace of
//! [`evenkeel_scaling::tracker::backfill_pace`]: those of workloads in batches, one after the
//! other, and beside them a few of targets' own queries, which any tenant may write and which may
//! hang. Each load is fitted on the blocking pool: on the older part of its past and judged on the
//! newest, then on all of it. One load is fitted at a time, and a rest follows, so that fitting takes
//! no more than its share of a core. With a quarter and at 0.5 s a load, ten thousand loads take 5.6
//! hours of a day, and their 160 batches some 33 queries each. Of networks, which take 5 s each, it is
//! 4,300 loads a day, and 17,000 with a whole core.
//!
//! Memory holds the pasts of a few batches (64 loads of 19,520 minutes: 5 MB each), one part of an
//! answer of each, and the data of one fit (8,000 rows of 36 inputs).
//!
//! Models of traffic are fitted beside them, each as a batch of its own. A failed fit leaves the
//! existing trees, and is reported and retried. Both replicas fit the same past, up to the target's
//! hour of the day, and the same past gives the same trees.

mod fit_history;
mod models;
mod steps;
mod traffic;

use std::sync::Arc;

use evenkeel_forecast::{Minutes, ModelAssets};
use evenkeel_objects::pod_names::WorkloadName;
use evenkeel_scaling::counterfactual::TrialPods;
use evenkeel_scaling::tick::{
    FitBatch, FitLoad, FitPast, FitTold, FitWork, LoadFitResult, TrafficFitted,
};
use evenkeel_scaling::tracker::backfill_pace::BackfillPace;
use evenkeel_scaling::tracker::{FitEnd, FitTask};
use evenkeel_training::{OwnSettings, learn};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use jiff::SignedDuration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::fit_history::Pasts;
use self::steps::{Span, Steps};
use super::fit_resources::FitResources;
use super::history_backfill::{HistoryRequest, HistorySource};
use super::metrics::{FitOutcome, ScalingMetrics};
use crate::metrics::prometheus::Workloads;

/// Work by targets' own queries that reads its past at once.
const QUERIES_AT_ONCE: usize = 4;
const MINUTE: SignedDuration = SignedDuration::from_mins(1);

pub(super) struct ModelFitter {
    pasts: Pasts,
    shared: Arc<ModelAssets>,
    own: OwnSettings,
    metrics: ScalingMetrics,
    resources: FitResources,
}

/// The work that is given, by the lane that it goes.
pub(super) struct FitWorkReceivers {
    pub(super) by_workloads: mpsc::Receiver<FitWork>,
    pub(super) by_queries: mpsc::Receiver<FitWork>,
}

impl ModelFitter {
    /// Fits from `past` that go on from the weights that all targets share, by their calendar.
    pub(super) fn new(
        past: Arc<dyn HistorySource>,
        shared: Arc<ModelAssets>,
        resources: FitResources,
        metrics: ScalingMetrics,
    ) -> Self {
        Self {
            pasts: Pasts::new(past, metrics.clone()),
            shared,
            own: OwnSettings::default(),
            metrics,
            resources,
        }
    }

    /// Does the work that is given, and tells what came of it.
    pub(super) async fn run(
        self,
        given: FitWorkReceivers,
        told: mpsc::Sender<FitTold>,
        cancel: CancellationToken,
    ) {
        let FitWorkReceivers {
            by_workloads,
            by_queries,
        } = given;
        let fitting = async {
            tokio::join!(
                self.fit_by_workloads(by_workloads, &told),
                self.fit_by_queries(by_queries, &told)
            )
        };
        cancel.run_until_cancelled(fitting).await;
    }

    async fn fit_by_workloads(
        &self,
        mut given: mpsc::Receiver<FitWork>,
        told: &mpsc::Sender<FitTold>,
    ) {
        let mut pace = BackfillPace::default();
        while let Some(work) = given.recv().await {
            self.fit_work(work, &mut pace, told).await;
        }
    }

    /// Does a few pieces of work at once, each at the pace of its own queries.
    async fn fit_by_queries(
        &self,
        mut given: mpsc::Receiver<FitWork>,
        told: &mpsc::Sender<FitTold>,
    ) {
        let fit = |work: FitWork| async move {
            self.fit_work(work, &mut BackfillPace::default(), told)
                .await;
        };
        let mut under_way = FuturesUnordered::new();
        loop {
            let has_place = under_way.len() < QUERIES_AT_ONCE;
            tokio::select! {
                Some(()) = under_way.next() => {}
                Some(work) = given.recv(), if has_place => under_way.push(fit(work)),
                else => return,
            }
        }
    }

    async fn fit_work(&self, work: FitWork, pace: &mut BackfillPace, told: &mpsc::Sender<FitTold>) {
        pace.begin();
        match work {
            FitWork::Trees(batch) => self.fit_batch(batch, pace, told).await,
            FitWork::Traffic(work) => {
                let fitted = self.fit_traffic(&work, pace).await;
                let work = *work;
                let fitted = TrafficFitted { work, told: fitted };
                tell(told, FitTold::Traffic(Box::new(fitted))).await;
            }
        }
    }

    async fn fit_batch(
        &self,
        batch: FitBatch,
        pace: &mut BackfillPace,
        told: &mpsc::Sender<FitTold>,
    ) {
        let pasts = self.pasts(&batch, pace).await;
        let pasts = pasts.map(|pasts| pasts.into_iter().map(Some).collect());
        let pasts: Vec<_> = pasts.unwrap_or_else(|| vec![None; batch.loads.len()]);
        self.train_networks(&batch, &pasts).await;
        for (load, past) in batch.loads.into_iter().zip(pasts) {
            let fitted = match past {
                Some(past) => self.fit(past, &load).await,
                None => Err(FitOutcome::NoPast),
            };
            let outcome = match &fitted {
                Ok(FitEnd::Learnt(learnt)) if learnt.own.is_none() => FitOutcome::GlobalIsBetter,
                Ok(_) => FitOutcome::Fitted,
                Err(outcome) => *outcome,
            };
            self.metrics.fits().ended(outcome);
            let end = fitted.unwrap_or_else(|outcome| match outcome {
                FitOutcome::TooShort => FitEnd::TooShort,
                _ => FitEnd::Failed,
            });
            tell(told, FitTold::Trees(Box::new(LoadFitResult { load, end }))).await;
        }
    }

    /// The pasts of the loads of a batch, in their order; `None` where they cannot be had whole.
    async fn pasts(&self, batch: &FitBatch, pace: &mut BackfillPace) -> Option<Vec<Steps>> {
        let lessons = batch.loads.iter().map(|load| self.minutes(&load.lesson));
        let span = Span {
            end: batch.end,
            step: MINUTE,
            steps: lessons.max().unwrap_or(0),
        };
        let workloads: Vec<WorkloadName> = batch
            .loads
            .iter()
            .map(|load| load.key.workload_name())
            .collect();
        match &batch.past {
            FitPast::Workloads(signal) => {
                let question = HistoryRequest::Sums(signal, Workloads::These(&workloads));
                self.pasts.of(question, &workloads, span, pace).await
            }
            FitPast::Query(query) => {
                let one = self.pasts.of(
                    HistoryRequest::Query(query),
                    workloads.get(..1)?,
                    span,
                    pace,
                );
                let one = one.await?.pop()?;
                Some(vec![one; workloads.len()])
            }
        }
    }

    /// The minutes of the past that a task needs. Only the rows of trees look back a week.
    const fn minutes(&self, task: &FitTask) -> usize {
        match task {
            FitTask::Trees(_) => self.own.past,
            FitTask::Model(_) => self.own.minutes,
        }
    }

    async fn fit(&self, past: Steps, load: &FitLoad) -> Result<FitEnd, FitOutcome> {
        let past = self.past_of(load, past);
        match &load.lesson {
            FitTask::Trees(pods) => self.fit_trees(past, load.window, pods.clone()).await,
            FitTask::Model(models) => self.fit_model(past, load, *models).await,
        }
    }

    /// The past of a load as it is learnt.
    fn past_of(&self, load: &FitLoad, past: Steps) -> Minutes {
        let past = past.newest(self.minutes(&load.lesson));
        let past = Minutes::bridged(past.start.as_second(), past.values);
        past.by(self.shared.calendar.clone())
    }

    async fn fit_trees(
        &self,
        past: Minutes,
        window: usize,
        pods: TrialPods,
    ) -> Result<FitEnd, FitOutcome> {
        let (shared, settings) = (Arc::clone(&self.shared), self.own);
        let work = move || learn(&shared.peaks, &past, window, &pods, &settings);
        let (learnt, took) = self.resources.core.work(work).await;
        self.metrics.fits().took(took);
        match learnt {
            Ok(Ok(Some(learnt))) => Ok(FitEnd::Learnt(Box::new(learnt))),
            Ok(Ok(None)) => Err(FitOutcome::TooShort),
            Ok(Err(error)) => {
                tracing::warn!(%error, "a target's own trees could not be fitted");
                Err(FitOutcome::Failed)
            }
            Err(error) => {
                tracing::error!(%error, "the fit of a target's own trees panicked");
                Err(FitOutcome::Failed)
            }
        }
    }
}

/// Sends the result of some work. If the receiver has gone, the service is ending.
async fn tell(told: &mpsc::Sender<FitTold>, what: FitTold) {
    let _ = told.send(what).await;
}

#[cfg(test)]
mod tests;
