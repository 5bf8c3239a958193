//! The answer of `score` for people: a table of loads with the verdicts, and one of scores.

use std::io::{self, Write};

use comfy_table::{Cell, CellAlignment, Table};

use super::{Judged, Scored, ScoredNode, ScoredPod, Term};
use crate::cli::figures::{in_unit, noun, title, unit, with_unit};
use crate::cli::output::{Report, Style, percent};
use crate::units::{Amount, Resource};

impl Report for Scored {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        for (index, pod) in self.pods.iter().enumerate() {
            if index > 0 {
                writeln!(to)?;
            }
            pod.print(to, style)?;
        }
        Ok(())
    }
}

impl ScoredPod {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let Self {
            kind,
            namespace,
            name,
            unjudged,
            judged,
            warnings,
        } = self;
        write!(to, "{kind} {namespace}/{name}")?;
        let why = unjudged.map(explain);
        if let Some(judged) = judged {
            judged.print(to, style, why)?;
        } else {
            writeln!(to, ": every node passes, and none is preferred.")?;
            writeln!(to, "{}", why.unwrap_or_default())?;
        }
        for warning in warnings {
            writeln!(to, "Warning: {warning}")?;
        }
        Ok(())
    }
}

/// What it means that a Pod is not judged, and what can be done about it.
fn explain(why: &str) -> &'static str {
    match why {
        "namespace_unknown" => {
            "Its namespace does not stand in the cluster file: \
             add it under `namespaces` with evenkeel.dev/enabled: \"true\"."
        }
        "not_opted_in" => {
            "Its namespace has not opted in: \
             the annotation evenkeel.dev/enabled: \"true\" on the namespace does that."
        }
        "skipped" => "It is annotated with evenkeel.dev/skip.",
        "daemon_set" => "The headroom rule does not hold for it: a DaemonSet's Pod has its node.",
        "mirror" => "The headroom rule does not hold for it: it mirrors a Pod that runs already.",
        "critical" => "The headroom rule does not hold for it: it is critical to the system.",
        "no_metrics" => "No node has a fresh measurement, so nothing is known to judge by.",
        _ => "The cluster is not known yet.",
    }
}

impl Judged {
    fn print(&self, to: &mut dyn Write, style: Style, exempt: Option<&str>) -> io::Result<()> {
        if let Some(profile) = &self.profile {
            write!(to, ": profile {profile}")?;
        }
        writeln!(to, "\n{}\n", self.asks())?;
        let limit = exempt.is_none().then_some(self.headroom);
        match exempt {
            Some(why) => writeln!(to, "{why}")?,
            None => writeln!(
                to,
                "Headroom: with the Pod there, every resource has to stay below {}.",
                percent(self.headroom)
            )?,
        }
        writeln!(
            to,
            "Shown: load/capacity now, and the part in use with the Pod there.\n"
        )?;
        writeln!(to, "{}\n", self.loads(style, limit).trim_fmt())?;
        self.print_notes(to)?;
        match self.nodes.iter().filter(|node| node.passes).count() {
            0 => writeln!(
                to,
                "No node has headroom for the Pod: it waits until one regains it."
            ),
            passing => self.print_scores(to, style, passing),
        }
    }

    fn asks(&self) -> String {
        let demand = self.demand.as_resources();
        let mut stated = Vec::new();
        let mut unsaid = Vec::new();
        for (resource, asked) in demand.iter() {
            let amount = with_unit(resource, Amount::new(asked.amount));
            match (asked.source, resource) {
                ("unknown", _) => unsaid.push(noun(resource)),
                (_, Resource::Cpu) => stated.push(amount),
                _ => stated.push(format!("{amount} of {}", noun(resource))),
            }
        }
        match (&stated[..], &unsaid[..]) {
            ([], _) => "It says nothing of what it needs, which counts as nothing.".to_owned(),
            (stated, []) => format!("It asks for {}.", stated.join(", ")),
            (stated, unsaid) => format!(
                "It asks for {}; it says nothing of {}.",
                stated.join(", "),
                unsaid.join(" and ")
            ),
        }
    }

    /// `limit` is the headroom ratio, where it holds for the Pod.
    fn loads(&self, style: Style, limit: Option<f64>) -> Table {
        let header = Resource::ALL
            .map(|resource| right(format!("{} \n{} ", title(resource), unit(resource))));
        let mut cells = vec![Cell::new("Node")];
        cells.extend(header);
        cells.push(Cell::new("Verdict"));
        let mut table = style.table(cells);
        // A load ends with its mark, which parts it from the next one.
        for column in table.column_iter_mut().skip(1) {
            column.set_padding((0, 1));
        }
        for node in &self.nodes {
            let mut cells = vec![Cell::new(node.label())];
            for (resource, term) in node.resources.as_resources().iter() {
                cells.push(load(resource, term, style, limit));
            }
            cells.push(node.verdict(style));
            table.add_row(cells);
        }
        table
    }

