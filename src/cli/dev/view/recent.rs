//! The last events: placements with profile, node and reason, refusals, and scalings.

use super::size::WIDTH;
use crate::cli::dev::canvas::{Canvas, Place, Tone};
use crate::cli::dev::cluster::events::Event;
use crate::cli::dev::cluster::events::TimedEvent;
use crate::cli::dev::lines::pace;
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
    canvas.put(row, 0, &clock(happened.at), Tone::Quiet);
    let Some(line) = line(&happened.event) else {
        return;
    };
    let at = |column| Place::new(row, column);
    canvas.field(at(POD), columns.profile - POD - 1, &line.name, line.tone);
    let room = |from: usize| canvas_room(from, canvas.width());
    let (whole, last) = (room(columns.profile), room(columns.why));
    if let Event::PodPlaced { node, profile, .. } = &happened.event {
        let profile = profile.as_deref().unwrap_or("–");
        let (for_profile, for_node) = (
            columns.node - columns.profile - 1,
            columns.why - columns.node - 1,
        );
        canvas.field(at(columns.profile), for_profile, profile, line.tone);
        canvas.field(at(columns.node), for_node, node, line.tone);
        canvas.field(at(columns.why), last, &line.text, line.tone);
    } else {
        canvas.field(at(columns.profile), whole, &line.text, line.tone);
    }
}

/// The parts of a line: the Pod or workload, and what happened to it.
struct Line {
    name: String,
    tone: Tone,
    text: String,
}

/// The line of an event; `None` for events that have no line of their own.
fn line(event: &Event) -> Option<Line> {
    let (name, tone, text) = match event {
        Event::PodPlaced { pod, why, .. } => (pod.to_string(), Tone::Plain, why.clone()),
        Event::PodRefused { pod, message } => {
            (pod.to_string(), Tone::Alarm, format!("refused  {message}"))
        }
        Event::Scaled {
            namespace,
            workload,
            from,
            to,
            why,
        } => (
            format!("{namespace}/{workload}"),
            Tone::Plain,
            format!("{from} → {to} replicas: {why}"),
        ),
        Event::ServiceEvent {
            regarding,
            reason,
            note,
            warning,
        } => {
            let tone = if *warning { Tone::Alarm } else { Tone::Plain };
            let object = regarding.split_once(' ').map(|(_, name)| name);
            let object = object.unwrap_or(regarding).to_owned();
            (object, tone, format!("{reason}: {note}"))
        }
        Event::Pace { asked, kept } => ("speed".to_owned(), Tone::Plain, pace(*asked, *kept)),
        Event::PodClassified { .. }
        | Event::FailedOpen { .. }
        | Event::Notices { .. }
        | Event::Scaling { .. }
        | Event::Plain { .. }
        | Event::Loads { .. }
        | Event::Fault { .. }
        | Event::ServiceState { .. } => return None,
    };
    Some(Line { name, tone, text })
}

const fn canvas_room(from: usize, width: usize) -> usize {
    width.saturating_sub(from)
}
