//! `evenkeel dev`: a cluster on this machine with the real service in it, and a view of both.

mod canvas;
pub mod cluster;
mod comparison;
pub mod embedded_service;
mod event_throttle;
mod load_display;
mod measures;
mod model;
mod object_stream;
mod picture;
mod record_notes;
mod replay_page;
pub mod run;
mod seeds;
mod settings;
mod show;
mod terminal;
mod text_lines;
mod view;

use std::fs::Permissions;
use std::io;
use std::io::IsTerminal as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use evenkeel_sandbox::engine::summary::RunSummary;
use evenkeel_sandbox::scenario::Scenario;
use evenkeel_sandbox::scenario::faults::Fault;
use evenkeel_sandbox::target_replay::SeasonalRule;
use evenkeel_service::dashboard::ReplayBoard;
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;
use evenkeel_terminal::settings::ConfigArgs;
use evenkeel_units::Ratio;
use jiff::SignedDuration;

use self::cluster::DevClusterOptions;
use self::comparison::{Rival, RuleRival, RunComparison};
use self::object_stream::{Notation, Objects};
use self::picture::PictureShow;
use self::record_notes::RecordNotes;
use self::run::{RunEndCause, RunLimit, RunResult};
use self::seeds::OverSeeds;
use self::settings::DevServiceConfig;
use self::show::RunDisplay;
use self::terminal::View;
use self::text_lines::Lines;
use crate::dev::cluster::SPEED;
use crate::replay::{ReplayArgs, ReplayInput};

const EXAMPLES: &str = "\
Examples:
  evenkeel dev
  evenkeel dev --duration 72s --seeds 10
  evenkeel dev --duration 5m --fault metrics-down@10m..20m --fault node-loss@30m..50m
  evenkeel dev --scenario examples/scenarios/tight.yaml --fault hang@3m..5m
  evenkeel dev --set scheduling.scaleIn=balance --set scheduling.overload.taint=enforce
  evenkeel dev --set scheduling.scoreLabels=on
  evenkeel dev --config deploy/base/config.yaml --set writes=disabled
  evenkeel dev --replay incident.tar --set scaling.mode=floor
  evenkeel dev --duration 30s --no-tty
  evenkeel dev --duration 30s -o json | jq -c 'select(.event == \"podPlaced\")'

Everything runs on this machine and is gone when it ends. The service is that of `evenkeel serve`;
API server, scheduler, controllers, nodes and load are simulated. kubectl can use the cluster with
the kubeconfig that dev shows. End with q or Ctrl-C. dev then compares up to four runs with the same
load, seed and time: the default scheduler with a plain HPA, the same with a lower HPA target at
equal cost (if Evenkeel costs more), the same with the best seasonal rule (if the scenario has a day
of past), and Evenkeel.

Faults: metrics-down, metrics-hang (metrics never answer), hang (webhook and extender never answer),
api-restart, node-loss (the first node; the default scheduler loses it too in the comparison).
FROM and UNTIL are times of the scenario, such as 90s or 1h30m; --duration is on the clock. The service
uses the time of the scenario in annotations, Events and its API, and so do the ages of `kubectl get`.
Ages that kubectl computes itself, such as those of Events in describe, use the date of this machine.

With `scheduling.scoreLabels=on` the scheduler calls no extender, like that of a managed cluster. The
ConfigMap kube-scheduler in namespace kube-system holds its configuration; a change takes effect at once.

The service reads the configuration of `evenkeel serve`: --config, EVENKEEL_ variables and --set.
dev sets addresses, certificates and Prometheus itself, and adapts times that you do not set to
--speed. The ConfigMap evenkeel in namespace evenkeel-system holds the result, and the service
follows it: a change of `writes` takes effect within two seconds; other fields need a restart. A
refused configuration changes nothing, and an Event reports it.

--replay runs a record of `evenkeel record`, and ends with it. The last lines name the difference to
the plain HPAs, and what the record does not show. With --hpa, the run with Evenkeel has the edited
HPAs, and the runs without it have the recorded ones. Floors need `scaling.mode=floor`, unless the
recorded HPAs have the annotation for them.

