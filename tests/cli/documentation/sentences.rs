//! The length of sentences: long ones are counted, and the count may only fall.

use super::{pages, prose, text};

/// Words from which a sentence counts as long.
const LONG: usize = 30;
/// The share of long sentences, in thousandths, that pages written by hand may have together.
const MOST_IN_A_THOUSAND: usize = 20;

/// The sentences of a page: tables, headings and code left out.
fn sentences(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for paragraph in prose(page).split("\n\n") {
        let lines = paragraph.lines().filter(|line| {
            let line = line.trim_start();
            !(line.starts_with('|') || line.starts_with('#') || line.starts_with('<'))
        });
        let mut sentence = Vec::new();
        for line in lines {
            let is_item = line.trim_start().starts_with("- ");
            if is_item && !sentence.is_empty() {
                found.push(std::mem::take(&mut sentence).join(" "));
            }
            for word in line.split_whitespace() {
                sentence.push(word);
                if word.ends_with(['.', '?', '!', ':']) {
                    found.push(std::mem::take(&mut sentence).join(" "));
                }
            }
        }
        if !sentence.is_empty() {
            found.push(sentence.join(" "));
        }
    }
    found
}

#[test]
fn few_sentences_are_long() {
    let mut all = 0;
    let mut long = Vec::new();
    for page in pages() {
        // Sources are quoted by their titles; the threat model counts below.
        if page.contains("/reference/") || page.ends_with("project/sources.md") {
            continue;
        }
        for sentence in sentences(&text(&page)) {
            all += 1;
            let words = sentence.split_whitespace().count();
            if words > LONG && !page.ends_with("project/threat-model.md") {
                long.push(format!("{page}: {words} words: {sentence}"));
            }
        }
    }
    let most = all * MOST_IN_A_THOUSAND / 1000;
    assert!(
        long.len() <= most,
        "{} of {all} sentences have more than {LONG} words; at most {most}\n{}",
        long.len(),
        long.join("\n")
    );
}

#[test]
fn sentences_are_told_apart() {
    let page = "# A heading\n\nOne. Two\nis long.\n\n- an item\n- another: with more\n\n```\ncode. code\n```\n";
    let found = sentences(page);
    assert_eq!(
        found,
        [
            "One.",
            "Two is long.",
            "- an item",
            "- another:",
            "with more"
        ]
    );
}
