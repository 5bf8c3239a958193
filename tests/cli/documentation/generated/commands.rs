//! The page on the command line: what `--help` of every subcommand says.

use std::fmt::Write as _;

use super::hold;
use crate::evenkeel;

/// The subcommands that a help text lists.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help.split("Commands:\n").nth(1).unwrap_or_default();
    let rows = listed.lines().take_while(|line| line.starts_with("  "));
    let names = rows.filter_map(|line| {
        let is_name = line.starts_with("  ") && !line.starts_with("   ");
        is_name.then(|| line.split_whitespace().next())?
    });
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

fn describe(path: &[String], page: &mut String) {
    let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
    arguments.push("--help");
    let help = evenkeel(&arguments).stdout;
    let depth = "#".repeat(path.len() + 1);
    if path.is_empty() {
        let _ = write!(
            page,
            "# Command line\n\nThe output of `evenkeel --help` and of the help of each command. The image lacks `dev`, `simulate`, `assess`, `record`, \
             `forecast`, `train`, `bench`, `tune compare` and `tune recommend`; the program of a release has them.\n"
        );
    } else {
        let _ = write!(page, "\n{depth} evenkeel {}\n", path.join(" "));
    }
    let text: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n```text\n{}\n```\n", text.join("\n").trim_end());
    for name in subcommands(&help) {
        let mut inner = path.to_vec();
        inner.push(name);
        describe(&inner, page);
    }
}

#[test]
fn the_page_on_the_command_line_is_the_help() {
    let mut page = String::new();
    describe(&[], &mut page);
    hold("docs/reference/cli.md", &page);
}
