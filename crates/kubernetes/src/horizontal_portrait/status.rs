//! The status of a HorizontalPortrait.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::condition::Condition;
use crate::json::list;
use crate::portrait_data::PortraitData;

/// The condition that says whether there is a portrait.
pub const PORTRAIT_GENERATED: &str = "PortraitGenerated";

/// The status of a HorizontalPortrait. Absent parts are written as null, which in a merge patch takes away what was
/// there before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HorizontalPortraitStatus {
    /// The generation that the rest was told of.
    pub observed_generation: Option<i64>,
    /// The data of the portrait.
    pub portrait_data: Option<PortraitData>,
    #[serde(deserialize_with = "readable")]
    pub conditions: Vec<Condition>,
}

/// The conditions that can be read: others write them too, and a portrait is not lost for one.
fn readable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Condition>, D::Error> {
    let written: Vec<Value> = list(deserializer)?;
    let read = written.into_iter().map(Condition::deserialize);
    Ok(read.filter_map(Result::ok).collect())
}
