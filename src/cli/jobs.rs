//! `evenkeel jobs`: the process that runs the jobs of external algorithms, in a Pod of its own.

use super::output::Failure;
use super::settings::{ConfigArgs, ConnectionArgs};
use crate::config::Config;

const EXAMPLES: &str = "\
Examples:
  kubectl apply -k deploy/overlays/external-algorithms       with an account of its own
  evenkeel jobs --config /etc/evenkeel/config.yaml
  evenkeel jobs --kubeconfig ~/.kube/config --namespace evenkeel-system \\
    --set server.http=127.0.0.1:8082 --set server.metrics=127.0.0.1:8445

Makes the CronJobs of external algorithms from the templates in autoscalers and portraits, and writes what
they leave into the status of their portraits. It runs until it is told to end, beside `evenkeel serve`, with
the same configuration. A job is made only from a template that its autoscaler, or the author of its portrait,
has written.";

/// Run the jobs of external algorithms
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    connection: ConnectionArgs,

    #[command(flatten)]
    config: ConfigArgs,
}

pub(super) fn run(args: Args) -> Result<(), Failure> {
    let Args { connection, config } = args;
    let mut config = Config::load(&config.sources([]))?;
    config.connection = connection.into();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime
        .block_on(crate::service::run_jobs(config))
        .map_err(Failure::Work)
}
