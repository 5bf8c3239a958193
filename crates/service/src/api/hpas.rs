//! `GET /api/v1/hpas`: the HPAs of all namespaces as they report themselves, those among them that
//! Evenkeel does not touch.

use serde::Serialize;

/// By namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HpaList {
    /// False until they have been listed.
    pub synced: bool,
    pub hpas: Vec<HpaEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HpaEntry {
    pub namespace: String,
    pub name: String,
    /// Kind and name of the scaled object.
    pub target: String,
    /// The replicas that its controller found last.
    pub current: Option<i32>,
    /// The count that its controller decided last.
    pub desired: Option<i32>,
    pub min: i32,
    pub max: i32,
    /// `true` if its controller reads its metrics and scales; `null` while it does not say.
    pub active: Option<bool>,
    /// `true` if its namespace has opted in.
    pub opted_in: bool,
}
