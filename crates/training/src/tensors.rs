//! Weights as bytes in the safetensors format, with a JSON description and a checksum in the
//! metadata. The one metadata entry `evenkeel` is `{"checksum": …, "description": …}`; the checksum
//! covers the description as written there and all weights.

use evenkeel_units::fnv::fnv1a;
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Version that is written, and the only one that is read.
pub const MODEL_VERSION: u16 = 1;
/// Key of the metadata.
const ENTRY: &str = "evenkeel";
/// Offset of the header, after its length.
const HEADER: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelFileError {
    #[error("the file is not a model that `evenkeel train` wrote as safetensors")]
    Foreign,
    #[error("the model has the kind {found}; accepted: {accepted}")]
    Kind { found: String, accepted: String },
    #[error(
        "the model has version {0}, and this program reads version {MODEL_VERSION}: train it \
        again"
    )]
    Outdated(u16),
    #[error("the model is damaged: its checksum is wrong")]
    Checksum,
    #[error("the model is damaged: {0}")]
    Content(String),
}

/// Weights of one layer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) values: Vec<f32>,
}

#[derive(Serialize)]
struct WeightsEntryJson<'a> {
    checksum: String,
    description: &'a RawValue,
}

#[derive(Deserialize)]
struct ParsedWeightsEntry<'a> {
    checksum: String,
    #[serde(borrow)]
    description: &'a RawValue,
}

/// Fields of every description.
#[derive(Deserialize)]
struct Head {
    kind: String,
    version: u16,
}

/// Names of tensors must differ.
pub(crate) fn encode(description: &impl Serialize, tensors: &[Tensor]) -> Vec<u8> {
    let description = serde_json::value::to_raw_value(description);
    let description = description.expect("a description has no maps with keys that are no text");
    let bytes: Vec<Vec<u8>> = tensors.iter().map(|one| bytes_of(&one.values)).collect();
    let named = tensors.iter().zip(&bytes);
    let entry = WeightsEntryJson {
        checksum: checksum(
            description.get(),
            named.clone().map(|(one, bytes)| (&*one.name, &**bytes)),
        ),
        description: &description,
    };
    let entry = serde_json::to_string(&entry).expect("text is JSON");
    let views = named.map(|(one, bytes)| {
        let view = TensorView::new(Dtype::F32, vec![one.values.len()], bytes);
        (&*one.name, view.expect("a number of 32 bits has 4 bytes"))
    });
    let metadata = [(ENTRY.to_owned(), entry)].into_iter().collect();
    serialize(views, Some(metadata)).expect("tensors of 32-bit floats follow one another")
}

/// Reads the bytes of [`encode`] with one of these kinds.
pub(crate) fn decode<D: DeserializeOwned>(
    bytes: &[u8],
    kinds: &[&str],
) -> Result<(D, Vec<Tensor>), ModelFileError> {
    if bytes.get(HEADER) != Some(&b'{') {
        return Err(ModelFileError::Foreign);
    }
    let damaged = |error: &dyn std::fmt::Display| ModelFileError::Content(error.to_string());
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| damaged(&error))?;
    let entry = header.metadata().as_ref();
    let entry = entry.and_then(|entries| entries.get(ENTRY));
    let entry = entry.ok_or(ModelFileError::Foreign)?;
    let ParsedWeightsEntry {
        checksum: told,
        description,
    } = serde_json::from_str(entry).map_err(|error| damaged(&error))?;
    let text = description.get();
    let Head { kind, version } = serde_json::from_str(text).map_err(|error| damaged(&error))?;
    if version != MODEL_VERSION {
        return Err(ModelFileError::Outdated(version));
    }
    let read = SafeTensors::deserialize(bytes).map_err(|error| damaged(&error))?;
    let mut views: Vec<_> = read.iter().collect();
    views.sort_unstable_by_key(|(name, _)| *name);
    let named = views.iter().map(|(name, view)| (*name, view.data()));
    if checksum(text, named) != told {
        return Err(ModelFileError::Checksum);
    }
    if !kinds.contains(&&*kind) {
        return Err(ModelFileError::Kind {
            found: kind
                .chars()
                .filter(|one| !one.is_control())
                .take(40)
                .collect(),
            accepted: kinds.join(", "),
        });
    }
    let description = serde_json::from_str(text).map_err(|error| damaged(&error))?;
    let tensors = views.iter().map(|(name, view)| match view.dtype() {
        Dtype::F32 => Ok(Tensor {
            name: (*name).to_owned(),
            values: values_of(view.data()),
        }),
        _ => Err(ModelFileError::Content(format!(
            "{name} is not of 32-bit floats"
        ))),
    });
    Ok((description, tensors.collect::<Result<_, _>>()?))
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn values_of(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().copied().map(f32::from_le_bytes).collect()
}

/// Checksum of a description and of tensors, in the order of their names.
fn checksum<'a>(description: &str, tensors: impl Iterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut tensors: Vec<_> = tensors.collect();
    tensors.sort_unstable_by_key(|(name, _)| *name);
    let mut all = description.as_bytes().to_vec();
    for (name, bytes) in tensors {
        all.extend(name.as_bytes());
        all.extend(bytes);
    }
    format!("{:016x}", fnv1a(&all))
}
