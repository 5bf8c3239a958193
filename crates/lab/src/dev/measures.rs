//! The measures by which runs are compared: the same ones for each run, and less is better in every
//! one.

use comfy_table::Cell;

use evenkeel_sandbox::engine::summary::RunSummary;
use evenkeel_terminal::output::{Style, percent};

pub(super) struct Measure {
    pub(super) what: String,
    pub(super) value: f64,
    text: fn(f64) -> String,
}

/// How Evenkeel's measure stands beside another one, as both are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MeasureVerdict {
    Better,
    Same,
    Worse,
}

impl MeasureVerdict {
    pub(super) fn cell(self, style: Style) -> Cell {
        match self {
            Self::Better => style.good(Cell::new("better")),
            Self::Same => Cell::new("same"),
            Self::Worse => style.bad(Cell::new("worse")),
        }
    }
}

impl Measure {
    pub(super) fn shown(&self) -> String {
        (self.text)(self.value)
    }

    /// Another value of the same measure for people.
    pub(super) fn show(&self, value: f64) -> String {
        (self.text)(value)
    }

    /// The verdict on this one beside another value of the same measure.
    pub(super) fn beside(&self, other: f64) -> MeasureVerdict {
        if self.show(other) == self.shown() {
            MeasureVerdict::Same
        } else if self.value < other {
            MeasureVerdict::Better
        } else {
            MeasureVerdict::Worse
        }
    }
}

/// All measures of a run, with `line` as the headroom line.
pub(super) fn of(run: &RunSummary, line: f64) -> Vec<Measure> {
    let measure = |what, value, text: fn(f64) -> String| Measure { what, value, text };
    let mut all = Vec::new();
    for part in &run.resources {
        let noun = part.resource.noun();
        all.push(measure(format!("Spread of {noun}"), part.spread, points));
    }
    for part in &run.resources {
        let noun = part.resource.noun();
        all.push(measure(format!("Peak of {noun}"), part.peak, percent));
    }
    let over = format!("Time with a node over {}", percent(line));
    all.push(measure(over, run.seconds_over_line, seconds));
    let mut rest = |what: &str, value, text| all.push(measure(what.to_owned(), value, text));
    rest("Pods that had to wait", whole(run.refused), count);
    rest("Total of their waits", run.refused_seconds, seconds);
    rest("The longest wait", run.longest_refused_seconds, seconds);
    rest("Pods still waiting", whole(run.still_refused), count);
    rest("Requests lost", run.lost_share, tenths);
    let under_provisioned = run.under_provisioned_seconds;
    rest("Time under-provisioned", under_provisioned, seconds);
    rest("Scaled replica-hours", run.replica_hours, hours);
    all
}

fn points(share: f64) -> String {
    format!("{:.1} points", share * 100.0)
}

fn tenths(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

fn count(number: f64) -> String {
    format!("{number:.0}")
}

pub(super) fn seconds(time: f64) -> String {
    match time {
        time if time < 100.0 => format!("{time:.0} s"),
        time if time < 6000.0 => format!("{:.1} min", time / 60.0),
        time => format!("{:.1} h", time / 3600.0),
    }
}

fn hours(time: f64) -> String {
    format!("{time:.1} h")
}

fn whole(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
