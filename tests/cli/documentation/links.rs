//! Links between pages, and to files of the repository.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use super::{pages, prose, root, text};

/// The targets of a page's links and pictures.
fn targets(page: &str) -> Vec<String> {
    // Text in backquotes is code, and no link.
    let page: Vec<String> = prose(page)
        .split('`')
        .step_by(2)
        .map(str::to_owned)
        .collect();
    let page = page.join("`");
    let mut found = Vec::new();
    for part in page.split("](").skip(1) {
        if let Some(end) = part.find(')') {
            found.push(part[..end].to_owned());
        }
    }
    found
}

/// The anchors of a page: one for each heading, as GitHub and mdBook name it, and those that are written out.
pub(super) fn anchors(page: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    for line in prose(page).lines() {
        let heading = line.trim_start_matches('#');
        if heading.len() < line.len() && heading.starts_with(' ') {
            found.insert(slug(heading.trim()));
        }
        for part in line.split("<a id=\"").skip(1) {
            found.insert(part.split('"').next().unwrap_or_default().to_owned());
        }
    }
    found
}

fn slug(heading: &str) -> String {
    let kept = heading.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c if c.is_alphanumeric() => Some(c.to_ascii_lowercase()),
        _ => None,
    });
    kept.collect()
}

/// `path` without `..` and `.`.
fn tidy(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                parts.pop();
            }
            Component::CurDir => {}
            other => parts.push(other),
        }
    }
    parts
}

#[test]
fn every_link_and_anchor_resolves() {
    let mut known: HashMap<PathBuf, HashSet<String>> = HashMap::new();
    let mut broken = Vec::new();
    for page in pages() {
        let folder = Path::new(&page).parent().unwrap();
        for target in targets(&text(&page)) {
            if target.starts_with("http") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = if file.is_empty() {
                PathBuf::from(&page)
            } else {
                tidy(&folder.join(file))
            };
            if !root().join(&path).exists() {
                broken.push(format!("{page}: {target}"));
                continue;
            }
            if anchor.is_empty() {
                continue;
            }
            let there = known
                .entry(path.clone())
                .or_insert_with(|| anchors(&text(path.to_str().unwrap())));
            if !there.contains(anchor) {
                broken.push(format!("{page}: {target}"));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn anchors_are_named_as_github_names_them() {
    let page = "# What you get, what you need\n## `evenkeel dev`: a view\n<a id=\"x-1\"></a>\n";
    let found = anchors(page);
    for expected in ["what-you-get-what-you-need", "evenkeel-dev-a-view", "x-1"] {
        assert!(found.contains(expected), "{expected} in {found:?}");
    }
}
