//! `evenkeel migrate`: manifests of other products, as Evenkeel's.

use std::collections::HashSet;
use std::io::Write as _;
use std::path::PathBuf;

use evenkeel_clock as clock;
use evenkeel_cron::Zone;
use evenkeel_scaling::migration::{
    ACCEPTED, Circumstances, ConvertedManifest, migrate, passed_over,
};
use serde::Serialize;
use serde_json::Value;

use evenkeel_service::config;
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format, yaml};

const EXAMPLES: &str = "\
Examples:
  evenkeel migrate -f examples/cron/volcengine.yaml | kubectl apply -f -
  evenkeel migrate -f examples/cron/aliyun.yaml --time-zone Asia/Shanghai
  evenkeel migrate -f examples/ihpa/kapacity-predictive.yaml
  kubectl get scaledobjects -A -o yaml | evenkeel migrate -f -

Converts CronHPAs of Volcengine, CronHorizontalPodAutoscalers of Aliyun and the cron triggers of
KEDA's ScaledObjects to CronHPAs, and Kapacity's IntelligentHorizontalPodAutoscalers and
HorizontalPortraits to the kinds of the same names. A comment above each object lists what works
differently. An object is not converted if a part of it cannot be; standard error lists such
objects. Objects of other kinds, and ScaledObjects without cron triggers, are skipped with a
warning. Evenkeel acts on the results in opted-in namespaces only: kubectl annotate namespace NAME
evenkeel.dev/enabled=true.

Exit codes: 0 all converted; 1 some were not; 2 the command line or the file is wrong, or nothing
was converted.";

/// Convert manifests of other products to Evenkeel's
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Manifests to convert; `-` reads standard input
    #[arg(long, short, value_name = "FILE")]
    file: PathBuf,

    /// The time zone of schedules that name none: the zone of the other product's controller
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,

    /// Output format; table prints YAML
    #[arg(long, short, value_enum, default_value_t = Format::Yaml, value_name = "FORMAT")]
    output: Format,
}

#[derive(Serialize)]
struct MigrateReport<'a> {
    manifest: &'a Value,
    notes: &'a [String],
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    let refuse =
        |message: String| CliFailure::call(format_args!("{}: {message}", args.file.display()));
    if let Some(zone) = &args.time_zone {
        Zone::parse(zone)
            .map_err(|error| CliFailure::call(format_args!("--time-zone: {error}")))?;
    }
    let text = output::read_input(&args.file)?;
    let documents = config::yaml::parse_objects(&text)
        .map_err(|error| refuse(format!("is not YAML: {error}")))?;
    let circumstances = Circumstances {
        now: clock::now(),
        time_zone: args.time_zone.as_deref(),
    };
    let Conversions { converted, refused } = convert(&documents, &circumstances);
    if converted.is_empty() {
        let why = if refused.is_empty() {
            format!("holds nothing to convert; accepted: {ACCEPTED}")
        } else {
            refused.join("\n")
        };
        return Err(refuse(why));
    }
    print(&converted, args.output)?;
    if refused.is_empty() {
        return Ok(());
    }
    let (count, of) = (refused.len(), refused.len() + converted.len());
    let list = refused.join("\n  ");
    let file = args.file.display();
    Err(CliFailure::work(format_args!(
        "{file}: {count} of {of} objects not converted:\n  {list}"
    )))
}

/// The objects of a file that were converted, and those that were not, each with the reason.
#[derive(Default)]
struct Conversions {
    converted: Vec<ConvertedManifest>,
    refused: Vec<String>,
}

fn convert(documents: &[Value], circumstances: &Circumstances<'_>) -> Conversions {
    let mut all = Conversions::default();
    let mut made = HashSet::new();
    for document in documents {
        let named = name_of(document);
        match migrate(document, circumstances) {
            None => {
                let why = passed_over(document);
                output::warn(&format!("{named} is skipped: {why}"));
            }
            Some(Err(error)) => all.refused.push(format!("{named}: {error}")),
            Some(Ok(migrated)) => {
                let name = name_of(&migrated.manifest);
                if made.insert(name.clone()) {
                    all.converted.push(migrated);
                } else {
                    let twice = "is also the name of another converted object of the file; rename \
                        one of them";
                    all.refused.push(format!("{named}: {name} {twice}"));
                }
            }
        }
    }
    all
}

fn name_of(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = text(&object["kind"]);
    let metadata = &object["metadata"];
    let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
    let kind = if kind.is_empty() {
        "an object without a kind".to_owned()
    } else {
        kind
    };
    if namespace.is_empty() {
        format!("{kind} {name:?}")
    } else {
        format!("{kind} {:?}", format!("{namespace}/{name}"))
    }
}

fn print(converted: &[ConvertedManifest], format: Format) -> Result<(), CliFailure> {
    let mut out = std::io::stdout().lock();
    if format == Format::Json {
        let all: Vec<_> = converted
            .iter()
            .map(|ConvertedManifest { manifest, notes }| MigrateReport { manifest, notes })
            .collect();
        let text = serde_json::to_string_pretty(&all).map_err(CliFailure::work)?;
        return Ok(writeln!(out, "{text}")?);
    }
    for (place, ConvertedManifest { manifest, notes }) in converted.iter().enumerate() {
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
