//! Texts from callers, cut short before Evenkeel repeats them: they may be as long as the largest
//! body.

/// Characters of a refused value that are repeated: an annotation may have 256 KiB, an Event's note
/// 1 KiB, and all warnings of an admission together 4 KiB.
pub const OF_VALUE: usize = 60;

/// The first `most` characters of `text` on one line, with an ellipsis where more follow.
pub fn excerpt(text: &str, most: usize) -> String {
    let mut characters = text.chars().map(|character| {
        if character.is_control() {
            ' '
        } else {
            character
        }
    });
    let mut kept: String = characters.by_ref().take(most).collect();
    if characters.next().is_some() {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn a_text_is_cut_between_characters_and_kept_on_one_line() {
        for (text, kept) in [
            ("", ""),
            ("äöü", "äöü"),
            ("äöüß", "äöü…"),
            ("a\nb", "a b"),
            ("\u{1b}[2J", " [2…"),
        ] {
            assert_eq!(excerpt(text, 3), kept, "{text:?}");
        }
    }
}
