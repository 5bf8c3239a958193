//! `evenkeel migrate`: manifests of other products, as Evenkeel's.

use std::io::Write as _;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::output::{self, Failure, Format, yaml};
use crate::config;
use evenkeel_clock as clock;
use evenkeel_core::scaling::cron::Zone;
use evenkeel_kubernetes::migrate::{ACCEPTED, Circumstances, Migrated, migrate};

const EXAMPLES: &str = "\
Examples:
  evenkeel migrate -f examples/cron/volcengine.yaml | kubectl apply -f -
  evenkeel migrate -f examples/cron/aliyun.yaml --time-zone Asia/Shanghai
  evenkeel migrate -f examples/ihpa/kapacity-predictive.yaml
  kubectl get scaledobjects -A -o yaml | evenkeel migrate -f -

Converts CronHPAs of Volcengine, CronHorizontalPodAutoscalers of Aliyun and the cron triggers of KEDA's
ScaledObjects to CronHPAs, and Kapacity's IntelligentHorizontalPodAutoscalers and HorizontalPortraits to
the kinds of the same names. What is done otherwise stands above each in a comment; what cannot be done
is refused. Documents of other kinds are passed over. Evenkeel looks at the results in namespaces that have
opted in: kubectl annotate namespace NAME evenkeel.dev/enabled=true.";

/// Convert manifests of other products to Evenkeel's
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Manifests to convert; `-` reads standard input
    #[arg(long, short, value_name = "FILE")]
    file: PathBuf,

    /// The zone in which schedules were read that name none: that of the other product's controller
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,

    /// Format of the result; a table is YAML
    #[arg(long, short, value_enum, default_value_t = Format::Yaml, value_name = "FORMAT")]
    output: Format,
}

/// A converted manifest, for programs.
#[derive(Serialize)]
struct Converted<'a> {
    manifest: &'a Value,
    notes: &'a [String],
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let Args {
        file,
        time_zone,
        output,
    } = args;
    let refuse = |message: String| Failure::call(format_args!("{}: {message}", file.display()));
    if let Some(zone) = time_zone {
        Zone::parse(zone).map_err(|error| Failure::call(format_args!("--time-zone: {error}")))?;
    }
    let text = output::read_input(file)?;
    let documents = config::yaml::parse_objects(&text)
        .map_err(|error| refuse(format!("is not YAML: {error}")))?;
    let circumstances = Circumstances {
        now: clock::now(),
        time_zone: time_zone.as_deref(),
    };
    let mut converted = Vec::new();
    for document in &documents {
        collect(document, &circumstances, &mut converted).map_err(refuse)?;
    }
    if converted.is_empty() {
        return Err(refuse(format!(
            "holds nothing to convert; accepted: {ACCEPTED}"
        )));
    }
    print(&converted, *output)
}

fn collect(
    document: &Value,
    circumstances: &Circumstances<'_>,
    converted: &mut Vec<Migrated>,
) -> Result<(), String> {
    let Some(migrated) = migrate(document, circumstances) else {
        return Ok(());
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (text(&document["kind"]), text(&document["metadata"]["name"]));
    converted.push(migrated.map_err(|error| format!("{kind} {name:?}: {error}"))?);
    Ok(())
}

fn print(converted: &[Migrated], format: Format) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    if format == Format::Json {
        let all: Vec<_> = converted
            .iter()
            .map(|Migrated { manifest, notes }| Converted { manifest, notes })
            .collect();
        let text = serde_json::to_string_pretty(&all).map_err(Failure::work)?;
        return Ok(writeln!(out, "{text}")?);
    }
    for (place, Migrated { manifest, notes }) in converted.iter().enumerate() {
        if place > 0 {
            writeln!(out, "---")?;
        }
        for note in notes {
            writeln!(out, "# {note}")?;
        }
        write!(out, "{}", yaml(manifest)?)?;
    }
    Ok(out.flush()?)
}
