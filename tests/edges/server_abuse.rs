//! Attacks on the listeners from inside the cluster, made for real from addresses of their own on
//! loopback: silent connections, floods of new ones, withheld bodies. The API server and
//! kube-scheduler are answered all the time, on open connections and on new ones.

#![allow(clippy::unwrap_used)] // the helpers of tests are tests too

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::{StatusCode, header};
use evenkeel_service::server::{BodyPace, ConnectionBounds, ListenerSettings};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use jiff::SignedDuration;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::server_client::{Connection, Http, Trust, connect, connect_tls, post};
use crate::support::server_fixture::{BODY_LIMIT, Options, PATIENCE, PATIENT, Running, until};

const API_SERVER: [u8; 4] = [127, 0, 1, 1];
const SCHEDULER: [u8; 4] = [127, 0, 1, 2];

const MUTATE: &str = "/mutate";
const FILTER: &str = "/scheduler/filter";

fn attacker(number: usize) -> [u8; 4] {
    [127, 0, 2, u8::try_from(number).unwrap()]
}

fn crowded(server: &Running) -> u64 {
    server.metric("evenkeel_http_connections_closed_total{listener=\"test\",reason=\"Crowded\"}")
}

fn open_connections(server: &Running) -> u64 {
    server.metric("evenkeel_http_connections{listener=\"test\"}")
}

/// The two ends of each connection are descriptors of this process.
fn allow_many_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

/// The two callers, each with a connection that it has used.
struct Callers {
    api_server: (Trust, Connection),
    scheduler: (Trust, Connection),
}

impl Callers {
    async fn connect(server: &Running, api_server: [u8; 4]) -> Self {
        let trust = Trust::only(server.bundle.ca_bundle());
        let (now, day) = (evenkeel_clock::now(), SignedDuration::from_hours(24));
        let certificate = server.bundle.issue_scheduler_client(now, day).unwrap();
        let open = async |trust: Trust| {
            let connection = Connection::open(server.address, &trust, Http::Two).await;
            (trust, connection.unwrap())
        };
        let mut callers = Self {
            api_server: open(trust.clone().from(api_server)).await,
            scheduler: open(trust.from(SCHEDULER).showing(certificate)).await,
        };
        callers.call(server).await;
        callers
    }

    /// Each calls on the connection that it has and on a new one, and is answered by the handler.
    async fn call(&mut self, server: &Running) {
        for ((trust, connection), path) in [
            (&mut self.api_server, MUTATE),
            (&mut self.scheduler, FILTER),
        ] {
            let mut new = Connection::open(server.address, trust, Http::One)
                .await
                .unwrap();
            for connection in [connection, &mut new] {
                let answer = connection.post(path, "{}").await.unwrap();
                assert_eq!(answer.status, StatusCode::OK, "{path}");
                assert_eq!(answer.text(), "2 bytes", "{path}");
                assert!(answer.headers.get(header::RETRY_AFTER).is_none());
            }
        }
    }
}

/// A listener that closes nothing for want of time.
fn patient() -> Options {
    Options {
        listener: ListenerSettings {
            handshake_timeout: PATIENCE,
            ..ListenerSettings::new("test")
        },
        ..Options::default()
    }
}

async fn silent(server: &Running, from: [u8; 4], count: usize) -> Vec<TcpStream> {
    silent_at(server.address, from, count).await
}

