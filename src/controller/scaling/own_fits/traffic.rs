//! The fit of a model of a target's traffic, on the pasts of its traffic, of what its Pods carried, and of how many
//! they were.
//!
//! Four weeks in steps of ten minutes, as far as Prometheus has them: 4,000 rows, which see each hour of the week four
//! times. A fit takes as long as some of a target's own trees, and rests as they do.

use std::num::NonZeroUsize;

use jiff::{SignedDuration, Timestamp};

use super::{OwnFits, QUERY_TIME, RESTS, Steps};
use crate::controller::scaling::metrics::TrafficOutcome;
use crate::controller::scaling::refill::{Answer, Question};
use crate::controller::scaling::targets::{FitPast, TrafficTold, TrafficWork};
use crate::metrics::prometheus::{WorkloadName, WorkloadSums, Workloads};
use evenkeel_clock as clock;
use evenkeel_core::scaling::refill::{Pace, Rest};
use evenkeel_core::scaling::{AcceptedTraffic, TrafficRefusal};
use evenkeel_core::units::count_as_f64;
use evenkeel_training::{
    TrafficFitError, TrafficNames, TrafficSample, TrafficSettings, fit_traffic,
};

const STEP: SignedDuration = SignedDuration::from_mins(10);
/// Four weeks of steps.
const STEPS: usize = 28 * 144;

impl OwnFits {
    /// Fits the model of a target's traffic.
    pub(super) async fn fit_traffic(&self, work: &TrafficWork, pace: &mut Pace) -> TrafficTold {
        pace.begin();
        let (told, outcome) = match self.samples(work, pace).await {
            Some(samples) => self.told(work, samples).await,
            None => (
                lacking("NoPast", "its past cannot be had from Prometheus"),
                TrafficOutcome::NoPast,
            ),
        };
        self.metrics.traffic_fits().ended(outcome);
        told
    }

    /// What is known of each step; `None` where some past cannot be had.
    async fn samples(&self, work: &TrafficWork, pace: &mut Pace) -> Option<Vec<TrafficSample>> {
        let workload = work.workload();
        let mut kinds = Vec::new();
        for (_, past) in &work.kinds {
            kinds.push(self.past(past, &workload, work.end, pace).await?);
        }
        let load = self.past(&work.of.1, &workload, work.end, pace).await?;
        let these = [workload.clone()];
        let pods = Question::Pods(Workloads::These(&these));
        let pods = self.steps(pods, &workload, work.end, pace).await?;
        let samples = (0..STEPS).filter_map(|step| {
            let traffic = kinds.iter().map(|kind| kind.at(step));
            let replicas = pods.at(step).filter(|&pods| pods > 0.0)?;
            Some(TrafficSample {
                at: pods.middle(step)?,
                traffic: traffic.collect::<Option<_>>()?,
                replicas,
                utilisation: load.at(step)? / replicas,
            })
        });
        Some(samples.collect())
    }

    async fn past(
        &self,
        past: &FitPast,
        workload: &WorkloadName,
        end: Timestamp,
        pace: &mut Pace,
    ) -> Option<Steps> {
        let these = [workload.clone()];
        let question = match past {
            FitPast::Workloads(signal) => Question::Sums(signal, Workloads::These(&these)),
            FitPast::Query(query) => Question::Query(query),
        };
        self.steps(question, workload, end, pace).await
    }

    async fn steps(
        &self,
        question: Question<'_>,
        workload: &WorkloadName,
        end: Timestamp,
        pace: &mut Pace,
    ) -> Option<Steps> {
        let mut steps = Steps::before(end, STEP, STEPS)?;
        let rest = Rest::of(end, STEP, u32::try_from(STEPS).ok()?);
        let asked = self.ask(question, rest, pace, |answer| match answer {
            Answer::Points(points) => steps.take(&points),
            Answer::Sums(WorkloadSums { sums, .. }) => {
                if let Some(points) = sums.get(workload) {
                    steps.take(points);
                }
            }
        });
        // A target's own query may hang, and others wait for it.
        tokio::time::timeout(QUERY_TIME, asked).await.ok()??;
        Some(steps)
    }

    /// What samples say, on the blocking pool and with a rest after it.
    async fn told(
        &self,
        work: &TrafficWork,
        samples: Vec<TrafficSample>,
    ) -> (TrafficTold, TrafficOutcome) {
        let calendar = self.shared.calendar.clone();
        let names = TrafficNames {
            components: work.kinds.iter().map(|(name, _)| name.clone()).collect(),
            utilisation: work.of.0.clone(),
            zone: calendar.name().unwrap_or_default().to_owned(),
            calendar,
        };
        let fitted = tokio::task::spawn_blocking(move || {
            let begun = clock::instant();
            let settings = TrafficSettings::with(NonZeroUsize::MIN);
            let fitted = fit_traffic(&samples, names, &settings);
            let accepted = fitted.map(|model| AcceptedTraffic {
                means: means(&samples),
                model,
            });
            (accepted, begun.elapsed())
        });
        let Ok((fitted, took)) = fitted.await else {
            tracing::error!("the fit of a target's traffic panicked");
            let told = lacking("Failed", "a defect of Evenkeel: its fit panicked");
            return (told, TrafficOutcome::Failed);
        };
        tokio::time::sleep(took * RESTS).await;
        match fitted {
            Ok(accepted) => (
                TrafficTold::Accepted(Box::new(accepted)),
                TrafficOutcome::Accepted,
            ),
            Err(error) => {
                let (reason, why) = (error.reason(), error.to_string());
                if matches!(error, TrafficFitError::TooShort { .. }) {
                    return (lacking(reason, &why), TrafficOutcome::TooShort);
                }
                let refused = TrafficTold::Refused(TrafficRefusal { reason, why });
                (refused, TrafficOutcome::Refused)
            }
        }
    }
}

fn lacking(reason: &'static str, why: &str) -> TrafficTold {
    TrafficTold::Lacking(TrafficRefusal {
        reason,
        why: why.to_owned(),
    })
}

/// The mean of each kind of traffic.
fn means(samples: &[TrafficSample]) -> Vec<f64> {
    let kinds = samples.first().map_or(0, |sample| sample.traffic.len());
    let mean = |kind: usize| {
        let sum: f64 = samples.iter().map(|sample| sample.traffic[kind]).sum();
        sum / count_as_f64(samples.len())
    };
    (0..kinds).map(mean).collect()
}
