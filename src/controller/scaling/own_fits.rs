//! Fits the trees of the targets' own in the background, on their past in Prometheus.
//!
//! One batch at a time, and in it one load after the other: the past is asked for in parts, newest first, at the
//! pace of [`evenkeel_core::scaling::refill`]; each load is fitted on the blocking pool, on the older
//! part of its past to be judged on the newest, then on all of it, and after each the loop rests for three times as long,
//! so that it takes a quarter of a core at most: at 0.5 s a load, ten thousand loads take 5.6 hours of a day, and
//! their 160 batches some 14 questions each. It holds the pasts of one batch (64 loads of 8,000 minutes:
//! 2 MB), one part of an answer, and what one fit works with (8,000 rows of 27 inputs).
//!
//! What fails leaves the trees that are there. Both replicas fit the same past, up to the target's hour of the
//! day, and the same past gives the same trees.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::metrics::{FitOutcome, Metrics};
use super::refill::{Answer, Asker, Asking, Past, Points, Question};
use super::targets::{FitBatch, FitLoad, FitPast, Fitted};
use crate::metrics::prometheus::{WorkloadName, Workloads};
use evenkeel_clock as clock;
use evenkeel_core::forecast::{GlobalPeaks, Minutes, Shared};
use evenkeel_core::scaling::refill::{Pace, Rest};
use evenkeel_core::scaling::signal::Signal;
use evenkeel_core::scaling::tracker::Learnt;
use evenkeel_training::{BoostingError, OwnSettings, learn};

/// The rest after each fit, in times of what it took: a quarter of a core.
const RESTS: u32 = 3;
/// The longest time that the past of one target's own query may take, which others wait for.
const QUERY_TIME: Duration = Duration::from_mins(5);
const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// The fits, which work on what they are given until they are cancelled.
pub(super) struct OwnFits {
    asker: Asker,
    shared: Arc<Shared>,
    settings: OwnSettings,
    metrics: Metrics,
}

/// The loads of consecutive minutes, NaN where one is missing.
#[derive(Debug, Clone)]
struct MinuteGrid {
    start: Timestamp,
    values: Vec<f32>,
}

impl OwnFits {
    /// Fits from `past` that go on from the weights that all targets share, by their calendar.
    pub(super) fn new(past: Arc<dyn Past>, shared: Arc<Shared>, metrics: Metrics) -> Self {
        Self {
            asker: Asker::new(past, metrics.clone()),
            shared,
            settings: OwnSettings::default(),
            metrics,
        }
    }

    /// Fits each batch that is given, and tells what came of it.
    pub(super) async fn run(
        self,
        mut batches: mpsc::Receiver<FitBatch>,
        told: mpsc::Sender<Fitted>,
        cancel: CancellationToken,
    ) {
        let fitting = async {
            let mut pace = Pace::default();
            while let Some(batch) = batches.recv().await {
                if !self.fit_batch(batch, &mut pace, &told).await {
                    return;
                }
            }
        };
        cancel.run_until_cancelled(fitting).await;
    }

    /// Fits the loads of a batch; false where nobody listens any more.
    async fn fit_batch(
        &self,
        batch: FitBatch,
        pace: &mut Pace,
        told: &mpsc::Sender<Fitted>,
    ) -> bool {
        pace.begin();
        let Some(pasts) = self.pasts(&batch, pace).await else {
            for _ in &batch.loads {
                self.metrics.own_fits().ended(FitOutcome::NoPast);
            }
            return true;
        };
        for (load, past) in batch.loads.into_iter().zip(pasts) {
            let Ok(learnt) = self.fit(past, &load).await else {
                continue;
            };
            if told.send(Fitted { load, learnt }).await.is_err() {
                return false;
            }
        }
        true
    }

    /// The pasts of the loads of a batch, in their order; `None` where they cannot be had whole.
    async fn pasts(&self, batch: &FitBatch, pace: &mut Pace) -> Option<Vec<MinuteGrid>> {
        let FitBatch { end, past, loads } = batch;
        match past {
            FitPast::Workloads(signal) => self.pasts_of_workloads(signal, *end, loads, pace).await,
            FitPast::Query(query) => {
                let asked = self.past_of_query(query, *end, pace);
                let grid = tokio::time::timeout(QUERY_TIME, asked).await.ok()??;
                Some(loads.iter().map(|_| grid.clone()).collect())
            }
        }
    }

