//! Names of types: a noun that says what the type is, and one type to a name.

use std::collections::BTreeMap;

use super::names::Source;

/// Names that many modules have, since each is named with its module: `replay::Args`.
const SHARED: [&str; 3] = ["Args", "Error", "Settings"];
/// How many types may have the same name.
const MOST_ALIKE: usize = 2;

/// Nouns that end like a participle.
const NOUNS: [&str; 14] = [
    "Binding",
    "Drawing",
    "Heading",
    "Listing",
    "Nesting",
    "Need",
    "Ranking",
    "Recording",
    "Seed",
    "Setting",
    "Smoothing",
    "Speed",
    "Staging",
    "Timing",
];

/// Participles that end in neither -ed nor -ing, and other words that are no nouns.
const NO_NOUNS: [&str; 55] = [
    "Absent",
    "After",
    "Again",
    "Against",
    "Around",
    "Before",
    "Begun",
    "Beside",
    "Between",
    "Blind",
    "Broken",
    "Built",
    "Chosen",
    "Done",
    "Drawn",
    "Due",
    "Found",
    "Further",
    "Given",
    "Gone",
    "Had",
    "Held",
    "Hidden",
    "Highest",
    "Kept",
    "Known",
    "Largest",
    "Learnt",
    "Left",
    "Lost",
    "Made",
    "Near",
    "Newest",
    "Next",
    "Open",
    "Own",
    "Put",
    "Quiet",
    "Read",
    "Said",
    "Seen",
    "Sent",
    "Shown",
    "Shut",
    "Taken",
    "Taught",
    "Told",
    "Undecided",
    "Unfit",
    "Unheard",
    "Unknown",
    "Unseen",
    "What",
    "When",
    "Written",
];

/// Names that are no noun, and names of more types than may share one.
pub(crate) fn breaches(sources: &[Source]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for source in sources {
        for name in &source.types {
            places.entry(name).or_default().push(&source.path);
        }
    }
    let mut found = Vec::new();
    for (name, files) in places {
        if is_no_noun(name) {
            found.push(format!("{}: `{name}`: no noun", files.join(", ")));
        }
        if files.len() > MOST_ALIKE && !SHARED.contains(&name) {
            found.push(format!(
                "`{name}`: {} types: {}",
                files.len(),
                files.join(", ")
            ));
        }
    }
    found
}

/// True for a single word that is a participle or on the list.
fn is_no_noun(name: &str) -> bool {
    let is_one_word = name.chars().filter(|letter| letter.is_uppercase()).count() == 1;
    let is_participle = name.ends_with("ed") || name.ends_with("ing");
    is_one_word && (is_participle && !NOUNS.contains(&name) || NO_NOUNS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::super::house;
    use super::*;

    #[test]
    fn names_that_are_planted_are_found() {
        for (text, expected) in [
            ("pub struct Written;", Some("`Written`: no noun")),
            ("enum Asked { A }", Some("`Asked`: no noun")),
            ("trait Waiting {}", Some("`Waiting`: no noun")),
            ("type Found = u8;", Some("`Found`: no noun")),
            (
                "words! { /// An enum of words.\n enum Told { A = \"a\" } }",
                Some("`Told`: no noun"),
            ),
            ("pub struct WrittenBounds; struct Timing;", None),
            ("#[cfg(test)] mod tests { struct Told; }", None),
            ("#[cfg(test)] struct Told;", None),
        ] {
            let found = breaches(&house(&[("a.rs", text)]));
            let right = expected.map_or(found.is_empty(), |expected| {
                found.len() == 1 && found[0].contains(expected)
            });
            assert!(right, "{text}: {found:?}");
        }
        let thrice = |name: &str| {
            let text = format!("struct {name};");
            let files = ["a.rs", "b.rs", "c.rs"].map(|file| (file, text.as_str()));
            breaches(&house(&files))
        };
        assert!(thrice("Row")[0].contains("3 types"));
        assert!(thrice("Settings").is_empty());
    }
}
