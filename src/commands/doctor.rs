//! `evenkeel doctor`: checks that a cluster is set up right, and names the fix where it is not.

use std::cmp::Reverse;
use std::io::{self, Write};

use anyhow::Context as _;
use comfy_table::Cell;
use serde::Serialize;

use crate::doctor::{self, DoctorFinding, FindingSeverity};
use evenkeel_clock as clock;
use evenkeel_terminal::cluster_args::ClusterArgs;
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format, Report, Style, fit_to_width};
use evenkeel_terminal::runtime::runtime;

const EXAMPLES: &str = "\
Examples:
  evenkeel doctor                                    # the cluster of KUBECONFIG or ~/.kube/config
  evenkeel doctor --kubeconfig admin.conf --namespace evenkeel-system
  evenkeel doctor -o json | jq '.findings[] | select(.severity == \"error\")'
  evenkeel doctor --list                             # all checks, without a cluster

It reads, asks the authorizer about rights, and creates one Pod as a dry run; it changes nothing.
If you lack a right to read something, the finding names that right. Each finding that is not ok has
a page that says how to check and fix it.

Exit codes:
  0  no errors (there may be warnings)
  1  at least one error, or the cluster cannot be reached
  2  the command line is wrong";

/// Check whether a cluster is set up right, and show how to fix what is not
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    cluster: ClusterArgs,

    /// List all checks instead of running them
    #[arg(long)]
    list: bool,

    /// Output format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

#[derive(Debug, Serialize)]
struct Diagnosis {
    verdict: FindingSeverity,
    findings: Vec<DoctorFinding>,
}

#[derive(Debug, Serialize)]
struct Catalogue {
    checks: Vec<CheckEntry>,
}

#[derive(Debug, Serialize)]
struct CheckEntry {
    id: &'static str,
    subject: &'static str,
    /// The page about its findings.
    link: String,
}

impl Catalogue {
    fn new() -> Self {
        let checks = doctor::CHECKS.iter().map(|check| CheckEntry {
            id: check.id,
            subject: check.subject,
            link: doctor::link(check.id),
        });
        Self {
            checks: checks.collect(),
        }
    }
}

impl Report for Catalogue {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let mut table = style.table(["CHECK", "WHAT IT CHECKS"].map(Cell::new));
        for check in &self.checks {
            table.add_row([check.id, check.subject].map(Cell::new));
        }
        writeln!(to, "{}\n\nHow to check and fix each:", fit_to_width(&table))?;
        let links = self.checks.iter();
        for link in links.map(|check| &check.link) {
            writeln!(to, "  {link}")?;
        }
        Ok(())
    }
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    if args.list {
        return output::print(&Catalogue::new(), args.output);
    }
    let observation = runtime()?.block_on(async {
        let client = args.cluster.connect().await.map_err(CliFailure::Call)?;
        let gathering = doctor::collector::gather(&client, &args.cluster.namespace, clock::now());
        // A join of many reads is large, and needs no place on the stack.
        let gathered = Box::pin(gathering).await;
        let gathered = gathered.context("the API server cannot be reached");
        gathered.map_err(CliFailure::Work)
    })?;
    let findings = doctor::check(&observation);
    let worst = findings.iter().map(|finding| finding.severity).max();
    let diagnosis = Diagnosis {
        verdict: worst.unwrap_or(FindingSeverity::Ok),
        findings,
    };
    output::print(&diagnosis, args.output)?;
    match diagnosis.count(FindingSeverity::Error) {
        0 => Ok(()),
        1 => Err(CliFailure::work("1 check failed")),
        failed => Err(CliFailure::work(format!("{failed} checks failed"))),
    }
}

impl Diagnosis {
    fn count(&self, severity: FindingSeverity) -> usize {
        let same = |finding: &&DoctorFinding| finding.severity == severity;
        self.findings.iter().filter(same).count()
    }

