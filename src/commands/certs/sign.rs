//! `certs sign`: the signer, which runs in a Pod of its own.

use evenkeel_terminal::output::CliFailure;
use evenkeel_terminal::settings::ProcessArgs;

const EXAMPLES: &str = "\
Examples:
  evenkeel certs sign --config /etc/evenkeel/config.yaml
  evenkeel certs sign --kubeconfig ~/.kube/config --namespace evenkeel-system --set server.http=127.0.0.1:8082 --set server.metrics=127.0.0.1:8445

Creates the certificates of an installation and renews them, stores them in two Secrets (its own,
with the keys of the authorities, and the one that the replicas serve from), and writes the
caBundle of the webhook. It runs until it is stopped, next to `evenkeel serve` and with the same
configuration.";

/// Run the signer, which creates, renews and distributes the certificates
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    process: ProcessArgs,
}

pub(super) fn run(args: Args) -> Result<(), CliFailure> {
    args.process.run(evenkeel_service::lifecycle::sign)
}
