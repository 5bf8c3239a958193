//! `explain hpa`: why an HPA has its count, from live objects and metrics, for any HPA that the
//! user may read.

mod report;

use evenkeel_clock as clock;
use evenkeel_service::cluster::server_time;
use evenkeel_service::hpa_reader::{self, HpaReadError};
use evenkeel_terminal::cluster_args::KubeconfigArgs;
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format};
use evenkeel_terminal::runtime::runtime;

use self::report::HpaReport;
use super::object_name::{NamespacedName, parse_name};

const AFTER_HELP: &str = "\
It reads the HPA, the scale and the Pods of its target, its Events and the metrics APIs that it \
names, and runs the algorithm of the HPA controller on them. It needs no Evenkeel in the cluster, \
and changes nothing. If you lack a right, the message names it.

Exit codes: 0 explained, also if the target does not exist; 1 the HPA does not exist, or it, its \
target or its Pods cannot be read; 2 the command line is wrong.

Examples:
  evenkeel explain hpa shop/web
  evenkeel explain hpa shop/web --context production
  evenkeel explain hpa shop/web -o json | jq -r '.summary[]'";

/// Show why an HPA has its count of replicas, and what would change it
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The HPA, as NAMESPACE/NAME
    #[arg(value_name = "NAMESPACE/NAME", value_parser = parse_name)]
    hpa: NamespacedName,

    #[command(flatten)]
    cluster: KubeconfigArgs,

    /// Output format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    let NamespacedName { namespace, name } = &args.hpa;
    let snapshot = runtime()?.block_on(async {
        let client = args.cluster.connect().await.map_err(CliFailure::Call)?;
        // Objects and measurements are dated by the clock of the cluster.
        let now = server_time(&client).await.unwrap_or_else(clock::now);
        let reading = hpa_reader::read(&client, namespace, name, now);
        let read = Box::pin(reading).await;
        read.map_err(|error: HpaReadError| CliFailure::work(error))
    })?;
    let report = HpaReport(snapshot.explain());
    output::print(&report, args.output)
}
