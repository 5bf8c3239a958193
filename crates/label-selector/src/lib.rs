//! Kubernetes label selectors, as text in queries and as objects, checked and matched against
//! labels.
//!
//! All follows `k8s.io/apimachinery`, down to the words of errors, which appear in conditions,
//! Events and answers of the API server. Only the feature `k8s-openapi` adds a type of Kubernetes'
//! API, to convert from.

#![forbid(unsafe_code)]

mod error;
mod go_format;
#[cfg(feature = "k8s-openapi")]
mod kubernetes;
mod label_rules;
mod object;
mod operator;
mod parse;
mod requirement;
mod selector;

pub use error::SelectorError;
pub use object::{LabelOperator, LabelSelector, LabelSelectorRequirement, go_syntax};
pub use requirement::Requirement;
pub use selector::Selector;

#[cfg(test)]
mod tests;
