//! The first container's limits under each way, above what it wanted.

use evenkeel_sandbox::tuning::PolicyName;
use evenkeel_units::cpu_memory::TunedResource;
use jiff::tz::TimeZone;

use super::report::{TuneCompareReport, TuneContainerReport};
use crate::forecast::chart;
use crate::forecast::chart::{
    Chart, ChartFigure, ChartMark, ChartPoint, Colour, MarkShape, Panel, Stroke,
};

/// The chart as SVG: the first container, and the first of the other resource.
pub(super) fn svg(compared: &TuneCompareReport) -> String {
    let of = |resource: TunedResource| {
        let mut all = compared.containers.iter();
        all.find(|entry| entry.wanted.resource == resource)
    };
    let shown = TunedResource::ALL.into_iter().filter_map(of);
    let charts: Vec<Chart> = shown.map(|entry| Chart::Figure(figure(entry))).collect();
    chart::page("Limits under several tuning methods", &charts)
}

fn figure(entry: &TuneContainerReport) -> ChartFigure {
    let wanted = &entry.wanted;
    let (unit, factor) = match wanted.resource {
        TunedResource::Cpu => ("millicores", 1.0),
        TunedResource::Memory => ("MiB", 1024.0 * 1024.0),
    };
    let points = |values: &[f64]| -> Vec<ChartPoint> {
        let mut at = wanted.start;
        let point = |value: &f64| {
            let point = ChartPoint {
                at,
                value: Some(*value / factor),
            };
            at = at.checked_add(wanted.step).unwrap_or(at);
            point
        };
        values.iter().map(point).collect()
    };
    let mut marks: Vec<ChartMark> = entry
        .policies
        .iter()
        .map(|row| {
            let (colour, stroke) = dress(row.policy);
            ChartMark {
                name: format!("limit: {}", row.policy),
                colour,
                shape: MarkShape::Steps(points(&row.as_it_is.limits), stroke),
            }
        })
        .collect();
    let used = points(&wanted.values);
    let (from, to) = (
        wanted.start,
        used.last().map_or(wanted.start, |last| last.at),
    );
    marks.push(ChartMark {
        name: "wanted".to_owned(),
        colour: Colour::Ink,
        shape: MarkShape::Line(used, Stroke::Solid),
    });
    ChartFigure {
        title: format!("{}: what is needed, and what is allowed", entry.name),
        notes: Vec::new(),
        from,
        to,
        zone: TimeZone::UTC,
        panels: vec![Panel {
            title: format!("{} ({unit})", wanted.resource),
            share: 1.0,
            whole: false,
            marks,
        }],
    }
}

const fn dress(policy: PolicyName) -> (Colour, Stroke) {
    match policy {
        PolicyName::Fixed => (Colour::Ink, Stroke::Dotted),
        PolicyName::Thesis => (Colour::Vermilion, Stroke::Dashed),
        PolicyName::Vpa => (Colour::Green, Stroke::Dashed),
        PolicyName::Evenkeel => (Colour::Blue, Stroke::Solid),
    }
}
