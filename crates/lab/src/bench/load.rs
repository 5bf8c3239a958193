//! An open-loop load: requests are due at a fixed rate whether or not earlier ones are answered. A
//! latency counts from the moment the request was due, so a stalled service is charged for the
//! requests behind the stall (no coordinated omission). A thread of its own keeps the time, because
//! the async timer is only good to a millisecond.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use bytes::Bytes;
use hdrhistogram::Histogram;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper::{Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::{Mutex, mpsc};
use tokio_rustls::TlsConnector;

use evenkeel_clock as clock;

#[derive(Debug, Clone)]
pub(super) struct BenchTarget {
    /// Host as it stands in the URL; the certificate has to carry it.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) path: String,
    /// Trusted authorities, and the client certificate.
    pub(super) tls: Arc<rustls::ClientConfig>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct BenchLoad {
    /// Requests per second.
    pub(super) rate: u32,
    /// Connections that share them, each with one request at a time.
    pub(super) connections: usize,
    /// Time in which requests fall due before any of them is counted.
    pub(super) warm_up: Duration,
    /// Time in which requests are sent and counted.
    pub(super) duration: Duration,
}

/// Latencies beyond this count as this.
const LONGEST: Duration = Duration::from_hours(1);

/// Latencies in nanoseconds, each percentile exact to a part in a thousand.
#[derive(Debug)]
pub(super) struct Latencies(Histogram<u64>);

impl Default for Latencies {
    fn default() -> Self {
        let longest = u64::try_from(LONGEST.as_nanos()).unwrap_or(u64::MAX);
        let histogram = Histogram::new_with_bounds(1, longest, 3);
        Self(histogram.expect("the bounds are in order, and 3 figures are within 0 to 5"))
    }
}

impl Latencies {
    fn record(&mut self, latency: Duration) {
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.0.saturating_record(nanoseconds);
    }

    pub(super) fn mean(&self) -> Duration {
        Duration::from_secs_f64(self.0.mean() / 1e9)
    }

    /// The latency that this share of all stays at or below; zero where nothing was recorded.
    pub(super) fn quantile(&self, share: f64) -> Duration {
        Duration::from_nanos(self.0.value_at_quantile(share))
    }
}

#[derive(Debug, Default)]
pub(super) struct BenchResult {
    /// Requests that were sent, with those of the warm-up.
    pub(super) with_warm_up: u64,
    /// Processor time of everything else in this process meanwhile, except connecting.
    pub(super) beside: Duration,
    /// Latencies of all due requests except failures; an unsent request counts with its waiting
    /// time.
    pub(super) latencies: Latencies,
    pub(super) answered: u64,
    /// Requests that waited for a connection until the end: the rate exceeded the service or its
    /// connections.
    pub(super) unsent: u64,
    /// Requests that were not answered so.
    pub(super) failed: u64,
    pub(super) failure: Option<String>,
    /// From the first request counted to the last answer.
    pub(super) elapsed: Duration,
}

/// Bytes that are part of every right answer.
type ExpectedBytes = &'static [u8];

#[derive(Debug, Clone, Copy)]
struct RequestSlot {
    at: Instant,
    counted: bool,
}

/// Puts `load` of `body` on the target, from a runtime of one thread: requests would wait for hops
/// between threads.
pub(super) async fn run(
    target: &BenchTarget,
    load: BenchLoad,
    body: Bytes,
    expected: ExpectedBytes,
) -> anyhow::Result<BenchResult> {
    let mut connections = Vec::with_capacity(load.connections);
    for _ in 0..load.connections {
        connections.push(BenchConnection::open(target).await?);
    }
    let (due, schedule) = mpsc::unbounded_channel();
    let schedule = Arc::new(Mutex::new(schedule));
    let started = clock::instant();
    let (own, all) = (clock::thread_time(), clock::process_time());
    let pacer = std::thread::Builder::new()
        .name("pacer".to_owned())
        .spawn(move || pace(load, started, &due))?;
    let call = BenchRequest {
        target: target.clone(),
        body,
        expected,
        counted_from: started + load.warm_up,
        end: started + load.warm_up + load.duration,
    };
    let workers: Vec<_> = connections
        .into_iter()
        .map(|connection| tokio::spawn(work(connection, call.clone(), Arc::clone(&schedule))))
        .collect();
    let mut outcome = BenchResult::default();
    for worker in workers {
        outcome.add(worker.await.context("a worker panicked")??);
    }
    outcome.elapsed = clock::instant().duration_since(started + load.warm_up);
    let pacing = pacer.join().ok().context("the pacer panicked")?;
    let own = clock::thread_time().saturating_sub(own) + pacing;
    outcome.beside = clock::process_time().saturating_sub(all + own);
    Ok(outcome)
}

/// Tells the workers when each request is due; returns the processor time that this took.
#[allow(clippy::disallowed_methods)] // tokio's timer is only good to a millisecond
fn pace(load: BenchLoad, started: Instant, due: &mpsc::UnboundedSender<RequestSlot>) -> Duration {
    let interval = Duration::from_secs(1) / load.rate.max(1);
    let end = started + load.warm_up + load.duration;
    let mut at = started;
    while at < end {
        let early = at.saturating_duration_since(clock::instant());
        if !early.is_zero() {
            std::thread::sleep(early);
        }
        let counted = at >= started + load.warm_up;
        if due.send(RequestSlot { at, counted }).is_err() {
            break;
        }
        at += interval;
    }
    clock::thread_time()
}

#[derive(Debug, Clone)]
struct BenchRequest {
    target: BenchTarget,
    body: Bytes,
    expected: ExpectedBytes,
    counted_from: Instant,
    end: Instant,
}

async fn work(
    mut connection: BenchConnection,
    call: BenchRequest,
    schedule: Arc<Mutex<mpsc::UnboundedReceiver<RequestSlot>>>,
) -> anyhow::Result<BenchResult> {
    let mut outcome = BenchResult::default();
    loop {
        let next = schedule.lock().await.recv().await;
        let Some(RequestSlot { at, counted }) = next else {
            return Ok(outcome);
        };
        let sent = clock::instant();
        if sent >= call.end && counted {
            outcome.unsent += 1;
            outcome.latencies.record(sent.saturating_duration_since(at));
            continue;
        }
        // A request that the warm-up has left undone would only be in the way.
        if sent >= call.counted_from && !counted {
            continue;
        }
        match connection.call(&call).await {
            Ok(()) if counted => {
                outcome.with_warm_up += 1;
                let latency = clock::instant().saturating_duration_since(at);
                outcome.latencies.record(latency);
                outcome.answered += 1;
            }
            Ok(()) => outcome.with_warm_up += 1,
            Err(error) => {
                outcome.failed += 1;
                outcome.with_warm_up += 1;
                outcome.failure.get_or_insert(format!("{error:#}"));
                connection = BenchConnection::open(&call.target).await?;
            }
        }
    }
}

impl BenchResult {
    fn add(&mut self, other: Self) {
        let Self {
            latencies,
            answered,
            unsent,
            failed,
            failure,
            with_warm_up,
            elapsed: _,
            beside: _,
        } = other;
        self.with_warm_up += with_warm_up;
        self.latencies.0 += latencies.0;
        self.answered += answered;
        self.unsent += unsent;
        self.failed += failed;
        self.failure = self.failure.take().or(failure);
    }
}

/// One kept-alive HTTP/1.1 connection, as the API server uses them.
struct BenchConnection {
    sender: http1::SendRequest<Full<Bytes>>,
}

impl BenchConnection {
    async fn open(target: &BenchTarget) -> anyhow::Result<Self> {
        let BenchTarget {
            host, port, tls, ..
        } = target;
        let stream = TcpStream::connect((host.trim_matches(['[', ']']), *port))
            .await
            .with_context(|| format!("cannot connect to {host}:{port}"))?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())?;
        let stream = TlsConnector::from(Arc::clone(tls))
            .connect(name, stream)
            .await
            .with_context(|| format!("no TLS with {host}:{port}"))?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // A connection that breaks is seen by the request on it.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(Self { sender })
    }

    async fn call(&mut self, call: &BenchRequest) -> anyhow::Result<()> {
        let BenchRequest {
            target,
            body,
            expected,
            counted_from: _,
            end: _,
        } = call;
        let request = Request::post(&target.path)
            .header(header::HOST, format!("{}:{}", target.host, target.port))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body.clone()))?;
        self.sender.ready().await?;
        let answer = self.sender.send_request(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        anyhow::ensure!(status == StatusCode::OK, "answered {status}");
        anyhow::ensure!(
            body.windows(expected.len()).any(|part| part == *expected),
            "answered {:?}",
            String::from_utf8_lossy(&body[..body.len().min(200)])
        );
        Ok(())
    }
}
