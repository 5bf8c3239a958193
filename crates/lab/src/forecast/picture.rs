//! A plot as a chart: the load with its forecasts, and below them the replicas.

use evenkeel_units::Resource;
use jiff::tz::TimeZone;

use super::chart;
use super::chart::{BandPoint, ChartFigure, ChartMark, Colour, MarkShape, Panel, Stroke};
use super::report::{Plot, PlotPoint, SideCost};

pub(super) fn svg(plot: &Plot, zone: TimeZone) -> String {
    let mut notes = vec![plot.terms(), costs(plot), plot.worth()];
    notes.extend(plot.notes.iter().map(|note| format!("Note: {note}")));
    chart::draw(&ChartFigure {
        title: format!("{}: load, forecast and replicas", plot.source),
        notes,
        from: plot.from,
        to: plot.to,
        zone,
        panels: vec![load(plot), replicas(plot)],
    })
}

fn costs(plot: &Plot) -> String {
    let of = |cost: &SideCost| {
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
    let line = |value: fn(&PlotPoint) -> Option<f64>| {
        let points = plot.points.iter().map(|point| chart::ChartPoint {
            at: point.at,
            value: value(point).map(|value| value / factor),
        });
        MarkShape::Line(points.collect(), Stroke::Solid)
    };
    let band = plot.points.iter().map(|point| BandPoint {
        at: point.at,
        lower: point.lower80.map(|lower| lower / factor),
        upper: point.upper80.map(|upper| upper / factor),
    });
    let ahead = plot.horizon_seconds;
    Panel {
        title: format!("{} ({unit}, all Pods)", title(plot.resource)),
        share: 3.0,
        whole: false,
        marks: vec![
            mark("80% interval", Colour::Sky, MarkShape::Band(band.collect())),
            mark(
                &format!("forecast from the load of {ahead} s before"),
                Colour::Blue,
                line(|point| point.forecast),
            ),
            mark("load", Colour::Ink, line(|point| point.load)),
        ],
    }
}

fn replicas(plot: &Plot) -> Panel {
    let steps = |value: fn(&PlotPoint) -> i32, stroke| {
        let points = plot.points.iter().map(|point| chart::ChartPoint {
            at: point.at,
            value: Some(f64::from(value(point))),
        });
        MarkShape::Steps(points.collect(), stroke)
    };
    Panel {
        title: "Replicas".to_owned(),
        share: 2.0,
        whole: true,
        marks: vec![
            mark(
                "floor",
                Colour::Green,
                steps(|point| point.floor, Stroke::Dotted),
            ),
            mark(
                "Evenkeel",
                Colour::Blue,
                steps(|point| point.current, Stroke::Solid),
            ),
            mark(
                "plain HPA",
                Colour::Vermilion,
                steps(|point| point.plain_hpa, Stroke::Dashed),
            ),
        ],
    }
}

fn mark(name: &str, colour: Colour, shape: MarkShape) -> ChartMark {
    let name = name.to_owned();
    ChartMark {
        name,
        colour,
        shape,
    }
}

fn title(resource: Resource) -> &'static str {
    match resource {
        Resource::Cpu => "CPU load",
        Resource::Memory => "Memory load",
        Resource::NetworkIo | Resource::DiskIo | Resource::Disk => "Load",
    }
}
