//! Additions of a replayed record to the comparison at the end of a run: the difference in words, and
//! the list of gaps in the record.

use std::io;
use std::io::Write;

use evenkeel_terminal::output::{Report, Style};
use evenkeel_units::count_as_f64;
use serde::Serialize;

use super::comparison::RunComparison;
use crate::replay::ReplayInput;
use crate::replay::difference::sentence;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecordNotes {
    difference: String,
    missing: Vec<String>,
}

impl RecordNotes {
    /// From the means over the seeds; `None` without a record.
    pub(super) fn of(input: &ReplayInput, runs: &[RunComparison]) -> Option<Self> {
        input.record.as_ref()?;
        let count = count_as_f64(runs.len().max(1));
        let mean = |of: &dyn Fn(&RunComparison) -> f64| runs.iter().map(of).sum::<f64>() / count;
        let plain = (
            mean(&|run| run.plain.under_provisioned_seconds),
            mean(&|run| run.plain.replica_hours),
        );
        let evenkeel = (
            mean(&|run| run.evenkeel.under_provisioned_seconds),
            mean(&|run| run.evenkeel.replica_hours),
        );
        let name = if input.unedited.is_some() {
            "edited HPAs with Evenkeel, beside the recorded ones without"
        } else {
            "with Evenkeel"
        };
        Some(Self {
            difference: sentence(name, evenkeel, plain),
            missing: input.missing(),
        })
    }
}

impl Report for RecordNotes {
    fn print(&self, to: &mut dyn Write, _: Style) -> io::Result<()> {
        writeln!(to, "\n{}.\n\nThe record does not show:", self.difference)?;
        for gap in &self.missing {
            writeln!(to, "- {gap}")?;
        }
        Ok(())
    }
}
