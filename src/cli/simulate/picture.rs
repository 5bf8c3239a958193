//! A comparison as a picture: for each resource, how even and how full each policy left the nodes.

use super::report::{PolicyReport, Simulated};
use crate::cli::forecast::chart::{
    self, Chart, Colour, LabelSide, Scatter, ScatterLine, ScatterPoint, Stroke,
};
use evenkeel_core::units::Resource;
use evenkeel_sandbox::simulation::policies::PolicyName;

/// A chart of each resource below each other: spread to the right, peak upwards, so that the best
/// policy is at the lower left.
pub(super) fn svg(simulated: &Simulated) -> String {
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
            lines: simulated
                .policies
                .iter()
                .map(|policy| line(policy, at))
                .collect(),
        })
    });
    chart::page(&simulated.scenario, &charts.collect::<Vec<_>>())
}

fn line(policy: &PolicyReport, at: usize) -> ScatterLine {
    let is_own = policy.policy == PolicyName::Evenkeel.as_str();
    let part = &policy.resources[at];
    ScatterLine {
        name: policy.policy.to_owned(),
        colour: if is_own {
            Colour::Blue
        } else {
            Colour::Vermilion
        },
        stroke: Stroke::Solid,
        side: if is_own {
            LabelSide::Below
        } else {
            LabelSide::Above
        },
        points: vec![ScatterPoint {
            x: part.spread.mean,
            y: part.peak.mean,
            label: policy.policy.to_owned(),
        }],
    }
}
