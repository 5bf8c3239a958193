//! The network of `swish-net`: read from a file, or trained on the pasts of the targets that name it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use evenkeel_forecast::{Calendar, Minutes, SwishLoad};
use evenkeel_metrics::signal::Signal;
use evenkeel_scaling::targets::reference::TargetRef;
use evenkeel_training::{
    ModelFileError, OtherStep, SwishFile, SwishLoads, SwishPasts, SwishTraining, TrainedSwish,
};
use jiff::{SignedDuration, Timestamp};

#[derive(Debug, thiserror::Error)]
pub enum NoNetwork {
    #[error("{}: {error}", path.display())]
    Unreadable {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("{}: {error}", path.display())]
    Refused {
        path: PathBuf,
        error: ModelFileError,
    },
    #[error("{}: {error}", path.display())]
    OtherStep { path: PathBuf, error: OtherStep },
    #[error("no network is trained yet: the past of each target that names swish-net is too short")]
    Untrained,
    #[error("{0}")]
    TooShort(OtherStep),
}

/// The network that all targets share; clones share it too.
#[derive(Debug, Clone)]
pub struct SwishNetworks(Source);

#[derive(Debug, Clone)]
enum Source {
    /// It is read anew each time, and decoded where it has changed.
    File(PathBuf, Arc<Mutex<Option<ReadNetwork>>>),
    Trained(Arc<Mutex<SwishPasts>>),
}

#[derive(Debug)]
struct ReadNetwork {
    bytes: Vec<u8>,
    network: SwishLoads,
}

impl SwishNetworks {
    /// The network in a file; without one, networks are trained.
    pub fn new(file: Option<PathBuf>) -> Self {
        Self(match file {
            Some(path) => Source::File(path, Arc::default()),
            None => Source::Trained(Arc::default()),
        })
    }

    /// The network for a load with values at this distance.
    ///
    /// # Errors
    /// [`NoNetwork`]: there is none, or it has learnt the load at another distance.
    pub fn of(
        &self,
        workload: &TargetRef,
        signal: &Signal,
        step: SignedDuration,
    ) -> Result<SwishLoad, NoNetwork> {
        let step = step.as_secs();
        match &self.0 {
            Source::File(path, last) => {
                let name = workload.name();
                let names = [&*format!("{}.{name}", workload.namespace()), name];
                in_file(path, last, names, step)
            }
            Source::Trained(pasts) => {
                let pasts = pasts.lock().unwrap_or_else(PoisonError::into_inner);
                let network = pasts.network().ok_or(NoNetwork::Untrained)?;
                let found = network.of(&[&name(workload, signal)], step);
                found.map_err(NoNetwork::TooShort)
            }
        }
    }

    /// Takes the past of a load up to `end`, of which the first `learnt` minutes may be learnt. Does nothing where the
    /// network comes from a file.
    pub(in crate::controller) fn take(
        &self,
        (workload, signal): (&TargetRef, &Signal),
        past: &Minutes,
        learnt: usize,
        end: Timestamp,
    ) {
        if let Source::Trained(pasts) = &self.0 {
            let mut pasts = pasts.lock().unwrap_or_else(PoisonError::into_inner);
            pasts.take(&name(workload, signal), past, learnt, end);
        }
    }

    /// The training that is due.
    pub(in crate::controller) fn training_due(&self, calendar: &Calendar) -> Option<SwishTraining> {
        let Source::Trained(pasts) = &self.0 else {
            return None;
        };
        let pasts = pasts.lock().unwrap_or_else(PoisonError::into_inner);
        pasts.training_due(calendar)
    }

    pub(in crate::controller) fn trained(&self, trained: TrainedSwish) {
        if let Source::Trained(pasts) = &self.0 {
            let mut pasts = pasts.lock().unwrap_or_else(PoisonError::into_inner);
            pasts.trained(trained);
        }
    }
}

/// The name under which a load is learnt.
fn name(workload: &TargetRef, signal: &Signal) -> String {
    let (namespace, kind, name) = (workload.namespace(), workload.kind(), workload.name());
    format!("{namespace}/{kind}/{name} {}", signal.label())
}

fn in_file(
    path: &Path,
    last: &Mutex<Option<ReadNetwork>>,
    names: [&str; 2],
    step: i64,
) -> Result<SwishLoad, NoNetwork> {
    let bytes = std::fs::read(path).map_err(|error| NoNetwork::Unreadable {
        path: path.to_owned(),
        error,
    })?;
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    let known = last.take().filter(|known| known.bytes == bytes);
    let read = if let Some(known) = known {
        known
    } else {
        let decoded = SwishFile::decode(&bytes).map_err(|error| NoNetwork::Refused {
            path: path.to_owned(),
            error,
        })?;
        let network = decoded.into();
        ReadNetwork { bytes, network }
    };
    let network = last.insert(read).network.of(&names, step);
    network.map_err(|error| NoNetwork::OtherStep {
        path: path.to_owned(),
        error,
    })
}
