//! `explain cronhpa`: what a CronHPA asks for now, by which cron, and what comes next, as a running
//! service reports.

use std::io;
use std::io::Write;

use comfy_table::Cell;
use evenkeel_api::cron_hpa::status::{CronHpaStatus, NextRun};
use evenkeel_http_client::Uri;
use evenkeel_objects::kinds::Kind;
use evenkeel_service::api;
use evenkeel_service::api::calendar::{Calendar, CronHpaEntry};
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format, Report, Style, fit_to_width, right};
use evenkeel_terminal::runtime::runtime;
use evenkeel_terminal::service_api::{ServiceApi, parse_url};
use serde::Serialize;

use super::object_name::{NamespacedName, parse_name};
use super::printable::printable;

const AFTER_HELP: &str = "\
The answer is the status that the leader writes, and the crons as a replica reads them. For the runs of \
a manifest that is not applied yet, use evenkeel cron next.

Exit codes: 0 explained; 1 the service cannot be asked, or knows no such CronHPA; 2 the command line is wrong.

Examples:
  evenkeel explain cronhpa shop/office-hours
  evenkeel explain cronhpa shop/office-hours -o json | jq '.status.nextRuns'";

/// Show what a CronHPA asks for now, by which cron, and what comes next
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The CronHPA, as NAMESPACE/NAME
    #[arg(value_name = "NAMESPACE/NAME", value_parser = parse_name)]
    cron_hpa: NamespacedName,

    /// Address of the dashboard's listener
    #[arg(long, value_name = "URL", value_parser = parse_url, default_value = "http://127.0.0.1:8081")]
    url: Uri,

    /// Output format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    let NamespacedName { namespace, name } = &args.cron_hpa;
    let calendar: Calendar = runtime()?.block_on(async {
        let service = ServiceApi::new(&args.url)?;
        service.get(api::CALENDAR, &[]).await
    })?;
    let mut known = calendar.cron_hpas.into_iter();
    let found = known.find(|one| one.namespace == *namespace && one.name == *name);
    let found = found.ok_or_else(|| {
        CliFailure::work(format_args!(
            "Evenkeel knows no CronHPA {namespace}/{name}. The namespace must have opted in; kubectl get cronhpas \
             -n {namespace} lists those that exist."
        ))
    })?;
    output::print(&CronHpaReport(found), args.output)
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct CronHpaReport(CronHpaEntry);

impl Report for CronHpaReport {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let Self(found) = self;
        let title = format!("CronHPA {}/{}", found.namespace, found.name);
        writeln!(to, "{}", style.emphasis(&title))?;
        for sentence in sentences(found) {
            writeln!(to, "{}", printable(&sentence))?;
        }
        crons(found, to, style)?;
        let status = found.status.as_ref();
        next_runs(status.map_or(&[], |status| &status.next_runs), to, style)?;
        conditions(status, to, style)
    }
}

/// The present request with the cron that it comes from, and the next one.
fn sentences(found: &CronHpaEntry) -> Vec<String> {
    let target = &found.target;
    if let Some(problem) = &found.problem {
        return vec![format!(
            "The spec is not accepted, so no cron is followed: {problem}."
        )];
    }
    let Some(status) = &found.status else {
        return vec![
            "It has no status yet: the leader writes one within seconds of its creation."
                .to_owned(),
        ];
    };
    let mut told = Vec::new();
    if found.suspended {
        told.push("It is suspended: no cron starts.".to_owned());
    }
    told.push(match &status.active {
        Some(active) => {
            let until = active.until.map_or_else(
                || "until the next run".to_owned(),
                |until| format!("until {until}"),
            );
            let count = active.min_replicas;
            if target.starts_with(Kind::HorizontalPodAutoscaler.as_str()) {
                format!("It asks for at least {count} replicas of {target} {until}.")
            } else {
                format!("It sets {target} to {count} replicas {until}.")
            }
        }
        None => format!("It asks for nothing for {target} now."),
    });
    told.extend(causes(status));
    if let Some(last) = &status.last_run {
        told.push(format!(
            "The last run, {} at {}, set {} replicas; there were {} before.",
            last.cron, last.scheduled_time, last.target, last.replicas
        ));
    }
    if let Some(next) = status.next_runs.first() {
        told.push(format!(
            "Next, {} asks for {} at {}.",
            next.cron, next.replicas, next.local_time
        ));
    }
    told
}

/// The run and the windows that the present request comes from, and the user's own minimum.
fn causes(status: &CronHpaStatus) -> Vec<String> {
    let own = |least: Option<i32>| {
        least.map_or_else(String::new, |least| {
            format!(" Before that, minReplicas was {least}. A larger value that is set later takes precedence.")
        })
    };
    let windows = status.crons.iter().filter(|cron| cron.open);
    let windows = windows.map(|cron| {
        let least = own(cron.user_min_replicas);
        format!("The window of {} is open.{least}", cron.name)
    });
    let held = status.held.iter().map(|held| {
        let least = own(held.user_min_replicas);
        format!(
            "The run of {} at {} set {} replicas, which apply until the next run.{least}",
            held.cron, held.scheduled_time, held.min_replicas
        )
    });
    held.chain(windows).collect()
}

