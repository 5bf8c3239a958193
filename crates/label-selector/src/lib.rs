//! Kubernetes label selectors, as text in queries and as objects, checked and held against labels.
//!
//! All of it follows `k8s.io/apimachinery`, to the words of its errors: these stand in conditions,
//! Events and answers of the API server. The crate knows no type of Kubernetes' API unless the
//! feature `k8s-openapi` asks for the conversion from one.

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
