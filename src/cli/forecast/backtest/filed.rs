//! A model from a file, in place of one that is trained here.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::cli::forecast::load::Load;
use crate::cli::forecast::network_model;
use crate::cli::output::Failure;
use evenkeel_core::forecast::{ModelSet, Shared};
use evenkeel_sandbox::parallel::cores;
use evenkeel_training::{ModelTrainer, NetworkFile, TrainedOnce};

/// The model in a file.
pub(super) struct Filed {
    model: ModelSet,
    file: NetworkFile,
}

impl Filed {
    /// The model in a file, which is one of `models`, answers `farthest` steps on the grid of each load, and has not
    /// learnt from what it is judged on.
    pub(super) fn read(
        path: &Path,
        models: &[ModelSet],
        farthest: NonZeroUsize,
        loads: &[Load],
    ) -> Result<Self, Failure> {
        let file = network_model::read(path)?;
        let told = &file.description;
        let model = told.model().filter(|model| models.contains(model));
        let model = model.ok_or_else(|| {
            Failure::call(format_args!(
                "--model-file {} holds a model of the kind {}, which --models does not name",
                path.display(),
                told.kind
            ))
        })?;
        for load in loads {
            network_model::is_for(&file, path, model, load, farthest)?;
            if told.series == load.name {
                is_unseen(path, load, told.learnt_to)?;
            }
        }
        Ok(Self { model, file })
    }

    pub(super) const fn model(&self) -> ModelSet {
        self.model
    }

    /// What the model reads besides the load.
    pub(super) fn shared(&self) -> Shared {
        let networks = self.file.networks.clone();
        Shared {
            trainer: Some(Arc::new(TrainedOnce::with(
                networks,
                ModelTrainer::with(cores()),
            ))),
            ..Shared::default()
        }
    }
}

/// Refuses what was learnt up to a time from which on the load is judged.
fn is_unseen(path: &Path, load: &Load, learnt_to: Timestamp) -> Result<(), Failure> {
    let judged = load.recorded.time(load.recorded.training());
    if learnt_to < judged {
        return Ok(());
    }
    Err(Failure::call(format_args!(
        "{}: the model has learnt {} up to {learnt_to}, and is to be judged on it from {judged} on",
        path.display(),
        load.name,
    )))
}
