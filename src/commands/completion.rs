//! `evenkeel completion`: what a shell needs to complete commands and flags.

use std::io::Write as _;

use clap_complete::{Shell, generate};

use evenkeel_terminal::output::CliFailure;

const EXAMPLES: &str = "\
Examples:
  source <(evenkeel completion bash)                                  # in ~/.bashrc
  evenkeel completion zsh > \"${fpath[1]}/_evenkeel\"
  evenkeel completion fish > ~/.config/fish/completions/evenkeel.fish";

/// Print the completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(args: &Args, command: &mut clap::Command) -> Result<(), CliFailure> {
    let mut script = Vec::new();
    generate(args.shell, command, "evenkeel", &mut script);
    let mut out = std::io::stdout().lock();
    out.write_all(&script)?;
    Ok(out.flush()?)
}
