//! `evenkeel serve`: runs the service, or checks what it would run with.

use std::io;
use std::io::Write;

use evenkeel_service::config::{Config, ConfigFile, Override};
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format, Report, Style};
use evenkeel_terminal::settings::{ConfigArgs, ConnectionArgs};
use serde::Serialize;

/// Run the service: admission webhook, scheduler extender and controllers
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = long_help())]
pub(super) struct Args {
    /// Check the configuration, print the effective one and stop
    #[arg(long)]
    check: bool,

    /// Output format of `--check`; table prints YAML
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,

    #[command(flatten)]
    connection: ConnectionArgs,

    #[command(flatten)]
    config: ConfigArgs,

    #[command(flatten)]
    fields: FieldArgs,
}

/// Flags for the fields that are set most; every other field has `--set`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Fields of the configuration")]
struct FieldArgs {
    /// `disabled` decides, answers and reports, but writes nothing; `restore` puts all bounds back
    /// first [writes]
    #[arg(long, value_name = "enabled|disabled|restore")]
    writes: Option<String>,

    /// Address of webhook and extender [server.https]
    #[arg(long, value_name = "ADDRESS")]
    https: Option<String>,

    /// Address of the probes [server.http]
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,

    /// Address of the dashboard, on loopback [server.dashboard]
    #[arg(long, value_name = "ADDRESS")]
    dashboard: Option<String>,

    /// The highest load / capacity of a node after a placement [scheduling.headroom]
    #[arg(long, value_name = "RATIO")]
    headroom: Option<String>,

    /// Source of measurements: prometheus, metrics-api or none [metrics.source]
    #[arg(long, value_name = "SOURCE")]
    metrics_source: Option<String>,

    /// The Prometheus server [metrics.prometheus.url]
    #[arg(long, value_name = "URL")]
    prometheus_url: Option<String>,

    /// error, warn, info, debug, trace, or by module: info,evenkeel_service::server=debug [log.level]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,

    /// text or json [log.format]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  evenkeel serve --config /etc/evenkeel/config.yaml
  evenkeel serve --config config.yaml --check        # print the effective configuration
  evenkeel serve --kubeconfig ~/.kube/config --namespace evenkeel-system --writes disabled
  evenkeel serve --set scheduling.profiles.db='{weights: {cpu: 1, memory: 0, networkIo: 0, diskIo: 0, disk: 0}}'";

fn long_help() -> String {
    use std::fmt::Write as _;

    let mut help = format!(
        "{EXAMPLES}\n\
         \n\
         Flags override the environment, which overrides the file, which overrides the defaults.\n\
         `writes` is read again when the file changes; all other fields need a restart.\n\
         \n\
         Environment variables, one for each field:\n\
         "
    );
    for (variable, path) in Config::variables() {
        // Writing to a text cannot fail.
        let _ = writeln!(help, "  {variable:<52} {path}");
    }
    help
}

impl FieldArgs {
    fn overrides(self) -> impl Iterator<Item = Override> {
        let Self {
            writes,
            https,
            http,
            dashboard,
            headroom,
            metrics_source,
            prometheus_url,
            log_level,
            log_format,
        } = self;
        [
            ("--writes", "writes", writes),
            ("--https", "server.https", https),
            ("--http", "server.http", http),
            ("--dashboard", "server.dashboard", dashboard),
            ("--headroom", "scheduling.headroom", headroom),
            ("--metrics-source", "metrics.source", metrics_source),
            ("--prometheus-url", "metrics.prometheus.url", prometheus_url),
            ("--log-level", "log.level", log_level),
            ("--log-format", "log.format", log_format),
        ]
        .into_iter()
        .filter_map(|(flag, path, value)| {
            Some(Override {
                flag: flag.to_owned(),
                path: path.to_owned(),
                value: value?,
            })
        })
    }
}

/// The effective configuration. It is a file, so people get it as one.
#[derive(Serialize)]
struct EffectiveConfig<'a>(&'a ConfigFile);

impl Report for EffectiveConfig<'_> {
    fn print(&self, to: &mut dyn Write, _: Style) -> io::Result<()> {
        let yaml = serde_saphyr::to_string(self.0).map_err(io::Error::other)?;
        to.write_all(yaml.as_bytes())
    }
}

pub(super) fn run(args: Args) -> Result<(), CliFailure> {
    let mut config = Config::load(&args.config.sources(args.fields.overrides()))?;
    if args.check {
        config.warnings().for_each(|warning| output::warn(&warning));
        return output::print(&EffectiveConfig(config.effective()), args.output);
    }
    config.connection = args.connection.into();
    let runtime = tokio::runtime::Runtime::new()?;
    let computations = evenkeel_service::lifecycle::ShutdownTimeouts::of(&config).computations;
    let ended = runtime.block_on(evenkeel_service::lifecycle::run(config));
    runtime.shutdown_timeout(computations);
    ended.map_err(CliFailure::Work)
}
