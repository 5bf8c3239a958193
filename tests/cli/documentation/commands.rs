//! Commands in code blocks: each names a subcommand and flags that exist, and files that are there.

use std::collections::{HashMap, HashSet};

use super::super::evenkeel;
use super::{code_blocks, pages, root, text};

/// The calls of `evenkeel` in a block, continued lines joined, each in its words.
fn calls(lines: &[&str]) -> Vec<Vec<String>> {
    let joined = lines.join("\n").replace("\\\n", " ");
    let mut found = Vec::new();
    for line in joined.lines() {
        let line = line.split(" #").next().unwrap_or_default();
        for part in line.split(['|', ';', '&', '(', ')', '$']) {
            let words: Vec<String> = part.split_whitespace().map(str::to_owned).collect();
            let start = match words.first().map(String::as_str) {
                Some("evenkeel") => 1,
                Some("cargo")
                    if words.iter().any(|word| word == "--")
                        && words.get(1).is_some_and(|word| word == "run") =>
                {
                    words.iter().position(|word| word == "--").unwrap() + 1
                }
                _ => continue,
            };
            found.push(words[start..].to_vec());
        }
    }
    found
}

/// `--help` of a subcommand, asked for once.
struct Help(HashMap<Vec<String>, Option<String>>);

impl Help {
    fn of(&mut self, path: &[String]) -> Option<&str> {
        let ask = || {
            let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
            arguments.push("--help");
            let called = evenkeel(&arguments);
            (called.code == 0).then_some(called.stdout)
        };
        self.0.entry(path.to_vec()).or_insert_with(ask).as_deref()
    }
}

/// The fault of a call, if any.
fn fault(words: &[String], help: &mut Help) -> Option<String> {
    let is_subcommand = |word: &&String| {
        word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-')
    };
    let mut path: Vec<String> = Vec::new();
    for word in words.iter().take_while(is_subcommand).take(2) {
        path.push(word.clone());
        let own = help.of(&path).map(str::to_owned);
        let usage = format!("Usage: evenkeel {}", path.join(" "));
        // An argument in the place of a subcommand prints the help of the command before it.
        if !own.is_some_and(|own| own.contains(&usage)) {
            path.pop();
            break;
        }
    }
    if path.is_empty() && words.first().is_some_and(|word| !word.starts_with('-')) {
        return Some(format!("no subcommand {:?}", words.first()));
    }
    let text = help.of(&path)?.to_owned();
    let known: HashSet<&str> = text
        .split(|c: char| c.is_whitespace() || ",=<[".contains(c))
        .filter(|word| word.starts_with('-'))
        .collect();
    let flags = words
        .iter()
        .filter(|word| word.starts_with('-') && word.len() > 1);
    let unknown = flags
        .map(|flag| flag.split('=').next().unwrap_or_default())
        .find(|flag| !known.contains(flag) && *flag != "--help" && *flag != "-");
    unknown.map(|flag| format!("{} has no {flag}", path.join(" ")))
}

#[test]
fn every_command_in_the_documentation_exists() {
    let mut help = Help(HashMap::new());
    let mut faults = Vec::new();
    let mut seen = 0;
    for page in pages() {
        for (language, lines) in code_blocks(&text(&page)) {
            if !["", "sh", "console", "bash"].contains(&language.as_str()) {
                continue;
            }
            for words in calls(&lines) {
                seen += 1;
                if let Some(fault) = fault(&words, &mut help) {
                    faults.push(format!("{page}: evenkeel {}: {fault}", words.join(" ")));
                }
            }
        }
    }
    assert!(seen > 50, "{seen}");
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_file_that_a_command_names_is_there() {
    let mut gone = Vec::new();
    for page in pages() {
        for (_, lines) in code_blocks(&text(&page)) {
            for word in lines.iter().flat_map(|line| line.split_whitespace()) {
                let word = word.trim_matches(['\'', '"', '`', ',', ';', ')']);
                let of_ours = [
                    "examples/",
                    "deploy/",
                    "tests/fixtures/",
                    "webhook-config/",
                    "certs/",
                ];
                // `deploy/NAME` is also how kubectl names a Deployment.
                if !of_ours.iter().any(|folder| word.starts_with(folder))
                    || word.starts_with("deploy/evenkeel")
                    || word.contains(['*', '…', '<'])
                {
                    continue;
                }
                if !root().join(word).exists() {
                    gone.push(format!("{page}: {word}"));
                }
            }
        }
    }
    assert!(gone.is_empty(), "\n{}", gone.join("\n"));
}

/// Nothing but commands, comments and continued lines, so that an example can be pasted.
#[test]
fn every_example_can_be_pasted() {
    let reference = text("docs/reference/cli.md");
    let mut examples = 0;
    for block in reference.split("\nExamples:\n").skip(1) {
        let mut is_continued = false;
        for line in block.lines().take_while(|line| line.starts_with("  ")) {
            let command = line.trim_start();
            let starts = ["evenkeel ", "kubectl ", "source ", "(umask ", "# "];
            let is_start = starts.iter().any(|start| command.starts_with(start));
            let is_aligned = line.starts_with("   ") == is_continued;
            assert!(is_aligned && (is_continued || is_start), "{line}");
            let call = command.split("# ").next().unwrap_or_default();
            let quotes = call.matches('\'').count();
            assert!(quotes % 2 == 0, "a quotation is broken: {line}");
            let unmarked = !is_continued && command.contains("  ") && !command.contains(" # ");
            assert!(!unmarked, "a comment is no comment of a shell: {line}");
            is_continued = line.ends_with(" \\") || line.ends_with(" |");
            examples += 1;
        }
    }
    assert!(examples > 100, "{examples}");
}

#[test]
fn a_call_that_does_not_exist_is_found() {
    let mut help = Help(HashMap::new());
    let words = |call: &str| call.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for wrong in [
        "steer --now",
        "score --sideways",
        "forecast replay --nonsense",
    ] {
        assert!(fault(&words(wrong), &mut help).is_some(), "{wrong}");
    }
    for right in [
        "score -f pod.yaml",
        "forecast replay load.csv --min 2",
        "uninstall --check",
    ] {
        assert_eq!(fault(&words(right), &mut help), None, "{right}");
    }
}
