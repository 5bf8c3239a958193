//! `evenkeel forecast`: effects of scaling ahead of the load, replayed on a past load.

mod chart;
mod file;
mod grid;
mod picture;
mod plot;
mod report;
mod service;
mod values;

use super::output::Failure;

const EXAMPLES: &str = "\
Examples:
  evenkeel forecast plot load.csv --request 500m --target 60% --min 2 --max 20 -o load.svg
  evenkeel forecast plot shop/web --url http://127.0.0.1:8081 -o web.svg

`evenkeel forecast plot --help` says more.";

/// Show what scaling ahead of a load does, and how good its forecasts are
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Plot(Box<plot::Args>),
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Plot(args) => plot::run(args),
    }
}
