//! The network of many loads in a file, and what is told of it there.

use std::sync::Arc;

use evenkeel_core::forecast::{ModelSet, SWISH_STEPS, SwishLoad, SwishNet, SwishShape};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::network_file::HeldOutError;
use crate::tensors::{ModelFileError, Tensor, decode, encode};

/// A `swish-net` with what it was made of.
#[derive(Debug, Clone, PartialEq)]
pub struct SwishFile {
    pub description: SwishDescription,
    pub net: SwishNet,
}

/// The origin of a `swish-net`, and its accuracy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SwishDescription {
    /// `swish-net`.
    pub kind: String,
    pub version: u16,
    /// The inputs and answers, in words.
    pub scaling: String,
    /// The values that are read, and the steps that are answered.
    pub window: usize,
    pub horizon: usize,
    /// The loads that it knows by name, in the order of their embeddings.
    pub loads: Vec<LearntLoad>,
}

/// A load that a `swish-net` has learnt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LearntLoad {
    pub name: String,
    /// The distance of its values.
    pub step_seconds: i64,
    /// The times of the first and of the last value that was learnt.
    pub learnt_from: Timestamp,
    pub learnt_to: Timestamp,
    /// On the values after those that were learnt.
    pub accuracy: Vec<HeldOutError>,
}

/// The names of the tensors, in the order of the parameters.
const TENSORS: [&str; 4] = ["0.embeddings", "1.layer", "2.layer", "3.layer"];

impl SwishFile {
    /// The network as the bytes of a file.
    #[must_use]
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

    /// The network that [`Self::encode`] gave.
    ///
    /// # Errors
    /// [`ModelFileError`]: bytes of something else, of another version or kind, cut short or changed.
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

/// A network for many loads, which it knows by their names.
#[derive(Debug, Clone)]
pub struct SwishLoads {
    net: Arc<SwishNet>,
    /// Each with the seconds between its values.
    known: Vec<(String, i64)>,
}

/// A network that knows no load by values as far apart as are wanted.
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
        let known = known.map(|load| (load.name, load.step_seconds));
        Self {
            net: Arc::new(net),
            known: known.collect(),
        }
    }
}

impl SwishLoads {
    /// The network of a load with some of these names and with values `step` seconds apart. An
    /// earlier name counts before a later one.
    ///
    /// # Errors
    /// [`OtherStep`] where the load, or without a name any, was learnt by other steps.
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
