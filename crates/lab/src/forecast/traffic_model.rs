//! Models of the kind traffic in files, and what is told of them.

use std::path::Path;

use evenkeel_forecast::{HeldOutDay, TRAFFIC_VERSION, TrafficModel};
use evenkeel_objects::truncate::excerpt;
use jiff::Timestamp;
use serde::Serialize;

use super::network_model::NAME_SHOWN;
use evenkeel_terminal::output::CliFailure;

/// The model in a file that `evenkeel train --traffic` made.
pub(super) fn read(path: &Path) -> Result<TrafficModel, CliFailure> {
    let refuse = |error: &dyn std::fmt::Display| {
        CliFailure::call(format_args!("{}: {error}", path.display()))
    };
    let bytes = std::fs::read(path).map_err(|error| refuse(&error))?;
    TrafficModel::decode(&bytes).map_err(|error| refuse(&error))
}

/// The parts of a model, and its accuracy.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TrafficModelReport {
    version: u16,
    utilisation: String,
    time_zone: String,
    learnt_from: Timestamp,
    learnt_to: Timestamp,
    step_seconds: i64,
    held_out_day: Day,
    linear: LinearTrafficModel,
    trees: usize,
}

/// The day that was held out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Day {
    samples: u32,
    mean_absolute_error: f64,
    linear_mean_absolute_error: f64,
    /// Shares of the variance of the utilisation.
    explained: f64,
    explained_without_traffic: f64,
}

#[derive(Debug, Serialize)]
struct LinearTrafficModel {
    intercept: f64,
    coefficients: Vec<Coefficient>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Coefficient {
    traffic: String,
    /// The utilisation that one unit of it a replica takes.
    value: f64,
    /// Least and most traffic of one replica in the samples.
    least_seen: f64,
    most_seen: f64,
}

impl TrafficModelReport {
    pub(super) fn of(model: &TrafficModel) -> Self {
        let TrafficModel {
            components,
            utilisation,
            zone,
            step,
            learnt: (learnt_from, learnt_to),
            held_out,
            seen,
            function,
        } = model;
        let HeldOutDay {
            samples,
            error,
            linear_error,
            explained,
            explained_without,
        } = *held_out;
        let linear = function.linear();
        let named = components.iter().zip(&linear.coefficients).zip(seen);
        let coefficients = named.map(
            |((traffic, &value), &(least_seen, most_seen))| Coefficient {
                traffic: excerpt(traffic, NAME_SHOWN),
                value,
                least_seen,
                most_seen,
            },
        );
        Self {
            version: TRAFFIC_VERSION,
            utilisation: excerpt(utilisation, NAME_SHOWN),
            time_zone: excerpt(zone, NAME_SHOWN),
            learnt_from: *learnt_from,
            learnt_to: *learnt_to,
            step_seconds: step.as_secs(),
            held_out_day: Day {
                samples,
                mean_absolute_error: error,
                linear_mean_absolute_error: linear_error,
                explained,
                explained_without_traffic: explained_without,
            },
            linear: LinearTrafficModel {
                intercept: linear.intercept,
                coefficients: coefficients.collect(),
            },
            trees: function.trees(),
        }
    }

    pub(super) fn lines(&self) -> [String; 3] {
        let Self {
            version: _,
            utilisation,
            time_zone,
            learnt_from,
            learnt_to,
            step_seconds,
            held_out_day,
            linear,
            trees,
        } = self;
        let Day {
            samples,
            mean_absolute_error,
            linear_mean_absolute_error,
            explained,
            explained_without_traffic,
        } = held_out_day;
        let terms = linear.coefficients.iter();
        let terms = terms.map(|one| format!(" + {:.4} × {}", one.value, one.traffic));
        let terms: String = terms.collect();
        [
            format!(
                "{utilisation} = {:.4}{terms} (each per replica), and what {trees} trees add by it and the time ({time_zone})",
                linear.intercept
            ),
            format!("Learnt from {learnt_from} to {learnt_to}, samples {step_seconds} s apart."),
            format!(
                "The newest day, held out: {:.0}% of the variance explained ({:.0}% without traffic), mean error {mean_absolute_error:.2} \
                 ({linear_mean_absolute_error:.2} without trees), {samples} samples.",
                explained * 100.0,
                explained_without_traffic * 100.0
            ),
        ]
    }
}
