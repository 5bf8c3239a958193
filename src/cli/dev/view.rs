//! The picture of a run, from what is known of it: a pure function onto a canvas.
//!
//! Colour stands for three things only: a resource over the headroom line, something that does
//! not work, and a Pod that no node takes. Everything else is text and the lengths of bars.

mod bar;
mod nodes;
mod recent;
mod workloads;

use super::canvas::{Canvas, Tone};
use super::model::{Model, Phase};
use super::show::clock;

/// The least that the picture is laid out for; smaller terminals show its upper left.
pub(super) const WIDTH: usize = 100;
/// As [`WIDTH`].
pub(super) const HEIGHT: usize = 30;

/// Most nodes that are shown one by one on a screen of 30 rows.
const NODES: usize = 8;
/// Most workloads likewise.
const WORKLOADS: usize = 7;

/// Draws all that is known.
pub(super) fn render(model: &Model, width: usize, height: usize) -> Canvas {
    let mut canvas = Canvas::new(width.max(WIDTH), height.max(HEIGHT));
    let spare = canvas.height() - HEIGHT;
    title(model, &mut canvas);
    let row = nodes::draw(model, &mut canvas, 3, NODES + spare / 2);
    let row = workloads::draw(model, &mut canvas, row + 1, WORKLOADS + spare / 4);
    recent::draw(model, &mut canvas, row + 1);
    footer(model, &mut canvas);
    canvas
}

fn title(model: &Model, canvas: &mut Canvas) {
    let started = &model.started;
    let end = canvas.put(0, 0, "Evenkeel", Tone::Strong);
    let about = format!(
        "  scenario {}  {} at {} x  seed {}",
        started.scenario,
        clock(model.at),
        started.speed,
        started.seed
    );
    let state = format!("service {}", model.service);
    let room = canvas
        .width()
        .saturating_sub(end + state.chars().count() + 1);
    canvas.field((0, end), room, &about, Tone::Plain);
    let tone = if model.service == "ready" {
        Tone::Plain
    } else {
        Tone::Alarm
    };
    canvas.right(0, canvas.width(), &state, tone);
    let kubectl = format!(
        "kubectl --kubeconfig {} get pods -A",
        started.kubeconfig.display()
    );
    canvas.field((1, 0), canvas.width(), &kubectl, Tone::Plain);
}

/// Faults, what was counted, and the keys.
fn footer(model: &Model, canvas: &mut Canvas) {
    let (width, last) = (canvas.width(), canvas.height() - 1);
    let mut at = 0;
    for (fault, phase) in &model.faults {
        let (what, tone) = match phase {
            Phase::Planned => ("to come", Tone::Quiet),
            Phase::On => ("ON", Tone::Alarm),
            Phase::Over => ("over", Tone::Quiet),
        };
        let text = format!("{fault} {what}");
        let room = width.saturating_sub(at);
        canvas.field((last - 1, at), room, &text, tone);
        at += text.chars().count() + 3;
    }
    let mut counted = format!("{} placed, {} refusals", model.placed, model.refused);
    if model.missed > 0 {
        use std::fmt::Write as _;
        // Writing to a text cannot fail.
        let _ = write!(counted, ", {} events not shown", model.missed);
    }
    canvas.put(last, 0, &counted, Tone::Quiet);
    let keys = format!("dashboard http://{}   q ends", model.started.dashboard);
    canvas.right(last, width, &keys, Tone::Quiet);
}

#[cfg(test)]
mod tests;