For a workload that scales, the view shows its load, the forecast with its model (learning: not judged yet;
unused: not trusted), the floor (the HPA's minReplicas while Evenkeel raises it), and the replicas that the
same HPA would have without Evenkeel.

A machine that is too slow for --speed keeps a lower one: dev measures how late its work is, lowers the
speed by itself, and raises it again. The first line of the view says what is kept.";

/// Run a simulated cluster with Evenkeel on this machine, and watch it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// End after this time on the clock, such as 5m [default: end with q or Ctrl-C; a record ends
    /// by itself]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,

    /// The most seconds of the scenario per second on the clock; a slow machine keeps less
    #[arg(long, value_name = "FACTOR", default_value_t = SPEED, value_parser = parse_speed)]
    speed: f64,

    /// Seed of noise, ties and names
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Number of runs, one after another, each with the next seed; a table over all runs follows
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,

    /// Number of nodes, which take the scenario's shapes in turn; by default as in the scenario
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1000))]
    nodes: Option<u16>,

    /// Nodes and workloads, as in examples/scenarios; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,

    #[command(flatten)]
    replay: ReplayArgs,

    /// Inject a fault for a while, for example metrics-down@60s..120s; may be repeated
    #[arg(long = "fault", value_name = "KIND@FROM..UNTIL")]
    faults: Vec<Fault>,

    /// Print one line per event (the default when stdout is not a terminal)
    #[arg(long)]
    no_tty: bool,

    /// Timeout of webhook and extender; set it above the shipped 1s and 200ms if this machine is
    /// too busy to keep them
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    patience: Option<Duration>,

    /// Write the last view to a file whose name ends in .svg or .txt
    #[arg(long, value_name = "FILE")]
    picture: Option<picture::PictureFile>,

    #[command(flatten)]
    config: ConfigArgs,

    /// Output format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

/// Form in which a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// A live view on a terminal, otherwise lines; the comparison is a table
    #[default]
    Table,
    /// One JSON object per line for each event; the last one is the comparison
    Json,
    /// One YAML document for each event; the last one is the comparison
    Yaml,
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let parsed = text.parse::<SignedDuration>().ok();
    parsed
        .and_then(|time| Duration::try_from(time).ok())
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "accepted: a time above 0, such as 30s, 5m or 1h30m".to_owned())
}

fn parse_speed(text: &str) -> Result<f64, String> {
    let speed = text.parse::<f64>().ok();
    speed
        .filter(|speed| (0.1..=1000.0).contains(speed))
        .ok_or_else(|| "accepted: a number from 0.1 to 1000".to_owned())
}

fn input(args: &Args) -> Result<ReplayInput, CliFailure> {
    let mut input = args.replay.load(args.scenario.as_deref())?;
    if let Some(count) = args.nodes {
        let count = usize::from(count);
        input.scenario = input.scenario.with_nodes(count);
        input.unedited = input.unedited.map(|recorded| recorded.with_nodes(count));
    }
    Ok(input)
}

/// The end of a run by itself; of a record, its end.
fn end(args: &Args, input: &ReplayInput) -> Option<RunLimit> {
    let record = input.record.as_ref();
    let recorded = record.map(|_| RunLimit::Scenario(input.scenario.simulation.duration));
    args.duration.map(RunLimit::Clock).or(recorded)
}

/// Standard output is a screen, and standard input has keys.
fn on_terminal() -> bool {
    io::stdout().is_terminal() && io::stdin().is_terminal()
}

/// The least share of its own target, in percent, that an HPA is given as Evenkeel's rival.
const LEAST_TARGET: u32 = 67;

/// Compares the run with ones of the same length without Evenkeel, by the HPAs of `recorded`.
fn compare(options: &DevClusterOptions, recorded: &Scenario, ran: RunResult) -> RunComparison {
    let RunResult {
        summary,
        lags,
        kept,
        end: _,
    } = ran;
    let seconds = SignedDuration::try_from_secs_f64(summary.seconds);
    let seconds = seconds.unwrap_or(SignedDuration::MAX);
    let lag = lags.summary();
    let rivals = DevClusterOptions {
        scenario: recorded.clone(),
        ..options.clone()
    };
    let alone = |target_share, rule| {
        let mut plain = rivals.plain(lags.clone(), target_share, rule);
        plain.advance(seconds);
        plain.summary()
    };
    let plain = alone(Ratio::ONE, None);
    let rules = SeasonalRule::within(options.scenario.past).map(|rule| RuleRival {
        rule,
        summary: alone(Ratio::ONE, Some(rule)),
    });
    RunComparison {
        seed: options.seed,
        line: options.line.get(),
        speed: options.speed.get(),
        kept,
        lag,
        rival: rival(&plain, &summary, |share| alone(share, None)),
        rule: best_rule(rules, &summary),
        plain,
        evenkeel: summary,
    }
}

/// The plain HPA with Evenkeel's cost of safety: the highest target that costs no fewer
/// replica-hours, else the least. `None` if Evenkeel costs no more than the HPA as it is.
fn rival(
    plain: &RunSummary,
    evenkeel: &RunSummary,
    alone: impl Fn(Ratio) -> RunSummary,
) -> Option<Rival> {
    let costs_enough = |summary: &RunSummary| summary.replica_hours >= evenkeel.replica_hours;
    if costs_enough(plain) {
        return None;
    }
    let of = |percent: u32| {
        let target_share = Ratio::new(f64::from(percent) / 100.0).expect("a positive number");
        Rival {
            target_share: target_share.get(),
            summary: alone(target_share),
        }
    };
    let (mut low, mut high) = (of(LEAST_TARGET), 100);
    let mut percent = LEAST_TARGET;
    while high - percent > 1 && costs_enough(&low.summary) {
        let middle = u32::midpoint(percent, high);
        let tried = of(middle);
        if costs_enough(&tried.summary) {
            (percent, low) = (middle, tried);
        } else {
            high = middle;
        }
    }
    Some(low)
}

