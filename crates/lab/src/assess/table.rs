//! An assessment as a table for people.

use std::io::{self, Write};

use comfy_table::Cell;

use super::report::Assessment;
use super::scaling_advice::ScalingAdvice;
use super::target_report::{EvaluationReport, TargetReport};
use super::verdict::AssessVerdict;
use crate::forecast::replay::report::{Ratios, percentage};
use evenkeel_terminal::output::{Report, Style, fit_to_width, right};

pub(super) const FIGURES: [&str; 10] = [
    "RECOMMENDED",
    "DAYS",
    "UNDER-PROV. s",
    "WITH FLOORS",
    "REPLICA-H",
    "WITH FLOORS",
    "AT EQUAL COST",
    "BEST RULE",
    "AS SAFE AT",
    "HALF DAYS",
];

impl Report for Assessment {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        writeln!(to, "{}\n", style.emphasis(&self.summary.told()))?;
        let header = ["HPA", "VERDICT"].map(Cell::new).into_iter();
        let mut table = style.table(header.chain(FIGURES.map(right)));
        for one in &self.targets {
            let verdict = Cell::new(one.verdict.as_str());
            let verdict = match one.verdict {
                AssessVerdict::WorthEnabling => style.good(verdict),
                _ => verdict,
            };
            let cells = [Cell::new(one.full_name()), verdict].into_iter();
            table.add_row(cells.chain(one.figures().map(|text| right(&text))));
        }
        if !self.targets.is_empty() {
            writeln!(to, "{}\n", fit_to_width(&table))?;
        }
        for one in &self.targets {
            writeln!(to, "{}: {}.", style.emphasis(&one.full_name()), one.because)?;
            if let Some(advice) = &one.recommended {
                for line in advice.told.iter().chain(&advice.promql) {
                    writeln!(to, "  {line}")?;
                }
            }
            for note in &one.notes {
                writeln!(to, "  {note}")?;
            }
        }
        for note in &self.notes {
            writeln!(to, "\nNote: {note}.")?;
        }
        Ok(())
    }
}

impl TargetReport {
    /// The cells below [`FIGURES`].
    pub(super) fn figures(&self) -> [String; 10] {
        let past = self
            .past
            .as_ref()
            .map(|past| format!("{:.1}", past.known_days));
        let judged = self.judged.as_ref();
        let floors = judged.and_then(|judged| judged.floors.as_ref());
        let today = |of: fn(&EvaluationReport) -> f64, digits: usize| {
            judged.map(|judged| format!("{:.digits$}", of(judged)))
        };
        let seconds = floors.map(|one| format!("{:.0}", one.floors.under_provisioned_seconds));
        let hours = floors.map(|one| format!("{:.1}", one.floors.replica_hours));
        [
            self.recommended.as_ref().map(ScalingAdvice::label),
            past,
            today(|one| one.today.under_provisioned_seconds, 0),
            seconds,
            today(|one| one.today.replica_hours, 1),
            hours,
            floors.map(|one| Ratios::told(one.at_equal_replica_hours)),
            floors.and_then(|one| one.best_rule.clone()),
            floors.map(|one| {
                one.as_safe
                    .map_or("none".to_owned(), |one| percentage(one.target))
            }),
            floors.map(|one| one.half_days.told()),
        ]
        .map(|cell| cell.unwrap_or_else(|| "-".to_owned()))
    }
}
