//! An explanation for people: tables of loads with verdicts, of scores, and of all terms of a node.

use std::io;
use std::io::Write;

use comfy_table::{Cell, Table};
use evenkeel_placement::SELDOM_DEMANDED;
use evenkeel_placement::balance::Normalization;
use evenkeel_placement::extender::explain::{Explanation, NodeExplanation, ResourceExplanation};
use evenkeel_placement::extender::placement_rules::Exemption;
use evenkeel_units::{Amount, Resource};

use crate::output::{Style, fit_to_width, percent, right};
use crate::resource_units::{in_unit, title, unit};

/// The reason why a Pod is not judged as others are, by its name in an explanation.
pub fn exemption(name: &str) -> String {
    Exemption::named(name).map_or_else(|| name.to_owned(), |why| why.explanation().to_owned())
}

/// Prints the exemption of the Pod, if it has one, and the rule of headroom.
pub fn print_headroom(explanation: &Explanation, to: &mut dyn Write) -> io::Result<()> {
    if let Some(name) = &explanation.unjudged {
        let why = exemption(name);
        if Exemption::named(name).is_some_and(Exemption::is_scored) {
            writeln!(
                to,
                "Every node passes without headroom: {why}.\nNodes are scored as for any other Pod.\n"
            )?;
        } else {
            writeln!(
                to,
                "Every node passes, and none is preferred: {why}.\nIf the Pod were judged:\n"
            )?;
        }
    }
    writeln!(
        to,
        "Headroom: with the Pod, every resource must stay below {}.",
        percent(explanation.headroom)
    )
}

pub fn asks(explanation: &Explanation) -> String {
    let (requests, at_start) = (requests(explanation), at_start(explanation));
    if at_start.is_empty() {
        return requests;
    }
    let judged = if explanation.judged_by_first_minutes {
        " Evenkeel judged the nodes by this."
    } else {
        ""
    };
    format!("{requests} In their first minutes, Pods of its workload used {at_start}.{judged}")
}

/// The use by other Pods of the workload in their first minutes; empty where that is no more than
/// the demand.
fn at_start(explanation: &Explanation) -> String {
    let demands = explanation.demand.0.iter();
    let more = demands.filter(|(_, asked)| asked.start_up > 0);
    let amounts = more.map(|(resource, asked)| amount_of(resource, asked.start_up));
    amounts.collect::<Vec<_>>().join(", ")
}

fn amount_of(resource: Resource, amount: u64) -> String {
    let amount = resource.with_unit(Amount::new(amount));
    match resource {
        Resource::Cpu => amount,
        _ => format!("{amount} of {}", resource.noun()),
    }
}

fn requests(explanation: &Explanation) -> String {
    let mut stated = Vec::new();
    let mut unsaid = Vec::new();
    for (resource, asked) in explanation.demand.0.iter() {
        let amount = amount_of(resource, asked.amount);
        match &*asked.source {
            "unknown" => unsaid.push(resource.noun()),
            "history" => stated.push(format!("{amount} (from what its workload used)")),
            "caps" => stated.push(format!("{amount} (its cap)")),
            _ => stated.push(amount),
        }
    }
    match (&stated[..], &unsaid[..]) {
        ([], _) => "It requests nothing: no node is refused because of its own needs, and it is \
                    scored with kube-scheduler's default requests."
            .to_owned(),
        (stated, []) => format!("It requests {}.", stated.join(", ")),
        (stated, unsaid) => format!(
            "It requests {}, and nothing of {}.",
            stated.join(", "),
            unsaid.join(" and ")
        ),
    }
}

fn loads(explanation: &Explanation, style: Style) -> Table {
    let header =
        Resource::ALL.map(|resource| right(format!("{} \n{} ", title(resource), unit(resource))));
    let mut cells = vec![Cell::new("Node")];
    cells.extend(header);
    cells.push(Cell::new("Verdict"));
    let mut table = style.table(cells);
    // A load ends with its mark, which parts it from the next one.
    for column in table.column_iter_mut().skip(1) {
        column.set_padding((0, 1));
    }
    for node in &explanation.nodes {
        let mark = if node.estimated { " ~" } else { "" };
        let mut cells = vec![Cell::new(format!("{}{mark}", node.name))];
        for (resource, term) in node.resources.0.iter() {
            cells.push(load(resource, term, explanation.headroom, style));
        }
        cells.push(verdict(node, explanation.relaxed, style));
        table.add_row(cells);
    }
    table
}

