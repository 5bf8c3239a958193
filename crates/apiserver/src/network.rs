//! Outgoing calls: to webhooks, and to the targets of `proxy` paths.

pub(crate) mod client;
pub(crate) mod endpoints;
