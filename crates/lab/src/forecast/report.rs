//! Numbers of a plot: all of them for programs, sums for people.

use std::io;
use std::io::Write;

use comfy_table::Cell;
use evenkeel_sandbox::target_replay::TargetRunOutcome;
use evenkeel_scaling::counterfactual::pareto_frontier::Cost;
use evenkeel_terminal::output::{Report, Style, fit_to_width, percent, right};
use evenkeel_units::Resource;
use jiff::Timestamp;
use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Plot {
    /// The file.
    pub source: String,
    #[serde(serialize_with = "name")]
    pub resource: Resource,
    /// Unit of `request`, loads and errors.
    pub unit: String,
    pub step_seconds: i64,
    pub request: f64,
    /// The share of it that is to be used.
    pub target: f64,
    pub min: i32,
    pub max: i32,
    pub start_up_seconds: i64,
    pub horizon_seconds: i64,
    pub model: String,
    pub from: Timestamp,
    pub to: Timestamp,
    pub costs: Costs,
    pub forecast: PlotAccuracy,
    /// Properties of the data that the figures depend on.
    pub notes: Vec<String>,
    pub points: Vec<PlotPoint>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Costs {
    pub evenkeel: SideCost,
    pub plain_hpa: SideCost,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SideCost {
    pub under_provisioned_seconds: f64,
    pub overloaded_seconds: f64,
    pub replica_hours: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ForecastOf {
    Load,
    /// The largest load until then.
    Largest,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlotAccuracy {
    pub of: ForecastOf,
    pub scored: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mae: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub naive_mae: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage80: Option<f64>,
    /// The share of the time in which the model was trusted.
    pub trusted_share: f64,
    /// Trust in the model at the end, with the reason.
    pub trust: String,
}

/// One step of the grid.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlotPoint {
    pub at: Timestamp,
    pub load: Option<f64>,
    pub forecast: Option<f64>,
    pub lower80: Option<f64>,
    pub upper80: Option<f64>,
    pub current: i32,
    pub floor: i32,
    pub plain_hpa: i32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde gives a reference
fn name<S: serde::Serializer>(resource: &Resource, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(resource.as_str())
}

impl From<Cost> for SideCost {
    fn from(cost: Cost) -> Self {
        Self {
            under_provisioned_seconds: cost.under_provisioned_seconds,
            overloaded_seconds: cost.overloaded_seconds,
            replica_hours: cost.replica_hours,
        }
    }
}

/// Unit of a resource's loads and requests.
pub(crate) const fn base_unit(resource: Resource) -> &'static str {
    match resource {
        Resource::Cpu => "millicores",
        Resource::Memory | Resource::Disk => "bytes",
        Resource::NetworkIo | Resource::DiskIo => "bytes/s",
    }
}

pub(super) fn points(outcome: &TargetRunOutcome) -> Vec<PlotPoint> {
    let of = |point: &evenkeel_sandbox::target_replay::TargetRunPoint| PlotPoint {
        at: point.at,
        load: point.load,
        forecast: point.forecast.map(|forecast| forecast.mean),
        lower80: point.forecast.map(|forecast| forecast.interval80.lower),
        upper80: point.forecast.map(|forecast| forecast.interval80.upper),
        current: point.replicas,
        floor: point.floor,
        plain_hpa: point.plain,
    };
    outcome.points.iter().map(of).collect()
}

impl Plot {
    /// Unit that people read, and the number of the plot's units in one of it.
    pub(super) fn shown(&self) -> (&str, f64) {
        match self.unit.as_str() {
            "millicores" => ("cores", 1e3),
            "bytes" => ("GiB", 1024.0 * 1024.0 * 1024.0),
            other => (other, 1.0),
        }
    }

    pub(super) fn terms(&self) -> String {
        let (unit, factor) = self.shown();
        let request = format!("{:.3}", self.request / factor);
        let request = request.trim_end_matches('0').trim_end_matches('.');
        format!(
            "Requests of {request} {unit} at {}, {} to {} replicas, Pods ready after {} s, horizon {} s by {}",
            percent(self.target),
            self.min,
            self.max,
            self.start_up_seconds,
            self.horizon_seconds,
            self.model
        )
    }

    /// Accuracy of the forecasts in one line.
    pub(super) fn worth(&self) -> String {
        let (unit, factor) = self.shown();
        let PlotAccuracy {
            of,
            mae,
            naive_mae,
            coverage80,
            trusted_share,
            trust,
            ..
        } = &self.forecast;
        let mut parts = Vec::new();
        if let (Some(mae), Some(naive)) = (mae, naive_mae) {
            parts.push(format!(
                "mean error {}{:.3} {unit} against {:.3} of the last value",
                match of {
                    ForecastOf::Load => "",
                    ForecastOf::Largest => "of the largest load within the horizon ",
                },
                mae / factor,
                naive / factor
            ));
        }
        parts.extend(coverage80.map(|share| format!("{} inside the 80% interval", percent(share))));
        let by = match of {
            ForecastOf::Load => "",
            ForecastOf::Largest => " by the benefit of its floors",
        };
        parts.push(format!(
            "trusted {} of the time{by}",
            percent(*trusted_share)
        ));
        parts.push(format!("now {trust}"));
        format!("Forecast: {}", parts.join("; "))
    }
}

impl Report for Plot {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        writeln!(
            to,
            "{}: {} from {:.0} to {:.0}",
            style.emphasis(&self.source),
            self.resource,
            self.from,
            self.to
        )?;
        writeln!(to, "{}\n", self.terms())?;
        let mut table = style.table([Cell::new(""), right("EVENKEEL"), right("PLAIN HPA")]);
        let Costs {
            evenkeel,
            plain_hpa,
        } = self.costs;
        for (what, of) in FIGURES {
            table.add_row([Cell::new(what), right(of(&evenkeel)), right(of(&plain_hpa))]);
        }
        writeln!(to, "{}\n", fit_to_width(&table))?;
        writeln!(to, "{}.", self.worth())?;
        for note in &self.notes {
            writeln!(to, "Note: {note}.")?;
        }
        Ok(())
    }
}

type CostFigure = (&'static str, fn(&SideCost) -> String);

const FIGURES: [CostFigure; 3] = [
    (
        "seconds under-provisioned (above target and tolerance)",
        |cost| format!("{:.0}", cost.under_provisioned_seconds),
    ),
    ("seconds overloaded (above requests)", |cost| {
        format!("{:.0}", cost.overloaded_seconds)
    }),
    ("replica-hours", |cost| format!("{:.2}", cost.replica_hours)),
];
