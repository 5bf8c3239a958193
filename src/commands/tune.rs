//! `evenkeel tune`: resources by use, a comparison of tuning methods, and the restore of tuned
//! Pods.

mod revert;

use evenkeel_terminal::output::CliFailure;

#[cfg(feature = "lab")]
const EXAMPLES: &str = "\
Examples:
  evenkeel tune recommend --prometheus http://127.0.0.1:9090          # every workload of the cluster
  evenkeel tune recommend -n shop --days 14 -o patches > patches.yaml # patches of their templates
  evenkeel tune recommend -f deployment.yaml --cpu cpu.csv            # without a cluster
  evenkeel tune compare tests/fixtures/traces/crane_*.csv             # Evenkeel, VPA and the thesis's rule
  evenkeel tune compare --scenario examples/scenarios/simulate/thesis-5-4-tuning.yaml --step 20s --turn 20s -o curve.svg
  evenkeel tune revert -n shop                                        # put back what was resized";

#[cfg(not(feature = "lab"))]
const EXAMPLES: &str = "\
Examples:
  evenkeel tune revert -n shop                  # put back what was resized";

#[cfg_attr(
    feature = "lab",
    doc = "Recommend requests and limits from use, compare tuning methods, revert resizes"
)]
#[cfg_attr(not(feature = "lab"), doc = "Revert resizes of Pods")]
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: TuneCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TuneCommand {
    #[cfg(feature = "lab")]
    Recommend(Box<evenkeel_lab::tune::recommend::Args>),
    #[cfg(feature = "lab")]
    Compare(evenkeel_lab::tune::compare::Args),
    Revert(revert::Args),
}

pub(super) fn run(args: Args) -> Result<(), CliFailure> {
    match args.command {
        #[cfg(feature = "lab")]
        TuneCommand::Recommend(args) => evenkeel_lab::tune::recommend::run(&args),
        #[cfg(feature = "lab")]
        TuneCommand::Compare(args) => evenkeel_lab::tune::compare::run(args),
        TuneCommand::Revert(args) => revert::run(&args),
    }
}
