//! Label selectors in the JSON of an object.

use std::collections::BTreeMap;

use evenkeel_label_selector::{LabelSelector, LabelSelectorRequirement};
use serde::Deserialize;

use crate::json::{list, null_is_default};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WrittenSelector {
    #[serde(default, deserialize_with = "null_is_default")]
    match_labels: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "list")]
    match_expressions: Vec<Requirement>,
}

#[derive(Debug, Deserialize)]
struct Requirement {
    key: String,
    operator: String,
    #[serde(default, deserialize_with = "null_is_default")]
    values: Vec<String>,
}

impl From<WrittenSelector> for LabelSelector {
    fn from(written: WrittenSelector) -> Self {
        let WrittenSelector {
            match_labels,
            match_expressions,
        } = written;
        let requirement = |requirement: Requirement| LabelSelectorRequirement {
            key: requirement.key,
            operator: requirement.operator.as_str().into(),
            values: requirement.values,
        };
        Self {
            match_labels,
            match_expressions: match_expressions.into_iter().map(requirement).collect(),
        }
    }
}
