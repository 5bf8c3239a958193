//! Networks in files, and whether they are for a load.

use std::num::NonZeroUsize;
use std::path::Path;

use evenkeel_forecast::{ModelSet, SWISH_STEPS};
use evenkeel_training::{ModelFileError, NetworkFile, SwishFile};
use jiff::Timestamp;

use super::load_trace::LoadTrace;
use evenkeel_terminal::output::CliFailure;

/// The steps that `swish-net` answers.
pub(super) const SWISH_HORIZON: NonZeroUsize = NonZeroUsize::MIN.saturating_add(SWISH_STEPS - 1);

/// The characters of a name in a model's file that are shown.
pub(super) const NAME_SHOWN: usize = 253;

pub(super) enum AnyNetwork {
    Load(NetworkFile),
    Many(SwishFile),
}

/// The networks in a file that `evenkeel train --gru` or `--arima-gru` made.
pub(super) fn read(path: &Path) -> Result<NetworkFile, CliFailure> {
    decoded(path, &NetworkFile::decode)
}

/// The network in a file that `evenkeel train --swish-net` made.
pub(super) fn read_swish(path: &Path) -> Result<SwishFile, CliFailure> {
    decoded(path, &SwishFile::decode)
}

/// The networks of any kind in a file that `evenkeel train` made.
pub(super) fn read_any(path: &Path) -> Result<AnyNetwork, CliFailure> {
    decoded(path, &|bytes| match NetworkFile::decode(bytes) {
        Err(ModelFileError::Kind { .. }) => SwishFile::decode(bytes).map(AnyNetwork::Many),
        networks => networks.map(AnyNetwork::Load),
    })
}

fn decoded<T>(
    path: &Path,
    decode: &dyn Fn(&[u8]) -> Result<T, ModelFileError>,
) -> Result<T, CliFailure> {
    let refuse = |error: &dyn std::fmt::Display| {
        CliFailure::call(format_args!("{}: {error}", path.display()))
    };
    let bytes = std::fs::read(path).map_err(|error| refuse(&error))?;
    decode(&bytes).map_err(|error| refuse(&error))
}

/// Refuses networks of another model, for another grid than that of `load`, or of fewer `steps`.
pub(super) fn is_for(
    file: &NetworkFile,
    path: &Path,
    model: ModelSet,
    load: &LoadTrace,
    steps: NonZeroUsize,
) -> Result<(), CliFailure> {
    let told = &file.description;
    let path = path.display();
    let seconds = load.recorded.step().as_secs();
    if told.model() != Some(model) {
        return Err(CliFailure::call(format_args!(
            "{path}: networks of the kind {}; accepted: {model}",
            told.kind
        )));
    }
    if told.step_seconds != seconds {
        return Err(CliFailure::call(format_args!(
            "{path}: networks for values {} s apart; the values of {} are {seconds} s apart",
            told.step_seconds, load.name
        )));
    }
    if told.horizon < steps.get() {
        return Err(CliFailure::call(format_args!(
            "{path}: networks that forecast {} steps; {steps} are needed",
            told.horizon
        )));
    }
    Ok(())
}

/// Refuses what was learnt up to a time from which on the load is judged.
pub(super) fn is_unseen(
    path: &Path,
    load: &LoadTrace,
    learnt_to: Timestamp,
) -> Result<(), CliFailure> {
    let judged = load.recorded.time(load.recorded.training());
    if learnt_to < judged {
        return Ok(());
    }
    Err(CliFailure::call(format_args!(
        "{}: the model has learnt {} up to {learnt_to}, and is to be judged on it from {judged} on",
        path.display(),
        load.name,
    )))
}
