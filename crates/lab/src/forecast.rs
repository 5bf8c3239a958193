//! `evenkeel forecast`: the accuracy of forecasts, scaling on past loads, replicas for traffic, and
//! the past in Prometheus as files.

mod backtest;
pub(crate) mod chart;
mod csv_columns;
pub(crate) mod csv_load;
mod file_workload;
pub(crate) mod flag_values;
pub(crate) mod grid;
mod interrupt;
mod load_trace;
mod network_model;
pub(crate) mod output_file;
mod picture;
mod plot;
pub(crate) mod progress;
mod record;
pub(crate) mod replay;
mod replicas;
pub(crate) mod report;
mod traffic_model;
pub mod train;
mod weights;

use evenkeel_terminal::output::CliFailure;

const EXAMPLES: &str = "\
Examples:
  evenkeel forecast plot load.csv --request 500m --target 60% --min 2 --max 20 -o load.svg
  evenkeel forecast replay load.csv --request 500m --target 60% --max 20 -o frontier.svg
  evenkeel forecast backtest load.csv --models naive,arima --horizon 1,12
  evenkeel forecast replicas shop.traffic traffic.csv --target 60 --min 2 --max 60
  evenkeel forecast record 'sum(rate(http_requests_total[2m]))' --prometheus http://127.0.0.1:9090 -o load.csv

`evenkeel forecast COMMAND --help` describes each command.";

/// Show what scaling ahead of a load does, and how good its forecasts are
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    command: ForecastCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ForecastCommand {
    Plot(Box<plot::Args>),
    Replay(Box<replay::Args>),
    Backtest(Box<backtest::Args>),
    Replicas(Box<replicas::Args>),
    Record(Box<record::Args>),
}

pub fn run(args: &Args) -> Result<(), CliFailure> {
    match &args.command {
        ForecastCommand::Plot(args) => plot::run(args),
        ForecastCommand::Replay(args) => replay::run(args),
        ForecastCommand::Backtest(args) => backtest::run(args),
        ForecastCommand::Replicas(args) => replicas::run(args),
        ForecastCommand::Record(args) => record::run(args),
    }
}
