//! Workloads with replicas and requests; if the service scales one, its load, forecast and floor,
//! and a plain HPA's replicas.

use evenkeel_sandbox::engine::loads::WorkloadLoad;
use evenkeel_scaling::status::dashboard::ScalingStatus;
use evenkeel_units::words;

use super::bar;
use crate::dev::canvas::{Canvas, CanvasCell, Tone};
use crate::dev::load_display::ShownLoad;
use crate::dev::model::Model;

const NAME: usize = 14;
/// The most: figures far from the name that they belong to are hard to read.
const NAMES: usize = 30;
/// Empty columns between two columns of figures.
const GAP: usize = 1;

words! {
    enum WorkloadColumn {
        Ready = "ready",
        Requests = "req/s",
        Lost = "lost/s",
        History = "so far",
        Load = "load",
        Forecast = "forecast",
        Floor = "floor",
        Plain = "plain HPA",
    }
}

impl WorkloadColumn {
    const fn width(self) -> usize {
        match self {
            Self::Ready | Self::Load | Self::Plain => 9,
            Self::Requests => 8,
            Self::Lost | Self::Floor => 6,
            Self::History => 12,
            Self::Forecast => 17,
        }
    }

    /// Order in which columns are left out where there is no room for all: the highest goes first.
    const fn rank(self) -> u8 {
        match self {
            Self::Ready => 0,
            Self::Requests => 1,
            Self::Floor => 2,
            Self::Plain => 3,
            Self::Forecast => 4,
            Self::Lost => 5,
            Self::Load => 6,
            Self::History => 7,
        }
    }
}

struct Layout {
    name: usize,
    columns: Vec<WorkloadColumnLayout>,
}

/// A column with its first cell.
#[derive(Debug, Clone, Copy)]
struct WorkloadColumnLayout {
    column: WorkloadColumn,
    at: usize,
}

impl Layout {
    fn of(model: &Model, width: usize) -> Self {
        let scaled = |column: WorkloadColumn| match column {
            WorkloadColumn::Load | WorkloadColumn::Forecast | WorkloadColumn::Floor => {
                !model.targets.is_empty()
            }
            WorkloadColumn::Plain => !model.plain.is_empty(),
            _ => true,
        };
        let mut columns: Vec<WorkloadColumn> = WorkloadColumn::ALL
            .into_iter()
            .filter(|of| scaled(*of))
            .collect();
        let needed = |columns: &[WorkloadColumn]| -> usize {
            columns.iter().map(|column| column.width() + GAP).sum()
        };
        while needed(&columns) + NAME > width {
            let least = (0..columns.len()).max_by_key(|&at| columns[at].rank());
            columns.remove(least.unwrap_or(0));
        }
        let mut at = (width - needed(&columns)).min(NAMES);
        let name = at;
        let placed = columns.into_iter().map(|column| {
            let begins = at + GAP;
            at += column.width() + GAP;
            WorkloadColumnLayout { column, at: begins }
        });
        Self {
            columns: placed.collect(),
            name,
        }
    }
}

/// Draws up to `most` workloads from `row` on; the row after.
pub(super) fn draw(model: &Model, canvas: &mut Canvas, row: usize, most: usize) -> usize {
    let layout = Layout::of(model, canvas.width());
    canvas.put(row, 0, "Workload", Tone::Quiet);
    for placed in &layout.columns {
        put(canvas, row, *placed, placed.column.as_str(), Tone::Quiet);
    }
    let mut sorted: Vec<&WorkloadLoad> = model.workloads.iter().collect();
    let all = sorted.len();
    if all > most {
        // Those with requests are the ones that change.
        sorted.sort_by(|a, b| b.offered.total_cmp(&a.offered));
        sorted.truncate(most.saturating_sub(1));
    }
    let mut at = row + 1;
    for workload in &sorted {
        draw_workload(model, canvas, at, &layout, workload);
        at += 1;
    }
    if sorted.len() < all {
        let text = format!("and {} more", all - sorted.len());
        canvas.put(at, 0, &text, Tone::Quiet);
        at += 1;
    }
    at
}

