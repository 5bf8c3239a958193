//! Runs of several seeds side by side: the mean and spread of each measure. One run proves little:
//! the places of a few Pods in its first second may decide the rest.

use std::io;
use std::io::Write;

use comfy_table::Cell;
use evenkeel_sandbox::engine::summary::RunSummary;
use evenkeel_units::count_as_f64;
use serde::Serialize;

use super::comparison::{RULE_COLUMN, RunComparison};
use super::measures;
use super::measures::{Measure, MeasureVerdict};
use evenkeel_terminal::output::{Report, Style, fit_to_width};

/// The comparisons of all seeds, of which there is one at least.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OverSeeds {
    seeds: Vec<u64>,
    measures: Vec<SeedComparisonRow>,
    /// Seeds of the runs in which the machine did not keep up.
    busy: Vec<u64>,
}

/// One measure over all seeds; less is better.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SeedComparisonRow {
    measure: String,
    /// The default scheduler and plain HPAs.
    plain: Range,
    /// The same with targets so low that they cost as many replica-hours as Evenkeel.
    equal_cost: Range,
    /// The same with the seasonal rule of each seed, where the scenario has a day of past.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<Range>,
    evenkeel: Range,
    /// Seeds on which Evenkeel is better than all of the others.
    better: usize,
    /// Seeds on which one of the others is better.
    worse: usize,
}

/// A measure of several runs.
#[derive(Debug, Serialize)]
struct Range {
    mean: f64,
    least: f64,
    most: f64,
    #[serde(skip)]
    text: String,
}

impl Range {
    fn of(measures: &[&Measure]) -> Self {
        let values = || measures.iter().map(|measure| measure.value);
        let mean = values().sum::<f64>() / count_as_f64(measures.len());
        let least = values().fold(f64::INFINITY, f64::min);
        let most = values().fold(f64::NEG_INFINITY, f64::max);
        let show = |value| measures.first().map_or_else(String::new, |m| m.show(value));
        let text = range(&show(mean), &show(least), &show(most));
        Self {
            mean,
            least,
            most,
            text,
        }
    }
}

/// A mean and what it is the mean of, with the unit once where all have the same.
fn range(mean: &str, least: &str, most: &str) -> String {
    if least == most {
        return mean.to_owned();
    }
    let split = |text: &str| {
        let number = text.find(|c: char| c != '.' && !c.is_ascii_digit());
        let (number, unit) = text.split_at(number.unwrap_or(text.len()));
        (number.to_owned(), unit.to_owned())
    };
    let [mean_parts, least_parts, most_parts] = [mean, least, most].map(split);
    if mean_parts.1 == least_parts.1 && least_parts.1 == most_parts.1 {
        let (number, unit) = mean_parts;
        return format!("{number} ({} to {}){unit}", least_parts.0, most_parts.0);
    }
    format!("{mean} ({least} to {most})")
}

impl OverSeeds {
    /// The comparisons side by side; `None` without any.
    pub(super) fn of(comparisons: &[RunComparison]) -> Option<Self> {
        let line = comparisons.first()?.line;
        let of = |run: fn(&RunComparison) -> Option<&RunSummary>| -> Vec<Vec<Measure>> {
            let runs = comparisons.iter().filter_map(run);
            runs.map(|run| measures::of(run, line)).collect()
        };
        let runs = [
            of(|comparison| Some(&comparison.plain)),
            of(|comparison| Some(comparison.at_equal_cost())),
            of(|comparison| comparison.rule.as_ref().map(|rule| &rule.summary)),
            of(|comparison| Some(&comparison.evenkeel)),
        ];
        let count = measures::of(&comparisons.first()?.evenkeel, line).len();
        let rows = (0..count).map(|at| {
            SeedComparisonRow::of(runs.each_ref().map(|runs| {
                let measures = runs.iter().filter_map(|run| run.get(at));
                measures.collect::<Vec<_>>()
            }))
        });
        let busy = comparisons.iter();
        let busy = busy.filter(|comparison| comparison.is_of_a_slow_machine());
        Some(Self {
            seeds: comparisons.iter().map(|one| one.seed).collect(),
            measures: rows.collect(),
            busy: busy.map(|one| one.seed).collect(),
        })
    }
}