    fn print_notes(&self, to: &mut dyn Write) -> io::Result<()> {
        let any = |is: fn(&Term) -> bool| self.nodes.iter().any(|node| node.any(is));
        if any(|term| !term.fits) {
            writeln!(
                to,
                "!  too much: the resource for which the node is refused"
            )?;
        }
        if any(Term::is_estimated) {
            writeln!(
                to,
                "~  not measured lately: the load is what the node's Pods ask for"
            )?;
        }
        if any(|term| term.capacity.is_none()) {
            writeln!(
                to,
                "–  of unknown capacity: the resource takes no part in the rules"
            )?;
        }
        if self.relaxed {
            writeln!(
                to,
                "No node has headroom, so the least loaded ones pass (no-headroom: relax)."
            )?;
        }
        writeln!(to)
    }

    fn print_scores(&self, to: &mut dyn Write, style: Style, passing: usize) -> io::Result<()> {
        writeln!(
            to,
            "Balance over the {passing} that pass: 10 uses them most evenly, 0 least ({}).\n",
            self.normalization
        )?;
        writeln!(to, "{}\n", self.scores(style).trim_fmt())?;
        let total = match self.normalization {
            "joint" => {
                "Total grades the weighted variance of all five at once, so that small differences in one\n\
                 of them are not blown up to the full scale; it is not the mean of the other grades."
            }
            _ => "Total is the weighted mean of the other grades.",
        };
        writeln!(to, "{total}\nSent is what kube-scheduler gets.\n")?;
        if let Some(best) = &self.best {
            writeln!(
                to,
                "Best for the balance of the cluster: {}.",
                style.emphasis(best)
            )?;
        }
        Ok(())
    }

    fn scores(&self, style: Style) -> Table {
        let weights = self.weights.as_ref().map(|weights| weights.as_resources());
        let header = Resource::ALL.map(|resource| {
            let weight = weights.map_or(String::new(), |weights| {
                format!("\n× {:.2}", weights[resource])
            });
            right(format!("{}{weight}", title(resource)))
        });
        let mut cells = vec![Cell::new("Node\nweight")];
        cells.extend(header);
        cells.extend([right("Total"), right("Sent"), Cell::new("")]);
        let mut table = style.table(cells);
        for node in self.ranked() {
            let best = self.best.as_deref() == Some(&node.name);
            let mut cells = vec![Cell::new(&node.name)];
            for term in node.resources.as_resources().values() {
                cells.push(right(grade(term.score)));
            }
            cells.push(right(grade(node.total)));
            cells.push(right(
                node.score.map_or(String::new(), |score| score.to_string()),
            ));
            cells.push(Cell::new(if best { "best" } else { "" }));
            let emphasised = cells
                .into_iter()
                .map(|cell| if best { style.good(cell) } else { cell });
            table.add_row(emphasised);
        }
        table
    }

    /// The nodes that pass, the best first.
    fn ranked(&self) -> Vec<&ScoredNode> {
        let mut nodes: Vec<&ScoredNode> = self.nodes.iter().filter(|node| node.passes).collect();
        let key = |node: &ScoredNode| {
            let is_best = self.best.as_deref() == Some(&node.name);
            (node.total.unwrap_or(-1.0), is_best)
        };
        nodes.sort_by(|a, b| {
            let ((total_a, best_a), (total_b, best_b)) = (key(a), key(b));
            total_b.total_cmp(&total_a).then(best_b.cmp(&best_a))
        });
        nodes
    }
}

impl ScoredNode {
    fn any(&self, is: fn(&Term) -> bool) -> bool {
        let terms = self.resources.as_resources();
        terms.values().iter().any(|term| is(term))
    }

    fn label(&self) -> String {
        let estimated = if self.any(Term::is_estimated) {
            " ~"
        } else {
            ""
        };
        format!("{}{estimated}", self.name)
    }

    fn verdict(&self, style: Style) -> Cell {
        if !self.schedulable {
            return Cell::new("closed");
        }
        if self.passes {
            return style.good(Cell::new("passes"));
        }
        let refusing: Vec<&str> = Resource::ALL
            .into_iter()
            .filter(|resource| self.refused_by.contains(&resource.as_str()))
            .map(noun)
            .collect();
        style.bad(Cell::new(format!("no: {}", refusing.join(", "))))
    }
}

fn right(text: impl Into<String>) -> Cell {
    Cell::new(text.into()).set_alignment(CellAlignment::Right)
}

fn load(resource: Resource, term: &Term, style: Style, limit: Option<f64>) -> Cell {
    let load = in_unit(resource, Amount::new(term.load));
    let Some(capacity) = term.capacity else {
        return right(format!("{load}/–      "));
    };
    let capacity = in_unit(resource, Amount::new(capacity));
    let part = term
        .with_pod
        .map_or("–".to_owned(), |part| beside(part, limit));
    let refuses = !term.fits && limit.is_some();
    let mark = if refuses { '!' } else { ' ' };
    let cell = right(format!("{load}/{capacity} {part:>3}{mark}"));
    if refuses { style.bad(cell) } else { cell }
}

/// A part in use, with as many digits as tell it from the limit.
fn beside(part: f64, limit: Option<f64>) -> String {
    let rounded = percent(part);
    if limit.is_some_and(|limit| percent(limit) == rounded) {
        format!("{:.1}%", part * 100.0)
    } else {
        rounded
    }
}

fn grade(score: Option<f64>) -> String {
    score.map_or("–".to_owned(), |score| format!("{score:.2}"))
}