    async fn pasts_of_workloads(
        &self,
        signal: &Signal,
        end: Timestamp,
        loads: &[FitLoad],
        pace: &mut Pace,
    ) -> Option<Vec<MinuteGrid>> {
        let workloads: Vec<WorkloadName> = loads.iter().map(FitLoad::workload).collect();
        let grid = self.empty(end)?;
        let mut grids: HashMap<&WorkloadName, MinuteGrid> =
            workloads.iter().map(|name| (name, grid.clone())).collect();
        let question = Question::Sums(signal, Workloads::These(&workloads));
        self.ask(question, end, pace, |answer| {
            if let Answer::Sums(sums) = answer {
                for (name, points) in &sums.sums {
                    if let Some(grid) = grids.get_mut(name) {
                        grid.take(points);
                    }
                }
            }
        })
        .await?;
        Some(
            workloads
                .iter()
                .filter_map(|name| grids.get(name).cloned())
                .collect(),
        )
    }

    async fn past_of_query(
        &self,
        query: &str,
        end: Timestamp,
        pace: &mut Pace,
    ) -> Option<MinuteGrid> {
        let mut grid = self.empty(end)?;
        self.ask(Question::Query(query), end, pace, |answer| {
            if let Answer::Points(points) = answer {
                grid.take(&points);
            }
        })
        .await?;
        Some(grid)
    }

    /// Asks for all minutes up to `end`; `None` where a part of them cannot be had.
    async fn ask(
        &self,
        question: Question<'_>,
        end: Timestamp,
        pace: &mut Pace,
        mut take: impl FnMut(Answer),
    ) -> Option<()> {
        let mut rest = Rest::of(end, MINUTE, self.minutes());
        while let Some(slots) = rest.newest(pace.points()) {
            match self.asker.ask(question, slots, pace).await {
                Asking::Answered(answer) => {
                    rest.took(slots.points);
                    take(answer);
                }
                Asking::TooMuch => {}
                Asking::NotToBeHad => return None,
            }
        }
        Some(())
    }

    fn minutes(&self) -> u32 {
        u32::try_from(self.settings.minutes).unwrap_or(u32::MAX)
    }

    fn empty(&self, end: Timestamp) -> Option<MinuteGrid> {
        let minutes = i32::try_from(self.settings.minutes).ok()?;
        Some(MinuteGrid {
            start: end.checked_sub(MINUTE.checked_mul(minutes)?).ok()?,
            values: vec![f32::NAN; self.settings.minutes],
        })
    }

    /// What the past of a load teaches.
    async fn fit(&self, past: MinuteGrid, load: &FitLoad) -> Result<Learnt, FitOutcome> {
        let past = Minutes::bridged(past.start.as_second(), past.values);
        let past = past.by(self.shared.calendar.clone());
        let (window, pods) = (load.window, load.pods.clone());
        let learnt = self.work(past, move |global, past, settings| {
            learn(global, past, window, &pods, settings)
        });
        let learnt = learnt
            .await
            .and_then(|learnt| learnt.ok_or(FitOutcome::TooShort));
        let outcome = match &learnt {
            Ok(learnt) if learnt.own.is_some() => FitOutcome::Fitted,
            Ok(_) => FitOutcome::GlobalIsBetter,
            Err(outcome) => *outcome,
        };
        self.metrics.own_fits().ended(outcome);
        learnt
    }

    /// Does one piece of work on the blocking pool, and rests.
    async fn work<T: Send + 'static>(
        &self,
        past: Minutes,
        work: impl FnOnce(&GlobalPeaks, &Minutes, &OwnSettings) -> Result<T, BoostingError>
        + Send
        + 'static,
    ) -> Result<T, FitOutcome> {
        let (global, settings) = (Arc::clone(&self.shared.peaks), self.settings);
        let worked = tokio::task::spawn_blocking(move || {
            let begun = clock::instant();
            let worked = work(&global, &past, &settings);
            (worked, begun.elapsed())
        });
        let worked = worked.await.map_err(|error| {
            tracing::error!(%error, "the fit of a target's own trees panicked");
            FitOutcome::Failed
        });
        let (worked, took) = worked?;
        self.metrics.own_fits().took(took);
        tokio::time::sleep(took * RESTS).await;
        worked.map_err(|error| {
            tracing::warn!(%error, "a target's own trees could not be fitted");
            FitOutcome::Failed
        })
    }
}

impl MinuteGrid {
    /// Takes values for the minutes that they lie in; those of other times are left out.
    fn take(&mut self, points: &Points) {
        for &(at, value) in points {
            let minute = at.duration_since(self.start).as_secs().div_euclid(60);
            let place = usize::try_from(minute).ok();
            let place = place.and_then(|minute| self.values.get_mut(minute));
            #[expect(clippy::cast_possible_truncation, reason = "histories are of 32 bits")]
            let narrow = value as f32;
            if let Some(place) = place.filter(|_| narrow.is_finite() && narrow >= 0.0) {
                *place = narrow;
            }
        }
    }
}

#[cfg(test)]
mod tests;
