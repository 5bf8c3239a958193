//! The API server in memory for tests, and requests that tests send to any server. They are those
//! of its conformance tests.

#[path = "../../crates/apiserver/tests/support/client.rs"]
mod client;

use super::control_plane;

pub(crate) use self::client::*;
