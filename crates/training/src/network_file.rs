//! Networks of one load in files, with their description.

use evenkeel_forecast::{GruNetwork, ModelSet, NETWORK_WINDOW, NetworkShape};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::tensors::{ModelFileError, Tensor, decode, encode};

/// Most units, and most steps answered.
const MOST: usize = 4096;

/// Networks of `gru` or `arima-gru` for one load.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkFile {
    pub description: NetworkDescription,
    /// Networks of one shape; answers are averaged.
    pub networks: Vec<GruNetwork>,
}

/// Origin and accuracy of networks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NetworkDescription {
    /// `gru` or `arima-gru`.
    pub kind: String,
    pub version: u16,
    pub series: String,
    /// Distance of its values.
    pub step_seconds: i64,
    /// Times of the first and the last value that was learnt.
    pub learnt_from: Timestamp,
    pub learnt_to: Timestamp,
    /// Inputs and answers, in words.
    pub scaling: String,
    pub networks: usize,
    /// The values that each reads, its units, and its answered steps.
    pub window: usize,
    pub hidden: usize,
    pub horizon: usize,
    /// On the values after those that were learnt.
    pub accuracy: Vec<HeldOutError>,
}

/// Accuracy of forecasts of a number of steps on held-out values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeldOutError {
    pub steps: usize,
    pub forecasts: usize,
    /// In the load's unit.
    pub mae: f64,
    /// MAE of the last value as the forecast.
    pub naive_mae: f64,
}

impl NetworkDescription {
    /// Models with networks of this form.
    pub const KINDS: [ModelSet; 2] = [ModelSet::Gru, ModelSet::ArimaGru];

    /// `None` of another word.
    pub fn model(&self) -> Option<ModelSet> {
        let mut kinds = Self::KINDS.into_iter();
        kinds.find(|kind| kind.as_str() == self.kind)
    }

    const fn has_sizes(&self) -> bool {
        let are_small = self.hidden <= MOST && self.horizon <= MOST;
        self.window == NETWORK_WINDOW && self.hidden > 0 && self.horizon > 0 && are_small
    }

    const fn shape(&self) -> NetworkShape {
        NetworkShape {
            window: self.window,
            hidden: self.hidden,
            outputs: self.horizon,
        }
    }
}

impl NetworkFile {
    pub fn encode(&self) -> Vec<u8> {
        let tensors = self.networks.iter().zip(0..);
        let tensors = tensors.map(|(network, number)| Tensor {
            name: name(number),
            values: network.parameters(),
        });
        encode(&self.description, &tensors.collect::<Vec<_>>())
    }

    /// Reads the bytes of [`Self::encode`].
    ///
    /// # Errors
    /// [`ModelFileError`]: bytes of another form, version or kind, cut short or changed.
    pub fn decode(bytes: &[u8]) -> Result<Self, ModelFileError> {
        let kinds = NetworkDescription::KINDS.map(ModelSet::as_str);
        let (description, tensors): (NetworkDescription, _) = decode(bytes, &kinds)?;
        let content = ModelFileError::Content;
        if description.step_seconds <= 0 || description.learnt_from > description.learnt_to {
            return Err(content("its times are invalid".to_owned()));
        }
        if !description.has_sizes() {
            return Err(content("its sizes are invalid".to_owned()));
        }
        if tensors.len() != description.networks || tensors.is_empty() {
            return Err(content(format!(
                "{} networks are told of, and {} are there",
                description.networks,
                tensors.len()
            )));
        }
        let shape = description.shape();
        let network = |Tensor { name: _, values }: &Tensor| GruNetwork::new(shape, values);
        let networks = tensors.iter().map(network).collect::<Result<_, _>>();
        Ok(Self {
            networks: networks.map_err(|error| content(error.to_string()))?,
            description,
        })
    }
}

/// Padded, so that alphabetical order is numerical.
fn name(number: usize) -> String {
    format!("network.{number:03}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensors::MODEL_VERSION;

    fn file() -> NetworkFile {
        let at = |second| Timestamp::from_second(second).unwrap();
        let description = NetworkDescription {
            kind: "gru".to_owned(),
            version: MODEL_VERSION,
            series: "web".to_owned(),
            step_seconds: 300,
            learnt_from: at(1_704_067_200),
            learnt_to: at(1_708_905_000),
            scaling: "none".to_owned(),
            networks: 2,
            window: NETWORK_WINDOW,
            hidden: 2,
            horizon: 3,
            accuracy: vec![HeldOutError {
                steps: 1,
                forecasts: 100,
                mae: 0.1 + 0.2,
                naive_mae: 1.0 / 3.0,
            }],
        };
        let shape = description.shape();
        let network = |first: f32| {
            let mut parameters = vec![0.25; shape.count()];
            parameters[0] = first;
            GruNetwork::new(shape, &parameters).unwrap()
        };
        NetworkFile {
            description,
            networks: vec![network(1.0), network(2.0)],
        }
    }

    /// Error of a file after an attacker changed its bytes and the checksum.
    fn changed(change: impl FnOnce(&mut NetworkFile)) -> ModelFileError {
        let mut file = file();
        change(&mut file);
        NetworkFile::decode(&file.encode()).unwrap_err()
    }

    #[test]
    fn networks_come_back_from_their_bytes_which_are_always_the_same() {
        let bytes = file().encode();
        assert_eq!(bytes, file().encode());
        let back = NetworkFile::decode(&bytes).unwrap();
        assert_eq!(back.networks, file().networks);
        assert_eq!(back.description.kind, "gru");
        assert_eq!(back.description.model(), Some(ModelSet::Gru));
    }

    #[test]
    fn other_kinds_other_versions_and_damage_are_named() {
        for foreign in [&b""[..], b"evktraff", b"time,value\n1,2\n"] {
            assert_eq!(NetworkFile::decode(foreign), Err(ModelFileError::Foreign));
        }
        let other = crate::tensors::encode(&(), &[]);
        let other = NetworkFile::decode(&other);
        assert!(
            matches!(other, Err(ModelFileError::Content(_))),
            "{other:?}"
        );
        let newer = changed(|file| file.description.version = 7);
        assert_eq!(
            newer.to_string(),
            "the model has version 7, and this program reads version 1: train it again"
        );
        let traffic = changed(|file| file.description.kind = "tcn".to_owned());
        assert_eq!(
            traffic.to_string(),
            "the model has the kind tcn; accepted: gru, arima-gru"
        );
        let bytes = file().encode();
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert!(NetworkFile::decode(&damaged).is_err(), "{place}");
            assert!(NetworkFile::decode(&bytes[..place]).is_err(), "{place}");
        }
        let last = bytes.len() - 1;
        let mut damaged = bytes;
        damaged[last] ^= 1;
        assert_eq!(NetworkFile::decode(&damaged), Err(ModelFileError::Checksum));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_good_checksum_too() {
        for found in [
            changed(|file| file.description.step_seconds = 0),
            changed(|file| file.description.learnt_to = Timestamp::MIN),
            changed(|file| file.description.window = 31),
            changed(|file| file.description.hidden = usize::MAX),
            changed(|file| file.description.hidden = 3),
            changed(|file| file.description.horizon = 0),
            changed(|file| file.description.networks = 1),
            changed(|file| file.networks.clear()),
        ] {
            assert!(matches!(found, ModelFileError::Content(_)), "{found}");
        }
    }
}
