//! The advice on conditions that the page and the Headlamp plugin show, made from the page on
//! troubleshooting.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::super::text;
use super::hold;

const HEADER: &str =
    "// What each reason of a condition means, and what to do. Made from docs/troubleshooting.md by
// EVENKEEL_WRITE_DOCS=1 cargo test --test cli documentation

export const ADVICE = {
";

/// The advice on one reason of a condition, as plain text.
struct Advice {
    reason: String,
    meaning: String,
    fix: String,
}

fn read() -> Vec<Advice> {
    let page = text("docs/troubleshooting.md");
    let (_, conditions) = page.split_once("\n## Conditions and Events\n").unwrap();
    let entries = conditions.split("\n### ").skip(1);
    let advice = entries.map(|entry| {
        let (reason, rest) = entry.split_once('\n').unwrap();
        let paragraph = rest.trim().split("\n\n").next().unwrap();
        let (meaning, fix) = paragraph
            .split_once("**Fix:**")
            .unwrap_or_else(|| panic!("{reason} says nothing to do"));
        Advice {
            reason: reason.trim().to_owned(),
            meaning: plain(meaning),
            fix: plain(fix),
        }
    });
    advice.collect()
}

/// A text without the marks of code, of emphasis and of links.
fn plain(text: &str) -> String {
    let mut found = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let Some((_, after)) = after.split_once(')') else {
            break;
        };
        let (before, name) = before.rsplit_once('[').unwrap_or((before, ""));
        found.push_str(before);
        found.push_str(name);
        rest = after;
    }
    found.push_str(rest);
    let found = found.replace(['`', '*'], "");
    let words: Vec<&str> = found.split_whitespace().collect();
    words.join(" ")
}

#[test]
fn each_reason_of_a_condition_has_its_advice_on_the_page() {
    let mut script = HEADER.to_owned();
    for advice in read() {
        let quoted = |text: &str| serde_json::to_string(text).unwrap();
        let (meaning, fix) = (quoted(&advice.meaning), quoted(&advice.fix));
        let _ = writeln!(script, "  {}: [{meaning}, {fix}],", advice.reason);
    }
    script.push_str("};\n");
    hold("crates/service/page/advice.js", &script);
}

#[test]
fn each_reason_of_a_condition_has_its_advice_in_the_headlamp_plugin() {
    let advice = read().into_iter();
    let advice: Map<String, Value> = advice
        .map(|advice| (advice.reason, Value::String(advice.fix)))
        .collect();
    assert!(advice.len() > 60, "{}", advice.len());
    let made = serde_json::to_string_pretty(&advice).unwrap() + "\n";
    hold("deploy/headlamp-plugin/src/advice.json", &made);
}

#[test]
fn links_become_their_text() {
    for (page, expected) in [
        (
            "See [rights](#rights) and `a` of [b](c.md).",
            "See rights and a of b.",
        ),
        ("**Set** `x`.", "Set x."),
        ("An [open", "An [open"),
    ] {
        assert_eq!(plain(page), expected);
    }
}
