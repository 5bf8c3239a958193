//! Converts the generated type of the Kubernetes API.

use k8s_openapi::apimachinery::pkg::apis::meta::v1;

use crate::error::SelectorError;
use crate::object::{LabelSelector, LabelSelectorRequirement};
use crate::selector::Selector;

impl From<v1::LabelSelector> for LabelSelector {
    fn from(object: v1::LabelSelector) -> Self {
        let requirement = |one: v1::LabelSelectorRequirement| LabelSelectorRequirement {
            key: one.key,
            operator: one.operator.as_str().into(),
            values: one.values.unwrap_or_default(),
        };
        let requirements = object.match_expressions.into_iter().flatten();
        Self {
            match_labels: object.match_labels.unwrap_or_default(),
            match_expressions: requirements.map(requirement).collect(),
        }
    }
}

impl TryFrom<v1::LabelSelector> for Selector {
    type Error = SelectorError;

    fn try_from(object: v1::LabelSelector) -> Result<Self, Self::Error> {
        Self::try_from(&LabelSelector::from(object))
    }
}
