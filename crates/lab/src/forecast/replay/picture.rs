//! The frontier of each series as a chart, and the judged time below it where it was asked for.

use evenkeel_sandbox::target_replay::Season;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::report::{PolicyCost, Replay, ReplayPolicyTick, ReplayedSeries};
use super::table::terms;
use crate::forecast::chart;
use crate::forecast::chart::{
    Chart, ChartFigure, ChartMark, Colour, LabelSide, MarkShape, Panel, Scatter, ScatterLine,
    ScatterPoint, Stroke,
};

/// The charts of all series as one SVG; times by the clock of `zone`.
pub(super) fn svg(replay: &Replay, zone: &TimeZone) -> String {
    let series = replay.series.iter();
    let charts = series.flat_map(|one| {
        let shown = LoadDisplayUnit {
            title: "CPU load (cores, all Pods)",
            factor: 1000.0,
        };
        let (plain, floors) = one.by_default().unzip();
        let timeline = plain.and_then(|plain| timeline(one, plain, floors, &shown));
        let timeline = timeline.map(|timeline| {
            Chart::Figure(ChartFigure {
                zone: zone.clone(),
                ..timeline
            })
        });
        [Some(Chart::Scatter(frontier(one))), timeline]
    });
    let charts: Vec<_> = charts.flatten().collect();
    chart::page("What safety costs", &charts)
}

pub(crate) fn frontier(one: &ReplayedSeries) -> Scatter {
    let line = |name: String, of: &dyn Fn(&PolicyCost) -> bool| ScatterLine {
        name,
        colour: Colour::Blue,
        stroke: Stroke::Solid,
        side: LabelSide::Below,
        points: points(one, of),
    };
    let rules = [
        (Season::Yesterday, Colour::Green),
        (Season::LastWeek, Colour::Purple),
    ];
    let rules = rules.into_iter().map(|(season, colour)| ScatterLine {
        colour,
        stroke: Stroke::Dotted,
        ..line(
            format!("seasonal rule: {}", season.as_str().replace('-', " ")),
            &|policy| policy.rule.is_some_and(|rule| rule.season == season),
        )
    });
    let lines = [
        ScatterLine {
            colour: Colour::Vermilion,
            stroke: Stroke::Dashed,
            side: LabelSide::Above,
            ..line("plain HPA, by target".to_owned(), &|policy| {
                policy.target.is_some()
            })
        },
        line("Evenkeel's floors, by risk".to_owned(), &|policy| {
            policy.risk.is_some()
        }),
    ];
    let lines = lines.into_iter().chain(rules);
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
        lines: lines.filter(|line| !line.points.is_empty()).collect(),
    }
}

fn points(one: &ReplayedSeries, of: &dyn Fn(&PolicyCost) -> bool) -> Vec<ScatterPoint> {
    let policies = one.policies.iter().filter(|one| of(one));
    let mut points: Vec<_> = policies
        .map(|one| ScatterPoint {
            x: one.replica_hours,
            y: one.under_provisioned_seconds,
            label: one
                .rule
                .map_or_else(|| one.label(), |rule| format!("x {:.1}", rule.factor)),
        })
        .collect();
    // Joined from left to right, those of floors too.
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    points
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadDisplayUnit {
    pub title: &'static str,
    /// The divisor of values.
    pub factor: f64,
}

/// The judged time in UTC under a plain HPA, and under floors if there were any; `None` without
/// points.
pub(crate) fn timeline(
    one: &ReplayedSeries,
    plain: &PolicyCost,
    floors: Option<&PolicyCost>,
    shown_as: &LoadDisplayUnit,
) -> Option<ChartFigure> {
    let load = shown(plain, |point| point.load.map(|load| load / shown_as.factor))?;
    Some(ChartFigure {
        title: format!("{}: load and replicas", one.name),
        notes: Vec::new(),
        from: one.count_from,
        to: one.to,
        zone: TimeZone::UTC,
        panels: vec![
            Panel {
                title: shown_as.title.to_owned(),
                share: 2.0,
                whole: false,
                marks: vec![ChartMark {
                    name: "load".to_owned(),
                    colour: Colour::Ink,
                    shape: MarkShape::Line(load, Stroke::Solid),
                }],
            },
            replicas(plain, floors)?,
        ],
    })
}

fn replicas(plain: &PolicyCost, floors: Option<&PolicyCost>) -> Option<Panel> {
    let count = |point: &ReplayPolicyTick| Some(f64::from(point.replicas));
    let mark = |name, colour, shape| ChartMark {
        name,
        colour,
        shape,
    };
    let mut marks = Vec::new();
    if let Some(floors) = floors {
        let risk = floors.label();
        let floor = shown(floors, |point| Some(f64::from(point.floor)))?;
        marks.push(mark(
            format!("floor at risk {risk}"),
            Colour::Green,
            MarkShape::Steps(floor, Stroke::Dotted),
        ));
        marks.push(mark(
            format!("with floors at {risk}"),
            Colour::Blue,
            MarkShape::Steps(shown(floors, count)?, Stroke::Solid),
        ));
    }
    marks.push(mark(
        format!("plain HPA at {}", plain.label()),
        Colour::Vermilion,
        MarkShape::Steps(shown(plain, count)?, Stroke::Dashed),
    ));
    Some(Panel {
        title: "Replicas".to_owned(),
        share: 3.0,
        whole: true,
        marks,
    })
}

/// A value of a policy's points over time; `None` where it has none.
fn shown(
    policy: &PolicyCost,
    value: impl Fn(&ReplayPolicyTick) -> Option<f64>,
) -> Option<Vec<chart::ChartPoint>> {
    let points = policy.points.as_ref()?.iter().filter_map(|point| {
        let at = Timestamp::from_second(point.t).ok()?;
        let value = value(point);
        Some(chart::ChartPoint { at, value })
    });
    Some(points.collect())
}
