//! `evenkeel bench`: latencies and throughput of the service, measured from outside over HTTPS.

mod load;
mod report;
mod request_bodies;
mod service;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use clap::ValueEnum;
use evenkeel_http_client::{Identity, TrustAnchors, Uri, tls_config};
use jiff::SignedDuration;
use load::{BenchLoad, BenchTarget};
use report::BenchReport;
use service::LoopbackService;

use evenkeel_service::server::paths;
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format};
use evenkeel_terminal::runtime::runtime;

const EXAMPLES: &str = "\
Examples:
  evenkeel bench admission                                 # the service's own router, on loopback
  evenkeel bench filter --nodes 5000 --rate 300 --duration 30s
  evenkeel bench admission --rate 20000 --connections 32   # more than it can answer: shows throughput
  evenkeel bench admission --url https://127.0.0.1:8443 --ca ca.crt --rate 500 -o json

Requests are due at a fixed rate, whether or not earlier ones are answered. A latency counts from
the time at which the request was due, so a stall counts for every request that had to wait.
Without --url, service and load share this machine; --server-threads sets how many threads answer.
The exit code is 1 if a request failed or got a wrong answer.";

/// Measure how fast requests are answered, with an open-loop load over HTTPS
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The kind of request
    #[arg(value_enum)]
    what: BenchEndpoint,

    /// Requests per second
    #[arg(long, value_name = "NUMBER", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,

    /// Time in which requests are sent and counted
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    duration: SignedDuration,

    /// Time before that, in which requests are sent and not counted
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    warm_up: SignedDuration,

    /// HTTP/1.1 keep-alive connections that share the requests
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    connections: u16,

    /// Nodes in each call of the extender
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    nodes: u32,

    /// Threads of the service on loopback
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..), conflicts_with = "url")]
    server_threads: u16,

    #[command(flatten)]
    remote: RemoteService,

    /// Output format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

/// A service that runs already.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "A running service")]
struct RemoteService {
    /// Its address, such as https://127.0.0.1:8443
    #[arg(long, value_name = "URL", requires = "ca")]
    url: Option<Uri>,

    /// The CA that signed its certificate
    #[arg(long, value_name = "FILE", requires = "url")]
    ca: Option<PathBuf>,

    /// A client certificate, for the extender's paths
    #[arg(long, value_name = "FILE", requires = "key", requires = "url")]
    cert: Option<PathBuf>,

    /// The key of the client certificate
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum BenchEndpoint {
    /// AdmissionReviews of a 5 KB Pod
    Admission,
    /// The extender's filter verb
    Filter,
    /// The extender's prioritize verb
    Prioritize,
}

impl BenchEndpoint {
    const fn path(self) -> &'static str {
        match self {
            Self::Admission => paths::MUTATE,
            Self::Filter => paths::FILTER,
            Self::Prioritize => paths::PRIORITIZE,
        }
    }

    fn body(self, nodes: u32) -> Bytes {
        match self {
            Self::Admission => request_bodies::admission_review().into(),
            Self::Filter | Self::Prioritize => request_bodies::extender_args(nodes).into(),
        }
    }

    /// Bytes that are part of every right answer.
    const fn expected(self) -> &'static [u8] {
        match self {
            Self::Admission => b"\"allowed\":true",
            Self::Filter => b"\"NodeNames\":[",
            Self::Prioritize => b"\"Score\":",
        }
    }
}

pub fn run(args: Args) -> Result<(), CliFailure> {
    let (what, nodes) = (args.what, args.nodes);
    let load = BenchLoad {
        rate: args.rate,
        connections: usize::from(args.connections),
        warm_up: check_duration("--warm-up", args.warm_up, Duration::ZERO)?,
        duration: check_duration("--duration", args.duration, Duration::from_millis(1))?,
    };
    let body = what.body(nodes);
    let body_bytes = body.len();
    // The service, where it is ours, lives until the load is over.
    let (target, service) = if let Some(target) = args.remote.target(what)? {
        (target, None)
    } else {
        let service = LoopbackService::start(nodes, usize::from(args.server_threads))
            .map_err(CliFailure::Work)?;
        let target = service.target(what.path()).map_err(CliFailure::Work)?;
        (target, Some(service))
    };
    let outcome = runtime()?
        .block_on(load::run(&target, load, body, what.expected()))
        .map_err(CliFailure::Work)?;
    let answering = service.is_some().then_some(outcome.beside);
    let failure = outcome.failure.clone();
    let failed = outcome.failed;
    output::print(
        &BenchReport::new(what.path(), load, body_bytes, &outcome, answering),
        args.output,
    )?;
    match failure {
        Some(failure) => Err(CliFailure::work(format_args!(
            "{failed} requests failed, the first because: {failure}"
        ))),
        None => Ok(()),
    }
}

fn check_duration(
    flag: &str,
    given: SignedDuration,
    least: Duration,
) -> Result<Duration, CliFailure> {
    let duration = Duration::try_from(given)
        .ok()
        .filter(|duration| *duration >= least);
    duration.ok_or_else(|| {
        CliFailure::call(format_args!(
            "{flag} {given:#} is not accepted; accepted: a duration of at least {least:?}, such as 10s"
        ))
    })
}

impl RemoteService {
    fn target(self, what: BenchEndpoint) -> Result<Option<BenchTarget>, CliFailure> {
        let Self { url, ca, cert, key } = self;
        let (Some(url), Some(ca)) = (url, ca) else {
            return Ok(None);
        };
        let Some(host) = url.host().filter(|_| url.scheme_str() == Some("https")) else {
            return Err(CliFailure::call(format_args!(
                "--url {url} is not accepted; accepted: an https URL such as https://127.0.0.1:8443"
            )));
        };
        let authorities = read(&ca)?;
        let own = match (cert, key) {
            (Some(cert), Some(key)) => Some([read(&cert)?, read(&key)?]),
            _ => None,
        };
        let identity = own.as_ref().map(|[chain, key]| Identity { chain, key });
        let tls = tls_config(TrustAnchors::Authorities(&authorities), identity);
        let prefix = url.path().trim_end_matches('/');
        Ok(Some(BenchTarget {
            host: host.to_owned(),
            port: url.port_u16().unwrap_or(443),
            path: format!("{prefix}{}", what.path()),
            tls: Arc::new(tls.map_err(CliFailure::call)?),
        }))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CliFailure> {
    fs::read(path)
        .with_context(|| format!("cannot read {}", path.display()))
        .map_err(CliFailure::Call)
}
