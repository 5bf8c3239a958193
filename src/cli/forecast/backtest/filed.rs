//! A model from a file, in place of one that is trained here.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::cli::forecast::load::Load;
use crate::cli::forecast::network_model::{self, AnyNetwork};
use crate::cli::output::Failure;
use evenkeel_core::forecast::{ModelSet, Shared, SwishLoad, SwishNet};
use evenkeel_sandbox::parallel::cores;
use evenkeel_training::{LearntLoad, ModelTrainer, SwishFile, TrainedOnce};

/// The model in a file.
pub(super) struct Filed {
    model: ModelSet,
    holds: Holds,
}

enum Holds {
    /// What the model reads besides any load.
    Load(Shared),
    /// One network for many loads, and the names of those that it knows.
    Many(Arc<SwishNet>, Vec<String>),
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
        let read = network_model::read_any(path)?;
        let kind = match &read {
            AnyNetwork::Load(file) => file.description.kind.clone(),
            AnyNetwork::Many(file) => file.description.kind.clone(),
        };
        let mut of_kind = models.iter().filter(|model| model.as_str() == kind);
        let model = *of_kind.next().ok_or_else(|| {
            Failure::call(format_args!(
                "--model-file {} holds a model of the kind {kind}, which --models does not name",
                path.display(),
            ))
        })?;
        let holds = match read {
            AnyNetwork::Load(file) => {
                for load in loads {
                    network_model::is_for(&file, path, model, load, farthest)?;
                    if file.description.series == load.name {
                        is_unseen(path, load, file.description.learnt_to)?;
                    }
                }
                let trainer = TrainedOnce::with(file.networks, ModelTrainer::with(cores()));
                Holds::Load(Shared {
                    trainer: Some(Arc::new(trainer)),
                    ..Shared::default()
                })
            }
            AnyNetwork::Many(SwishFile { description, net }) => {
                let known = description.loads;
                for (load, learnt) in pairs(loads, &known) {
                    is_unseen(path, load, learnt.learnt_to)?;
                }
                let names = known.into_iter().map(|learnt| learnt.name);
                Holds::Many(Arc::new(net), names.collect())
            }
        };
        Ok(Self { model, holds })
    }

    pub(super) const fn model(&self) -> ModelSet {
        self.model
    }

    /// What the model reads besides the load.
    pub(super) fn shared(&self, load: &Load) -> Shared {
        match &self.holds {
            Holds::Load(shared) => Shared {
                trainer: shared.trainer.clone(),
                ..Shared::default()
            },
            Holds::Many(net, names) => Shared {
                swish: Some(SwishLoad {
                    net: Arc::clone(net),
                    category: names.iter().position(|name| *name == load.name),
                }),
                ..Shared::default()
            },
        }
    }
}

/// The loads that a network has learnt before, with what it knows of them.
fn pairs<'a>(
    loads: &'a [Load],
    known: &'a [LearntLoad],
) -> impl Iterator<Item = (&'a Load, &'a LearntLoad)> {
    loads.iter().filter_map(|load| {
        let learnt = known.iter().find(|learnt| learnt.name == load.name)?;
        Some((load, learnt))
    })
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
