//! The fit of a model of a target's traffic, on the pasts of its traffic, its load and its Pods.
//! Four weeks in steps of ten minutes, as far as Prometheus has them: 4,000 rows, which see each
//! hour of the week four times. A fit takes as long as a target's own trees, and rests as they do.

use std::num::NonZeroUsize;

use evenkeel_scaling::recommend::traffic_fit::{AcceptedTraffic, TrafficRefusal};
use evenkeel_scaling::tick::{FitPast, TrafficTold, TrafficWork};
use evenkeel_scaling::tracker::backfill_pace::BackfillPace;
use evenkeel_training::{
    TrafficFitError, TrafficNames, TrafficSample, TrafficSettings, fit_traffic,
};
use evenkeel_units::count_as_f64;
use jiff::SignedDuration;

use super::ModelFitter;
use super::steps::{Span, Steps};
use crate::controller::scaling::history_backfill::HistoryRequest;
use crate::controller::scaling::metrics::TrafficOutcome;
use crate::metrics::prometheus::Workloads;

const STEP: SignedDuration = SignedDuration::from_mins(10);
/// Four weeks of steps.
const STEPS: usize = 28 * 144;

struct TrafficPasts {
    kinds: Vec<Steps>,
    load: Steps,
    /// The number of them.
    pods: Steps,
}

impl ModelFitter {
    pub(super) async fn fit_traffic(
        &self,
        work: &TrafficWork,
        pace: &mut BackfillPace,
    ) -> TrafficTold {
        let (told, outcome) = if let Some(pasts) = self.traffic_pasts(work, pace).await {
            self.told(work, pasts).await
        } else {
            let why = "its history cannot be read from Prometheus".to_owned();
            (failed("NoPast", why), TrafficOutcome::NoPast)
        };
        self.metrics.fits().traffic_ended(outcome);
        told
    }

    async fn traffic_pasts(
        &self,
        work: &TrafficWork,
        pace: &mut BackfillPace,
    ) -> Option<TrafficPasts> {
        let workload = work.key.workload_name();
        let these = [workload.clone()];
        let pasts = work.kinds.iter().chain([&work.of]);
        let questions = pasts.map(|(_, past)| match past {
            FitPast::Workloads(signal) => HistoryRequest::Sums(signal, Workloads::These(&these)),
            FitPast::Query(query) => HistoryRequest::Query(query),
        });
        let pods = HistoryRequest::Pods(Workloads::These(&these));
        let questions: Vec<_> = questions.chain([pods]).collect();
        let span = Span {
            end: work.end,
            step: STEP,
            steps: STEPS,
        };
        let asked = self.pasts.of_all(&questions, &workload, span, pace);
        let mut kinds = asked.await?;
        let (pods, load) = (kinds.pop()?, kinds.pop()?);
        Some(TrafficPasts { kinds, load, pods })
    }

    async fn told(&self, work: &TrafficWork, pasts: TrafficPasts) -> (TrafficTold, TrafficOutcome) {
        let calendar = self.shared.calendar.clone();
        let names = TrafficNames {
            components: work.kinds.iter().map(|(name, _)| name.clone()).collect(),
            utilisation: work.of.0.clone(),
            zone: calendar.name().unwrap_or_default().to_owned(),
            calendar,
        };
        let fitted =
            self.resources
                .core
                .work(move || -> Result<AcceptedTraffic, TrafficFitError> {
                    let samples = pasts.samples();
                    let settings = TrafficSettings::with(NonZeroUsize::MIN);
                    let model = fit_traffic(&samples, names, &settings)?;
                    let means = means(&samples);
                    Ok(AcceptedTraffic { model, means })
                });
        let fitted = match fitted.await {
            (Ok(fitted), _) => fitted,
            (Err(error), _) => {
                tracing::error!(%error, "the fit of a target's traffic panicked");
                let why = "a defect of Evenkeel: its fit panicked".to_owned();
                return (failed("Failed", why), TrafficOutcome::Failed);
            }
        };
        match fitted {
            Ok(accepted) => (
                TrafficTold::Accepted(Box::new(accepted)),
                TrafficOutcome::Accepted,
            ),
            Err(error) => {
                let (reason, why) = (error.reason(), error.to_string());
                let refusal = TrafficRefusal { reason, why };
                match error {
                    TrafficFitError::TooShort { .. } => {
                        (TrafficTold::TooShort(refusal), TrafficOutcome::TooShort)
                    }
                    // They say nothing of the traffic.
                    TrafficFitError::NotSettled(_) | TrafficFitError::Boosting(_) => {
                        (TrafficTold::Failed(refusal), TrafficOutcome::Failed)
                    }
                    TrafficFitError::Steady { .. }
                    | TrafficFitError::NoTraffic
                    | TrafficFitError::Unexplained(_)
                    | TrafficFitError::NotByTraffic(_) => {
                        (TrafficTold::Refused(refusal), TrafficOutcome::Refused)
                    }
                }
            }
        }
    }
}

impl TrafficPasts {
    /// The values of each step; steps with an unknown value are left out.
    fn samples(&self) -> Vec<TrafficSample> {
        let samples = (0..STEPS).filter_map(|step| {
            let traffic = self.kinds.iter().map(|kind| kind.at(step));
            let replicas = self.pods.at(step).filter(|&pods| pods > 0.0)?;
            Some(TrafficSample {
                at: self.pods.middle(step)?,
                traffic: traffic.collect::<Option<_>>()?,
                replicas,
                utilisation: self.load.at(step)? / replicas,
            })
        });
        samples.collect()
    }
}

fn failed(reason: &'static str, why: String) -> TrafficTold {
    TrafficTold::Failed(TrafficRefusal { reason, why })
}

fn means(samples: &[TrafficSample]) -> Vec<f64> {
    let kinds = samples.first().map_or(0, |sample| sample.traffic.len());
    let mean = |kind: usize| {
        let sum: f64 = samples.iter().map(|sample| sample.traffic[kind]).sum();
        sum / count_as_f64(samples.len())
    };
    (0..kinds).map(mean).collect()
}
