//! HTTP as Kubernetes uses it: paths, parameters, media types, bodies and answers.

pub(crate) mod body;
pub(crate) mod path;
pub(crate) mod protobuf;
pub(crate) mod query;
pub(crate) mod reply;
pub(crate) mod response_form;
