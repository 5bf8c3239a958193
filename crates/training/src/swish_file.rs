//! The network of many loads in a file, with its description.

use std::sync::Arc;

use evenkeel_forecast::{ModelSet, SWISH_STEPS, SwishLoad, SwishNet, SwishShape};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::network_file::HeldOutError;
use crate::tensors::{ModelFileError, Tensor, decode, encode};

#[derive(Debug, Clone, PartialEq)]
pub struct SwishFile {
    pub description: SwishDescription,
    pub net: SwishNet,
}

/// Origin and accuracy of a `swish-net`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SwishDescription {
    pub kind: String,
    pub version: u16,
    /// Inputs and answers, in words.
    pub scaling: String,
    /// Values read, and steps answered.
    pub window: usize,
    pub horizon: usize,
    /// Loads that it knows by name, in the order of their embeddings.
    pub loads: Vec<LearntLoad>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LearntLoad {
    pub name: String,
    /// Distance of its values.
    pub step_seconds: i64,
    /// Times of the first and the last value that was learnt.
    pub learnt_from: Timestamp,
    pub learnt_to: Timestamp,
    /// On the values after those that were learnt.
    pub accuracy: Vec<HeldOutError>,
}

/// Tensor names, in the order of the parameters.
const TENSORS: [&str; 4] = ["0.embeddings", "1.layer", "2.layer", "3.layer"];

impl SwishFile {
    pub fn encode(&self) -> Vec<u8> {
        let mut rest = self.net.parameters();
        let counts = self.net.shape().counts();
        let tensors = TENSORS.iter().zip(counts).map(|(name, count)| {
            let (values, after) = rest.split_at(count);
            rest = after;
            Tensor {
                name: (*name).to_owned(),
                values: values.to_vec(),
            }
        });
        encode(&self.description, &tensors.collect::<Vec<_>>())
    }

    /// Reads the bytes of [`Self::encode`].
    ///
    /// # Errors
    /// [`ModelFileError`]: bytes of another form, version or kind, cut short or changed.
    pub fn decode(bytes: &[u8]) -> Result<Self, ModelFileError> {
        let kinds = [ModelSet::SwishNet.as_str()];
        let (description, tensors): (SwishDescription, _) = decode(bytes, &kinds)?;
        let content = ModelFileError::Content;
        if (description.window, description.horizon) != (SWISH_STEPS, SWISH_STEPS) {
            return Err(content("its sizes are invalid".to_owned()));
        }
        let shape = SwishShape {
            categories: description.loads.len(),
        };
        let fits = tensors.iter().map(|one| (&*one.name, one.values.len()));
        if !fits.eq(TENSORS.into_iter().zip(shape.counts())) {
            return Err(content("its weights do not match the network".to_owned()));
        }
        let values = tensors.iter().flat_map(|one| &one.values);
        let parameters: Vec<f32> = values.copied().collect();
        Ok(Self {
            net: SwishNet::new(shape, &parameters).map_err(|error| content(error.to_string()))?,
            description,
        })
    }
}

/// A network for many loads, known by name.
#[derive(Debug, Clone)]
pub struct SwishLoads {
    net: Arc<SwishNet>,
    /// With the seconds between its values.
    known: Vec<(String, i64)>,
}

/// The network knows no load with values at the wanted distance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the network has learnt values {known} s apart; those of the load are {wanted} s apart")]
pub struct OtherStep {
    pub known: i64,
    pub wanted: i64,
}

impl From<SwishFile> for SwishLoads {
    fn from(file: SwishFile) -> Self {
        let SwishFile { description, net } = file;
        let known = description.loads.into_iter();
        Self::new(
            net,
            known.map(|load| (load.name, load.step_seconds)).collect(),
        )
    }
}

impl SwishLoads {
    /// `known`: names in the order of the network's embeddings, each with the seconds between its values.
    pub(crate) fn new(net: SwishNet, known: Vec<(String, i64)>) -> Self {
        Self {
            net: Arc::new(net),
            known,
        }
    }

    /// The network for a load with the first known of these names and values `step` seconds apart.
    ///
    /// # Errors
    /// [`OtherStep`]: the load, or without a name any, was learnt with other steps.
    pub fn of(&self, names: &[&str], step: i64) -> Result<SwishLoad, OtherStep> {
        let known = |name: &&str| self.known.iter().position(|(known, _)| known == name);
        let category = names.iter().find_map(known);
        let mut alike = match category {
            Some(place) => self.known[place..=place].iter(),
            None => self.known.iter(),
        };
        let other = alike.clone().next().map(|(_, known)| OtherStep {
            known: *known,
            wanted: step,
        });
        match other {
            Some(other) if alike.all(|(_, known)| *known != step) => Err(other),
            _ => Ok(SwishLoad {
                net: Arc::clone(&self.net),
                category,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensors::MODEL_VERSION;

    fn file() -> SwishFile {
        let load = LearntLoad {
            name: "web".to_owned(),
            step_seconds: 300,
            learnt_from: Timestamp::UNIX_EPOCH,
            learnt_to: Timestamp::UNIX_EPOCH,
            accuracy: Vec::new(),
        };
        let shape = SwishShape { categories: 1 };
        let count: usize = shape.counts().iter().sum();
        let parameters: Vec<f32> = (0_i16..).take(count).map(f32::from).collect();
        SwishFile {
            description: SwishDescription {
                kind: "swish-net".to_owned(),
                version: MODEL_VERSION,
                scaling: "none".to_owned(),
                window: SWISH_STEPS,
                horizon: SWISH_STEPS,
                loads: vec![load],
            },
            net: SwishNet::new(shape, &parameters).unwrap(),
        }
    }

    #[test]
    fn a_network_comes_back_from_its_bytes_unless_they_are_damaged() {
        let bytes = file().encode();
        assert!(bytes.len() < 1 << 20, "{}", bytes.len());
        assert_eq!(SwishFile::decode(&bytes), Ok(file()));
        for place in (0..bytes.len()).step_by(31) {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert!(SwishFile::decode(&damaged).is_err(), "{place}");
        }
        let mut other = file();
        other.description.kind = "gru".to_owned();
        let refused = SwishFile::decode(&other.encode()).unwrap_err();
        assert!(matches!(refused, ModelFileError::Kind { .. }), "{refused}");
        let mut fewer = file();
        fewer.description.loads.clear();
        let refused = SwishFile::decode(&fewer.encode()).unwrap_err();
        assert!(matches!(refused, ModelFileError::Content(_)), "{refused}");
    }

    #[test]
    fn a_load_is_known_by_the_first_of_its_names_that_the_network_knows() {
        let mut file = file();
        let mut other = file.description.loads[0].clone();
        other.name = "shop.web".to_owned();
        other.step_seconds = 60;
        file.description.loads.push(other);
        let loads = SwishLoads::from(file);
        let category = |names: &[&str], step| loads.of(names, step).map(|load| load.category);
        assert_eq!(category(&["shop.web", "web"], 60), Ok(Some(1)));
        assert_eq!(category(&["blog.web", "web"], 300), Ok(Some(0)));
        assert_eq!(category(&["blog.api", "api"], 60), Ok(None));
        let other = |known, wanted| Err(OtherStep { known, wanted });
        assert_eq!(category(&["blog.web", "web"], 60), other(300, 60));
        assert_eq!(category(&["shop.web", "web"], 300), other(60, 300));
        assert_eq!(category(&["api"], 15), other(300, 15));
    }
}
