//! The length of sentences: long ones are counted, and the count may only fall.

use super::{pages, prose, text};

/// Words from which a sentence counts as long.
const LONG: usize = 30;
/// The share of long sentences, in thousandths, that all pages may have together.
const MOST_IN_A_THOUSAND: usize = 5;

/// The sentences of a page, where each cell of a table and each item of a list begins one. Headings and code are left
/// out.
fn sentences(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for paragraph in prose(page).split("\n\n") {
        let lines = paragraph.lines().map(str::trim_start);
        let lines = lines.filter(|line| !line.starts_with(['#', '<']));
        let mut part = String::new();
        for line in lines {
            let is_row = line.starts_with('|');
            if is_row || is_item(line) {
                found.extend(split(&std::mem::take(&mut part)));
            }
            if is_row {
                let cells = line.replace("\\|", "/");
                found.extend(cells.split('|').flat_map(split));
            } else {
                part.push_str(line);
                part.push('\n');
            }
        }
        found.extend(split(&part));
    }
    found
}

fn is_item(line: &str) -> bool {
    let number = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    line.starts_with("- ") || (number.len() < line.len() && number.starts_with(". "))
}

/// The sentences of a text. A colon ends none.
fn split(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut sentence = Vec::new();
    for word in text.split_whitespace() {
        sentence.push(word);
        if word.ends_with(['.', '?', '!']) {
            found.push(std::mem::take(&mut sentence).join(" "));
        }
    }
    if !sentence.is_empty() {
        found.push(sentence.join(" "));
    }
    found
}

#[test]
fn few_sentences_are_long() {
    let mut all = 0;
    let mut long = Vec::new();
    for page in pages() {
        for sentence in sentences(&text(&page)) {
            all += 1;
            let words = sentence.split_whitespace().count();
            if words > LONG {
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
    let page = "# A heading\n\nOne. Two\nis long.\n\n- an item\n1. another: with more\n\n| a | b c. d |\n\n```\ncode. code\n```\n";
    let found = sentences(page);
    assert_eq!(
        found,
        [
            "One.",
            "Two is long.",
            "- an item",
            "1.",
            "another: with more",
            "a",
            "b c.",
            "d"
        ]
    );
}
