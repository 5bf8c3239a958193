//! The texts below the options of `--help`: paragraphs flow, and examples can be pasted. clap
//! breaks lines at its own width, so paragraphs are joined before, and long examples are continued
//! as a shell reads them.

use clap::Command;

/// The longest line of an example, in characters: clap breaks lines at the width of the terminal.
const WIDTH: usize = 78;

/// The same command with paragraphs that are broken once, at the width of the terminal.
pub fn flowing(command: Command) -> Command {
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

/// The text with each paragraph's lines joined; indented lines stay. Below `Examples:` long lines
/// are continued.
fn joined(text: &str) -> String {
    let mut joined = String::new();
    let (mut open, mut examples) = (false, false);
    for line in text.lines() {
        let prose = !line.is_empty() && !line.starts_with(' ');
        if !joined.is_empty() {
            joined.push(if open && prose { ' ' } else { '\n' });
        }
        if examples {
            joined.push_str(&continued(line));
        } else {
            joined.push_str(line);
        }
        examples = line == "Examples:" || examples && !line.is_empty();
        open = prose;
    }
    joined
}

/// A shell line, broken before its options if too long. A comment without room moves to a line
/// above.
fn continued(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    if let Some((command, comment)) = line.split_once("  # ") {
        return format!("  # {comment}\n{}", continued(command.trim_end()));
    }
    let mut lines = vec![String::from(" ")];
    for part in parts(line.trim_start()) {
        let last = lines.len() - 1;
        // Room for the space before the part and for the ` \` behind it.
        let is_full = lines[last].chars().count() + part.chars().count() + 3 > WIDTH;
        if is_full && lines[last] != " " {
            lines.push(format!("    {part}"));
        } else {
            lines[last].push(' ');
            lines[last].push_str(part);
        }
    }
    lines.join(" \\\n")
}

/// The call, each option with its values, and what stands behind each pipe.
fn parts(command: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut quote, mut before) = (0, None, ' ');
    for (at, letter) in command.char_indices() {
        if before == ' ' && quote.is_none() && ['-', '|'].contains(&letter) {
            parts.push(command[start..at].trim_end());
            start = at;
        }
        if ['\'', '"'].contains(&letter) {
            quote = match quote {
                None => Some(letter),
                Some(open) if open == letter => None,
                open => open,
            };
        }
        before = letter;
    }
    parts.push(&command[start..]);
    parts
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

    #[test]
    fn long_examples_are_continued_between_words() {
        let options = ["--option 'one -value'"; 5].join(" ");
        let text = format!("Examples:\n  evenkeel one {options}   # why\n\nProse.");
        let broken = "  # why\n  evenkeel one --option 'one -value' --option 'one -value' \\\n    \
                      --option 'one -value' --option 'one -value' --option 'one -value'";
        assert_eq!(joined(&text), format!("Examples:\n{broken}\n\nProse."));
    }
}
