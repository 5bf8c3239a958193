//! Ways of scaling as a picture: for each group of workloads, what safety costs.

use super::report::{FrontierGroup, WayReport, Ways};
use crate::forecast::chart;
use crate::forecast::chart::{
    Chart, Colour, LabelSide, Scatter, ScatterLine, ScatterPoint, Stroke,
};

/// One chart for each group: replica-hours to the right, seconds upwards, so the best way is at the
/// lower left.
pub(super) fn svg(ways: &Ways) -> String {
    let charts = ways.groups.iter().map(|group| {
        Chart::Scatter(Scatter {
            title: format!("{}, {}: what safety costs", ways.scenario, group.name),
            notes: vec![format!(
                "{} workloads, {} seeds; lower left is better",
                group.workloads,
                ways.seeds.len()
            )],
            x: "Replica-hours".to_owned(),
            y: "Seconds under-provisioned".to_owned(),
            lines: lines(group),
        })
    });
    chart::page(&ways.scenario, &charts.collect::<Vec<_>>())
}

fn lines(group: &FrontierGroup) -> Vec<ScatterLine> {
    let [rival, others @ ..] = Colour::SERIES;
    let rivals = group.ways.iter().filter_map(|way| {
        let percent = way.percent_of_target?;
        Some(point(way, format!("{percent}%")))
    });
    let rivals = ScatterLine {
        name: "plain HPA, by target".to_owned(),
        colour: rival,
        stroke: Stroke::Dashed,
        side: LabelSide::Above,
        points: rivals.collect(),
    };
    // A way that only some workloads have is no point beside the sums over all.
    let whole = group
        .ways
        .iter()
        .filter(|way| way.workloads == group.workloads);
    let portraits = whole.filter(|way| way.percent_of_target.is_none());
    let portraits = portraits.zip(others.into_iter().cycle());
    let portraits = portraits.map(|(way, colour)| ScatterLine {
        name: way.way.clone(),
        colour,
        stroke: Stroke::Solid,
        side: LabelSide::Below,
        points: vec![point(way, way.way.clone())],
    });
    [rivals].into_iter().chain(portraits).collect()
}

const fn point(way: &WayReport, label: String) -> ScatterPoint {
    ScatterPoint {
        x: way.replica_hours.mean,
        y: way.under_provisioned_seconds.mean,
        label,
    }
}
