//! `evenkeel jobs`: the process that runs the jobs of external algorithms, in a Pod of its own.

use evenkeel_terminal::output::CliFailure;
use evenkeel_terminal::settings::ProcessArgs;

const EXAMPLES: &str = "\
Examples:
  evenkeel install --with external-algorithms | kubectl apply -f -  # add your other options
  evenkeel jobs --config /etc/evenkeel/config.yaml
  evenkeel jobs --kubeconfig ~/.kube/config --namespace evenkeel-system --set server.http=127.0.0.1:8082 --set server.metrics=127.0.0.1:8445

Creates the CronJobs of external algorithms from the templates in autoscalers and portraits, and
writes their results into the status of the portraits. It runs until it is stopped, next to
`evenkeel serve` and with the same configuration. It uses only templates that the autoscaler
contains, or that the author of the portrait has written.";

/// Run the jobs of external algorithms
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    process: ProcessArgs,
}

pub(super) fn run(args: Args) -> Result<(), CliFailure> {
    args.process.run(evenkeel_service::lifecycle::run_jobs)
}
