//! The `evenkeel` program: everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Libraries that speak TLS take the process's provider; there is none yet to be in the way.
    let _ = rustls::crypto::ring::default_provider().install_default();
    evenkeel::commands::main(std::env::args_os())
}
