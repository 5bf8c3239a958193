//! Fits the models that targets name. On 8,000 minutes `arima` takes some 0.2 s of a core, `gbdt` a
//! second, `gru` and `arima-gru` five. Each fit begins anew, so that the same past gives the same
//! model. `swish-net` has one network for all targets: it is read from its file, or trained before the loads of a
//! batch are fitted, if it is a day old or enough loads are new. It depends on which loads came first.

use std::num::NonZeroUsize;
use std::sync::Arc;

use evenkeel_forecast::{Minutes, ModelAssets, ModelSet, NotEnoughHistory};
use evenkeel_scaling::tick::{FitBatch, FitLoad};
use evenkeel_scaling::tracker::{FitEnd, FitTask, LoadModel};
use evenkeel_training::ModelTrainer;

use super::steps::Steps;
use super::{MINUTE, ModelFitter};
use crate::controller::scaling::metrics::FitOutcome;
use crate::controller::scaling::swish_networks::NoNetwork;

#[derive(Debug, thiserror::Error)]
enum NoModel {
    #[error(transparent)]
    TooShort(#[from] NotEnoughHistory),
    #[error(transparent)]
    NoNetwork(#[from] NoNetwork),
}

impl ModelFitter {
    /// Trains the networks of `swish-net` on the loads of a batch, where it has such loads and a training is due.
    pub(super) async fn train_networks(&self, batch: &FitBatch, pasts: &[Option<Steps>]) {
        let networks = self.resources.networks.clone();
        if !networks.are_trained() {
            return;
        }
        let loads = batch.loads.iter().zip(pasts).filter_map(|(load, past)| {
            let is_swish = load.lesson == FitTask::Model(ModelSet::SwishNet);
            let past = past.clone().filter(|_| is_swish)?;
            let past = self.past_of(load, past);
            Some((load.key.workload.clone(), load.signal.clone(), past))
        });
        let loads: Vec<_> = loads.collect();
        if loads.is_empty() {
            return;
        }
        let (calendar, end) = (self.shared.calendar.clone(), batch.end);
        // It is decided on the core what is due: of two lanes, the second finds the work done.
        let work = move || networks.learn(&loads, LoadModel::JUDGED, end, &calendar);
        let (trained, took) = self.resources.core.work(work).await;
        match trained {
            Ok(Some(loads)) => {
                self.metrics.fits().took(took);
                tracing::info!(loads, seconds = took.as_secs(), "swish-net was trained");
            }
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "the training of swish-net panicked"),
        }
    }

    pub(super) async fn fit_model(
        &self,
        past: Minutes,
        load: &FitLoad,
        models: ModelSet,
    ) -> Result<FitEnd, FitOutcome> {
        let (window, of) = (load.window, load.key.workload_name());
        let target = format!("{}/{}", of.namespace, of.workload);
        let networks = self.resources.networks.clone();
        let (workload, signal) = (load.key.workload.clone(), load.signal.clone());
        let shared = ModelAssets {
            calendar: self.shared.calendar.clone(),
            peaks: Arc::clone(&self.shared.peaks),
            trainer: Some(Arc::new(ModelTrainer::with(NonZeroUsize::MIN))),
            swish: None,
            residual_checks: self.resources.residual_checks,
        };
        let work = move || {
            let is_swish = models == ModelSet::SwishNet;
            let swish = is_swish.then(|| networks.of(&workload, &signal, MINUTE));
            let swish = swish.transpose()?;
            let shared = ModelAssets { swish, ..shared };
            Ok(LoadModel::fitted(models, &past, window, &shared)?)
        };
        let (fitted, took) = self.resources.core.work(work).await;
        self.metrics.fits().took(took);
        match fitted {
            Ok(Ok(model)) => {
                if let Some(fit) = model.summary() {
                    tracing::info!(target, model = %models, fit, "a model was fitted");
                }
                Ok(FitEnd::Model(Box::new(model)))
            }
            Ok(Err(NoModel::TooShort(_) | NoModel::NoNetwork(NoNetwork::Untrained))) => {
                Err(FitOutcome::TooShort)
            }
            Ok(Err(NoModel::NoNetwork(error))) => {
                tracing::warn!(%error, target, model = %models, "no network: auto forecasts the target");
                Err(FitOutcome::NoNetwork)
            }
            Err(error) => {
                tracing::error!(%error, target, model = %models, "the fit of a model panicked");
                Err(FitOutcome::Failed)
            }
        }
    }
}
