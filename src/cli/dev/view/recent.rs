//! The last events: placements with profile, node and reason, refusals, and scalings.

use super::size::WIDTH;
use crate::cli::dev::canvas::{Canvas, Place, Tone};
use crate::cli::dev::cluster::events::Event;
use crate::cli::dev::cluster::events::TimedEvent;
use crate::cli::dev::lines::pace;
use crate::cli::dev::model::Model;
use crate::cli::dev::show::clock;

const POD: usize = 10;
/// The most columns of a name and of a node on a screen of the usual width; on a narrow one they give way.
const NAME: usize = 32;
const NODE: usize = 16;
const PROFILE: usize = 8;

/// First columns of the fields after the Pod's name.
#[derive(Debug, Clone, Copy)]
struct Columns {
    profile: usize,
    node: usize,
    why: usize,
}

impl Columns {
    /// Names have as much room as the longest of `shown` needs, so that most is left for the reason.
    fn of<'a>(width: usize, shown: impl Iterator<Item = &'a TimedEvent>) -> Self {
        let (mut name, mut of_node) = ("Pod or workload".len(), "node".len());
        for happened in shown {
            let named = line(&happened.event).map_or(0, |line| line.name.chars().count());
            name = name.max(named);
            if let Event::PodPlaced { node, .. } = &happened.event {
                of_node = of_node.max(node.chars().count());
            }
        }
        let lacking = WIDTH.saturating_sub(width);
        let profile = POD + 1 + name.min(NAME - (lacking * 2 / 5).min(16));
        let node = profile + 1 + PROFILE;
        let why = node + 1 + of_node.min(NODE - (lacking / 8).min(5));
        Self { profile, node, why }
    }
}

/// Fills the rows from `row` to the footer.
pub(super) fn draw(model: &Model, canvas: &mut Canvas, row: usize) {
    let end = canvas.height() - 2;
    if row + 1 >= end {
        return;
    }
    let columns = Columns::of(canvas.width(), model.recent.iter().take(end - row - 1));
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
