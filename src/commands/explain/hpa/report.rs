//! The explanation of an HPA for people: sentences first, then tables of its metrics, Pods, limits
//! and conditions.

use std::io;
use std::io::Write;

use comfy_table::Cell;
use evenkeel_hpa::explanation::{DirectionLimits, HpaExplanation, MetricExplanation};
use evenkeel_terminal::output::{Report, Style, fit_to_width, right};
use serde::Serialize;

use crate::commands::explain::printable::printable;

/// Pods that are shown at most, those that are not measured first; all of them are in the JSON.
const SHOWN: usize = 30;

#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct HpaReport(pub(super) HpaExplanation);

impl Report for HpaReport {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let Self(explanation) = self;
        let HpaExplanation {
            namespace, name, ..
        } = explanation;
        writeln!(to, "{}", style.emphasis(&format!("HPA {namespace}/{name}")))?;
        let sentences = explanation.summary.iter();
        for sentence in sentences.chain(&explanation.bounds_set_by) {
            writeln!(to, "{}", printable(sentence))?;
        }
        metrics(explanation, to, style)?;
        for metric in &explanation.metrics {
            pods(metric, to, style)?;
        }
        limits(explanation, to, style)?;
        conditions(explanation, to, style)?;
        if !explanation.unknown.is_empty() {
            writeln!(to, "\nNot known from outside:")?;
            for sentence in &explanation.unknown {
                writeln!(to, "  {}", printable(sentence))?;
            }
        }
        Ok(())
    }
}

fn text(value: Option<&String>) -> String {
    value.map_or_else(|| "?".to_owned(), Clone::clone)
}

fn metrics(explanation: &HpaExplanation, to: &mut dyn Write, style: Style) -> io::Result<()> {
    let header = [
        "METRIC",
        "NOW",
        "TARGET",
        "RATIO",
        "ASKS FOR",
        "CONTROLLER SAW",
    ];
    let mut table = style.table(header.map(Cell::new));
    for metric in &explanation.metrics {
        let name = Cell::new(&metric.name);
        let ratio = metric.adjusted_ratio.or(metric.ratio);
        table.add_row([
            if metric.is_deciding {
                style.bold(name)
            } else {
                name
            },
            right(text(metric.current.as_ref())),
            right(metric.target.clone()),
            right(ratio.map_or_else(|| "?".to_owned(), |ratio| format!("{ratio:.3}"))),
            right(text(
                metric.replicas.map(|count| count.to_string()).as_ref(),
            )),
            right(text(metric.reported.as_ref())),
        ]);
    }
    writeln!(to, "\n{}", fit_to_width(&table))
}

fn pods(metric: &MetricExplanation, to: &mut dyn Write, style: Style) -> io::Result<()> {
    if metric.pods.is_empty() {
        return Ok(());
    }
    let header = ["POD", "MEASURED", "REQUEST", "COUNTS AS", "WHY"];
    let mut table = style.table(header.map(Cell::new));
    let mut pods: Vec<_> = metric.pods.iter().collect();
    pods.sort_by_key(|pod| pod.why == "measured");
    for pod in pods.iter().take(SHOWN) {
        let amount =
            |amount: &Option<String>| right(amount.clone().unwrap_or_else(|| "-".to_owned()));
        table.add_row([
            Cell::new(&pod.pod),
            amount(&pod.measured),
            amount(&pod.request),
            amount(&pod.counted),
            Cell::new(&pod.why),
        ]);
    }
    writeln!(to, "\nPods by {}:\n{}", metric.name, fit_to_width(&table))?;
    let left_out = pods.len().saturating_sub(SHOWN);
    if left_out > 0 {
        writeln!(to, "{left_out} more Pods are in -o json.")?;
    }
    Ok(())
}

fn limits(explanation: &HpaExplanation, to: &mut dyn Write, style: Style) -> io::Result<()> {
    let [least, most] = explanation.tolerance;
    let HpaExplanation {
        min_replicas,
        max_replicas,
        ..
    } = explanation;
    writeln!(
        to,
        "\nBounds {min_replicas} to {max_replicas}; ratios from {least:.3} to {most:.3} have no effect."
    )?;
    if explanation.directions.is_empty() {
        return Ok(());
    }
    let header = ["DIRECTION", "WINDOW", "POLICIES", "SELECT", "NEXT STEP TO"];
    let mut table = style.table(header.map(Cell::new));
    for direction in &explanation.directions {
        let DirectionLimits {
            direction: name,
            window_seconds,
            select_policy,
            limit,
            ..
        } = direction;
        table.add_row([
            Cell::new(*name),
            right(format!("{window_seconds} s")),
            Cell::new(policies(direction)),
            Cell::new(select_policy.unwrap_or("-")),
            right(limit.to_string()),
        ]);
    }
    writeln!(to, "{}", fit_to_width(&table))
}

/// The policies, each with the count that it allows now.
fn policies(direction: &DirectionLimits) -> String {
    let policies = direction.policies.iter();
    let texts: Vec<_> = policies
        .map(|one| format!("{} to {}", one.policy, one.limit))
        .collect();
    if texts.is_empty() {
        "none".to_owned()
    } else {
        texts.join(", ")
    }
}

fn conditions(explanation: &HpaExplanation, to: &mut dyn Write, style: Style) -> io::Result<()> {
    if explanation.conditions.is_empty() {
        return Ok(());
    }
    let mut table = style.table(["CONDITION", "STATUS", "REASON", "MEANING"].map(Cell::new));
    for condition in &explanation.conditions {
        table.add_row([
            Cell::new(&condition.condition_type),
            Cell::new(&condition.status),
            Cell::new(&condition.reason),
            Cell::new(printable(&condition.meaning)),
        ]);
    }
    writeln!(
        to,
        "\nConditions at the controller's last look:\n{}",
        fit_to_width(&table)
    )
}
