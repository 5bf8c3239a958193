//! The resources that the server knows, built in and defined by CustomResourceDefinitions, and how
//! their objects are read.

mod autoscaler_v1;
pub(crate) mod catalog;
pub(crate) mod decode;
pub(crate) mod definition;
mod event;
mod refusals;
pub(crate) mod registry;
pub(crate) mod resource;
