//! A comparison as tables for people, and in words where Evenkeel is not the best.

use std::io;
use std::io::Write;

use comfy_table::Cell;
use evenkeel_sandbox::simulation::confidence_interval::MeanEstimate;
use evenkeel_sandbox::simulation::policies::PolicyName;
use evenkeel_units::Resource;

use super::report::{PolicyReport, ScalingReport, ScenarioBackgroundReport, SimulateReport};
use evenkeel_terminal::output::{Report, Style, fit_to_width, percent, right};
use evenkeel_terminal::resource_units;

/// A figure of a policy; less is better in every one.
type PolicyFigure<'a> = &'a dyn Fn(&PolicyReport) -> MeanEstimate;

type PolicyRowFigures = fn(&PolicyReport) -> Vec<MeanEstimate>;

/// Figures that differ by less are told as the same.
const SHOWN: f64 = 0.05;

impl Report for SimulateReport {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        self.print_head(to, style)?;
        if let Some(replay) = &self.replay {
            replay.print(to, style)?;
        }
        if !self.scalings.is_empty() {
            self.print_scalings(to, style)?;
        }
        let resources = Resource::ALL.map(resource_units::title);
        let spread: PolicyRowFigures =
            |policy| policy.resources.iter().map(|part| part.spread).collect();
        let peak: PolicyRowFigures =
            |policy| policy.resources.iter().map(|part| part.peak).collect();
        writeln!(
            to,
            "\n{}\n",
            style.emphasis("Spread over the nodes, in points")
        )?;
        self.print_rows(&resources, spread, to, style)?;
        writeln!(to, "\n{}\n", style.emphasis("Highest node, in percent"))?;
        self.print_rows(&resources, peak, to, style)?;
        let title = format!("Time over {}, and Pods that waited", percent(self.line));
        writeln!(to, "\n{}\n", style.emphasis(&title))?;
        let titles = [
            "ANY NODE OVER, s",
            "PODS REFUSED",
            "TO THE END",
            "LONGEST WAIT, s",
        ];
        let waits: PolicyRowFigures = |policy| {
            vec![
                policy.seconds_over_line,
                policy.refused,
                policy.still_refused,
                policy.longest_wait_seconds,
            ]
        };
        self.print_rows(&titles, waits, to, style)?;
        for line in self.verdict() {
            writeln!(to, "\n{line}")?;
        }
        Ok(())
    }
}

impl SimulateReport {
    /// Prints the simulated scenario and its sources.
    fn print_head(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let hours = self.duration_seconds / 3600.0;
        let title = format!(
            "{}: {} nodes, {hours:.1} h, {}",
            self.scenario,
            self.nodes,
            runs(&self.seeds)
        );
        writeln!(to, "{}", style.emphasis(&title))?;
        self.background.print(to)
    }

    fn print_scalings(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let title = "Scaling, the same for all policies of placement";
        writeln!(to, "\n{}\n", style.emphasis(title))?;
        let mut table = style.table([
            Cell::new("SCALING"),
            right("CHANGES"),
            right("REPLICA-HOURS"),
            right("UNDER-PROVISIONED s"),
            right("OVERLOADED s"),
            right("RESPONSE ms"),
            right("WORST ms"),
        ]);
        for ScalingReport {
            scaling,
            changes,
            replica_hours,
            under_provisioned_seconds,
            overloaded_seconds,
            responses,
        } in &self.scalings
        {
            table.add_row([
                Cell::new(scaling),
                right(changes.to_string()),
                right(format!("{replica_hours:.1}")),
                right(format!("{under_provisioned_seconds:.0}")),
                right(format!("{overloaded_seconds:.0}")),
                right(format!("{:.1}", responses.mean_seconds * 1000.0)),
                right(format!("{:.0}", responses.worst_seconds * 1000.0)),
            ]);
        }
        writeln!(to, "{}", fit_to_width(&table))
    }

    /// The name of a policy in a row, with the way of scaling if there are several.
    fn label(&self, policy: &PolicyReport) -> String {
        if self.scalings.len() > 1 {
            format!("{}, {}", policy.policy, policy.scaling)
        } else {
            policy.policy.to_owned()
        }
    }

