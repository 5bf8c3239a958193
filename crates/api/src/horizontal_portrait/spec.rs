//! The spec of a HorizontalPortrait, as a user writes it.

use evenkeel_objects::schema::workload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cron_hpa::spec::ScaledRef;
use crate::portrait_spec::{PortraitAlgorithm, PortraitSpec};

/// The workload of the portrait, and how it is made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "SpecFields", rename_all = "camelCase")]
#[schemars(!from)]
pub struct HorizontalPortraitSpec {
    #[serde(flatten)]
    pub portrait: PortraitSpec,
    /// The workload of the portrait.
    #[schemars(transform = workload)]
    pub scale_target_ref: ScaledRef,
}

/// The same field by field: a flattened part is held as a tree while it is read, with all that may stand in it.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SpecFields {
    scale_target_ref: ScaledRef,
    portrait_type: String,
    external_generator_name: Option<String>,
    metrics: Vec<Value>,
    algorithm: PortraitAlgorithm,
}

impl From<SpecFields> for HorizontalPortraitSpec {
    fn from(fields: SpecFields) -> Self {
        let SpecFields {
            scale_target_ref,
            portrait_type,
            external_generator_name,
            metrics,
            algorithm,
        } = fields;
        Self {
            scale_target_ref,
            portrait: PortraitSpec {
                portrait_type,
                external_generator_name,
                metrics,
                algorithm,
            },
        }
    }
}
