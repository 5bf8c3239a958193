//! `evenkeel cron`: what CronHPAs will do, from their manifests.

mod next;

use clap::Subcommand;

use evenkeel_terminal::output::CliFailure;

const EXAMPLES: &str = "\
Examples:
  evenkeel cron next -f examples/cron/office-hours.yaml
  kubectl get chpa web -o yaml | evenkeel cron next -f - -o json";

/// Show when CronHPAs run
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    command: CronCommand,
}

#[derive(Debug, Subcommand)]
enum CronCommand {
    Next(next::Args),
}

pub(super) fn run(args: Args) -> Result<(), CliFailure> {
    match args.command {
        CronCommand::Next(args) => next::run(&args),
    }
}
