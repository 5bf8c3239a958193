//! "Did you mean": the word of a known list that a mistyped one stands for.

/// The longest text that is compared; more is no mistyped word.
const LONGEST: usize = 64;

/// The word of `known` that `given` most likely stands for, if any. A word is near if it differs
/// only in case or outer white space, or by one edit for each four letters and at least one (a swap
/// of neighbours is one edit).
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.trim().to_lowercase();
    let length = given.chars().count();
    if given.is_empty() || length > LONGEST {
        return None;
    }
    let edits = |word: &str| strsim::osa_distance(&given, &word.to_lowercase());
    let found = known.into_iter().map(|word| (edits(word), word));
    let (edits, word) = found.min_by_key(|(edits, _)| *edits)?;
    let allowed = length.div_ceil(4);
    // At least one letter must stay: one edit would leave nothing of a word of one letter.
    (edits <= allowed && edits < length).then_some(word)
}

/// The end of a message about `given`: empty where no word of `known` is near.
pub fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, known).map_or_else(String::new, |word| format!("; did you mean {word:?}?"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WORDS: [&str; 8] = [
        "off",
        "recommend",
        "floor",
        "direct",
        "ds-hpa",
        "headroom",
        "significance",
        "relaxAfter",
    ];

    #[test]
    fn mistyped_words_are_recognised_and_others_are_not() {
        for (given, expected) in [
            ("flor", Some("floor")),
            ("Floor", Some("floor")),
            (" floor ", Some("floor")),
            ("flooor", Some("floor")),
            ("recomend", Some("recommend")),
            ("dirct", Some("direct")),
            ("dshpa", Some("ds-hpa")),
            ("headrom", Some("headroom")),
            ("signifcance", Some("significance")),
            ("relax-after", Some("relaxAfter")),
            ("of", Some("off")),
            ("on", None),
            ("prophet", None),
            ("true", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, WORDS), expected, "{given:?}");
        }
        assert_eq!(nearest(&"floor".repeat(20), WORDS), None);
        assert_eq!(did_you_mean("flor", WORDS), "; did you mean \"floor\"?");
        assert_eq!(did_you_mean("prophet", WORDS), "");
    }

    proptest! {
        /// A letter that is missing, doubled or exchanged with its neighbour is one edit.
        #[test]
        fn one_slip_of_the_hand_is_recognised(at in 0..WORDS.len(), slip in 0..3, where_to in 0..64_usize) {
            let word = WORDS[at];
            let mut letters: Vec<char> = word.chars().collect();
            let place = where_to % (letters.len() - 1);
            match slip {
                0 => { letters.remove(place); }
                1 => letters.insert(place, letters[place]),
                _ => letters.swap(place, place + 1),
            }
            let mistyped: String = letters.into_iter().collect();
            prop_assert_eq!(nearest(&mistyped, WORDS), Some(word), "{}", mistyped);
        }
    }
}
