//! The last events: placements with profile, node and reason, refusals, and scalings.

use super::size::WIDTH;
use crate::cli::dev::canvas::{Canvas, Place, Tone};
use crate::cli::dev::cluster::events::Event;
use crate::cli::dev::cluster::events::TimedEvent;
use crate::cli::dev::lines::{full, why};
use crate::cli::dev::model::Model;
use crate::cli::dev::show::clock;

const POD: usize = 10;

/// First columns of the fields after the Pod's name.
#[derive(Debug, Clone, Copy)]
struct Columns {
    profile: usize,
    node: usize,
    why: usize,
}

impl Columns {
    /// On a narrow screen names give way.
    fn of(width: usize) -> Self {
        let lacking = WIDTH.saturating_sub(width);
        let profile = 43 - (lacking * 2 / 5).min(16);
        let node = profile + 9;
        let why = node + 17 - (lacking / 8).min(5);
        Self { profile, node, why }
    }
}

/// Fills the rows from `row` to the footer.
pub(super) fn draw(model: &Model, canvas: &mut Canvas, row: usize) {
    let end = canvas.height() - 2;
    if row + 1 >= end {
        return;
    }
    let columns = Columns::of(canvas.width());
    for (at, text) in [
        (0, "Time"),
        (POD, "Pod or workload"),
        (columns.profile, "profile"),
        (columns.node, "node"),
        (columns.why, "why"),
    ] {
        canvas.put(row, at, text, Tone::Quiet);
    }
    for (at, happened) in (row + 1..end).zip(&model.recent) {
        draw_one(canvas, at, columns, happened);
    }
}

fn draw_one(canvas: &mut Canvas, row: usize, columns: Columns, happened: &TimedEvent) {
    let Columns {
        profile: profile_at,
        node: node_at,
        why: why_at,
    } = columns;
    canvas.put(row, 0, &clock(happened.at), Tone::Quiet);
    let rest = |from: usize| canvas_room(from, canvas.width());
    let (whole, last) = (rest(profile_at), rest(why_at));
    let name = profile_at - POD - 1;
    match &happened.event {
        Event::PodPlaced {
            pod, node, profile, ..
        } => {
            let profile = profile.as_deref().unwrap_or("–");
            canvas.field(Place::new(row, POD), name, &full(pod), Tone::Plain);
            let (for_profile, for_node) = (node_at - profile_at - 1, why_at - node_at - 1);
            canvas.field(
                Place::new(row, profile_at),
                for_profile,
                profile,
                Tone::Plain,
            );
            canvas.field(Place::new(row, node_at), for_node, node, Tone::Plain);
            canvas.field(
                Place::new(row, why_at),
                last,
                &why(&happened.event),
                Tone::Plain,
            );
        }
        Event::PodRefused { pod, message } => {
            canvas.field(Place::new(row, POD), name, &full(pod), Tone::Alarm);
            let text = format!("refused  {message}");
            canvas.field(Place::new(row, profile_at), whole, &text, Tone::Alarm);
        }
        Event::Scaled {
            namespace,
            workload,
            from,
            to,
            why,
        } => {
            let full = format!("{namespace}/{workload}");
            canvas.field(Place::new(row, POD), name, &full, Tone::Plain);
            let text = format!("{from} → {to} replicas: {why}");
            canvas.field(Place::new(row, profile_at), whole, &text, Tone::Plain);
        }
        Event::ServiceEvent {
            regarding,
            reason,
            note,
            warning,
        } => {
            let tone = if *warning { Tone::Alarm } else { Tone::Plain };
            let object = regarding
                .split_once(' ')
                .map_or(&**regarding, |(_, name)| name);
            canvas.field(Place::new(row, POD), name, object, tone);
            canvas.field(
                Place::new(row, profile_at),
                whole,
                &format!("{reason}: {note}"),
                tone,
            );
        }
        Event::PodClassified { .. }
        | Event::FailedOpen { .. }
        | Event::Notices { .. }
        | Event::Scaling { .. }
        | Event::Plain { .. }
        | Event::Loads { .. }
        | Event::Fault { .. }
        | Event::ServiceState { .. } => {}
    }
}

const fn canvas_room(from: usize, width: usize) -> usize {
    width.saturating_sub(from)
}
