//! A comparison as a picture: for each resource, how even and how full each policy left the nodes.

use evenkeel_units::Resource;

use super::report::{PolicyReport, SimulateReport};
use crate::forecast::chart;
use crate::forecast::chart::{
    Chart, Colour, LabelSide, Scatter, ScatterLine, ScatterPoint, Stroke,
};

/// One chart for each resource: spread to the right, peak upwards, so the best policy is at the
/// lower left.
pub(super) fn svg(simulated: &SimulateReport) -> String {
    let resources = Resource::ALL.into_iter().enumerate();
    let charts = resources.map(|(at, resource)| {
        let noun = resource.noun();
        Chart::Scatter(Scatter {
            title: format!("{}: {noun}", simulated.scenario),
            notes: vec![format!(
                "{} nodes, {} seeds; lower left is better",
                simulated.nodes,
                simulated.seeds.len()
            )],
            x: format!("Spread of {noun} over the nodes, in points"),
            y: format!("Highest {noun} of a node, in percent"),
            lines: lines(simulated, at),
        })
    });
    chart::page(&simulated.scenario, &charts.collect::<Vec<_>>())
}

fn lines(simulated: &SimulateReport, at: usize) -> Vec<ScatterLine> {
    let colours = Colour::SERIES.into_iter().cycle();
    let policies = simulated.policies.iter().zip(colours);
    let line = |(policy, colour): (&PolicyReport, Colour)| {
        let part = &policy.resources[at];
        ScatterLine {
            name: policy.policy.to_owned(),
            colour,
            stroke: Stroke::Solid,
            side: LabelSide::Above,
            points: vec![ScatterPoint {
                x: part.spread.mean,
                y: part.peak.mean,
                label: policy.policy.to_owned(),
            }],
        }
    };
    policies.map(line).collect()
}
