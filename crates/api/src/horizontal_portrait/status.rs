//! The status of a HorizontalPortrait.

use evenkeel_objects::condition::Condition;
use evenkeel_objects::json::list;
use evenkeel_objects::schema::conditions;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::hours_ahead::HoursAhead;
use crate::portrait_data::PortraitData;

/// The condition that says whether there is a portrait.
pub const PORTRAIT_GENERATED: &str = "PortraitGenerated";

/// The value of the portrait.
// Absent parts are written as null: in a merge patch, null removes the earlier value. A patch replaces lists whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = []))]
pub struct HorizontalPortraitStatus {
    /// The generation of the spec that the status describes.
    pub observed_generation: Option<i64>,
    pub portrait_data: Option<PortraitData>,
    pub hours_ahead: Option<HoursAhead>,
    #[serde(deserialize_with = "readable")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Vec<Condition>,
}

/// The conditions that can be read: others write them too, and a portrait is not lost for one.
fn readable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Condition>, D::Error> {
    let written: Vec<Value> = list(deserializer)?;
    let read = written.into_iter().map(Condition::deserialize);
    Ok(read.filter_map(Result::ok).collect())
}
