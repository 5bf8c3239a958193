//! The verbs of the API: get, list, watch, create, update, delete, and those of subresources.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get_and_list;
pub(crate) mod pod_subresources;
pub(crate) mod render;
pub(crate) mod scale;
pub(crate) mod token;
pub(crate) mod update;
pub(crate) mod watch;
pub(crate) mod write_steps;