fn load(resource: Resource, term: &ResourceExplanation, limit: f64, style: Style) -> Cell {
    let load = in_unit(resource, Amount::new(term.load));
    let Some(capacity) = term.capacity else {
        if term.pressed {
            return style.bad(right(format!("{load}/–    !")));
        }
        return right(format!("{load}/–     "));
    };
    let capacity = in_unit(resource, Amount::new(capacity));
    if term.fits && is_unknown(resource, term) {
        return right(format!("?/{capacity}   – "));
    }
    let part = term
        .ratio_after
        .map_or("–".to_owned(), |part| beside(part, limit));
    let mark = if term.fits { ' ' } else { '!' };
    let cell = right(format!("{load}/{capacity} {part:>3}{mark}"));
    if term.fits { cell } else { style.bad(cell) }
}

/// True if the use is not measured and no Pod announces it.
fn is_unknown(resource: Resource, term: &ResourceExplanation) -> bool {
    SELDOM_DEMANDED.contains(&resource) && term.freshness == "absent" && term.load == 0
}

fn beside(part: f64, limit: f64) -> String {
    let rounded = percent(part);
    if percent(limit) == rounded {
        format!("{:.1}%", part * 100.0)
    } else {
        rounded
    }
}

fn verdict(node: &NodeExplanation, relaxed: bool, style: Style) -> Cell {
    if !node.schedulable {
        return Cell::new("closed");
    }
    if node.passes && node.refused_by.is_empty() {
        return style.good(Cell::new("passes"));
    }
    if node.passes {
        let why = if relaxed { "relaxed" } else { "exempt" };
        return Cell::new(format!("passes, {why}"));
    }
    let refusing: Vec<&str> = Resource::ALL
        .into_iter()
        .filter(|resource| node.refused_by.iter().any(|by| by == resource.as_str()))
        .map(Resource::noun)
        .collect();
    style.bad(Cell::new(format!("no: {}", refusing.join(", "))))
}

/// The loads with the verdict on each node, and what the marks in them mean.
pub fn print_loads(explanation: &Explanation, to: &mut dyn Write, style: Style) -> io::Result<()> {
    writeln!(
        to,
        "Shown: load/capacity, and the share in use with the Pod.\n"
    )?;
    writeln!(to, "{}\n", fit_to_width(&loads(explanation, style)))?;
    print_marks(explanation, to)
}

/// Explains the marks that the table of loads has.
fn print_marks(explanation: &Explanation, to: &mut dyn Write) -> io::Result<()> {
    let terms = || {
        let nodes = explanation.nodes.iter();
        nodes.flat_map(|node| node.resources.0.values())
    };
    if terms().any(|term| !term.fits) {
        writeln!(
            to,
            "!  too much: the node has no headroom of this resource for the Pod"
        )?;
    }
    if explanation.nodes.iter().any(|node| node.estimated) {
        writeln!(
            to,
            "~  no fresh measurement: the load is the sum of the requests of the node's Pods"
        )?;
    }
    let mut resources = explanation
        .nodes
        .iter()
        .flat_map(|node| node.resources.0.iter());
    if resources.any(|(resource, term)| term.capacity.is_some() && is_unknown(resource, term)) {
        writeln!(
            to,
            "?  not measured, and requested by no Pod there: the use is unknown"
        )?;
    }
    if terms().any(|term| term.capacity.is_none() && !term.pressed) {
        writeln!(
            to,
            "–  of unknown capacity: the resource takes no part in the rules"
        )?;
    }
    writeln!(to)
}

pub fn print_scores(
    explanation: &Explanation,
    best: &str,
    to: &mut dyn Write,
    style: Style,
) -> io::Result<()> {
    let passing = explanation.nodes.iter().filter(|node| node.total.is_some());
    writeln!(
        to,
        "Balance over the {} that pass: 10 is the most even use, 0 the least even ({}).\n",
        passing.count(),
        explanation.normalization
    )?;
    writeln!(to, "{}\n", fit_to_width(&scores(explanation, best, style)))?;
    let total = if explanation.normalization == Normalization::Joint.as_str() {
        "Total grades the weighted variance of all five resources at once, so that a small\n\
         difference in one does not fill the whole scale; it is not the mean of the other\n\
         grades."
    } else {
        "Total is the weighted mean of the other grades."
    };
    writeln!(
        to,
        "{total}\n\
         Sent is the score that kube-scheduler gets. Sum is 50 times that, plus the scores of\n\
         two of its own plugins by requests, as a model computes them; taints, affinity and\n\
         topology count as equal on all nodes.\n"
    )?;
    writeln!(
        to,
        "Best for the balance of the cluster: {}.",
        style.emphasis(best)
    )
}

