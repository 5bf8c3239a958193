//! Models as bytes: magic, version, content, and a checksum of all that.

use evenkeel_units::fnv::fnv1a;
use jiff::{SignedDuration, Timestamp};

use super::function::LinearResidual;
use super::model::{HeldOutDay, TrafficModel};
use crate::elastic_net::LinearFunction;
use crate::trees::{Trees, TreesError};

const MAGIC: &[u8; 8] = b"evktraff";
/// Version that is written, and the only one that is read.
pub const TRAFFIC_VERSION: u16 = 2;
/// Most kinds of traffic, and longest name in bytes.
const MOST: usize = 64;
const LONGEST: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TrafficModelError {
    #[error("the file is not a model of the kind traffic")]
    Foreign,
    #[error(
        "the model has version {0}, and this program reads version {TRAFFIC_VERSION}: train it \
        again"
    )]
    Outdated(u16),
    #[error("the model is damaged: its checksum is wrong")]
    Checksum,
    #[error("the model is damaged: {0}")]
    Content(&'static str),
    #[error(transparent)]
    Trees(#[from] TreesError),
}

impl TrafficModel {
    pub fn encode(&self) -> Vec<u8> {
        let Self {
            components,
            utilisation,
            zone,
            step,
            learnt: (from, to),
            held_out,
            seen,
            function,
        } = self;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(TRAFFIC_VERSION.to_le_bytes());
        put_length(&mut bytes, components.len());
        for name in components.iter().chain([utilisation, zone]) {
            put_length(&mut bytes, name.len());
            bytes.extend(name.as_bytes());
        }
        for time in [step.as_secs(), from.as_second(), to.as_second()] {
            bytes.extend(time.to_le_bytes());
        }
        put_held_out(&mut bytes, held_out);
        for number in seen.iter().flat_map(|(least, most)| [least, most]) {
            bytes.extend(number.to_le_bytes());
        }
        let LinearResidual {
            linear,
            scale,
            seen: (least, most),
            residual,
            ..
        } = function;
        let numbers = linear.coefficients.iter();
        for number in numbers.chain([&linear.intercept, scale, least, most]) {
            bytes.extend(number.to_le_bytes());
        }
        residual.encode(&mut bytes);
        let sum = fnv1a(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    /// Reads the bytes of [`Self::encode`].
    ///
    /// # Errors
    /// Bytes of another kind or version, cut short or changed.
    pub fn decode(bytes: &[u8]) -> Result<Self, TrafficModelError> {
        let rest = bytes.strip_prefix(MAGIC);
        let (version, _) = rest
            .and_then(<[u8]>::split_first_chunk)
            .ok_or(TrafficModelError::Foreign)?;
        let version = u16::from_le_bytes(*version);
        if version != TRAFFIC_VERSION {
            return Err(TrafficModelError::Outdated(version));
        }
        let (content, sum) = bytes
            .split_last_chunk()
            .ok_or(TrafficModelError::Checksum)?;
        if fnv1a(content) != u64::from_le_bytes(*sum) {
            return Err(TrafficModelError::Checksum);
        }
        let mut reader = TrafficFileReader(content.get(MAGIC.len() + 2..).unwrap_or_default());
        let model = reader.model()?;
        if !reader.0.is_empty() {
            return Err(TrafficModelError::Content("there are data after its end"));
        }
        Ok(model)
    }
}

fn put_length(bytes: &mut Vec<u8>, length: usize) {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    bytes.extend(length.to_le_bytes());
}

fn put_held_out(bytes: &mut Vec<u8>, held_out: &HeldOutDay) {
    let HeldOutDay {
        samples,
        error,
        linear_error,
        explained,
        explained_without,
    } = held_out;
    bytes.extend(samples.to_le_bytes());
    for number in [error, linear_error, explained, explained_without] {
        bytes.extend(number.to_le_bytes());
    }
}

/// The unread content.
struct TrafficFileReader<'a>(&'a [u8]);

impl TrafficFileReader<'_> {
    fn model(&mut self) -> Result<TrafficModel, TrafficModelError> {
        let count = self.length(MOST)?;
        if count == 0 {
            return Err(TrafficModelError::Content("it has no traffic"));
        }
        let components = (0..count).map(|_| self.text()).collect::<Result<_, _>>()?;
        let (utilisation, zone) = (self.text()?, self.text()?);
        let step = SignedDuration::from_secs(i64::from_le_bytes(self.take()?));
        let learnt = (self.time()?, self.time()?);
        let held_out = HeldOutDay {
            samples: u32::from_le_bytes(self.take()?),
            error: self.number()?,
            linear_error: self.number()?,
            explained: self.number()?,
            explained_without: self.number()?,
        };
        Ok(TrafficModel {
            components,
            utilisation,
            zone,
            step,
            learnt,
            held_out,
            seen: (0..count).map(|_| self.range()).collect::<Result<_, _>>()?,
            function: self.function(count)?,
        })
    }

    fn function(&mut self, count: usize) -> Result<LinearResidual, TrafficModelError> {
        let coefficients = (0..count)
            .map(|_| self.number())
            .collect::<Result<_, _>>()?;
        let linear = LinearFunction {
            coefficients,
            intercept: self.number()?,
        };
        let scale = self.number()?;
        let seen = self.range()?;
        let falls = linear.coefficients.iter().any(|&one| one < 0.0);
        if falls || scale <= 0.0 {
            return Err(TrafficModelError::Content("its numbers are invalid"));
        }
        let residual = Trees::decode(&mut self.0)?;
        Ok(LinearResidual::new(linear, scale, seen, residual))
    }

    fn range(&mut self) -> Result<(f64, f64), TrafficModelError> {
        let (least, most) = (self.number()?, self.number()?);
        if least > most {
            return Err(TrafficModelError::Content("its numbers are invalid"));
        }
        Ok((least, most))
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], TrafficModelError> {
        let cut = TrafficModelError::Content("it is cut short");
        let (taken, rest) = self.0.split_first_chunk().ok_or(cut)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn length(&mut self, most: usize) -> Result<usize, TrafficModelError> {
        let length = usize::try_from(u32::from_le_bytes(self.take()?)).ok();
        let length = length.filter(|&length| length <= most);
        length.ok_or(TrafficModelError::Content("a part of it is too long"))
    }

    fn text(&mut self) -> Result<String, TrafficModelError> {
        let length = self.length(LONGEST)?;
        let cut = TrafficModelError::Content("it is cut short");
        let (text, rest) = self.0.split_at_checked(length).ok_or(cut)?;
        self.0 = rest;
        let text = str::from_utf8(text);
        text.map(str::to_owned)
            .map_err(|_| TrafficModelError::Content("a name in it is not text"))
    }

    fn time(&mut self) -> Result<Timestamp, TrafficModelError> {
        Timestamp::from_second(i64::from_le_bytes(self.take()?))
            .map_err(|_| TrafficModelError::Content("a time in it is out of range"))
    }

    fn number(&mut self) -> Result<f64, TrafficModelError> {
        let number = f64::from_le_bytes(self.take()?);
        let finite = Some(number).filter(|number| number.is_finite());
        finite.ok_or(TrafficModelError::Content("a number in it is not finite"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trees::TreeNode;

    fn model() -> TrafficModel {
        let at = |second| Timestamp::from_second(second).unwrap();
        let linear = LinearFunction {
            coefficients: vec![0.5, 0.0],
            intercept: -1.5,
        };
        let residual = Trees::new(0.0, &[vec![TreeNode::Leaf(0.25)]]).unwrap();
        TrafficModel {
            components: vec!["http_rps".to_owned(), "rpc_rps".to_owned()],
            utilisation: "cpu_util_pct".to_owned(),
            zone: "Europe/Berlin".to_owned(),
            step: SignedDuration::from_mins(10),
            learnt: (at(1_704_067_200), at(1_708_905_000)),
            held_out: HeldOutDay {
                samples: 144,
                error: 1.0,
                linear_error: 2.0,
                explained: 0.9,
                explained_without: 0.1,
            },
            seen: vec![(0.0, 40.0), (1.0, 9.0)],
            function: LinearResidual::new(linear, 50.0, (-3.0, 30.0), residual),
        }
    }

    /// A model decoded after an attacker changed its bytes and the checksum.
    fn changed(change: impl FnOnce(&mut TrafficModel)) -> Result<TrafficModel, TrafficModelError> {
        let mut model = model();
        change(&mut model);
        TrafficModel::decode(&model.encode())
    }

    #[test]
    fn a_model_comes_back_from_its_bytes() {
        assert_eq!(TrafficModel::decode(&model().encode()), Ok(model()));
    }

    #[test]
    fn traffic_beyond_the_samples_is_named_by_its_kind() {
        let model = model();
        let beyond = |traffic: [f64; 2], replicas| {
            let names = model.beyond_samples(&traffic, replicas);
            names.collect::<Vec<_>>()
        };
        assert!(beyond([80.0, 2.0], 2.0).is_empty());
        assert_eq!(beyond([80.0, 2.0], 1.0), ["http_rps"]);
        assert_eq!(beyond([80.0, 2.0], 4.0), ["rpc_rps"]);
        assert_eq!(beyond([81.0, 20.0], 2.0), ["http_rps", "rpc_rps"]);
    }

    #[test]
    fn other_kinds_other_versions_and_damage_are_named() {
        let bytes = model().encode();
        for foreign in [&b""[..], b"evkpeak1", b"evktraff", b"time,value\n"] {
            assert_eq!(
                TrafficModel::decode(foreign),
                Err(TrafficModelError::Foreign)
            );
        }
        let mut newer = bytes.clone();
        newer[8] = 7;
        let refusal = TrafficModel::decode(&newer).unwrap_err();
        assert_eq!(refusal, TrafficModelError::Outdated(7));
        assert_eq!(
            refusal.to_string(),
            "the model has version 7, and this program reads version 2: train it again"
        );
        for place in 10..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            let found = TrafficModel::decode(&damaged);
            assert_eq!(found, Err(TrafficModelError::Checksum), "{place}");
            assert!(TrafficModel::decode(&bytes[..place]).is_err(), "{place}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_good_checksum_too() {
        for found in [
            changed(|model| model.function.linear.coefficients[0] = -1.0),
            changed(|model| model.function.linear.intercept = f64::NAN),
            changed(|model| model.function.scale = 0.0),
            changed(|model| model.function.seen = (1.0, 0.0)),
            changed(|model| model.seen[1] = (1.0, 0.0)),
            changed(|model| model.components.clear()),
            changed(|model| model.zone = "z".repeat(2000)),
        ] {
            assert!(
                matches!(found, Err(TrafficModelError::Content(_))),
                "{found:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_content_leads_astray(content in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut bytes = MAGIC.to_vec();
            bytes.extend(TRAFFIC_VERSION.to_le_bytes());
            bytes.extend(content);
            let sum = fnv1a(&bytes);
            bytes.extend(sum.to_le_bytes());
            prop_assert!(TrafficModel::decode(&bytes).is_err());
        }
    }
}
