//! Workloads with their replicas and requests.

use super::bar;
use crate::cli::dev::canvas::{Canvas, Tone};
use crate::cli::dev::model::Model;
use crate::dev::events::WorkloadLoad;

const REPLICAS: usize = 32;
const REQUESTS: usize = 46;
const LOST: usize = 60;
const HISTORY: usize = 64;

/// Draws up to `most` workloads from `row` on; the row after.
pub(super) fn draw(model: &Model, canvas: &mut Canvas, row: usize, most: usize) -> usize {
    canvas.put(row, 0, "Workload", Tone::Quiet);
    for (end, text) in [
        (REPLICAS, "ready"),
        (REQUESTS, "requests/s"),
        (LOST, "lost/s"),
    ] {
        canvas.right(row, end, text, Tone::Quiet);
    }
    canvas.put(row, HISTORY, "requests so far", Tone::Quiet);
    let mut sorted: Vec<&WorkloadLoad> = model.workloads.iter().collect();
    let all = sorted.len();
    if all > most {
        // Those with requests are the ones that change.
        sorted.sort_by(|a, b| b.offered.total_cmp(&a.offered));
        sorted.truncate(most.saturating_sub(1));
    }
    let mut at = row + 1;
    for workload in &sorted {
        draw_workload(model, canvas, at, workload);
        at += 1;
    }
    if sorted.len() < all {
        let text = format!("and {} more", all - sorted.len());
        canvas.put(at, 0, &text, Tone::Quiet);
        at += 1;
    }
    at
}

fn draw_workload(model: &Model, canvas: &mut Canvas, row: usize, workload: &WorkloadLoad) {
    let WorkloadLoad {
        namespace,
        name,
        ready,
        replicas,
        offered,
        lost,
    } = workload;
    let full = format!("{namespace}/{name}");
    canvas.field((row, 0), REPLICAS - 10, &full, Tone::Plain);
    let count = format!("{ready}/{replicas}");
    canvas.right(row, REPLICAS, &count, Tone::Plain);
    let key = (namespace.clone(), name.clone());
    let samples = model.traffic.get(&key);
    let most = samples.map_or(0.0, |samples| samples.iter().copied().fold(0.0, f64::max));
    if most == 0.0 && *offered == 0.0 {
        canvas.right(row, REQUESTS, "–", Tone::Quiet);
        return;
    }
    canvas.right(row, REQUESTS, &format!("{offered:.0}"), Tone::Plain);
    let tone = if *lost >= 0.5 {
        Tone::Alarm
    } else {
        Tone::Plain
    };
    canvas.right(row, LOST, &format!("{lost:.0}"), tone);
    let history = samples.into_iter().flatten().copied();
    canvas.put(row, HISTORY, &bar::spark(history, most), Tone::Plain);
}
