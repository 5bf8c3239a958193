//! `evenkeel assess`: for each HorizontalPodAutoscaler, whether scaling ahead of its load would
//! pay, by a replay of its past in Prometheus. It writes nothing.

mod args;
mod autoscaler_list;
mod candidate;
mod html_page;
mod load_history;
mod recommendation;
mod replay_depth;
mod report;
mod scaling_advice;
mod table;
mod target_replay;
mod target_report;
mod verdict;

use std::sync::Arc;

pub use self::args::Args;
use evenkeel_clock as clock;
use evenkeel_service::cluster::server_time;
use evenkeel_service::config::Config;
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;

use self::args::AssessOutput;
use self::candidate::AssessCandidate;
use self::load_history::{LoadPast, Pasts};
use self::report::Assessment;
use super::forecast::output_file;
use super::prometheus_history;

pub fn run(args: &Args) -> Result<(), CliFailure> {
    let config = args.prometheus.config()?;
    for wanted in &args.output {
        if let AssessOutput::Html(path) = wanted {
            output_file::check(path)?;
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let gathered = runtime.block_on(Box::pin(gather(args, &config)))?;
    let assessment = assess(args, gathered);
    for wanted in &args.output {
        match wanted {
            AssessOutput::Numbers(format) => output::print(&assessment, *format)?,
            AssessOutput::Html(path) => output_file::write(path, html_page::html(&assessment))?,
        }
    }
    if assessment.is_empty() {
        let of = |option: &str, value: &Option<String>| {
            let value = value.as_ref();
            value.map_or_else(String::new, |value| format!(" with {option} {value}"))
        };
        return Err(CliFailure::work(format_args!(
            "there is no HPA and no ScaledObject to assess{}{}",
            of("--namespace", &args.namespace),
            of("--selector", &args.selector)
        )));
    }
    assessment.without_any_series().map_or(Ok(()), Err)
}

struct AssessInput {
    until: jiff::Timestamp,
    prometheus: String,
    /// Each HPA, with the past of its load where it has one that could be asked for.
    targets: Vec<(AssessCandidate, Option<LoadPast>)>,
}

async fn gather(args: &Args, config: &Config) -> Result<AssessInput, CliFailure> {
    let (source, prometheus) = prometheus_history::source(config)?;
    let client = args.connect().await.map_err(CliFailure::Call)?;
    let observed = autoscaler_list::observe(&client, args, config).await?;
    // Objects, and most likely measurements, are dated by the cluster's clock.
    let until = match args.until {
        Some(until) => until,
        None => server_time(&client).await.unwrap_or_else(clock::now),
    };
    let mut candidates = candidate::all(&observed, args, config, until);
    let loads = candidates.iter_mut();
    for load in loads.filter_map(|one| one.load.as_mut().ok()) {
        load.promql = load.past.promql(load.target.resource, &source);
    }
    let unreachable = |error| prometheus_history::unreachable(&prometheus, &error);
    source.probe().await.map_err(unreachable)?;
    let pasts = Pasts::new(Arc::new(source), until, args.days);
    let targets = pasts.of(candidates).await.map_err(unreachable)?;
    Ok(AssessInput {
        until,
        prometheus,
        targets,
    })
}

/// Replays the pasts, on all cores.
fn assess(args: &Args, gathered: AssessInput) -> Assessment {
    let AssessInput {
        until,
        prometheus,
        targets,
    } = gathered;
    let drawn = args
        .output
        .iter()
        .any(|one| matches!(one, AssessOutput::Html(_)));
    let (depth, targets) = target_replay::assess(targets, args.depth, drawn);
    Assessment::new(
        report::Terms {
            until,
            days: args.days,
            prometheus,
            depth,
        },
        targets,
    )
}
