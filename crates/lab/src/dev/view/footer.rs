//! Faults, counts and keys; where there is no room for all, the most important ones.

use crate::dev::canvas::{Canvas, CanvasCell, Tone};
use crate::dev::model::{DevFaultPhase, Model};

/// Empty columns between two texts.
const GAP: usize = 3;

/// A text with its rank: the lowest number stays longest.
struct FooterPart {
    text: String,
    tone: Tone,
    rank: u8,
    /// It stands at the right end of its row.
    right: bool,
}

impl FooterPart {
    fn left(text: String, tone: Tone, rank: u8) -> Self {
        Self {
            text,
            tone,
            rank,
            right: false,
        }
    }

    fn right(text: String, rank: u8) -> Self {
        Self {
            text,
            tone: Tone::Quiet,
            rank,
            right: true,
        }
    }
}

pub(super) fn draw(model: &Model, canvas: &mut Canvas) {
    let last = canvas.height() - 1;
    row(canvas, last - 1, faults(model));
    let mut parts = counted(model);
    parts.push(FooterPart::right("q ends".to_owned(), 0));
    row(canvas, last, parts);
}

fn row(canvas: &mut Canvas, row: usize, parts: Vec<FooterPart>) {
    let width = canvas.width();
    let kept = fitting(parts, width);
    let (right, left): (Vec<&FooterPart>, Vec<&FooterPart>) =
        kept.iter().partition(|part| part.right);
    let mut at = 0;
    for FooterPart { text, tone, .. } in left {
        canvas.field(
            CanvasCell::new(row, at),
            width.saturating_sub(at),
            text,
            *tone,
        );
        at += text.chars().count() + GAP;
    }
    let mut end = width;
    for FooterPart { text, tone, .. } in right.into_iter().rev() {
        canvas.right(row, end, text, *tone);
        end = end.saturating_sub(text.chars().count() + GAP);
    }
}

/// Faults by importance: those that are on, those to come, and those that are over.
fn faults(model: &Model) -> Vec<FooterPart> {
    let part = |(fault, phase): &(String, DevFaultPhase)| {
        let (what, tone, rank) = match phase {
            DevFaultPhase::On => ("ON", Tone::Alarm, 0),
            DevFaultPhase::Planned => ("to come", Tone::Quiet, 1),
            DevFaultPhase::Over => ("over", Tone::Quiet, 2),
        };
        FooterPart::left(format!("{fault} {what}"), tone, rank)
    };
    model.faults.iter().map(part).collect()
}

fn counted(model: &Model) -> Vec<FooterPart> {
    let mut parts = vec![
        FooterPart::left(format!("{} placed", model.placed), Tone::Quiet, 3),
        FooterPart::left(format!("{} refusals", model.refused), Tone::Quiet, 4),
    ];
    if model.failed_open > 0 {
        let text = format!("{} failed open", model.failed_open);
        parts.push(FooterPart::left(text, Tone::Alarm, 1));
    }
    if model.missed > 0 {
        let text = format!("{} events not shown", model.missed);
        parts.push(FooterPart::left(text, Tone::Quiet, 5));
    }
    parts
}

/// The parts that fit side by side, in order, without those of the highest ranks; the lowest rank
/// always stays.
fn fitting(mut parts: Vec<FooterPart>, width: usize) -> Vec<FooterPart> {
    let length = |part: &FooterPart| part.text.chars().count() + GAP;
    while parts.len() > 1 && parts.iter().map(length).sum::<usize>() > width + GAP {
        let least = (0..parts.len()).max_by_key(|&at| parts[at].rank);
        parts.remove(least.unwrap_or(0));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_least_goes_first_and_the_rest_keeps_its_order() {
        let part = |text: &str, rank| FooterPart::left(text.to_owned(), Tone::Plain, rank);
        for (width, expected) in [
            (15, vec!["aaa", "bbb", "ccc"]),
            (14, vec!["aaa", "ccc"]),
            (8, vec!["ccc"]),
            (1, vec!["ccc"]),
        ] {
            let parts = vec![part("aaa", 1), part("bbb", 2), part("ccc", 0)];
            let kept = fitting(parts, width);
            let texts: Vec<&str> = kept.iter().map(|part| part.text.as_str()).collect();
            assert_eq!(texts, expected, "{width}");
        }
    }
}