impl SeedComparisonRow {
    /// From the measures of each seed; those of the rule may be missing.
    fn of([plain, equal_cost, rule, evenkeel]: [Vec<&Measure>; 4]) -> Self {
        let verdicts = evenkeel.iter().enumerate().map(|(seed, own)| {
            let others = [&plain, &equal_cost, &rule].into_iter();
            let others = others.filter_map(|runs| Some(runs.get(seed)?.value));
            own.beside(others.fold(f64::INFINITY, f64::min))
        });
        let verdicts: Vec<MeasureVerdict> = verdicts.collect();
        let number = |verdict| verdicts.iter().filter(|each| **each == verdict).count();
        Self {
            measure: plain.first().map_or_else(String::new, |m| m.what.clone()),
            plain: Range::of(&plain),
            equal_cost: Range::of(&equal_cost),
            rule: (!rule.is_empty()).then(|| Range::of(&rule)),
            evenkeel: Range::of(&evenkeel),
            better: number(MeasureVerdict::Better),
            worse: number(MeasureVerdict::Worse),
        }
    }
}

impl Report for OverSeeds {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let count = self.seeds.len();
        writeln!(
            to,
            "{count} seeds: the mean of each measure, and its lowest and highest value. Less is \
             better.\n\
             "
        )?;
        let has_rule = self.measures.iter().any(|row| row.rule.is_some());
        let header = ["", "Default scheduler", "At equal cost"].into_iter();
        let header = header.chain(has_rule.then_some("Rule"));
        let header = header.chain(["With Evenkeel", "better", "worse"]);
        let mut table = style.table(header.map(Cell::new));
        for row in &self.measures {
            let SeedComparisonRow {
                measure,
                plain,
                equal_cost,
                rule,
                evenkeel,
                better,
                worse,
            } = row;
            let texts = [measure, &plain.text, &equal_cost.text].into_iter();
            let texts = texts.chain(rule.as_ref().map(|rule| &rule.text));
            let texts = texts.chain([&evenkeel.text]).map(Cell::new);
            table.add_row(texts.chain([better, worse].map(Cell::new)));
        }
        writeln!(to, "{}\n", fit_to_width(&table))?;
        writeln!(
            to,
            "At equal cost: the default scheduler with plain HPAs whose lower targets cost as many\n\
             replica-hours. Better: the number of seeds on which Evenkeel is better than all others.\n\
             Worse: the number on which it is worse than one of them."
        )?;
        if has_rule {
            writeln!(to, "{RULE_COLUMN}")?;
        }
        if !self.busy.is_empty() {
            let seeds: Vec<String> = self.busy.iter().map(u64::to_string).collect();
            writeln!(
                to,
                "\nThis machine was too slow for the speed on seeds {}, and ran slower.",
                seeds.join(", ")
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_counts_the_rule_too() {
        let measure = |under_provisioned_seconds| {
            let run = RunSummary {
                seconds: 600.0,
                resources: Vec::new(),
                seconds_over_line: 0.0,
                refused: 0,
                refused_seconds: 0.0,
                longest_refused_seconds: 0.0,
                still_refused: 0,
                lost_share: 0.0,
                under_provisioned_seconds,
                replica_hours: 1.0,
            };
            let mut all = measures::of(&run, 0.8).into_iter();
            all.find(|one| one.what == "Time under-provisioned")
                .unwrap()
        };
        let [plain, equal_cost, rule, evenkeel] = [60.0, 40.0, 10.0, 20.0].map(measure);
        for (rules, better, worse) in [(vec![&rule], 0, 1), (vec![], 1, 0)] {
            let has_rule = !rules.is_empty();
            let row =
                SeedComparisonRow::of([vec![&plain], vec![&equal_cost], rules, vec![&evenkeel]]);
            assert_eq!((row.better, row.worse), (better, worse));
            assert_eq!(row.rule.is_some(), has_rule);
        }
    }

    #[test]
    fn a_unit_stands_once_where_it_is_the_same() {
        for (mean, least, most, expected) in [
            (
                "9.1 points",
                "8.3 points",
                "10.0 points",
                "9.1 (8.3 to 10.0) points",
            ),
            ("28 s", "2 s", "1.7 min", "28 s (2 s to 1.7 min)"),
            ("61%", "58%", "65%", "61 (58 to 65)%"),
            ("0", "0", "0", "0"),
            ("3", "1", "4", "3 (1 to 4)"),
        ] {
            assert_eq!(range(mean, least, most), expected);
        }
    }
}
