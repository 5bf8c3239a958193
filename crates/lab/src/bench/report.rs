//! Result of a load, for people and for programs.

use std::io;
use std::io::Write;
use std::time::Duration;

use comfy_table::Cell;
use evenkeel_units::Amount;
use serde::Serialize;

use super::load::{BenchLoad, BenchResult};
use evenkeel_terminal::output::{Report, Style, fit_to_width};

/// Counts and latencies of a load.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BenchReport {
    path: &'static str,
    body_bytes: usize,
    due_per_second: u32,
    connections: usize,
    answered: u64,
    unsent: u64,
    failed: u64,
    answered_per_second: f64,
    latency_microseconds: Latencies,
    /// Processor time of the service for each request, in microseconds; `None` of one elsewhere.
    processor_microseconds: Option<f64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Latencies {
    mean: u128,
    p50: u128,
    p90: u128,
    p99: u128,
    p999: u128,
    max: u128,
}

impl BenchReport {
    pub(super) fn new(
        path: &'static str,
        load: BenchLoad,
        body_bytes: usize,
        outcome: &BenchResult,
        answering: Option<Duration>,
    ) -> Self {
        let BenchResult {
            latencies,
            answered,
            unsent,
            failed,
            failure: _,
            elapsed,
            with_warm_up,
            beside: _,
        } = outcome;
        let each = |time: Duration| 1e6 * time.as_secs_f64() / Amount::new(*with_warm_up).as_f64();
        let processor = answering.filter(|_| *with_warm_up > 0).map(each);
        let seconds = elapsed.as_secs_f64().max(f64::EPSILON);
        let quantile = |share| latencies.quantile(share).as_micros();
        Self {
            path,
            body_bytes,
            due_per_second: load.rate,
            connections: load.connections,
            answered: *answered,
            unsent: *unsent,
            failed: *failed,
            answered_per_second: Amount::new(*answered).as_f64() / seconds,
            latency_microseconds: Latencies {
                mean: latencies.mean().as_micros(),
                p50: quantile(0.5),
                p90: quantile(0.9),
                p99: quantile(0.99),
                p999: quantile(0.999),
                max: quantile(1.0),
            },
            processor_microseconds: processor,
        }
    }
}

impl Report for BenchReport {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let Self {
            path,
            body_bytes,
            due_per_second,
            connections,
            answered,
            unsent,
            failed,
            answered_per_second,
            latency_microseconds,
            processor_microseconds,
        } = self;
        writeln!(
            to,
            "POST {path} of {body_bytes} bytes, {due_per_second} per second over {connections} \
             connections"
        )?;
        writeln!(
            to,
            "{answered} answered, {answered_per_second:.0} per second; {failed} failed"
        )?;
        if *unsent > 0 {
            writeln!(
                to,
                "{unsent} still waited for a connection at the end: the rate is higher than the \
                 service can answer.\n\
                 Their latencies count up to that time."
            )?;
        }
        writeln!(to)?;
        let Latencies {
            mean,
            p50,
            p90,
            p99,
            p999,
            max,
        } = latency_microseconds;
        let mut table =
            style.table(["", "mean", "p50", "p90", "p99", "p99.9", "max"].map(Cell::new));
        let cells =
            [mean, p50, p90, p99, p999, max].map(|microseconds| Cell::new(duration(*microseconds)));
        table.add_row(std::iter::once(Cell::new("Latency")).chain(cells));
        writeln!(to, "{}", fit_to_width(&table))?;
        if let Some(each) = processor_microseconds {
            writeln!(
                to,
                "\n\
                 The service used {each:.0} µs of cpu for each request: {:.0} per second on one \
                 core",
                1e6 / each
            )?;
        }
        Ok(())
    }
}

fn duration(microseconds: u128) -> String {
    match microseconds {
        0..10_000 => format!("{microseconds} µs"),
        10_000..10_000_000 => format!("{} ms", microseconds / 1000),
        _ => format!("{} s", microseconds / 1_000_000),
    }
}
