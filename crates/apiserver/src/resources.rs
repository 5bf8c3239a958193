//! The served resources, built in and from CustomResourceDefinitions, and how their objects are
//! decoded.

mod autoscaler_v1;
pub(crate) mod catalog;
pub(crate) mod decode;
pub(crate) mod definition;
mod event;
mod refusals;
pub(crate) mod registry;
pub(crate) mod resource;