    /// A row for each policy, where the least of each column stands out.
    fn print_rows(
        &self,
        titles: &[&str],
        row: PolicyRowFigures,
        to: &mut dyn Write,
        style: Style,
    ) -> io::Result<()> {
        let header = titles.iter().map(|title| right(*title));
        let mut table = style.table([Cell::new("POLICY")].into_iter().chain(header));
        let rows: Vec<Vec<MeanEstimate>> = self.policies.iter().map(row).collect();
        let least = |column: usize| {
            let means = rows.iter().map(|row| row[column].mean);
            means.fold(f64::INFINITY, f64::min)
        };
        for (policy, row) in self.policies.iter().zip(&rows) {
            let cells = row.iter().enumerate().map(|(column, estimate)| {
                let cell = right(told(*estimate, 1));
                if estimate.mean <= least(column) + SHOWN {
                    style.good(cell)
                } else {
                    cell
                }
            });
            table.add_row([Cell::new(self.label(policy))].into_iter().chain(cells));
        }
        writeln!(to, "{}", fit_to_width(&table))
    }

    /// Where another policy than Evenkeel's has the lowest spread or peak.
    fn verdict(&self) -> Vec<String> {
        let own = PolicyName::Evenkeel.as_str();
        // Placements are held against each other where the same Pods were placed.
        let mut own = self.policies.iter().filter(|policy| policy.policy == own);
        let (Some(ours), None) = (own.next(), own.next()) else {
            return Vec::new();
        };
        if self.policies.len() < 2 {
            return Vec::new();
        }
        let mut worse = Vec::new();
        for (at, resource) in Resource::ALL.into_iter().enumerate() {
            let noun = resource.noun();
            let spread = |policy: &PolicyReport| policy.resources[at].spread;
            let peak = |policy: &PolicyReport| policy.resources[at].peak;
            worse.extend(self.worse(ours, &spread, &format!("the spread of {noun}")));
            worse.extend(self.worse(ours, &peak, &format!("the peak of {noun}")));
        }
        let lowest = "Evenkeel has the lowest spread and peak of every resource.".to_owned();
        if worse.is_empty() {
            return vec![lowest];
        }
        vec![format!(
            "Evenkeel is not the lowest in {}.",
            worse.join("; ")
        )]
    }

    /// The policy that is lower than Evenkeel in a figure, with a note if that may be chance.
    fn worse(&self, ours: &PolicyReport, of: PolicyFigure<'_>, what: &str) -> Option<String> {
        let others = self.policies.iter();
        let best = others.min_by(|one, other| of(one).mean.total_cmp(&of(other).mean))?;
        let (own, least) = (of(ours), of(best));
        if own.mean <= least.mean + SHOWN {
            return None;
        }
        let margins = own.margin95.zip(least.margin95);
        let overlaps = margins
            .is_some_and(|(own_margin, margin)| own.mean - own_margin <= least.mean + margin);
        let chance = if overlaps {
            ", within the intervals"
        } else {
            ""
        };
        Some(format!(
            "{what} ({} against {} of {}{chance})",
            told(own, 1),
            told(least, 1),
            best.policy
        ))
    }
}

impl ScenarioBackgroundReport {
    /// A line for each thing that is behind a scenario.
    pub(super) fn print(&self, to: &mut dyn Write) -> io::Result<()> {
        let Self {
            source,
            reported,
            assumed,
        } = self;
        let source = source.iter().map(|line| ("Source", line));
        let reported = reported.iter().map(|line| ("Reported", line));
        let assumed = assumed.iter().map(|line| ("Assumed", line));
        for (name, line) in source.chain(reported).chain(assumed) {
            writeln!(to, "{name}: {line}")?;
        }
        Ok(())
    }
}

/// How many runs there were, and what stands in the tables of several.
pub(super) fn runs(seeds: &[u64]) -> String {
    match seeds.len() {
        1 => "1 seed".to_owned(),
        count => format!("{count} seeds, means ± half of the 95 % interval"),
    }
}

/// A mean with its margin, with so many digits behind the point.
pub(super) fn told(estimate: MeanEstimate, digits: usize) -> String {
    let MeanEstimate { mean, margin95 } = estimate;
    match margin95 {
        Some(margin) => format!("{mean:.digits$} ± {margin:.digits$}"),
        None => format!("{mean:.digits$}"),
    }
}
