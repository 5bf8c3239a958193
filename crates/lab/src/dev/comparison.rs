//! Comparison at the end of a run: Evenkeel, the default scheduler with a plain HPA, that HPA with a
//! target so low that it costs as many replicas, and with a seasonal rule; with the same load, seed
//! and time.

use std::io;
use std::io::Write;

use comfy_table::Cell;
use evenkeel_sandbox::engine::lag::LagSummary;
use evenkeel_sandbox::engine::summary::RunSummary;
use evenkeel_sandbox::target_replay::SeasonalRule;
use serde::Serialize;

use super::measures;
use super::measures::{Measure, MeasureVerdict};
use evenkeel_terminal::output::{Report, Style, fit_to_width};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunComparison {
    pub(super) seed: u64,
    /// The headroom line, as a share.
    pub(super) line: f64,
    /// Seconds of the scenario a second, as asked for.
    pub(super) speed: f64,
    /// The same as this machine kept them, on average.
    pub(super) kept: f64,
    /// Time of the simulated control plane from creating a Pod to its start; the same for both
    /// sides.
    pub(super) lag: LagSummary,
    /// The default scheduler and plain HPAs, in virtual time.
    pub(super) plain: RunSummary,
    /// The same with lower targets, where Evenkeel costs more than plain HPAs.
    pub(super) rival: Option<Rival>,
    /// The same with a seasonal rule, where the scenario has a day of past.
    pub(super) rule: Option<RuleRival>,
    /// With Evenkeel, as the run showed it.
    pub(super) evenkeel: RunSummary,
}

/// Plain HPAs with lower targets.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rival {
    /// The share of its own target that each HPA aims at.
    pub(super) target_share: f64,
    #[serde(flatten)]
    pub(super) summary: RunSummary,
}

/// Plain HPAs with a second metric.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RuleRival {
    #[serde(flatten)]
    pub(super) rule: SeasonalRule,
    #[serde(flatten)]
    pub(super) summary: RunSummary,
}

struct RunComparisonRow {
    /// Of the other runs, in the order of their columns.
    rivals: Vec<Measure>,
    evenkeel: Measure,
}

impl RunComparisonRow {
    fn verdict(&self) -> MeasureVerdict {
        let values = self.rivals.iter().map(|one| one.value);
        self.evenkeel.beside(values.fold(f64::INFINITY, f64::min))
    }
}

impl RunComparison {
    fn rows(&self) -> Vec<RunComparisonRow> {
        let measures = |run| measures::of(run, self.line).into_iter();
        let rivals = self.rivals().into_iter();
        let mut rivals: Vec<_> = rivals.map(|(_, run)| measures(run)).collect();
        let row = |evenkeel| RunComparisonRow {
            rivals: rivals.iter_mut().filter_map(Iterator::next).collect(),
            evenkeel,
        };
        measures(&self.evenkeel).map(row).collect()
    }

    /// The runs without Evenkeel, each with the head of its column.
    fn rivals(&self) -> Vec<(String, &RunSummary)> {
        let lower = self.rival.as_ref();
        let lower = lower.map(|one| (format!("Targets x {:.2}", one.target_share), &one.summary));
        let rule = self.rule.as_ref();
        let rule = rule.map(|one| (format!("Rule: {}", one.rule), &one.summary));
        let plain = ("Default scheduler".to_owned(), &self.plain);
        [Some(plain), lower, rule].into_iter().flatten().collect()
    }

    /// The run of plain HPAs that cost as many replica-hours as Evenkeel, if not more.
    pub(super) fn at_equal_cost(&self) -> &RunSummary {
        self.rival
            .as_ref()
            .map_or(&self.plain, |rival| &rival.summary)
    }

    /// The mean lag in milliseconds of the clock.
    fn lag_on_clock(&self) -> f64 {
        1000.0 * self.lag.mean_seconds / self.kept
    }

    /// True where the machine did not keep up with the speed that was asked for.
    pub(super) fn is_of_a_slow_machine(&self) -> bool {
        self.kept < self.speed * KEPT
    }
}

