//! Circles in the graph: of files, and of the folders that stand beside each other.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::Graph;

/// A line for each circle of files.
pub(crate) fn between_files(graph: &Graph) -> Vec<String> {
    let nodes = 0..graph.files.len();
    let arrows = |from: usize| {
        let targets = graph.arrows.get(&from);
        targets
            .into_iter()
            .flat_map(|targets| targets.keys().copied())
            .collect()
    };
    components(nodes.collect(), &arrows)
        .iter()
        .map(|circle| {
            let arrows = circle.iter().flat_map(|from| {
                let targets = graph.arrows.get(from).into_iter().flatten();
                let within = targets.filter(|(to, _)| circle.contains(to));
                within.map(|(to, names)| {
                    let names: Vec<_> = names.iter().map(String::as_str).collect();
                    let (from, to) = (&graph.files[*from].0, &graph.files[*to].0);
                    format!("  {from} -> {to}: {}", names.join(", "))
                })
            });
            let arrows: Vec<_> = arrows.collect();
            format!("a circle of {} files:\n{}", circle.len(), arrows.join("\n"))
        })
        .collect()
}

/// A line for each circle of modules with one parent, each taken with all that is below it.
pub(crate) fn between_folders(graph: &Graph) -> Vec<String> {
    let mut found = Vec::new();
    let mut parents: BTreeSet<&[String]> = BTreeSet::new();
    for (_, module) in &graph.files {
        parents.extend((1..module.len()).map(|length| &module[..length]));
    }
    for parent in parents {
        let child = |file: usize| {
            let module = &graph.files[file].1;
            let below = module.len() > parent.len() && module.starts_with(parent);
            below.then(|| module[parent.len()].as_str())
        };
        let mut between: BTreeMap<&str, BTreeMap<&str, BTreeSet<String>>> = BTreeMap::new();
        for (from, targets) in &graph.arrows {
            for to in targets.keys() {
                if let (Some(a), Some(b)) = (child(*from), child(*to))
                    && a != b
                {
                    let arrow = format!("{} -> {}", graph.files[*from].0, graph.files[*to].0);
                    between
                        .entry(a)
                        .or_default()
                        .entry(b)
                        .or_default()
                        .insert(arrow);
                }
            }
        }
        let names: Vec<&str> = between.keys().copied().collect();
        let place = |name: &str| names.binary_search(&name).ok();
        let arrows = |from: usize| {
            let targets = between.get(names[from]).into_iter().flatten();
            targets.filter_map(|(to, _)| place(to)).collect()
        };
        for circle in components((0..names.len()).collect(), &arrows) {
            let inside: BTreeSet<&str> = circle.iter().map(|at| names[*at]).collect();
            let arrows = inside.iter().flat_map(|from| {
                let targets = between.get(from).into_iter().flatten();
                targets
                    .filter(|(to, _)| inside.contains(*to))
                    .flat_map(|(_, arrows)| arrows.iter().map(|arrow| format!("  {arrow}")))
            });
            let arrows: Vec<_> = arrows.collect();
            found.push(format!(
                "a circle in {}: {inside:?}\n{}",
                parent.join("::"),
                arrows.join("\n")
            ));
        }
    }
    found
}

/// The sets of more than one node that all reach each other.
fn components(nodes: Vec<usize>, arrows: &dyn Fn(usize) -> Vec<usize>) -> Vec<BTreeSet<usize>> {
    let reach: BTreeMap<usize, BTreeSet<usize>> = nodes
        .iter()
        .map(|node| (*node, reached(*node, arrows)))
        .collect();
    let mut found: Vec<BTreeSet<usize>> = Vec::new();
    for node in nodes {
        if found.iter().any(|circle| circle.contains(&node)) {
            continue;
        }
        let mutual = reach[&node]
            .iter()
            .filter(|other| reach.get(other).is_some_and(|back| back.contains(&node)));
        let circle: BTreeSet<usize> = mutual.copied().chain([node]).collect();
        if circle.len() > 1 {
            found.push(circle);
        }
    }
    found
}

fn reached(node: usize, arrows: &dyn Fn(usize) -> Vec<usize>) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut open = arrows(node);
    while let Some(next) = open.pop() {
        if seen.insert(next) {
            open.extend(arrows(next));
        }
    }
    seen
}
