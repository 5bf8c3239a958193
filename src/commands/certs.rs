//! `evenkeel certs`: manages the certificates between Evenkeel, the API server and kube-scheduler.

mod certificate_source;
mod generate;
mod rotate;
mod scheduler;
mod show;
mod sign;

use clap::Subcommand;

use evenkeel_terminal::output::CliFailure;

const EXAMPLES: &str = "\
Examples:
  evenkeel certs show                                      # the ones in the cluster's Secret
  evenkeel certs show -f /etc/kubernetes/evenkeel-scheduler.yaml
  evenkeel certs rotate                                    # new keys, with the old ones trusted for a day
  # kube-scheduler's configuration file
  (umask 077; evenkeel certs scheduler-config > evenkeel-scheduler.yaml)
  evenkeel certs scheduler-client | kubectl apply -f -     # for a second scheduler
  evenkeel certs generate --dir ./certificates --ip 127.0.0.1
  evenkeel certs sign --config /etc/evenkeel/config.yaml   # the signer, in a Pod of its own";

/// Create, rotate, show and export certificates
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    command: CertsCommand,
}

#[derive(Debug, Subcommand)]
enum CertsCommand {
    Sign(sign::Args),
    Rotate(rotate::Args),
    Generate(generate::Args),
    Show(show::Args),
    SchedulerConfig(scheduler::ConfigArgs),
    SchedulerClient(scheduler::ClientArgs),
}

pub(super) fn run(args: Args) -> Result<(), CliFailure> {
    match args.command {
        CertsCommand::Sign(args) => sign::run(args),
        CertsCommand::Rotate(args) => rotate::run(&args),
        CertsCommand::Generate(args) => generate::run(args),
        CertsCommand::Show(args) => show::run(args),
        CertsCommand::SchedulerConfig(args) => scheduler::print_config(args),
        CertsCommand::SchedulerClient(args) => scheduler::print_client(args),
    }
}
