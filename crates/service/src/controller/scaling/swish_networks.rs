//! The network of `swish-net`: read from a file, or trained on the pasts of the targets that name it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use evenkeel_forecast::{Calendar, Minutes, SwishLoad};
use evenkeel_metrics::signal::{PromQl, PromQlMetric, Signal};
use evenkeel_scaling::targets::reference::TargetRef;
use evenkeel_training::{ModelFileError, OtherStep, SwishFile, SwishLoads, SwishName, SwishPasts};
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
    #[error("no network is trained yet; a training needs a target with enough past")]
    Untrained,
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
                // The load of that name is not the traffic.
                let known = if is_traffic(signal) { &[][..] } else { &names };
                in_file(path, last, known, step)
            }
            Source::Trained(pasts) => {
                let pasts = pasts.lock().unwrap_or_else(PoisonError::into_inner);
                let network = pasts.network(step).ok_or(NoNetwork::Untrained)?;
                let name = name(workload, signal).to_string();
                network.of(&[&name], step).map_err(|_| NoNetwork::Untrained)
            }
        }
    }

    /// True where networks are trained.
    pub(super) const fn are_trained(&self) -> bool {
        matches!(self.0, Source::Trained(_))
    }

    /// Learns from the pasts of loads up to `end`, of which the newest `judged` minutes stay unlearnt, if a training is
    /// due; tells of how many loads. It takes some seconds.
    pub(in crate::controller) fn learn(
        &self,
        pasts: &[(TargetRef, Signal, Minutes)],
        judged: usize,
        end: Timestamp,
        calendar: &Calendar,
    ) -> Option<usize> {
        let Source::Trained(trained) = &self.0 else {
            return None;
        };
        let mut trained = trained.lock().unwrap_or_else(PoisonError::into_inner);
        for (workload, signal, past) in pasts {
            trained.take(name(workload, signal), past, judged, end);
        }
        trained.train_if_due(calendar)
    }
}

/// The name under which a load is learnt.
fn name(workload: &TargetRef, signal: &Signal) -> SwishName {
    let (kind, name) = (workload.kind(), workload.name());
    SwishName {
        namespace: workload.namespace().into(),
        name: format!("{kind}/{name} {}", signal.label()).into(),
    }
}

const fn is_traffic(signal: &Signal) -> bool {
    matches!(
        signal,
        Signal::PromQl(PromQl {
            metric: PromQlMetric::Traffic(_),
            ..
        })
    )
}

fn in_file(
    path: &Path,
    last: &Mutex<Option<ReadNetwork>>,
    names: &[&str],
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
    let network = last.insert(read).network.of(names, step);
    network.map_err(|error| NoNetwork::OtherStep {
        path: path.to_owned(),
        error,
    })
}
