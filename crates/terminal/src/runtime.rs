//! The runtime of a command that asks over the network.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// A runtime on this thread.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
