//! The `evenkeel` program: everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    evenkeel::cli::main(std::env::args_os())
}