/// The explanation of the column of the rule.
pub(super) const RULE_COLUMN: &str = "\
\"Rule\" adds a second metric to the plain HPAs: the highest load of the coming half hour, one day\n\
or one week earlier, times a factor. The table shows the safest rule that costs no more\n\
replica-hours than Evenkeel; if there is none, the cheapest.";

/// The share of the speed that a machine keeps which is not too slow for it.
const KEPT: f64 = 0.95;

impl RunComparison {
    /// Prints the lags of this machine's control plane, and how far the other side has them too.
    fn print_lag(&self, to: &mut dyn Write) -> io::Result<()> {
        let LagSummary {
            pods,
            mean_seconds,
            longest_seconds,
        } = self.lag;
        let on_clock = self.lag_on_clock();
        writeln!(
            to,
            "\n\
             Control plane: from the request for a Pod to its binding {mean_seconds:.1} s of the\n\
             scenario on average ({on_clock:.0} ms of the clock), at most {longest_seconds:.1} s, over \
             {pods} Pods.\n\
             The default scheduler's side is computed in virtual time with the same lags and lost\n\
             nodes, but without faults of metrics and API server."
        )?;
        let (asked, kept) = (self.speed, self.kept);
        if self.is_of_a_slow_machine() {
            writeln!(
                to,
                "\nSpeed: {asked} x asked, {kept:.1} x kept on average: this machine is too slow for more."
            )
        } else {
            writeln!(to, "\nSpeed: {asked} x asked, and kept.")
        }
    }
}

impl Report for RunComparison {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let passed = measures::seconds(self.evenkeel.seconds);
        writeln!(
            to,
            "{passed} of the scenario, seed {}. Less is better everywhere.\n",
            self.seed
        )?;
        let rows = self.rows();
        let rivals = self.rivals().into_iter().map(|(head, _)| head);
        let header = [String::new()].into_iter().chain(rivals);
        let header = header.chain(["With Evenkeel".to_owned(), String::new()]);
        let mut table = style.table(header.map(Cell::new));
        for row in &rows {
            let verdict = row.verdict().cell(style);
            let measures = row.rivals.iter().chain([&row.evenkeel]);
            let cells = measures.map(|measure| Cell::new(measure.shown()));
            let what = std::iter::once(Cell::new(&row.evenkeel.what));
            table.add_row(what.chain(cells).chain([verdict]));
        }
        writeln!(to, "{}\n", fit_to_width(&table))?;
        let worse: Vec<String> = rows
            .iter()
            .filter(|row| row.verdict() == MeasureVerdict::Worse)
            .map(|row| row.evenkeel.what.clone())
            .collect();
        if worse.is_empty() {
            writeln!(to, "Evenkeel is worse in no measure.")?;
        } else {
            let lines: Vec<String> = worse.chunks(4).map(|part| part.join(", ")).collect();
            writeln!(to, "Evenkeel is worse in: {}.", lines.join(",\n  "))?;
        }
        writeln!(
            to,
            "Spread is the standard deviation of utilisation over the nodes, its mean over time. A\n\
             workload is under-provisioned while its ready Pods carry more than 1.1 times the target of\n\
             its HPA."
        )?;
        if self.rival.is_some() {
            writeln!(
                to,
                "\"Targets x\" is the default scheduler with plain HPAs whose lower targets cost as\n\
                 many replica-hours."
            )?;
        }
        if self.rule.is_some() {
            writeln!(to, "{RULE_COLUMN}")?;
        }
        if self.rivals().len() > 1 {
            writeln!(to, "\"Better\" means better than all other columns.")?;
        }
        self.print_lag(to)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_sandbox::engine::summary::ResourceSummary;
    use evenkeel_sandbox::target_replay::Season;
    use evenkeel_units::Resource;

    use super::*;

    fn summary(spread: f64, refused: usize, lost_share: f64) -> RunSummary {
        let part = |resource| ResourceSummary {
            resource,
            spread,
            peak: 0.5,
            node_seconds_over_line: 0.0,
        };
        RunSummary {
            seconds: 600.0,
            resources: Resource::ALL.map(part).to_vec(),
            seconds_over_line: 7200.0,
            refused,
            refused_seconds: 90.0,
            longest_refused_seconds: 0.0,
            still_refused: 0,
            lost_share,
            under_provisioned_seconds: 0.0,
            replica_hours: 0.0,
        }
    }

