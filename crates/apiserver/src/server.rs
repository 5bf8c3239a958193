//! The HTTP server: its socket and certificates, and the routing of a request to its verb.

mod authority;
mod dispatch;
mod listener;
mod routes;
pub(crate) mod server_handle;
