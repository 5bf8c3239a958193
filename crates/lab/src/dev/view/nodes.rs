//! Nodes with a bar for each of the five resources.

use evenkeel_sandbox::engine::loads::NodeLoads;
use evenkeel_terminal::output::percent;
use evenkeel_terminal::resource_units;
use evenkeel_units::Resource;

use super::bar;
use crate::dev::canvas::{Canvas, CanvasCell, Tone};
use crate::dev::model::Model;

const GAP: usize = 1;
/// The least room for a name, and that for the number of Pods.
const NAME: usize = 14;
const PODS: usize = 4;

#[derive(Debug, Clone, Copy)]
struct Bars {
    first: usize,
    cells: usize,
    /// The headroom line, as a share of the capacity.
    line: f64,
}

impl Bars {
    /// As long as there is room for, and no longer than usual; without any where there is none.
    fn of(width: usize, line: f64) -> Self {
        let count = Resource::ALL.len();
        let room = width.saturating_sub(NAME + GAP + PODS) / count;
        let cells = room.saturating_sub(GAP + bar::WIDTH - bar::CELLS);
        let cells = cells.min(bar::CELLS);
        let taken = count * (bar::width(cells) + GAP) - GAP;
        Self {
            first: width.saturating_sub(taken),
            cells,
            line,
        }
    }

    /// First column of the bar of the resource at `index`.
    const fn at(self, index: usize) -> usize {
        self.first + index * (bar::width(self.cells) + GAP)
    }
}

/// Draws up to `most` nodes from `row` on, the fullest where there are more; the row after.
pub(super) fn draw(model: &Model, canvas: &mut Canvas, row: usize, most: usize) -> usize {
    let bars = Bars::of(canvas.width(), model.started.line);
    header(canvas, row, bars);
    let shown = fullest(&model.nodes, most);
    let mut at = row + 1;
    for node in &shown {
        draw_node(canvas, at, bars, node);
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

fn header(canvas: &mut Canvas, row: usize, bars: Bars) {
    canvas.put(row, 0, "Node", Tone::Quiet);
    canvas.right(row, bars.first.saturating_sub(GAP), "Pods", Tone::Quiet);
    for (index, resource) in Resource::ALL.into_iter().enumerate() {
        let (at, width) = (bars.at(index), bar::width(bars.cells));
        canvas.field(
            CanvasCell::new(row, at),
            width,
            resource_units::title(resource),
            Tone::Quiet,
        );
    }
}

fn draw_node(canvas: &mut Canvas, row: usize, bars: Bars, node: &NodeLoads) {
    let pods = bars.first.saturating_sub(GAP);
    let name = pods.saturating_sub(PODS + GAP);
    canvas.field(CanvasCell::new(row, 0), name, &node.name, Tone::Plain);
    canvas.right(row, pods, &node.pods.to_string(), Tone::Plain);
    if !node.ready {
        canvas.put(row, bars.first, "not ready", Tone::Alarm);
        return;
    }
    for (index, (_, share)) in node.utilisation.iter().enumerate() {
        let begin = CanvasCell::new(row, bars.at(index));
        bar::draw(canvas, begin, bars.cells, *share, bars.line);
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