    fn printed(plain: RunSummary, evenkeel: RunSummary) -> String {
        shown(plain, None, evenkeel, 20.0)
    }

    fn shown(plain: RunSummary, rival: Option<Rival>, evenkeel: RunSummary, kept: f64) -> String {
        shown_beside(plain, (rival, None), evenkeel, kept)
    }

    fn shown_beside(
        plain: RunSummary,
        (rival, rule): (Option<Rival>, Option<RuleRival>),
        evenkeel: RunSummary,
        kept: f64,
    ) -> String {
        let comparison = RunComparison {
            seed: 7,
            line: 0.8,
            speed: 20.0,
            kept,
            lag: LagSummary {
                pods: 42,
                mean_seconds: 1.5,
                longest_seconds: 4.0,
            },
            plain,
            rival,
            rule,
            evenkeel,
        };
        let mut out = Vec::new();
        comparison.print(&mut out, Style::Plain).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn row<'a>(text: &'a str, begins: &str) -> Vec<&'a str> {
        let row = text.lines().find(|line| line.starts_with(begins));
        row.unwrap()
            .rsplit("  ")
            .filter(|cell| !cell.is_empty())
            .collect()
    }

    #[test]
    fn what_is_worse_is_said_in_the_row_and_below() {
        let text = printed(summary(0.2, 0, 0.01), summary(0.1, 3, 0.0101));
        assert_eq!(row(&text, "Spread of cpu")[0].trim(), "better");
        assert_eq!(row(&text, "Pods that had to wait")[0].trim(), "worse");
        // The figures that are shown do not differ.
        assert_eq!(row(&text, "Requests lost")[0].trim(), "same");
        assert!(
            text.contains("Evenkeel is worse in: Pods that had to wait."),
            "{text}"
        );
        for part in [
            "10.0 min of the scenario, seed 7",
            "20.0 points",
            "2.0 h",
            "90 s",
            "1.5 s of the",
            "(75 ms of the clock), at most 4.0 s, over 42 Pods",
            "Speed: 20 x asked, and kept.",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn the_speed_that_a_slow_machine_kept_is_told() {
        let run = || summary(0.2, 1, 0.0);
        let slow = shown(run(), None, run(), 12.34);
        assert!(
            slow.contains("20 x asked, 12.3 x kept on average"),
            "{slow}"
        );
        assert!(!printed(run(), run()).contains("too slow"));
    }

    #[test]
    fn better_is_who_is_better_than_the_lower_target_too() {
        let rival = |lost_share| Rival {
            target_share: 0.85,
            summary: summary(0.2, 0, lost_share),
        };
        let text = |lost_share| {
            let run = |lost_share| summary(0.2, 0, lost_share);
            shown(run(0.05), Some(rival(lost_share)), run(0.02), 20.0)
        };
        assert_eq!(row(&text(0.03), "Requests lost")[0].trim(), "better");
        assert_eq!(row(&text(0.01), "Requests lost")[0].trim(), "worse");
        assert!(text(0.01).contains("Targets x 0.85"));
    }

    #[test]
    fn better_counts_the_rule_too() {
        let run = |lost_share| summary(0.2, 0, lost_share);
        let text = |lost_share| {
            let rule = RuleRival {
                rule: SeasonalRule {
                    season: Season::LastWeek,
                    factor: 1.1,
                },
                summary: run(lost_share),
            };
            shown_beside(run(0.05), (None, Some(rule)), run(0.02), 20.0)
        };
        assert_eq!(row(&text(0.03), "Requests lost")[0].trim(), "better");
        assert_eq!(row(&text(0.01), "Requests lost")[0].trim(), "worse");
        assert!(text(0.01).contains("Rule: last week x 1.1"));
    }

    #[test]
    fn an_even_match_is_no_win() {
        let text = printed(summary(0.2, 1, 0.0), summary(0.2, 1, 0.0));
        assert!(!text.lines().any(|line| line.trim_end().ends_with("better")));
        assert!(text.contains("is worse in no measure"), "{text}");
    }
}