async fn silent_at(address: SocketAddr, from: [u8; 4], count: usize) -> Vec<TcpStream> {
    let mut held = Vec::new();
    for _ in 0..count {
        held.push(connect(address, from).await.unwrap());
    }
    held
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_shut_nobody_out() {
    allow_many_descriptors();
    let server = Running::start(patient());
    let mut callers = Callers::connect(&server, API_SERVER).await;
    let mut held = Vec::new();
    for number in 1..=16 {
        held.extend(silent(&server, attacker(number), 256).await);
        callers.call(&server).await;
    }
    assert_eq!(held.len(), 4096);
    let most = u64::try_from(ConnectionBounds::default().all()).unwrap();
    until("the rest to be closed", || {
        open_connections(&server) <= most
    })
    .await;
    until("these to be counted", || crowded(&server) >= 4096 - most).await;
    callers.call(&server).await;
}

/// As where a NAT puts the API server and a tenant's Pod behind the address of a node.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_from_the_callers_own_address_shut_it_out_neither() {
    allow_many_descriptors();
    let server = Running::start(patient());
    let mut callers = Callers::connect(&server, attacker(1)).await;
    let mut held = Vec::new();
    for _ in 0..8 {
        held.extend(silent(&server, attacker(1), 128).await);
        callers.call(&server).await;
    }
    let most = u64::try_from(ConnectionBounds::default().per_peer.get()).unwrap();
    until("the peer's bound", || open_connections(&server) <= most + 2).await;
    callers.call(&server).await;
}

/// The beginning of a handshake that never ends.
const HALF_A_HANDSHAKE: &[u8] = &[0x16, 3, 1, 2, 0, 1, 0, 1];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_new_connections_delays_nobody_for_long() {
    allow_many_descriptors();
    let options = Options {
        listener: ListenerSettings {
            connections: ConnectionBounds::new(128, 32, 8),
            ..ListenerSettings::new("test")
        },
        ..Options::default()
    };
    let server = Running::start(options);
    let mut callers = Callers::connect(&server, API_SERVER).await;
    let (over, made) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let attackers: Vec<_> = (1..=8)
        .map(|number| {
            let (over, made, address) = (Arc::clone(&over), Arc::clone(&made), server.address);
            tokio::spawn(async move {
                let mut held = std::collections::VecDeque::new();
                while !over.load(Ordering::Relaxed) {
                    // The port of an address may be in use by its older connections.
                    let Ok(mut stream) = connect(address, attacker(number)).await else {
                        continue;
                    };
                    let _ = stream.write_all(HALF_A_HANDSHAKE).await;
                    made.fetch_add(1, Ordering::Relaxed);
                    held.push_back(stream);
                    if held.len() > 100 {
                        held.pop_front();
                    }
                }
            })
        })
        .collect();
    until("a flood", || made.load(Ordering::Relaxed) > 1000).await;
    for _ in 0..50 {
        callers.call(&server).await;
    }
    assert!(crowded(&server) > 100, "{}", crowded(&server));
    over.store(true, Ordering::Relaxed);
    for attacker in attackers {
        attacker.await.unwrap();
    }
}

/// Requests to `/mutate` with all of a body of the largest size but its last byte.
async fn withheld(server: &Running, count: usize) -> Vec<impl AsyncReadExt + Unpin + use<>> {
    let head = format!(
        "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {BODY_LIMIT}\r\n\r\n"
    );
    let sent = [head.as_bytes(), &vec![b' '; BODY_LIMIT - 1]].concat();
    let mut streams = Vec::new();
    for number in 0..count {
        let trust = Trust::only(server.bundle.ca_bundle()).from(attacker(1 + number % 4));
        let stream = connect_tls(server.address, &trust, Http::One).await;
        let mut stream = stream.unwrap();
        stream.write_all(&sent).await.unwrap();
        streams.push(stream);
    }
    streams
}

const HELD: &str = "evenkeel_http_body_room_held_bytes{caller=\"admission\"}";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn withheld_bodies_hold_neither_room_nor_turns() {
    // In the first case there is room for four of them, in the second a turn for one.
    for (body_budget, concurrency) in [(4 * BODY_LIMIT, 64), (1024 * BODY_LIMIT, 1)] {
        let options = Options {
            concurrency,
            body_budget,
            ..Options::default()
        };
        let server = Running::start(options);
        let mut callers = Callers::connect(&server, API_SERVER).await;
        let held = withheld(&server, 200).await;
        let in_flight = "evenkeel_http_requests_in_flight{path=\"/mutate\"}";
        let most = u64::try_from(body_budget).unwrap();
        let all = || server.metric(in_flight) >= 200 || server.metric(HELD) >= most * 3 / 4;
        until("all that they can take", all).await;
        for _ in 0..20 {
            callers.call(&server).await;
            assert!(server.metric(HELD) <= most);
        }
        let shed = "evenkeel_http_requests_shed_total{path=\"/mutate\"}";
        assert_eq!(server.metric(shed), 0);
        drop(held);
        until("room again", || server.metric(HELD) == 0).await;
    }
}