/// Figures stand at the end of their column, words at its beginning.
fn put(canvas: &mut Canvas, row: usize, placed: WorkloadColumnLayout, text: &str, tone: Tone) {
    let WorkloadColumnLayout { column, at } = placed;
    if matches!(column, WorkloadColumn::History | WorkloadColumn::Forecast) {
        canvas.field(CanvasCell::new(row, at), column.width(), text, tone);
    } else {
        canvas.right(row, at + column.width(), text, tone);
    }
}

fn draw_workload(
    model: &Model,
    canvas: &mut Canvas,
    row: usize,
    layout: &Layout,
    workload: &WorkloadLoad,
) {
    let full = format!("{}/{}", workload.namespace, workload.name);
    canvas.field(CanvasCell::new(row, 0), layout.name, &full, Tone::Plain);
    let key = (workload.namespace.clone(), workload.name.clone());
    let target = model.targets.get(&key).map(|target| &**target);
    for placed in &layout.columns {
        let shown = match placed.column {
            WorkloadColumn::Plain => model
                .plain
                .get(&key)
                .map(|count| (count.to_string(), false)),
            WorkloadColumn::Ready => Some((replicas(workload, target), false)),
            column
            @ (WorkloadColumn::Requests | WorkloadColumn::Lost | WorkloadColumn::History) => {
                requests(model, workload, column)
            }
            column @ (WorkloadColumn::Load | WorkloadColumn::Forecast | WorkloadColumn::Floor) => {
                target.and_then(|target| scaling(target, column))
            }
        };
        if let Some((text, alarm)) = shown {
            let tone = if alarm { Tone::Alarm } else { Tone::Plain };
            put(canvas, row, *placed, &text, tone);
        }
    }
}

/// Replicas that serve of those that there are, or are wanted where these are more.
fn replicas(workload: &WorkloadLoad, target: Option<&ScalingStatus>) -> String {
    let wanted = target.and_then(|target| target.decided);
    let wanted = wanted.and_then(|wanted| u32::try_from(wanted).ok());
    let wanted = wanted.unwrap_or(0);
    format!("{}/{}", workload.ready, workload.replicas.max(wanted))
}

/// A figure of the traffic, and whether it is an alarm.
fn requests(
    model: &Model,
    workload: &WorkloadLoad,
    column: WorkloadColumn,
) -> Option<(String, bool)> {
    let key = (workload.namespace.clone(), workload.name.clone());
    let samples = model.traffic.get(&key);
    let most = samples.map_or(0.0, |samples| samples.iter().copied().fold(0.0, f64::max));
    let WorkloadLoad { offered, lost, .. } = workload;
    if most == 0.0 && *offered == 0.0 {
        return (column == WorkloadColumn::Requests).then(|| ("–".to_owned(), false));
    }
    Some(match column {
        WorkloadColumn::Requests => (format!("{offered:.0}"), false),
        WorkloadColumn::Lost if *lost >= 0.5 => (format!("{lost:.0}!"), true),
        WorkloadColumn::Lost => (format!("{lost:.0}"), false),
        _ => {
            let newest = samples.into_iter().flatten().copied();
            let hidden = samples.map_or(0, std::collections::VecDeque::len);
            let hidden = hidden.saturating_sub(column.width());
            (bar::spark(newest.skip(hidden), most), false)
        }
    })
}

/// A figure of what the service knows of a target, and whether it is an alarm.
fn scaling(target: &ScalingStatus, column: WorkloadColumn) -> Option<(String, bool)> {
    let text = match column {
        WorkloadColumn::Load => ShownLoad::of(target)?.now(),
        WorkloadColumn::Floor => target.floor.map(|floor| floor.replicas.to_string()),
        _ => ShownLoad::of(target)?.forecast(),
    };
    text.map(|text| (text, false))
}
