//! The last events: placements with profile, node and reason, refusals, and scalings.

use super::size::WIDTH;
use crate::dev::canvas::{Canvas, CanvasCell, Tone};
use crate::dev::cluster::events::DevEvent;
use crate::dev::cluster::events::TimedEvent;
use crate::dev::model::Model;
use crate::dev::show::clock;
use crate::dev::text_lines::pace;

const POD: usize = 10;
/// The most columns of a name and a node on a usual screen; a narrow one has fewer.
const NAME: usize = 32;
const NODE: usize = 16;
const PROFILE: usize = 8;

/// First columns of the fields after the Pod's name.
#[derive(Debug, Clone, Copy)]
struct RecentColumns {
    profile: usize,
    node: usize,
    why: usize,
}

impl RecentColumns {
    /// Names get the width of the longest of `shown`, so that most is left for the reason.
    fn of<'a>(width: usize, shown: impl Iterator<Item = &'a TimedEvent>) -> Self {
        let (mut name, mut of_node) = ("Pod or workload".len(), "node".len());
        for happened in shown {
            let named = line(&happened.event).map_or(0, |line| line.name.chars().count());
            name = name.max(named);
            if let DevEvent::PodPlaced { node, .. } = &happened.event {
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

pub(super) fn draw(model: &Model, canvas: &mut Canvas, row: usize) {
    let end = canvas.height() - 2;
    if row + 1 >= end {
        return;
    }
    let columns = RecentColumns::of(canvas.width(), model.recent.iter().take(end - row - 1));
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

fn draw_one(canvas: &mut Canvas, row: usize, columns: RecentColumns, happened: &TimedEvent) {
    canvas.put(row, 0, &clock(happened.at), Tone::Quiet);
    let Some(line) = line(&happened.event) else {
        return;
    };
    let at = |column| CanvasCell::new(row, column);
    canvas.field(at(POD), columns.profile - POD - 1, &line.name, line.tone);
    let room = |from: usize| canvas_room(from, canvas.width());
    let (whole, last) = (room(columns.profile), room(columns.why));
    if let DevEvent::PodPlaced { node, profile, .. } = &happened.event {
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
struct RecentLine {
    name: String,
    tone: Tone,
    text: String,
}

/// The line of an event; `None` for events that have no line of their own.
fn line(event: &DevEvent) -> Option<RecentLine> {
    let (name, tone, text) = match event {
        DevEvent::PodPlaced { pod, why, .. } => (pod.to_string(), Tone::Plain, why.clone()),
        DevEvent::PodRefused { pod, message } => {
            (pod.to_string(), Tone::Alarm, format!("refused  {message}"))
        }
        DevEvent::Scaled {
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
        DevEvent::ServiceEvent {
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
        DevEvent::Pace { asked, kept } => ("speed".to_owned(), Tone::Plain, pace(*asked, *kept)),
        DevEvent::PodClassified { .. }
        | DevEvent::FailedOpen { .. }
        | DevEvent::Notices { .. }
        | DevEvent::Scaling { .. }
        | DevEvent::Plain { .. }
        | DevEvent::Loads { .. }
        | DevEvent::Fault { .. }
        | DevEvent::ServiceState { .. } => return None,
    };
    Some(RecentLine { name, tone, text })
}

const fn canvas_room(from: usize, width: usize) -> usize {
    width.saturating_sub(from)
}
