//! The printed figures of the ways of tuning.

use std::io::{self, Write};

use comfy_table::{Cell, CellAlignment};
use jiff::SignedDuration;
use serde::Serialize;

use evenkeel_sandbox::tuning::{ContainerDemand, ContainerTuningResult, PolicyName};
use evenkeel_terminal::output::{Report, Style, fit_to_width};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TuneCompareReport {
    step_seconds: f64,
    turn_seconds: f64,
    pub(super) containers: Vec<TuneContainerReport>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TuneContainerReport {
    pub(super) name: String,
    resource: &'static str,
    #[serde(skip)]
    pub(super) wanted: ContainerDemand,
    pub(super) policies: Vec<TunePolicyRow>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TunePolicyRow {
    pub(super) policy: PolicyName,
    pub(super) as_it_is: ContainerTuningResult,
    at_equal_slack: ContainerTuningResult,
}

impl TunePolicyRow {
    pub(super) const fn new(
        policy: PolicyName,
        as_it_is: ContainerTuningResult,
        at_equal_slack: ContainerTuningResult,
    ) -> Self {
        Self {
            policy,
            as_it_is,
            at_equal_slack,
        }
    }
}

impl TuneContainerReport {
    pub(super) const fn new(
        name: String,
        wanted: ContainerDemand,
        policies: Vec<TunePolicyRow>,
    ) -> Self {
        Self {
            name,
            resource: wanted.resource.as_str(),
            wanted,
            policies,
        }
    }
}

impl TuneCompareReport {
    pub(super) fn new(
        step: SignedDuration,
        turn: SignedDuration,
        containers: Vec<TuneContainerReport>,
    ) -> Self {
        Self {
            step_seconds: step.as_secs_f64(),
            turn_seconds: turn.as_secs_f64(),
            containers,
        }
    }
}

/// A share in percent, with a digit behind the point.
fn share(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

impl Report for TuneCompareReport {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let header = [
            "CONTAINER",
            "WAY",
            "SLACK",
            "THROTTLED",
            "UNSERVED",
            "KILLS",
            "RESIZES",
            "AT EQUAL SLACK:",
            "THROTTLED",
            "UNSERVED",
            "KILLS",
        ];
        let mut table = style.table(header.map(Cell::new));
        for entry in &self.containers {
            let memory = entry.resource == "memory";
            for (number, row) in entry.policies.iter().enumerate() {
                let (own, equal) = (&row.as_it_is, &row.at_equal_slack);
                let name = if number == 0 { entry.name.as_str() } else { "" };
                let of_cpu = |text: String| if memory { String::new() } else { text };
                let kills = |kills: usize| {
                    if memory {
                        kills.to_string()
                    } else {
                        String::new()
                    }
                };
                table.add_row([
                    Cell::new(name),
                    Cell::new(row.policy),
                    Cell::new(share(own.slack)),
                    Cell::new(of_cpu(share(own.throttled_share))),
                    Cell::new(of_cpu(share(own.unserved_share))),
                    Cell::new(kills(own.oom_kills)),
                    Cell::new(own.resizes),
                    Cell::new(share(equal.slack)),
                    Cell::new(of_cpu(share(equal.throttled_share))),
                    Cell::new(of_cpu(share(equal.unserved_share))),
                    Cell::new(kills(equal.oom_kills)),
                ]);
            }
        }
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        writeln!(to, "{}", fit_to_width(&table))
    }
}
