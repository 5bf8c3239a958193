//! Calls that the server makes itself: to webhooks, and to what a `proxy` path leads to.

pub(crate) mod client;
pub(crate) mod endpoints;
