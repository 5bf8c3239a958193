//! The view of a run: a pure function from the model onto a canvas. Colour marks three things only,
//! each in the text too: a resource over the headroom line, a fault, and a Pod without a node. On a
//! small screen the less important parts give way.

mod bar;
mod footer;
mod nodes;
mod recent_events;
mod size;
mod workloads;

pub(super) use size::{HEIGHT, WIDTH};

use super::canvas::{Canvas, CanvasCell, Tone};
use super::cluster::STARTING;
use super::model::Model;
use super::show::clock;
use super::text_lines::notices;

/// Columns and rows below which nothing could be read.
const LEAST_WIDTH: usize = 60;
const LEAST_HEIGHT: usize = 16;

/// Most nodes that are shown one by one on a screen of 30 rows.
const NODES: usize = 8;
/// Most workloads that are shown on such a screen.
const WORKLOADS: usize = 7;
/// Rows of title, headers, gaps and footer.
const FRAME: usize = 10;

pub(super) fn render(model: &Model, width: usize, height: usize) -> Canvas {
    let mut canvas = Canvas::new(width, height);
    if width < LEAST_WIDTH || height < LEAST_HEIGHT {
        too_small(&mut canvas);
        return canvas;
    }
    title(model, &mut canvas);
    let row = nodes::draw(model, &mut canvas, 3, share_of(NODES, height, 2));
    let most = share_of(WORKLOADS, height, 4);
    let row = workloads::draw(model, &mut canvas, row + 1, most);
    recent_events::draw(model, &mut canvas, row + 1);
    footer::draw(model, &mut canvas);
    canvas
}

/// On a lower screen `usual` rows in proportion; on a higher one also one in `of` of the added
/// rows.
fn share_of(usual: usize, height: usize, of: usize) -> usize {
    match height.checked_sub(HEIGHT) {
        Some(spare) => usual + spare / of,
        None => (usual * (height - FRAME) / (HEIGHT - FRAME)).max(2),
    }
}

fn too_small(canvas: &mut Canvas) {
    let (width, height) = (canvas.width(), canvas.height());
    let lines = [
        format!("This terminal is {width}x{height}."),
        format!("The view needs {LEAST_WIDTH}x{LEAST_HEIGHT}."),
        "q ends".to_owned(),
    ];
    for (row, line) in lines.iter().enumerate() {
        canvas.field(CanvasCell::new(row, 0), width, line, Tone::Plain);
    }
}

fn title(model: &Model, canvas: &mut Canvas) {
    let started = &model.started;
    let end = canvas.put(0, 0, "Evenkeel", Tone::Strong);
    let about = format!(
        "  http://{}/  scenario {}  {} at {}  seed {}",
        started.dashboard,
        started.scenario,
        clock(model.at),
        pace(started.speed, model.speed),
        started.seed
    );
    let state = format!("service {}", model.service);
    let room = canvas
        .width()
        .saturating_sub(end + state.chars().count() + 1);
    canvas.field(CanvasCell::new(0, end), room, &about, Tone::Plain);
    let tone = if ["ready", STARTING].contains(&&*model.service) {
        Tone::Plain
    } else {
        Tone::Alarm
    };
    canvas.right(0, canvas.width(), &state, tone);
    let kubectl = format!(
        "kubectl --kubeconfig {} get pods -A",
        started.kubeconfig.display()
    );
    let prometheus = format!("Prometheus {}", started.prometheus);
    let room = canvas.width().saturating_sub(prometheus.len() + 1);
    if kubectl.chars().count() <= room {
        canvas.right(1, canvas.width(), &prometheus, Tone::Quiet);
    }
    canvas.field(CanvasCell::new(1, 0), canvas.width(), &kubectl, Tone::Plain);
    if !model.notices.is_empty() {
        let text = notices(&model.notices);
        canvas.field(CanvasCell::new(2, 0), canvas.width(), &text, Tone::Alarm);
    }
}

/// The speed, with the one that was asked for where this machine is too slow for it.
fn pace(asked: f64, kept: f64) -> String {
    if kept < asked {
        format!("{kept} x ({asked} x asked, slow machine)")
    } else {
        format!("{kept} x")
    }
}

#[cfg(test)]
mod tests;
