//! Fits the models that targets name. On 8,000 minutes `arima` takes some 0.2 s of a core, `gbdt` a
//! second, `gru` and `arima-gru` five. Each fit begins anew, so that the same past gives the same
//! model. `swish-net` is not fitted: its network is read from its file, where it is known under the
//! target's name.

use std::num::NonZeroUsize;
use std::sync::Arc;

use evenkeel_forecast::{Minutes, ModelAssets, ModelSet, NotEnoughHistory};
use evenkeel_scaling::tick::FitLoad;
use evenkeel_scaling::tracker::FitEnd;
use evenkeel_scaling::tracker::LoadModel;
use evenkeel_training::ModelTrainer;

use super::ModelFitter;
use super::network::NoNetwork;
use crate::controller::scaling::metrics::FitOutcome;

#[derive(Debug, thiserror::Error)]
enum NoModel {
    #[error(transparent)]
    TooShort(#[from] NotEnoughHistory),
    #[error(transparent)]
    NoNetwork(#[from] NoNetwork),
}

impl ModelFitter {
    pub(super) async fn fit_model(
        &self,
        past: Minutes,
        load: &FitLoad,
        models: ModelSet,
    ) -> Result<FitEnd, FitOutcome> {
        let (window, of) = (load.window, load.key.workload_name());
        let target = format!("{}/{}", of.namespace, of.workload);
        let (file, last) = (self.settings.swish_net.clone(), self.last_network.clone());
        let shared = ModelAssets {
            calendar: self.shared.calendar.clone(),
            peaks: Arc::clone(&self.shared.peaks),
            trainer: Some(Arc::new(ModelTrainer::with(NonZeroUsize::MIN))),
            swish: None,
            residual_checks: self.settings.residual_checks,
        };
        let work = move || {
            let (_, name) = of.workload.rsplit_once('/').unwrap_or_default();
            let names = [&*format!("{}.{name}", of.namespace), name];
            let swish = (models == ModelSet::SwishNet).then(|| last.of(file.as_deref(), names));
            let swish = swish.transpose()?;
            let shared = ModelAssets { swish, ..shared };
            Ok(LoadModel::fitted(models, &past, window, &shared)?)
        };
        let (fitted, took) = self.core.work(work).await;
        self.metrics.fits().took(took);
        match fitted {
            Ok(Ok(model)) => {
                if let Some(fit) = model.summary() {
                    tracing::info!(target, model = %models, fit, "a model was fitted");
                }
                Ok(FitEnd::Model(Box::new(model)))
            }
            Ok(Err(NoModel::TooShort(_))) => Err(FitOutcome::TooShort),
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