#[tokio::test]
async fn an_announced_body_holds_no_room_until_it_comes() {
    let server = Running::start(Options::default());
    let trust = Trust::only(server.bundle.ca_bundle());
    let mut stream = connect_tls(server.address, &trust, Http::One)
        .await
        .unwrap();
    let head = format!(
        "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {BODY_LIMIT}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let in_flight = "evenkeel_http_requests_in_flight{path=\"/mutate\"}";
    until("the request", || server.metric(in_flight) == 1).await;
    assert_eq!(server.metric(HELD), 0);
    stream.write_all(&[b' '; 2048]).await.unwrap();
    until("what has come", || server.metric(HELD) == 2048).await;
}

#[tokio::test]
async fn stalled_bodies_are_cut_and_give_their_room_back() {
    let options = Options {
        body_pace: BodyPace {
            grace: Duration::from_millis(200),
            // A day for what has come: the grace and nothing more would cut them too.
            rate: evenkeel_units::Bytes(1 << 30),
            ..PATIENT
        },
        ..Options::default()
    };
    let server = Running::start(options);
    let held = withheld(&server, 20).await;
    for mut stream in held {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
        assert!(answer.contains("connection: close\r\n"), "{answer}");
    }
    until("room again", || server.metric(HELD) == 0).await;
}

/// Reviews that hold all of their room take nothing from kube-scheduler's calls.
#[tokio::test]
async fn the_two_callers_have_budgets_of_their_own() {
    let options = Options {
        body_budget: BODY_LIMIT,
        ..Options::default()
    };
    let server = Running::start(options);
    let mut callers = Callers::connect(&server, API_SERVER).await;
    let trust = Trust::only(server.bundle.ca_bundle());
    let mut holder = Connection::open(server.address, &trust, Http::One)
        .await
        .unwrap();
    let body = vec![b' '; BODY_LIMIT];
    let holding = tokio::spawn(async move { holder.post("/hold", body).await });
    let all = u64::try_from(BODY_LIMIT).unwrap();
    until("all of the room", || server.metric(HELD) == all).await;
    let (_, api_server) = &mut callers.api_server;
    let answer = api_server.post(MUTATE, "{}").await.unwrap();
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.headers.get(header::RETRY_AFTER).is_none());
    let (_, scheduler) = &mut callers.scheduler;
    let answer = scheduler.post(FILTER, "{}").await.unwrap();
    assert_eq!(answer.status, StatusCode::OK);
    server.hold.add_permits(1);
    assert_eq!(holding.await.unwrap().unwrap().status, StatusCode::OK);
    callers.call(&server).await;
}

/// Asks `/echo` for answers that are as large as the largest body, over an HTTP/2 connection on which no
/// more than `window` bytes of each are taken.
async fn untaken(server: &Running, window: u32, count: usize) -> Vec<impl Sized + use<>> {
    let trust = Trust::only(server.bundle.ca_bundle()).from(attacker(1));
    let stream = connect_tls(server.address, &trust, Http::Two)
        .await
        .unwrap();
    let (mut sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(window)
        .handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let mut answers = Vec::new();
    for _ in 0..count {
        let request = post("/echo", vec![b' '; BODY_LIMIT]);
        let answer = sender.send_request(request).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        // The connection lasts as long as its sender.
        answers.push((answer, sender.clone()));
    }
    answers
}

/// Otherwise a stranger's answers would fill the memory beside all budgets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_nobody_takes_stay_in_the_budget() {
    for window in [0, 1] {
        let options = Options {
            body_budget: 8 * BODY_LIMIT,
            ..Options::default()
        };
        let server = Running::start(options);
        let mut callers = Callers::connect(&server, API_SERVER).await;
        let answers = untaken(&server, window, 8).await;
        assert_eq!(server.metric(HELD), 8 * BODY_LIMIT as u64, "{window}");
        let (_, api_server) = &mut callers.api_server;
        let answer = api_server.post(MUTATE, "{}").await.unwrap();
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(answer.headers.get(header::RETRY_AFTER).is_none());
        let (_, scheduler) = &mut callers.scheduler;
        let answer = scheduler.post(FILTER, "{}").await.unwrap();
        assert_eq!(answer.status, StatusCode::OK);
        drop(answers);
        until("room again", || server.metric(HELD) == 0).await;
        callers.call(&server).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_take_its_answers_over_http_2_is_cut_off() {
    let options = Options {
        listener: ListenerSettings {
            header_timeout: Duration::from_millis(200),
            ..ListenerSettings::new("test")
        },
        ..Options::default()
    };
    let server = Running::start(options);
    let answers = untaken(&server, 1, 4).await;
    let closed = "evenkeel_http_connections_closed_total{listener=\"test\",reason=\"SlowReader\"}";
    server.metric_reaches(closed, 1).await;
    until("room again", || server.metric(HELD) == 0).await;
    drop(answers);
}

/// Asks for a path in plain HTTP, as kubelet and Prometheus do; the status and the body.
async fn get(address: SocketAddr, from: [u8; 4], path: &str) -> (String, String) {
    let mut stream = connect(address, from).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a whole answer");
    (head.split(' ').nth(1).unwrap().to_owned(), body.to_owned())
}

const KUBELET: [u8; 4] = [127, 0, 1, 3];

/// Connections that ask for a page and read nothing of it.
async fn slow_readers(address: SocketAddr, from: [u8; 4], count: usize) -> Vec<TcpStream> {
    let mut readers = silent_at(address, from, count).await;
    for reader in &mut readers {
        // The server may have closed it in favour of a later one.
        let _ = reader
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            .await;
    }
    readers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_done_to_the_listeners_the_probes_are_answered() {
    allow_many_descriptors();
    let server = Running::start(patient());
    let mut held = Vec::new();
    for number in 1..=8 {
        let from = attacker(number);
        held.extend(silent(&server, from, 200).await);
        held.extend(silent_at(server.scrapes, from, 50).await);
        held.extend(slow_readers(server.scrapes, from, 50).await);
        held.extend(silent_at(server.probes, from, 50).await);
        for path in ["/livez", "/readyz"] {
            assert_eq!(get(server.probes, KUBELET, path).await.0, "200", "{path}");
        }
        let (status, page) = get(server.scrapes, KUBELET, "/metrics").await;
        assert_eq!(status, "200");
        assert!(page.ends_with("# EOF\n"));
    }
    for listener in ["test", "probes", "metrics"] {
        let crowded = format!(
            "evenkeel_http_connections_closed_total{{listener=\"{listener}\",reason=\"Crowded\"}}"
        );
        assert!(server.metric(&crowded) > 0, "{listener} was full");
    }
}

#[tokio::test]
async fn who_does_not_read_a_page_is_cut_off() {
    let options = Options {
        reading: Duration::from_millis(50),
        ..Options::default()
    };
    let server = Running::start(options);
    // More than the sockets of both sides take.
    let reader = silent_at(server.scrapes, attacker(1), 1).await.remove(0);
    let mut reader = reader;
    let request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(20_000);
    let sending = reader.write_all(&request);
    let closed =
        "evenkeel_http_connections_closed_total{listener=\"metrics\",reason=\"SlowReader\"}";
    tokio::select! {
        // It ends in an error when the server closes the connection.
        _ = sending => {}
        () = server.metric_reaches(closed, 1) => {}
    }
    server.metric_reaches(closed, 1).await;
    assert_eq!(get(server.scrapes, KUBELET, "/metrics").await.0, "200");
}
