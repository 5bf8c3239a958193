//! Texts of the cluster on a terminal.

use evenkeel_objects::truncate::excerpt;

/// The characters of the longest sentence.
const LONGEST: usize = 1000;

/// Without characters that move the cursor: names and messages are other people's.
pub(super) fn printable(text: &str) -> String {
    excerpt(text, LONGEST)
}
