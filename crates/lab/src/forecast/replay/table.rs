//! A replay as tables for people, and what its figures leave out.

use std::io;
use std::io::Write;

use comfy_table::Cell;
use evenkeel_scaling::counterfactual::pareto_frontier::Cost;
use evenkeel_terminal::output::{Report, Style, fit_to_width, right};

use super::report::{PolicyCost, Ratios, Replay, ReplayedSeries, by_default};

/// Ratio of the shares of floors and of a rule above which the rule is named as better.
const CLEARLY: f64 = 1.1;

impl Report for Replay {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        if self.partial {
            writeln!(
                to,
                "{}: interrupted before the end. Series that were not started are left out, and \
                 the last one may lack policies.\n\
                 ",
                style.emphasis("PARTIAL RESULT")
            )?;
        }
        if let [one] = &self.series[..] {
            writeln!(to, "{}\n", style.emphasis(&terms(one)))?;
            print_policies(&one.policies, to, style)?;
            writeln!(to, "\nAll risks: {}", one.at_equal_replica_hours.told())?;
        } else {
            print_series(self, to, style)?;
            writeln!(to, "\nGeometric means over the series:\n")?;
            print_policies(&self.mean.policies, to, style)?;
        }
        for note in self.notes() {
            writeln!(to, "Note: {note}.")?;
        }
        Ok(())
    }
}

impl Replay {
    /// Notes on comparisons and gaps that the figures do not show.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for one in &self.series {
            for (kind, subject) in [("evenkeel", "floors at"), ("rule", "seasonal rules")] {
                let labels = |place: &str| {
                    let there = one.policies.iter();
                    let there =
                        there.filter(|one| one.policy == kind && one.beside_hpa == Some(place));
                    there.map(PolicyCost::label).collect::<Vec<_>>().join(", ")
                };
                let (more, fewer) = (labels("more"), labels("fewer"));
                if !more.is_empty() {
                    notes.push(format!(
                        "{}: {subject} {more} cost more replica-hours than the plain HPA at its \
                         lowest target, so there is no comparison",
                        one.name
                    ));
                }
                if !fewer.is_empty() {
                    notes.push(format!(
                        "{}: {subject} {fewer} cost fewer replica-hours than the plain HPA at its \
                         own target, and are compared with that",
                        one.name
                    ));
                }
            }
            notes.extend(one.better_rule());
            match one.gaps {
                0 => {}
                1 => notes.push(format!("{}: 1 gap in the load", one.name)),
                gaps => notes.push(format!("{}: {gaps} gaps in the load", one.name)),
            }
        }
        notes
    }
}

impl ReplayedSeries {
    /// The seasonal rule that does clearly better than floors at the default risk, or that can be compared where they
    /// cannot.
    fn better_rule(&self) -> Option<String> {
        let (rule, share) = self.best_rule()?;
        let (_, floors) = self.by_default()?;
        let (name, rule, risk) = (&self.name, rule.label(), floors.label());
        let Some(own) = floors.at_equal_replica_hours?.under_provisioned else {
            return Some(format!(
                "{name}: floors at risk {risk} cost too many replica-hours to compare; the seasonal \
                 rule {rule} leaves {share:.2} of the plain HPA's time under-provisioned"
            ));
        };
        (own > share * CLEARLY).then(|| {
            format!(
                "{name}: the seasonal rule {rule} does better than floors at risk {risk}, {share:.2} \
                 against {own:.2} of the plain HPA's time under-provisioned at equal replica-hours"
            )
        })
    }
}

pub(super) fn terms(one: &ReplayedSeries) -> String {
    format!(
        "{}: {} to {} replicas, Pods ready after {} s, judged from {:.0} to {:.0}",
        one.name, one.min, one.max, one.start_up_seconds, one.count_from, one.to
    )
}

/// Costs as cells: under-provisioned, overloaded, replica-hours.
fn costs(cost: Option<Cost>) -> [Cell; 3] {
    let number = |digits: usize, of: fn(&Cost) -> f64| {
        let number = cost.as_ref().map(of);
        right(number.map_or("-".to_owned(), |number| format!("{number:.digits$}")))
    };
    [
        number(0, |cost| cost.under_provisioned_seconds),
        number(0, |cost| cost.overloaded_seconds),
        number(1, |cost| cost.replica_hours),
    ]
}

fn print_policies(policies: &[PolicyCost], to: &mut dyn Write, style: Style) -> io::Result<()> {
    let mut table = style.table([
        Cell::new("POLICY"),
        right("UNDER-PROVISIONED s"),
        right("OVERLOADED s"),
        right("REPLICA-HOURS"),
        right("AT EQUAL REPLICA-HOURS"),
    ]);
    for one in policies {
        let name = match one.policy {
            "hpa" => format!("plain HPA at {}", one.label()),
            "rule" => {
                let fewer = one.series.map(|series| format!(" ({series} series)"));
                format!(
                    "seasonal rule: {}{}",
                    one.label(),
                    fewer.unwrap_or_default()
                )
            }
            _ if one.scale_down == Some("early") => {
                format!("floors at risk {}, lowered early", one.label())
            }
            _ => format!("floors at risk {}", one.label()),
        };
        let told = one.at_equal_replica_hours.map(Ratios::told);
        let cells = [Cell::new(name)].into_iter().chain(costs(Some(one.cost())));
        table.add_row(cells.chain([right(told.unwrap_or_default())]));
    }
    writeln!(to, "{}", fit_to_width(&table))
}

/// A line for each series: the plain HPA at its own target, and floors at the default risk.
fn print_series(replay: &Replay, to: &mut dyn Write, style: Style) -> io::Result<()> {
    let own = by_default(&replay.mean.policies);
    let label = |of: Option<&PolicyCost>| of.map_or_else(String::new, PolicyCost::label);
    let (plain, floors) = own.unzip();
    let (plain, floors) = (label(plain), label(floors));
    let mut table = style.table([
        Cell::new("SERIES"),
        right("STEP"),
        right(format!("HPA {plain}: UNDER")),
        right("OVER"),
        right("REPLICA-H"),
        right(format!("FLOORS {floors}: UNDER")),
        right("OVER"),
        right("REPLICA-H"),
        right("EQUAL, ALL RISKS"),
    ]);
    let row =
        |name: &str, step: String, sides: Option<(&PolicyCost, &PolicyCost)>, told: Ratios| {
            let (plain, floors) = sides.unzip();
            let cells = [Cell::new(name), right(step)].into_iter();
            let cells = cells.chain(costs(plain.map(PolicyCost::cost)));
            let cells = cells.chain(costs(floors.map(PolicyCost::cost)));
            cells.chain([right(told.told())]).collect::<Vec<_>>()
        };
    for one in &replay.series {
        let step = format!("{} s", one.step_seconds);
        table.add_row(row(
            &one.name,
            step,
            one.by_default(),
            one.at_equal_replica_hours,
        ));
    }
    let mean = &replay.mean;
    table.add_row(row(
        "geometric mean",
        String::new(),
        own,
        mean.at_equal_replica_hours,
    ));
    table.add_row(row("worst", String::new(), None, mean.worst));
    writeln!(to, "{}", fit_to_width(&table))
}
