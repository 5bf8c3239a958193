//! A plot as a picture: the load with what was forecast of it, and below the replicas.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::report::{Plot, Point};
use crate::plot::{Colour, Figure, Mark, Panel, Shape, Stroke};
use evenkeel_core::units::Resource;

/// The picture of a plot, labelled by the clock of `zone`.
pub(super) fn of(plot: &Plot, zone: TimeZone) -> Figure {
    let mut notes = vec![plot.terms(), costs(plot), plot.worth()];
    notes.extend(plot.notes.iter().map(|note| format!("Note: {note}")));
    Figure {
        title: format!("{}: load, forecast and replicas", plot.source),
        notes,
        from: plot.from,
        to: plot.to,
        zone,
        panels: vec![load(plot), replicas(plot)],
    }
}

fn costs(plot: &Plot) -> String {
    let of = |cost: &super::report::SideCost| {
        let under = cost.under_provisioned_seconds;
        format!(
            "{under:.0} s under-provisioned, {:.1} replica-hours",
            cost.replica_hours
        )
    };
    format!(
        "Evenkeel: {}. Plain HPA: {}",
        of(&plot.costs.evenkeel),
        of(&plot.costs.plain_hpa)
    )
}

fn load(plot: &Plot) -> Panel {
    let (unit, factor) = plot.shown();
    let line = |value: fn(&Point) -> Option<f64>| -> Vec<(Timestamp, Option<f64>)> {
        let points = plot.points.iter();
        points
            .map(|point| (point.at, value(point).map(|value| value / factor)))
            .collect()
    };
    let band = plot.points.iter().map(|point| {
        let bounds = point.lower80.zip(point.upper80);
        (
            point.at,
            bounds.map(|(lower, upper)| (lower / factor, upper / factor)),
        )
    });
    let ahead = plot.horizon_seconds;
    Panel {
        title: format!("{} ({unit}, all Pods)", title(plot.resource)),
        share: 3.0,
        whole: false,
        marks: vec![
            mark("80% interval", Colour::Sky, Shape::Band(band.collect())),
            mark(
                &format!("forecast made {ahead} s before"),
                Colour::Blue,
                Shape::Line(line(|point| point.forecast), Stroke::Solid),
            ),
            mark(
                "load",
                Colour::Ink,
                Shape::Line(line(|point| point.load), Stroke::Solid),
            ),
        ],
    }
}

fn replicas(plot: &Plot) -> Panel {
    let steps = |value: fn(&Point) -> Option<i32>| {
        let points = plot
            .points
            .iter()
            .map(|point| (point.at, value(point).map(f64::from)));
        points.collect()
    };
    Panel {
        title: "Replicas".to_owned(),
        share: 2.0,
        whole: true,
        marks: vec![
            mark(
                "floor",
                Colour::Green,
                Shape::Steps(steps(|point| point.floor), Stroke::Dotted),
            ),
            mark(
                "Evenkeel",
                Colour::Blue,
                Shape::Steps(steps(|point| point.current), Stroke::Solid),
            ),
            mark(
                "plain HPA",
                Colour::Vermilion,
                Shape::Steps(steps(|point| Some(point.plain_hpa)), Stroke::Dashed),
            ),
        ],
    }
}

fn mark(name: &str, colour: Colour, shape: Shape) -> Mark {
    let name = name.to_owned();
    Mark {
        name,
        colour,
        shape,
    }
}

/// What the axis of a resource is called.
fn title(resource: Resource) -> &'static str {
    match resource {
        Resource::Cpu => "CPU load",
        Resource::Memory => "Memory load",
        Resource::NetworkIo | Resource::DiskIo | Resource::Disk => "Load",
    }
}
