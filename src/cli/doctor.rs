//! `evenkeel doctor`: checks that a cluster is set up right, and tells what mends it where it is
//! not.

use std::io::{self, Write};

use anyhow::Context as _;
use comfy_table::{Cell, ContentArrangement};
use serde::Serialize;

use super::connect::Cluster;
use super::output::{self, Failure, Format, Report, Style};
use crate::doctor::{self, Finding, Severity};
use evenkeel_clock as clock;

const EXAMPLES: &str = "\
Examples:
  evenkeel doctor                                      the cluster of KUBECONFIG or ~/.kube/config
  evenkeel doctor --kubeconfig admin.conf --namespace evenkeel-system
  evenkeel doctor -o json | jq '.findings[] | select(.severity == \"error\")'

It reads, asks the authorizer about rights, and creates one Pod as a dry run; it changes nothing.
What you may not read is reported with the right that it needs. Exit codes: 0 nothing is wrong,
warnings included; 1 something is, or the cluster cannot be reached; 2 the call is wrong.";

/// Check whether a cluster is set up right, and say what to do where it is not
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    cluster: Cluster,

    /// Format of the findings
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

/// Result of all checks.
#[derive(Debug, Serialize)]
struct Diagnosis {
    /// The worst of the findings.
    verdict: Severity,
    findings: Vec<Finding>,
}

pub(super) fn run(args: Args) -> Result<(), Failure> {
    let Args { cluster, output } = args;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let observation = runtime.block_on(async {
        let client = cluster.connect().await.map_err(Failure::Call)?;
        let gathering = doctor::gather::gather(&client, &cluster.namespace, clock::now());
        // A join of many reads is large, and needs no place on the stack.
        let gathered = Box::pin(gathering).await;
        let gathered = gathered.context("the API server cannot be reached");
        gathered.map_err(Failure::Work)
    })?;
    let findings = doctor::check(&observation);
    let worst = findings.iter().map(|finding| finding.severity).max();
    let diagnosis = Diagnosis {
        verdict: worst.unwrap_or(Severity::Ok),
        findings,
    };
    output::print(&diagnosis, output)?;
    match diagnosis.count(Severity::Error) {
        0 => Ok(()),
        1 => Err(Failure::work("1 thing is wrong")),
        wrong => Err(Failure::work(format!("{wrong} things are wrong"))),
    }
}

impl Diagnosis {
    fn count(&self, severity: Severity) -> usize {
        let same = |finding: &&Finding| finding.severity == severity;
        self.findings.iter().filter(same).count()
    }
}

impl Report for Diagnosis {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let mut table = style.table(["", "CHECK", "FINDING"].map(Cell::new));
        table.set_content_arrangement(ContentArrangement::Dynamic);
        for finding in &self.findings {
            table.add_row([
                mark(finding.severity, style),
                Cell::new(finding.id),
                Cell::new(text(finding)),
            ]);
        }
        writeln!(to, "{table}")?;
        let tally = [
            Severity::Error,
            Severity::Warning,
            Severity::Info,
            Severity::Ok,
        ]
        .map(|severity| format!("{} {}", self.count(severity), word(severity)));
        writeln!(to, "\n{}", tally.join(", "))
    }
}

const fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Ok => "ok",
        Severity::Info => "to know",
        Severity::Warning => "to look at",
        Severity::Error => "wrong",
    }
}

fn mark(severity: Severity, style: Style) -> Cell {
    match severity {
        Severity::Ok => style.good(Cell::new("✓")),
        Severity::Info => Cell::new("·"),
        Severity::Warning => style.bold(Cell::new("!")),
        Severity::Error => style.bad(Cell::new("✗")),
    }
}

/// The finding, what it was seen by, and what mends it, a line each.
fn text(finding: &Finding) -> String {
    let Finding {
        id: _,
        severity: _,
        what,
        detail,
        fix,
    } = finding;
    let mut lines = vec![what.clone()];
    lines.extend(detail.as_ref().map(|detail| format!("  {detail}")));
    lines.extend(fix.as_ref().map(|fix| format!("→ {fix}")));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &'static str, severity: Severity, fix: Option<&str>) -> Finding {
        Finding {
            id,
            severity,
            what: format!("what {id} found"),
            detail: fix.map(|_| "seen by this".to_owned()),
            fix: fix.map(str::to_owned),
        }
    }

    #[test]
    fn each_finding_stands_with_its_mark_and_its_fix() {
        let diagnosis = Diagnosis {
            verdict: Severity::Error,
            findings: vec![
                finding("leader", Severity::Ok, None),
                finding("webhook", Severity::Error, Some("kubectl apply")),
                finding("capacity", Severity::Warning, Some("kubectl annotate")),
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
        assert_eq!(
            lines.last(),
            Some(&"1 wrong, 1 to look at, 0 to know, 1 ok")
        );
    }
}
