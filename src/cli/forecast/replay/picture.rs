//! The frontier of each series as a chart, and the judged time below it where it was asked for.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::report::{Point, PolicyCost, Replay, Series};
use super::table::terms;
use crate::cli::forecast::chart::{
    self, Chart, Colour, Figure, LabelSide, Mark, Panel, Scatter, ScatterLine, ScatterPoint, Shape,
    Stroke,
};

/// The charts of all series as one SVG; times by the clock of `zone`.
pub(super) fn svg(replay: &Replay, zone: &TimeZone) -> String {
    let series = replay.series.iter();
    let charts = series.flat_map(|one| {
        let timeline = timeline(one, zone).map(Chart::Figure);
        [Some(Chart::Scatter(frontier(one))), timeline]
    });
    let charts: Vec<_> = charts.flatten().collect();
    chart::page("What safety costs", &charts)
}

pub(in crate::cli) fn frontier(one: &Series) -> Scatter {
    let line = |name: &str, policy: &str| ScatterLine {
        name: name.to_owned(),
        colour: Colour::Blue,
        stroke: Stroke::Solid,
        side: LabelSide::Below,
        points: points(one, policy),
    };
    Scatter {
        title: format!("{}: what safety costs", one.name),
        notes: vec![
            terms(one),
            format!(
                "Floors at all risks against the plain HPA at equal replica-hours, under-provisioned / overloaded: {}",
                one.at_equal_replica_hours.told()
            ),
        ],
        x: "Replica-hours".to_owned(),
        y: "Seconds under-provisioned".to_owned(),
        lines: vec![
            ScatterLine {
                colour: Colour::Vermilion,
                stroke: Stroke::Dashed,
                side: LabelSide::Above,
                ..line("plain HPA, by target", "hpa")
            },
            line("Evenkeel's floors, by risk", "evenkeel"),
        ],
    }
}

fn points(one: &Series, policy: &str) -> Vec<ScatterPoint> {
    let policies = one.policies.iter().filter(|one| one.policy == policy);
    let mut points: Vec<_> = policies
        .map(|one| ScatterPoint {
            x: one.replica_hours,
            y: one.under_provisioned_seconds,
            label: one.label(),
        })
        .collect();
    // Joined from left to right, those of floors too.
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    points
}

/// The judged time under the plain HPA at its own target and under floors at the default risk; `None`
/// where points were not asked for.
fn timeline(one: &Series, zone: &TimeZone) -> Option<Figure> {
    let (plain, floors) = one.by_default()?;
    let load = shown(plain, |point| point.load.map(|load| load / 1000.0))?;
    Some(Figure {
        title: format!("{}: load and replicas", one.name),
        notes: Vec::new(),
        from: one.count_from,
        to: one.to,
        zone: zone.clone(),
        panels: vec![
            Panel {
                title: "CPU load (cores, all Pods)".to_owned(),
                share: 2.0,
                whole: false,
                marks: vec![Mark {
                    name: "load".to_owned(),
                    colour: Colour::Ink,
                    shape: Shape::Line(load, Stroke::Solid),
                }],
            },
            replicas(plain, floors)?,
        ],
    })
}

fn replicas(plain: &PolicyCost, floors: &PolicyCost) -> Option<Panel> {
    let count = |point: &Point| Some(f64::from(point.replicas));
    let floor = shown(floors, |point| Some(f64::from(point.floor)))?;
    let mark = |name, colour, shape| Mark {
        name,
        colour,
        shape,
    };
    let risk = floors.label();
    Some(Panel {
        title: "Replicas".to_owned(),
        share: 3.0,
        whole: true,
        marks: vec![
            mark(
                format!("floor at risk {risk}"),
                Colour::Green,
                Shape::Steps(floor, Stroke::Dotted),
            ),
            mark(
                format!("with floors at {risk}"),
                Colour::Blue,
                Shape::Steps(shown(floors, count)?, Stroke::Solid),
            ),
            mark(
                format!("plain HPA at {}", plain.label()),
                Colour::Vermilion,
                Shape::Steps(shown(plain, count)?, Stroke::Dashed),
            ),
        ],
    })
}

/// A value of a policy's points over time; `None` where it has none.
fn shown(policy: &PolicyCost, value: impl Fn(&Point) -> Option<f64>) -> Option<Vec<chart::Point>> {
    let points = policy.points.as_ref()?.iter().filter_map(|point| {
        let at = Timestamp::from_second(point.t).ok()?;
        let value = value(point);
        Some(chart::Point { at, value })
    });
    Some(points.collect())
}
