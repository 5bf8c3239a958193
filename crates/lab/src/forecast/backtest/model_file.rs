//! A model from a file, in place of one that is trained here.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use evenkeel_forecast::{ModelAssets, ModelSet, SwishLoad};
use evenkeel_sandbox::parallel::cores;
use evenkeel_training::{LearntLoad, ModelTrainer, OtherStep, SwishLoads, TrainedOnce};

use crate::forecast::load_trace::LoadTrace;
use crate::forecast::network_model;
use crate::forecast::network_model::AnyNetwork;
use evenkeel_terminal::output::CliFailure;

pub(super) struct BacktestModelFile {
    model: ModelSet,
    holds: Holds,
}

enum Holds {
    Load(ModelAssets),
    /// One network for many loads.
    Many(SwishLoads),
}

impl BacktestModelFile {
    /// The model in a file, which must be one of `models`, forecast `farthest` steps on each load's
    /// grid, and not have learnt the judged data.
    pub(super) fn read(
        path: &Path,
        models: &[ModelSet],
        farthest: NonZeroUsize,
        loads: &[LoadTrace],
    ) -> Result<Self, CliFailure> {
        let read = network_model::read_any(path)?;
        let kind = match &read {
            AnyNetwork::Load(file) => file.description.kind.clone(),
            AnyNetwork::Many(file) => file.description.kind.clone(),
        };
        let mut of_kind = models.iter().filter(|model| model.as_str() == kind);
        let model = *of_kind.next().ok_or_else(|| {
            CliFailure::call(format_args!(
                "--model-file {} holds a model of the kind {kind}, which --models does not name",
                path.display(),
            ))
        })?;
        let holds = match read {
            AnyNetwork::Load(file) => {
                for load in loads {
                    network_model::is_for(&file, path, model, load, farthest)?;
                    if file.description.series == load.name {
                        network_model::is_unseen(path, load, file.description.learnt_to)?;
                    }
                }
                let trainer = TrainedOnce::with(file.networks, ModelTrainer::with(cores()));
                Holds::Load(ModelAssets {
                    trainer: Some(Arc::new(trainer)),
                    ..ModelAssets::default()
                })
            }
            AnyNetwork::Many(file) => {
                for (load, learnt) in pairs(loads, &file.description.loads) {
                    network_model::is_unseen(path, load, learnt.learnt_to)?;
                }
                let known = SwishLoads::from(file);
                for load in loads {
                    of(&known, load).map_err(|error| {
                        CliFailure::call(format_args!("{}: {}: {error}", path.display(), load.name))
                    })?;
                }
                Holds::Many(known)
            }
        };
        Ok(Self { model, holds })
    }

    pub(super) const fn model(&self) -> ModelSet {
        self.model
    }

    pub(super) fn shared(&self, load: &LoadTrace) -> ModelAssets {
        match &self.holds {
            Holds::Load(shared) => ModelAssets {
                trainer: shared.trainer.clone(),
                ..ModelAssets::default()
            },
            Holds::Many(known) => ModelAssets {
                // A load with other steps was refused when the file was read.
                swish: of(known, load).ok(),
                ..ModelAssets::default()
            },
        }
    }
}

fn of(known: &SwishLoads, load: &LoadTrace) -> Result<SwishLoad, OtherStep> {
    known.of(&[&load.name], load.recorded.step().as_secs())
}

/// The loads that a network has learnt before, with what it knows of them.
fn pairs<'a>(
    loads: &'a [LoadTrace],
    known: &'a [LearntLoad],
) -> impl Iterator<Item = (&'a LoadTrace, &'a LearntLoad)> {
    loads.iter().filter_map(|load| {
        let learnt = known.iter().find(|learnt| learnt.name == load.name)?;
        Some((load, learnt))
    })
}
