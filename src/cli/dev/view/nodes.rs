//! Nodes with a bar for each of the five resources.

use super::bar;
use crate::cli::dev::canvas::{Canvas, Tone};
use crate::cli::dev::model::Model;
use crate::cli::figures;
use crate::cli::output::percent;
use crate::dev::events::NodeLoads;
use crate::units::Resource;

const GAP: usize = 1;

/// Draws up to `most` nodes from `row` on, the fullest where there are more; the row after.
pub(super) fn draw(model: &Model, canvas: &mut Canvas, row: usize, most: usize) -> usize {
    let bars = Resource::ALL.len() * (bar::WIDTH + GAP) - GAP;
    let first = canvas.width().saturating_sub(bars);
    header(canvas, row, first);
    let line = model.started.line;
    let shown = fullest(&model.nodes, most);
    let mut at = row + 1;
    for node in &shown {
        draw_node(canvas, at, first, node, line);
        at += 1;
    }
    let hidden = model.nodes.len() - shown.len();
    if hidden > 0 {
        let rest = model
            .nodes
            .iter()
            .filter(|node| !shown.iter().any(|is| is.name == node.name));
        let most = rest.map(worst).fold(0.0, f64::max);
        let text = format!(
            "and {hidden} less full nodes, none above {}",
            percent(most.min(9.99))
        );
        canvas.put(at, 0, &text, Tone::Quiet);
        at += 1;
    }
    at
}

fn header(canvas: &mut Canvas, row: usize, first: usize) {
    canvas.put(row, 0, "Node", Tone::Quiet);
    canvas.right(row, first.saturating_sub(GAP), "Pods", Tone::Quiet);
    for (index, resource) in Resource::ALL.into_iter().enumerate() {
        let at = first + index * (bar::WIDTH + GAP);
        canvas.put(row, at, figures::title(resource), Tone::Quiet);
    }
}

fn draw_node(canvas: &mut Canvas, row: usize, first: usize, node: &NodeLoads, line: f64) {
    let name = first.saturating_sub(GAP + 4);
    canvas.field((row, 0), name, &node.name, Tone::Plain);
    canvas.right(
        row,
        first.saturating_sub(GAP),
        &node.pods.to_string(),
        Tone::Plain,
    );
    if !node.ready {
        canvas.put(row, first, "not ready", Tone::Alarm);
        return;
    }
    for (index, (_, share)) in node.utilisation.iter().enumerate() {
        let at = first + index * (bar::WIDTH + GAP);
        bar::draw(canvas, row, at, *share, line);
    }
}

/// The nodes that are shown: all in their order, or those most in need of a look.
fn fullest(nodes: &[NodeLoads], most: usize) -> Vec<&NodeLoads> {
    let mut shown: Vec<&NodeLoads> = nodes.iter().collect();
    if nodes.len() > most {
        shown.sort_by(|a, b| {
            a.ready
                .cmp(&b.ready)
                .then(worst(b).total_cmp(&worst(a)))
                .then_with(|| a.name.cmp(&b.name))
        });
        // A row is left for what is not shown.
        shown.truncate(most.saturating_sub(1));
    }
    shown
}

fn worst(node: &NodeLoads) -> f64 {
    node.utilisation
        .values()
        .iter()
        .copied()
        .fold(0.0, f64::max)
}