fn crons(found: &CronHpaEntry, to: &mut dyn Write, style: Style) -> io::Result<()> {
    if found.crons.is_empty() {
        return Ok(());
    }
    let mut table = style.table(["CRON", "SCHEDULE", "REPLICAS", "STATE"].map(Cell::new));
    for cron in &found.crons {
        let is_suspended = cron.suspended || found.suspended;
        let state = if is_suspended {
            "suspended"
        } else {
            "followed"
        };
        table.add_row([
            Cell::new(printable(&cron.name)),
            Cell::new(printable(&cron.when)),
            right(cron.replicas.to_string()),
            Cell::new(state),
        ]);
    }
    writeln!(to, "\n{}", fit_to_width(&table))
}

fn next_runs(runs: &[NextRun], to: &mut dyn Write, style: Style) -> io::Result<()> {
    if runs.is_empty() {
        return Ok(());
    }
    let mut table = style.table(["NEXT", "CRON", "REPLICAS", "UNTIL"].map(Cell::new));
    for run in runs {
        let until = run.end.map(|end| end.to_string());
        table.add_row([
            Cell::new(printable(&run.local_time)),
            Cell::new(printable(&run.cron)),
            right(run.replicas.to_string()),
            Cell::new(until.as_deref().unwrap_or("the next run")),
        ]);
    }
    writeln!(to, "\n{}", fit_to_width(&table))
}

fn conditions(status: Option<&CronHpaStatus>, to: &mut dyn Write, style: Style) -> io::Result<()> {
    let conditions = status.map_or(&[][..], |status| &status.conditions);
    if conditions.is_empty() {
        return Ok(());
    }
    let mut table = style.table(["CONDITION", "STATUS", "REASON", "MESSAGE"].map(Cell::new));
    for condition in conditions {
        table.add_row([
            Cell::new(printable(&condition.kind)),
            Cell::new(condition.status.as_str()),
            Cell::new(printable(&condition.reason)),
            Cell::new(printable(&condition.message)),
        ]);
    }
    writeln!(to, "\n{}", fit_to_width(&table))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(status: &serde_json::Value) -> CronHpaEntry {
        serde_json::from_value(json!({
            "namespace": "shop", "name": "office-hours", "target": "HorizontalPodAutoscaler web",
            "suspended": false, "problem": null, "status": status,
            "crons": [{"name": "morning", "when": "0 8 * * 1-5 to 0 18 * * 1-5 UTC", "replicas": 10, "suspended": false}],
        }))
        .unwrap()
    }

    #[test]
    fn the_sentences_name_the_request_its_cause_and_what_comes_next() {
        let at = "2026-03-02T08:00:00Z";
        let end = "2026-03-02T18:00:00Z";
        let found = entry(&json!({
            "active": {"minReplicas": 10, "until": end},
            "crons": [{"name": "morning", "schedule": "0 8 * * 1-5", "since": at, "open": true, "userMinReplicas": 2}],
            "nextRuns": [{"cron": "evening", "time": end, "localTime": "2026-03-02 18:00 UTC", "replicas": 3}],
        }));
        assert_eq!(
            sentences(&found),
            [
                "It asks for at least 10 replicas of HorizontalPodAutoscaler web until 2026-03-02T18:00:00Z.",
                "The window of morning is open. Before that, minReplicas was 2. A larger value that is set later \
                 takes precedence.",
                "Next, evening asks for 3 at 2026-03-02 18:00 UTC.",
            ]
        );
        let held = entry(&json!({
            "active": {"minReplicas": 4},
            "held": {"cron": "morning", "scheduledTime": at, "minReplicas": 4},
            "lastRun": {"cron": "morning", "scheduledTime": at, "target": 4, "replicas": 2},
        }));
        let told = sentences(&held).join("\n");
        assert!(
            told.contains("at least 4 replicas of HorizontalPodAutoscaler web until the next run"),
            "{told}"
        );
        assert!(
            told.contains("The run of morning at 2026-03-02T08:00:00Z set 4 replicas"),
            "{told}"
        );
        assert!(told.contains("there were 2 before"), "{told}");
        let mut workload = held;
        workload.target = "Deployment web".to_owned();
        let told = sentences(&workload).join("\n");
        assert!(
            told.contains("It sets Deployment web to 4 replicas until the next run."),
            "{told}"
        );
    }

    #[test]
    fn a_spec_that_is_not_accepted_and_a_suspension_are_said() {
        let mut found = entry(&json!({}));
        found.suspended = true;
        assert_eq!(
            sentences(&found),
            [
                "It is suspended: no cron starts.",
                "It asks for nothing for HorizontalPodAutoscaler web now."
            ]
        );
        found.problem = Some("crons[0].schedule: 61 is not a minute".to_owned());
        let told = sentences(&found);
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("61 is not a minute"), "{told:?}");
        found.problem = None;
        found.status = None;
        assert!(sentences(&found)[0].contains("no status yet"));
    }
}
