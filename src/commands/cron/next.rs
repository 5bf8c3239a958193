//! `evenkeel cron next`: the next runs and windows of each cron of a manifest.

use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};

use comfy_table::Cell;
use evenkeel_api::custom_resources::unknown_fields;
use evenkeel_clock as clock;
use evenkeel_cron::{CronOccasion, CronSpec, CronState, Rule, RuleTiming, local_time, upcoming};
use evenkeel_objects::kinds::Kind;
use evenkeel_scaling::specs::cron_hpa::{CronHpa, check};
use evenkeel_service::config::yaml;
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format, Report, Style, fit_to_width};
use jiff::Timestamp;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;

const EXAMPLES: &str = "\
Examples:
  evenkeel cron next -f examples/cron/office-hours.yaml
  evenkeel cron next -f examples/cron/office-hours.yaml --after 2026-10-24T00:00:00Z --count 3

Times are in the time zone of the cron. A run in an hour that clocks skip takes place at the end
of that hour. A run at a fixed time in an hour that clocks repeat takes place once; a run by * or
steps takes place in both passes. A window closes when clocks first show, or skip, the next time
of its end. A window that clocks skip as a whole does not open and is not shown. A cron with
runOnce counts as applied at the time of --after, or now; its window is shown if it is open then.";

/// Show the next runs of each cron of a manifest
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Manifests of CronHPAs; `-` reads standard input
    #[arg(long, short, value_name = "FILE")]
    file: PathBuf,

    /// The number of runs of each cron
    #[arg(long, value_name = "N", default_value_t = 5,
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    count: u16,

    /// Show the runs after this time instead of now
    #[arg(long, value_name = "TIME")]
    after: Option<Timestamp>,

    /// Output format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NextRuns {
    after: Timestamp,
    cron_hpas: Vec<CronHpaRuns>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CronHpaRuns {
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    name: String,
    target: String,
    suspended: bool,
    crons: Vec<CronRuns>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CronRuns {
    name: String,
    /// `run` or `window`.
    kind: &'static str,
    schedule: String,
    time_zone: String,
    replicas: i32,
    suspended: bool,
    next: Vec<CronNextRun>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CronNextRun {
    time: Timestamp,
    local: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    local_end: Option<String>,
    /// True for a window that is open at the moment after which the runs are asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    open: bool,
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    let after = args.after.unwrap_or_else(clock::now);
    let report = NextRuns {
        after,
        cron_hpas: read(&args.file)?
            .iter()
            .map(|(object, spec)| runs(object, spec, after, usize::from(args.count)))
            .collect(),
    };
    output::print(&report, args.output)
}

fn read(path: &Path) -> Result<Vec<(CronHpa, CronSpec)>, CliFailure> {
    let text = output::read_input(path)?;
    let refuse = |message: String| CliFailure::call(format_args!("{}: {message}", path.display()));
    let documents =
        yaml::parse_objects(&text).map_err(|error| refuse(format!("is not YAML: {error}")))?;
    let mut found = Vec::new();
    for document in documents {
        collect(document, &mut found).map_err(refuse)?;
    }
    if found.is_empty() {
        let kind = Kind::CronHpa;
        return Err(refuse(format!(
            "holds no {} of {}; manifests of other products are converted by `evenkeel migrate`",
            kind.as_str(),
            kind.api_version()
        )));
    }
    Ok(found)
}

fn collect(object: Value, found: &mut Vec<(CronHpa, CronSpec)>) -> Result<(), String> {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    if Kind::of(text("apiVersion"), text("kind")) != Some(Kind::CronHpa) {
        return Ok(());
    }
    let name = object["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let named = |error: &dyn std::fmt::Display| format!("CronHPA {name:?}: {error}");
    if let Some(field) = unknown_fields(Kind::CronHpa, &object).first() {
        return Err(named(&format_args!("it has no field {field}")));
    }
    let cron_hpa = CronHpa::deserialize(object).map_err(|error| named(&error))?;
    let spec = check(&cron_hpa.spec).map_err(|error| named(&error))?;
    found.push((cron_hpa, spec));
    Ok(())
}

fn runs(object: &CronHpa, spec: &CronSpec, after: Timestamp, count: usize) -> CronHpaRuns {
    let state = CronState::default();
    let all = upcoming(spec, &state, after, count);
    let of = |rule: &Rule| {
        let its = all.iter().filter(|one| one.rule.name == rule.name);
        its.map(|one| {
            let end = match &one.occasion {
                CronOccasion::Run => None,
                CronOccasion::Window { end } => Some(end),
            };
            CronNextRun {
                time: one.at.timestamp(),
                local: local_time(&one.at),
                end: end.map(jiff::Zoned::timestamp),
                local_end: end.map(local_time),
                open: one.at.timestamp() <= after,
            }
        })
        .collect()
    };
    let crons = spec.rules().iter().map(|rule| {
        let (kind, schedule) = match &rule.when {
            RuleTiming::Run(at) => ("run", at.expression().to_owned()),
            RuleTiming::Window { start, end } => (
                "window",
                format!("{} to {}", start.expression(), end.expression()),
            ),
        };
        CronRuns {
            name: rule.name.clone(),
            kind,
            schedule,
            time_zone: rule.zone().to_string(),
            replicas: rule.replicas,
            suspended: rule.suspended,
            next: of(rule),
        }
    });
    CronHpaRuns {
        namespace: object.metadata.namespace.clone(),
        name: object.metadata.name.clone().unwrap_or_default(),
        target: object.spec.scale_target_ref.to_string(),
        suspended: spec.is_suspended(),
        crons: crons.collect(),
    }
}

impl Report for NextRuns {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        for cron_hpa in &self.cron_hpas {
            cron_hpa.print(to, style)?;
        }
        Ok(())
    }
}

impl CronHpaRuns {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let namespace = self.namespace.as_deref();
        let namespace = namespace.map_or_else(String::new, |name| format!("{name}/"));
        let suspended = if self.suspended { ", suspended" } else { "" };
        let Self { name, target, .. } = self;
        writeln!(to, "CronHPA {namespace}{name}, for {target}{suspended}\n")?;
        let header = ["Cron", "Replicas", "Zone", "Next", "Until"].map(Cell::new);
        let mut table = style.table(header);
        for cron in &self.crons {
            if cron.next.is_empty() {
                let why = if cron.suspended || self.suspended {
                    "suspended"
                } else {
                    "never"
                };
                let row = [
                    &cron.name,
                    &cron.replicas.to_string(),
                    &cron.time_zone,
                    why,
                    "",
                ];
                table.add_row(row.map(Cell::new));
            }
            for (place, moment) in cron.next.iter().enumerate() {
                let first = place == 0;
                let once = |text: &str| Cell::new(if first { text } else { "" });
                let open = if moment.open { ", open now" } else { "" };
                table.add_row([
                    once(&cron.name),
                    once(&cron.replicas.to_string()),
                    once(&cron.time_zone),
                    Cell::new(format!("{}{open}", moment.local)),
                    Cell::new(moment.local_end.as_deref().unwrap_or("the next run")),
                ]);
            }
        }
        writeln!(to, "{}\n", fit_to_width(&table))
    }
}
