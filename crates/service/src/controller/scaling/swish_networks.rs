//! The network of `swish-net` in its file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use evenkeel_forecast::SwishLoad;
use evenkeel_training::{ModelFileError, OtherStep, SwishFile, SwishLoads};

/// The seconds between the values that loads are followed by.
const STEP: i64 = 60;

#[derive(Debug, thiserror::Error)]
pub(super) enum NoNetwork {
    #[error("`scaling.swishNet` is not set; it names the file with the network of `swish-net`")]
    NoFile,
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
}

/// The network that was read last: all loads share it, as long as its file is the same.
#[derive(Debug, Clone, Default)]
pub(super) struct LastNetwork(Arc<Mutex<Option<ReadNetwork>>>);

#[derive(Debug)]
struct ReadNetwork {
    bytes: Vec<u8>,
    network: SwishLoads,
}

impl LastNetwork {
    /// The network in the file, for a load that goes by these names.
    pub(super) fn of(&self, file: Option<&Path>, names: [&str; 2]) -> Result<SwishLoad, NoNetwork> {
        let path = file.ok_or(NoNetwork::NoFile)?;
        let bytes = std::fs::read(path).map_err(|error| NoNetwork::Unreadable {
            path: path.to_owned(),
            error,
        })?;
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        let network = last.insert(read).network.of(&names, STEP);
        network.map_err(|error| NoNetwork::OtherStep {
            path: path.to_owned(),
            error,
        })
    }
}
