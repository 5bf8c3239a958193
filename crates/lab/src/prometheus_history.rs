//! A Prometheus that commands ask for the past: which one it is, and asking it for all of a past.

use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_scaling::tracker::backfill_pace::{
    BackfillOutcome, BackfillPace, BackfillRemainder, BackfillStep, Slots,
};
use evenkeel_service::config::{Config, ConfigError, Override};
use evenkeel_service::controller::scaling::HistorySource;
use evenkeel_service::controller::scaling::history_backfill::{HistoryRequest, HistoryResponse};
use evenkeel_service::metrics::MetricsError;
use evenkeel_service::metrics::prometheus::PrometheusSource;
use evenkeel_terminal::output::CliFailure;
use evenkeel_terminal::settings::ConfigArgs;
use jiff::Timestamp;

/// Times that a question is asked again while the server does not answer.
const AGAIN: u32 = 3;
/// The longest rest before a question is asked again.
const PAUSE: Duration = Duration::from_secs(5);

/// The Prometheus that is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct PrometheusArgs {
    /// Address of Prometheus; overrides metrics.prometheus.url of the configuration
    #[arg(long, value_name = "URL")]
    prometheus: Option<String>,

    /// A file with the bearer token for Prometheus; overrides metrics.prometheus.bearerTokenFile
    #[arg(long, value_name = "FILE")]
    bearer_token_file: Option<String>,

    /// A PEM file with the authority of Prometheus' certificate; overrides
    /// metrics.prometheus.caFile
    #[arg(long, value_name = "FILE")]
    ca_file: Option<String>,

    #[command(flatten)]
    config: ConfigArgs,
}

impl PrometheusArgs {
    /// The configuration, with the flags over all other sources of it.
    pub(crate) fn config(&self) -> Result<Config, ConfigError> {
        let set = |flag: &str, path: &str, value: &str| Override {
            flag: flag.to_owned(),
            path: format!("metrics.{path}"),
            value: value.to_owned(),
        };
        let given = [
            ("--prometheus", "prometheus.url", &self.prometheus),
            (
                "--bearer-token-file",
                "prometheus.bearerTokenFile",
                &self.bearer_token_file,
            ),
            ("--ca-file", "prometheus.caFile", &self.ca_file),
        ];
        let given = given
            .into_iter()
            .filter_map(|(flag, path, value)| Some(set(flag, path, value.as_deref()?)));
        let source = self.prometheus.as_ref();
        let source = source.map(|_| set("--prometheus", "source", "prometheus"));
        Config::load(&self.config.clone().sources(given.chain(source)))
    }
}

pub(crate) fn source(config: &Config) -> Result<(PrometheusSource, String), CliFailure> {
    let settings = config.metrics.source.prometheus().ok_or_else(|| {
        CliFailure::call(
            "metrics.source of the configuration is not prometheus, and the history comes from \
             Prometheus only: name one with --prometheus URL",
        )
    })?;
    let address = settings.connection.url.to_string();
    Ok((PrometheusSource::new(settings.clone()), address))
}

/// The end of a server's past: its own time, or this machine's if it does not report any.
pub(crate) async fn now(source: &PrometheusSource) -> Timestamp {
    let told = source.now().await.ok().flatten();
    told.unwrap_or_else(clock::now)
}

pub(crate) fn unreachable(url: &str, error: &MetricsError) -> CliFailure {
    let hint = match error {
        MetricsError::Connect(_) | MetricsError::Timeout => {
            "; from outside the cluster: kubectl -n monitoring port-forward \
             svc/prometheus-operated 9090, and --prometheus http://127.0.0.1:9090"
        }
        MetricsError::Unauthorized { .. } => "; see --bearer-token-file",
        MetricsError::NotServed { .. } | MetricsError::Malformed { .. } => {
            "; the address must be that of a Prometheus, without the /api/v1 of its API"
        }
        _ => "",
    };
    CliFailure::work(format_args!("Prometheus at {url}: {error}{hint}"))
}

/// Asks for all that is left, newest first, at the server's pace; a refused query is not repeated.
///
/// # Errors
/// A part of it cannot be had.
pub(crate) async fn ask_all(
    past: &dyn HistorySource,
    question: HistoryRequest<'_>,
    mut rest: BackfillRemainder,
    mut take: impl FnMut(HistoryResponse, Slots),
) -> Result<(), MetricsError> {
    let mut pace = BackfillPace::default();
    let mut again = 0;
    while let Some(slots) = rest.newest(pace.points()) {
        let begun = clock::instant();
        let Some(answer) = question.ask(past, slots).await else {
            return Ok(());
        };
        let outcome = match &answer {
            Ok(answer) => BackfillOutcome::Answered {
                series: answer.series(),
                took: begun.elapsed(),
            },
            Err(error) => question.outcome(error, slots),
        };
        match (pace.after(slots.points, outcome), answer) {
            (BackfillStep::Take(_), Ok(answer)) => {
                rest.took(slots.points);
                again = 0;
                take(answer, slots);
            }
            (BackfillStep::AskForLess, _) => {}
            (BackfillStep::AskAgain(pause), Err(_))
                if may_answer_later(outcome) && again < AGAIN =>
            {
                again += 1;
                tokio::time::sleep(pause.min(PAUSE)).await;
            }
            (_, Err(error)) => return Err(error),
            (_, Ok(_)) => return Ok(()),
        }
    }
    Ok(())
}

const fn may_answer_later(outcome: BackfillOutcome) -> bool {
    matches!(outcome, BackfillOutcome::Down | BackfillOutcome::TooSlow)
}

/// True for a failure that meets all questions alike.
pub(crate) const fn is_of_all(error: &MetricsError) -> bool {
    matches!(
        error,
        MetricsError::Client(_)
            | MetricsError::Credentials { .. }
            | MetricsError::Connect(_)
            | MetricsError::Transport(_)
            | MetricsError::Redirect { .. }
            | MetricsError::Unauthorized { .. }
            | MetricsError::NotServed { .. }
    )
}
