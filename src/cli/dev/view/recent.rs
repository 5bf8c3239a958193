//! What happened last: placements with profile, node and why, refusals, and scalings.

use crate::cli::dev::canvas::{Canvas, Tone};
use crate::cli::dev::lines::{full, why};
use crate::cli::dev::model::Model;
use crate::cli::dev::show::clock;
use crate::dev::Event;
use crate::dev::events::Happened;

const POD: usize = 10;
const PROFILE: usize = 43;
const NODE: usize = 52;
const WHY: usize = 69;

/// Fills the rows from `row` to the footer.
pub(super) fn draw(model: &Model, canvas: &mut Canvas, row: usize) {
    let end = canvas.height() - 2;
    if row + 1 >= end {
        return;
    }
    for (at, text) in [
        (0, "Time"),
        (POD, "Pod or workload"),
        (PROFILE, "profile"),
        (NODE, "node"),
        (WHY, "why"),
    ] {
        canvas.put(row, at, text, Tone::Quiet);
    }
    for (at, happened) in (row + 1..end).zip(&model.recent) {
        draw_one(canvas, at, happened);
    }
}

fn draw_one(canvas: &mut Canvas, row: usize, happened: &Happened) {
    canvas.put(row, 0, &clock(happened.at), Tone::Quiet);
    let rest = |from: usize| canvas_room(from, canvas.width());
    let (whole, last) = (rest(PROFILE), rest(WHY));
    match &happened.event {
        Event::PodPlaced {
            pod, node, profile, ..
        } => {
            let profile = profile.as_deref().unwrap_or("–");
            canvas.field((row, POD), PROFILE - POD - 1, &full(pod), Tone::Plain);
            canvas.field((row, PROFILE), NODE - PROFILE - 1, profile, Tone::Plain);
            canvas.field((row, NODE), WHY - NODE - 1, node, Tone::Plain);
            canvas.field((row, WHY), last, &why(&happened.event), Tone::Plain);
        }
        Event::PodRefused { pod, message } => {
            canvas.field((row, POD), PROFILE - POD - 1, &full(pod), Tone::Alarm);
            let text = format!("refused  {message}");
            canvas.field((row, PROFILE), whole, &text, Tone::Alarm);
        }
        Event::Scaled {
            namespace,
            workload,
            from,
            to,
            why,
        } => {
            let name = format!("{namespace}/{workload}");
            canvas.field((row, POD), PROFILE - POD - 1, &name, Tone::Plain);
            let text = format!("{from} → {to} replicas: {why}");
            canvas.field((row, PROFILE), whole, &text, Tone::Plain);
        }
        Event::PodClassified { .. }
        | Event::Loads { .. }
        | Event::Fault { .. }
        | Event::ServiceState { .. } => {}
    }
}

const fn canvas_room(from: usize, width: usize) -> usize {
    width.saturating_sub(from)
}