    /// The page about each check with a finding, the worst first. The links would break the table,
    /// so they are below it.
    fn print_links(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut found: Vec<&DoctorFinding> = self.findings.iter().collect();
        found.sort_by_key(|finding| Reverse(finding.severity));
        let mut links: Vec<&String> = Vec::new();
        for link in found
            .into_iter()
            .filter_map(|finding| finding.link.as_ref())
        {
            if !links.contains(&link) {
                links.push(link);
            }
        }
        if links.is_empty() {
            return Ok(());
        }
        writeln!(to, "\nHow to check and fix each:")?;
        for link in links {
            writeln!(to, "  {link}")?;
        }
        Ok(())
    }
}

impl Report for Diagnosis {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let mut table = style.table(["", "CHECK", "FINDING"].map(Cell::new));
        for finding in &self.findings {
            table.add_row([
                mark(finding.severity, style),
                Cell::new(finding.id),
                Cell::new(text(finding)),
            ]);
        }
        writeln!(to, "{}", fit_to_width(&table))?;
        let tally = [
            FindingSeverity::Error,
            FindingSeverity::Warning,
            FindingSeverity::Info,
            FindingSeverity::Ok,
        ]
        .map(|severity| tally(self.count(severity), severity));
        writeln!(to, "\n{}", tally.join(", "))?;
        self.print_links(to)
    }
}

fn tally(count: usize, severity: FindingSeverity) -> String {
    let (one, several) = match severity {
        FindingSeverity::Ok => ("ok", "ok"),
        FindingSeverity::Info => ("note", "notes"),
        FindingSeverity::Warning => ("warning", "warnings"),
        FindingSeverity::Error => ("error", "errors"),
    };
    format!("{count} {}", if count == 1 { one } else { several })
}

fn mark(severity: FindingSeverity, style: Style) -> Cell {
    match severity {
        FindingSeverity::Ok => style.good(Cell::new("✓")),
        FindingSeverity::Info => Cell::new("·"),
        FindingSeverity::Warning => style.bold(Cell::new("!")),
        FindingSeverity::Error => style.bad(Cell::new("✗")),
    }
}

/// The finding, what it was seen by, and what mends it, a line each.
fn text(finding: &DoctorFinding) -> String {
    let DoctorFinding {
        id: _,
        severity: _,
        what,
        detail,
        fix,
        link: _,
    } = finding;
    let mut lines = vec![what.clone()];
    lines.extend(detail.as_ref().map(|detail| format!("  {detail}")));
    lines.extend(fix.as_ref().map(|fix| format!("→ {fix}")));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &'static str, severity: FindingSeverity, fix: Option<&str>) -> DoctorFinding {
        DoctorFinding {
            id,
            severity,
            what: format!("what {id} found"),
            detail: fix.map(|_| "seen by this".to_owned()),
            fix: fix.map(str::to_owned),
            link: fix.map(|_| doctor::link(id)),
        }
    }

    #[test]
    fn each_finding_stands_with_its_mark_and_its_fix() {
        let diagnosis = Diagnosis {
            verdict: FindingSeverity::Error,
            findings: vec![
                finding("leader", FindingSeverity::Ok, None),
                finding("webhook", FindingSeverity::Error, Some("kubectl apply")),
                finding(
                    "capacity",
                    FindingSeverity::Warning,
                    Some("kubectl annotate"),
                ),
            ],
        };
        let mut text = Vec::new();
        diagnosis.print(&mut text, Style::Plain).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert_eq!(lines[2], "✓   leader     what leader found");
        assert_eq!(lines[3], "✗   webhook    what webhook found");
        assert_eq!(lines[4], "                 seen by this");
        assert_eq!(lines[5], "               → kubectl apply");
        assert!(lines[6].starts_with("!   capacity"), "{text}");
        let tally = lines.iter().position(|line| line.starts_with("1 error"));
        let page = "https://github.com/evenkeel/evenkeel/blob/main/docs/troubleshooting.md";
        assert_eq!(
            lines[tally.unwrap()..],
            [
                "1 error, 1 warning, 0 notes, 1 ok",
                "",
                "How to check and fix each:",
                &format!("  {page}#webhook"),
                &format!("  {page}#capacity"),
            ]
        );
    }
}
