//! Tests that say what they need of the machine; the same as those of the API server in memory.

#[path = "../../crates/apiserver/tests/support/trial.rs"]
mod shared;

pub(crate) use self::shared::*;
