//! The texts below the options of `--help`, made to flow.
//!
//! In the code they stand in lines of their own length, and clap breaks lines at the width of the
//! terminal: unless they are joined before, a paragraph is broken twice.

use clap::Command;

/// The same command with paragraphs that are broken once, at the width of the terminal.
pub(super) fn flowing(command: Command) -> Command {
    let short = command.get_after_help().map(ToString::to_string);
    let long = command.get_after_long_help().map(ToString::to_string);
    let command = match short {
        Some(text) => command.after_help(joined(&text)),
        None => command,
    };
    let command = match long {
        Some(text) => command.after_long_help(joined(&text)),
        None => command,
    };
    command.mut_subcommands(flowing)
}

/// The text with the lines of each paragraph joined; lines that are set in stay.
fn joined(text: &str) -> String {
    let mut joined = String::new();
    let mut open = false;
    for line in text.lines() {
        let prose = !line.is_empty() && !line.starts_with(' ');
        if !joined.is_empty() {
            joined.push(if open && prose { ' ' } else { '\n' });
        }
        joined.push_str(line);
        open = prose;
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_joined_and_examples_stay() {
        let text =
            "Examples:\n  evenkeel one\n  evenkeel two\n\nIt does\nthis. And\nthat.\n\nMore.";
        let expected =
            "Examples:\n  evenkeel one\n  evenkeel two\n\nIt does this. And that.\n\nMore.";
        assert_eq!(joined(text), expected);
        assert_eq!(joined(expected), expected);
    }
}