fn scores(explanation: &Explanation, best: &str, style: Style) -> Table {
    let weights = &explanation.weights.0;
    let header = Resource::ALL
        .map(|resource| right(format!("{}\n× {:.2}", title(resource), weights[resource])));
    let mut cells = vec![Cell::new("Node\nweight")];
    cells.extend(header);
    cells.extend([
        right("Total"),
        right("Sent"),
        right("Sum\nmodelled"),
        Cell::new(""),
    ]);
    let mut table = style.table(cells);
    for node in explanation.nodes.iter().filter(|node| node.total.is_some()) {
        let is_best = node.name == best;
        let mut cells = vec![Cell::new(&node.name)];
        let grades = node.resources.0.values().iter();
        cells.extend(grades.map(|term| right(grade(term.score))));
        cells.push(right(grade(node.total)));
        cells.push(right(
            node.score.map_or(String::new(), |score| score.to_string()),
        ));
        let sum = node.modelled_sum;
        cells.push(right(sum.map_or(String::new(), |sum| sum.to_string())));
        cells.push(Cell::new(if is_best { "best" } else { "" }));
        table.add_row(
            cells
                .into_iter()
                .map(|cell| if is_best { style.good(cell) } else { cell }),
        );
    }
    table
}

fn grade(score: Option<f64>) -> String {
    score.map_or("–".to_owned(), |score| format!("{score:.2}"))
}

/// All the terms of one node, a line a resource.
pub fn print_terms(
    explanation: &Explanation,
    node: &NodeExplanation,
    to: &mut dyn Write,
    style: Style,
) -> io::Result<()> {
    let header = [
        "", "Weight", "Capacity", "Measured", "Age", "Coming", "Gone", "Load", "Demand", "After",
        "D", "S", "May come", "Demands",
    ];
    let mut table = style.table(header.into_iter().map(right));
    for (resource, term) in node.resources.0.iter() {
        let amount = |amount: u64| right(in_unit(resource, Amount::new(amount)));
        let maybe = |found: Option<u64>| found.map_or_else(|| right("–"), amount);
        let age = term
            .age_seconds
            .map_or("–".to_owned(), |age| format!("{age} s"));
        let after = term.ratio_after.map_or("–".to_owned(), |after| {
            let mark = if term.fits { "" } else { "!" };
            format!("{}{mark}", beside(after, explanation.headroom))
        });
        table.add_row([
            Cell::new(format!("{} ({})", title(resource), unit(resource))),
            right(format!("{:.2}", explanation.weights.0[resource])),
            maybe(term.capacity),
            maybe(term.measured),
            right(age),
            amount(term.in_flight),
            amount(term.gone),
            amount(term.load),
            amount(explanation.demand.0[resource].amount),
            right(after),
            right(grade(term.deviation.map(|deviation| deviation * 100.0))),
            right(grade(term.score)),
            amount(term.possible),
            amount(term.demanded),
        ]);
    }
    writeln!(to, "{}:\n", node.name)?;
    writeln!(to, "{}\n", fit_to_width(&table))?;
    writeln!(
        to,
        "Load is measured + coming − gone; without a fresh measurement it is the larger of the\n\
         last measurement and the demand of the node's Pods. D is in points. May come is the\n\
         demand of Pods that count on another node and are not bound yet."
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Regression: a resource without measurements was shown as used by 0 %.
    #[test]
    fn what_nobody_measures_is_not_shown_as_idle() {
        let shown = |resource, freshness: &str, load: u64, fits: bool| {
            let term = json!({
                "load": load, "capacity": 1_000_000_000_u64, "ratioAfter": 0.0, "pressed": false,
                "fits": fits, "freshness": freshness, "inFlight": 0, "gone": 0, "demanded": load,
                "possible": 0,
            });
            let term: ResourceExplanation = serde_json::from_value(term).unwrap();
            let cell = super::load(resource, &term, 0.8, Style::Plain).content();
            cell.starts_with('?')
        };
        for (resource, freshness, load, fits, unknown) in [
            (Resource::NetworkIo, "absent", 0, true, true),
            (Resource::DiskIo, "absent", 0, true, true),
            (Resource::NetworkIo, "absent", 0, false, false),
            (Resource::NetworkIo, "absent", 7, true, false),
            (Resource::NetworkIo, "stale", 0, true, false),
            (Resource::NetworkIo, "fresh", 0, true, false),
            (Resource::Cpu, "absent", 0, true, false),
        ] {
            let found = shown(resource, freshness, load, fits);
            assert_eq!(found, unknown, "{resource} {freshness} {load} {fits}");
        }
    }
}