/// The rule that leaves the least time under-provisioned for no more replica-hours than Evenkeel's, else the one with
/// the fewest replica-hours.
fn best_rule(rules: impl Iterator<Item = RuleRival>, evenkeel: &RunSummary) -> Option<RuleRival> {
    let order = |one: &RuleRival| {
        let RunSummary {
            replica_hours,
            under_provisioned_seconds,
            ..
        } = one.summary;
        if replica_hours <= evenkeel.replica_hours {
            (false, under_provisioned_seconds)
        } else {
            (true, replica_hours)
        }
    };
    rules.min_by(|one, other| {
        let (one, other) = (order(one), order(other));
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
    })
}

pub fn run(args: &Args) -> Result<(), CliFailure> {
    let input = input(args)?;
    if args.seeds > 1 && end(args, &input).is_none() {
        return Err(CliFailure::call(
            "--seeds needs --duration: each run ends by itself, as after --duration 72s",
        ));
    }
    let given = settings::read(args.config.clone())?;
    let board = replay_page::begin(&input, &given, args.seed)?;
    let mut comparisons = Vec::new();
    for number in 0..args.seeds {
        let seed = args.seed.wrapping_add(number);
        let Some(ran) = run_once(args, &given, &input, seed, &board)? else {
            break;
        };
        let (comparison, end) = ran;
        match args.output {
            Format::Table if args.seeds > 1 => {}
            Format::Table => output::print(&comparison, output::Format::Table)?,
            Format::Json => Notation::Json.put(&mut io::stdout(), "summary", &comparison)?,
            Format::Yaml => Notation::Yaml.put(&mut io::stdout(), "summary", &comparison)?,
        }
        comparisons.push(comparison);
        if end == RunEndCause::Asked {
            break;
        }
    }
    let over_seeds = OverSeeds::of(&comparisons).filter(|_| args.seeds > 1);
    if let (Some(record), false) = (
        RecordNotes::of(&input, &comparisons),
        comparisons.is_empty(),
    ) {
        match args.output {
            Format::Table => output::print(&record, output::Format::Table)?,
            Format::Json => Notation::Json.put(&mut io::stdout(), "record", &record)?,
            Format::Yaml => Notation::Yaml.put(&mut io::stdout(), "record", &record)?,
        }
    }
    match (args.output, over_seeds) {
        (_, None) => Ok(()),
        (Format::Table, Some(all)) => output::print(&all, output::Format::Table),
        (Format::Json, Some(all)) => Notation::Json.put(&mut io::stdout(), "seeds", &all),
        (Format::Yaml, Some(all)) => Notation::Yaml.put(&mut io::stdout(), "seeds", &all),
    }
}

/// Runs one seed to its end, and compares it. `None` where there was nothing to see.
fn run_once(
    args: &Args,
    given: &DevServiceConfig,
    input: &ReplayInput,
    seed: u64,
    board: &ReplayBoard,
) -> Result<Option<(RunComparison, RunEndCause)>, CliFailure> {
    // The kubeconfig in it is an administrator's, so no other user may enter the folder.
    let folder = tempfile::Builder::new()
        .prefix("evenkeel-dev-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()?;
    let scenario = &input.scenario;
    let mut faults = scenario.faults.clone();
    faults.extend(args.faults.iter().copied());
    let options = DevClusterOptions {
        scenario: scenario.clone(),
        seed,
        speed: Ratio::new(args.speed).map_err(CliFailure::call)?,
        faults,
        line: given.headroom,
        configuration: given.fields.clone(),
        patience: args.patience,
        calls_extender: !given.has_score_labels,
        keeps_pace: true,
        begins_as: input
            .record
            .as_ref()
            .map(|record| record.manifest.span().begin()),
        ..DevClusterOptions::new(folder.path().to_owned())
    };
    let show: Box<dyn RunDisplay> = match args.output {
        Format::Json => Box::new(Objects::new(io::stdout(), Notation::Json)),
        Format::Yaml => Box::new(Objects::new(io::stdout(), Notation::Yaml)),
        Format::Table if !args.no_tty && on_terminal() => Box::new(View::new()),
        Format::Table => Box::new(Lines::new(io::stdout())),
    };
    let mut show = PictureShow::new(show, args.picture.clone());
    let runtime = tokio::runtime::Runtime::new()?;
    let running = run::run(&options, board.clone(), end(args, input), &mut show);
    let ran = runtime.block_on(running);
    show.leave();
    // Tasks that still hang, such as a client of the API server, need no wait.
    runtime.shutdown_background();
    let Some(ran) = ran? else {
        return Ok(None);
    };
    show.write()?;
    let end = ran.end;
    Ok(Some((compare(&options, input.recorded(), ran), end)))
}
