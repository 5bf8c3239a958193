//! The score labels of the nodes for a Pod, as a table for people.

use std::io;
use std::io::Write;

use comfy_table::Cell;
use evenkeel_service::api::explain::ScoreLabelExplanation;

use crate::output::{Style, fit_to_width, right};

/// Prints the shape of a Pod, its terms, and the `most` nodes with the highest sums.
///
/// # Errors
/// Those of `to`.
pub fn print(
    explained: &ScoreLabelExplanation,
    most: usize,
    to: &mut dyn Write,
    style: Style,
) -> io::Result<()> {
    let ScoreLabelExplanation {
        shape,
        carried,
        without_terms,
        terms,
        nodes,
    } = explained;
    let whose = match (carried, without_terms) {
        (true, _) => "The Pod has the terms of this shape.".to_owned(),
        (false, None) => "The Pod has no terms; a new Pod like it gets these.".to_owned(),
        (false, Some(why)) => format!("The Pod has no terms, and a new one gets none: {why}."),
    };
    writeln!(to, "\nScore labels: shape {shape}. {whose}\n")?;
    let mut table = style.table([right("Weight"), Cell::new("if the label is not")]);
    for term in terms {
        let excluded = Cell::new(term.excluded.join(", "));
        table.add_row([right(term.weight.to_string()), excluded]);
    }
    writeln!(to, "{}\n", fit_to_width(&table))?;
    let header = [
        Cell::new("Node"),
        right("Label"),
        right("Level now"),
        right("Sum"),
    ];
    let mut table = style.table(header);
    for node in nodes.iter().take(most) {
        let level = node.level.map(|level| format!("{level:.2}"));
        table.add_row([
            Cell::new(&node.name),
            right(node.label.as_deref().unwrap_or("–")),
            right(level.unwrap_or_else(|| "–".to_owned())),
            right(node.sum.to_string()),
        ]);
    }
    writeln!(to, "{}\n", fit_to_width(&table))?;
    if nodes.len() > most {
        writeln!(to, "{} more nodes are in -o json.\n", nodes.len() - most)?;
    }
    writeln!(
        to,
        "Sum is what NodeAffinity adds up for the node. kube-scheduler scales the largest to 200 of\n\
         its points. A node without the label counts as the best level."
    )
}

#[cfg(test)]
mod tests {
    use evenkeel_service::api::explain::{NodeScoreLevel, ScoreTermExplanation};

    use super::*;

    #[test]
    fn shape_terms_and_nodes_are_shown() {
        let node = |name: &str, label: Option<&str>, sum| NodeScoreLevel {
            name: name.to_owned(),
            label: label.map(str::to_owned),
            level: label.map(|_| 3.25),
            sum,
        };
        let explained = ScoreLabelExplanation {
            shape: "network-n3-c2".to_owned(),
            carried: false,
            without_terms: Some("Kueue queues it".into()),
            terms: vec![ScoreTermExplanation {
                weight: 25,
                excluded: vec!["0".to_owned(), "1".to_owned()],
            }],
            nodes: vec![
                node("fresh-1", None, 100),
                node("a", Some("3"), 75),
                node("b", Some("0"), 0),
            ],
        };
        let mut text = Vec::new();
        print(&explained, 2, &mut text, Style::Plain).unwrap();
        let text = String::from_utf8(text).unwrap();
        for part in [
            "shape network-n3-c2. The Pod has no terms, and a new one gets none: Kueue queues it.",
            "0, 1",
            "3.25",
            "1 more nodes are in -o json.",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap();
        assert!(
            row("fresh-1").contains('–') && row("fresh-1").contains("100"),
            "{text}"
        );
        assert!(!text.contains(" b "), "{text}");
    }
}
