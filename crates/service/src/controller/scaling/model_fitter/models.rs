//! Fits the models that targets name. On 8,000 minutes `arima` takes some 0.2 s of a core, `gbdt` a
//! second, `gru` and `arima-gru` five. Each fit begins anew, so that the same past gives the same
//! model. `swish-net` has one network for all targets: it is read from its file, or trained before the loads of a
//! batch are fitted if it does not know them or is a day old.

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
    /// Trains the network of `swish-net` for the loads of a batch, where one is due.
    pub(super) async fn train_network(&self, batch: &FitBatch, pasts: &[Option<Steps>]) {
        let networks = &self.resources.networks;
        for (load, past) in batch.loads.iter().zip(pasts) {
            if load.lesson == FitTask::Model(ModelSet::SwishNet)
                && let Some(past) = past
            {
                let past = self.past_of(load, past.clone());
                let learnt = past.values().len().saturating_sub(LoadModel::JUDGED);
                let of = (&load.key.workload, &load.signal);
                networks.take(of, &past, learnt, batch.end);
            }
        }
        let Some(training) = networks.training_due(&self.shared.calendar) else {
            return;
        };
        let loads = training.loads();
        let (trained, took) = self.resources.core.work(move || training.run()).await;
        self.metrics.fits().took(took);
        match trained {
            Ok(Ok(trained)) => {
                tracing::info!(loads, seconds = took.as_secs(), "swish-net was trained");
                networks.trained(trained);
            }
            Ok(Err(error)) => tracing::info!(loads, %error, "swish-net was not trained"),
            Err(error) => tracing::error!(loads, %error, "the training of swish-net panicked"),
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
            residual_checks: self.settings.residual_checks,
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
