//! `evenkeel assess`: for each HorizontalPodAutoscaler of a cluster, whether scaling ahead of its load would
//! pay, by a replay of its past in Prometheus. It reads, and writes nothing.

mod args;
mod candidate;
mod depth;
mod objects;
mod page;
mod past;
mod report;
mod table;
mod target_report;
mod verdict;
mod work;

use std::sync::Arc;

pub(super) use self::args::Args;
use self::args::Output;
use self::candidate::Candidate;
use self::past::{LoadPast, Pasts};
use self::report::Assessment;
use super::forecast::output_file;
use super::output::{self, Failure};
use super::prometheus_past;
use crate::config::Config;
use crate::doctor::gather::read::server_time;
use evenkeel_clock as clock;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let config = args.prometheus.config()?;
    for wanted in &args.output {
        if let Output::Html(path) = wanted {
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
            Output::Numbers(format) => output::print(&assessment, *format)?,
            Output::Html(path) => output_file::write(path, page::html(&assessment))?,
        }
    }
    if assessment.is_empty() {
        let of = |option: &str, value: &Option<String>| {
            let value = value.as_ref();
            value.map_or_else(String::new, |value| format!(" with {option} {value}"))
        };
        return Err(Failure::work(format_args!(
            "there is no HPA and no ScaledObject to assess{}{}",
            of("--namespace", &args.namespace),
            of("--selector", &args.selector)
        )));
    }
    assessment.without_any_series().map_or(Ok(()), Err)
}

/// What cluster and Prometheus told.
struct Gathered {
    /// The end of the pasts.
    until: jiff::Timestamp,
    /// The address of the Prometheus.
    prometheus: String,
    /// Each HPA, with the past of its load where it has one that could be asked for.
    targets: Vec<(Candidate, Option<LoadPast>)>,
}

async fn gather(args: &Args, config: &Config) -> Result<Gathered, Failure> {
    let (source, prometheus) = prometheus_past::source(config)?;
    let client = args.connect().await.map_err(Failure::Call)?;
    let observed = objects::observe(&client, args, config).await?;
    // Objects, and most likely measurements, are dated by the cluster's clock.
    let until = match args.until {
        Some(until) => until,
        None => server_time(&client).await.unwrap_or_else(clock::now),
    };
    let candidates = candidate::all(&observed, args, config, until);
    let unreachable = |error| prometheus_past::unreachable(&prometheus, &error);
    source.probe().await.map_err(unreachable)?;
    let pasts = Pasts::new(Arc::new(source), until, args.days);
    let targets = pasts.of(candidates).await.map_err(unreachable)?;
    Ok(Gathered {
        until,
        prometheus,
        targets,
    })
}

/// Replays the pasts, on all cores.
fn assess(args: &Args, gathered: Gathered) -> Assessment {
    let Gathered {
        until,
        prometheus,
        targets,
    } = gathered;
    let drawn = args.output.iter().any(|one| matches!(one, Output::Html(_)));
    let (depth, targets) = work::assess(targets, args.depth, drawn);
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
