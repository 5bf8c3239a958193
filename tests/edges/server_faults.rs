//! Faults at the edge of the service, done to it for real: overload, broken clients,
//! certificates of strangers, bugs, and the end of the process under load.

#![allow(clippy::unwrap_used)] // the helpers of tests are tests too

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::{Request, StatusCode, header};
use evenkeel_certificates::authority::{ClientCertificate, SigningAuthority};
use evenkeel_service::server::tls::{
    Authority, CertificateStore, CertificateUpdate, ClientAuthorities,
};
use evenkeel_service::server::{
    BodyPace, DrainOutcome, DrainSettings, ListenerMetrics, ListenerSettings, ShutdownPhase,
};
use http_body_util::Full;
use jiff::SignedDuration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::support::server_client::{Connection, Http, NoAnswer, Trust, agreed, connect_tls, post};
use crate::support::server_fixture as fixture;
use crate::support::server_fixture::{BODY_LIMIT, Options, PATIENCE, PATIENT, Running, until};

const DAY: SignedDuration = SignedDuration::from_hours(24);

async fn open(server: &Running, http: Http) -> Connection {
    let trust = Trust::only(server.bundle.ca_bundle());
    Connection::open(server.address, &trust, http)
        .await
        .expect("a handshake")
}

/// Sends bytes on a TLS connection of its own and reads until the server closes it.
async fn raw(server: &Running, sent: &[u8]) -> String {
    let trust = Trust::only(server.bundle.ca_bundle());
    let mut stream = connect_tls(server.address, &trust, Http::One)
        .await
        .unwrap();
    stream.write_all(sent).await.unwrap();
    read_to_close(&mut stream).await
}

async fn read_to_close(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    // An orderly end is not the subject here.
    let _ = tokio::time::timeout(PATIENCE, read)
        .await
        .expect("the server closes the connection");
    String::from_utf8(answer).unwrap()
}

// The end of the service.

/// A client that calls until it can connect no more, and the answers it got.
fn caller(
    address: SocketAddr,
    trust: Trust,
    http: Http,
    answers: Arc<AtomicUsize>,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        while let Ok(mut connection) = Connection::open(address, &trust, http).await {
            let mut announced = false;
            loop {
                match connection.post("/mutate", "{}").await {
                    Ok(answer) => {
                        assert_eq!(answer.status, StatusCode::OK);
                        answers.fetch_add(1, Ordering::Relaxed);
                        announced = answer.closes();
                    }
                    Err(NoAnswer::NotSent) => break,
                    Err(NoAnswer::Lost(error)) => panic!("{http:?}: a request is lost: {error:?}"),
                }
            }
            assert!(
                announced || http == Http::Two,
                "a connection in use is not closed without a word"
            );
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_the_end_loses_no_request() {
    let server = Running::start(Options::default());
    let trust = Trust::only(server.bundle.ca_bundle());
    let answers = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = Http::BOTH
        .into_iter()
        .cycle()
        .take(8)
        .map(|http| caller(server.address, trust.clone(), http, Arc::clone(&answers)))
        .collect();
    let mut held = Vec::new();
    for http in Http::BOTH {
        let mut connection = open(&server, http).await;
        held.push(tokio::spawn(
            async move { connection.post("/hold", "{}").await },
        ));
    }
    let in_flight = "evenkeel_http_requests_in_flight{path=\"/hold\"}";
    server.metric_reaches(in_flight, 2).await;
    until("answers", || answers.load(Ordering::Relaxed) > 100).await;

    server.terminate();
    until("draining", || {
        server.shutdown.phase() == ShutdownPhase::Draining
    })
    .await;
    for caller in callers {
        caller.await.expect("no request is lost");
    }
    assert_eq!(server.metric(in_flight), 2, "still being answered");
    server.hold.add_permits(2);
    for held in held {
        let answer = held.await.unwrap().expect("what was in flight is answered");
        assert_eq!(answer.text(), "held 2");
        assert!(answer.closes() || answer.version == axum::http::Version::HTTP_2);
    }
    let answered = "evenkeel_http_requests_total{path=\"/mutate\",status=\"2xx\"}";
    assert_eq!(
        server.metric(answered),
        u64::try_from(answers.load(Ordering::Relaxed)).unwrap(),
        "every answer has arrived"
    );
    let cancelled = "evenkeel_http_requests_cancelled_total{path=\"/mutate\"}";
    assert_eq!(server.metric(cancelled), 0);
    assert_eq!(server.drained().await, DrainOutcome::Complete);
}

#[tokio::test]
async fn idle_connections_do_not_hold_up_the_end() {
    let server = Running::start(Options::default());
    let mut idle = Vec::new();
    for http in Http::BOTH {
        let mut used = open(&server, http).await;
        used.post("/mutate", "{}").await.unwrap();
        idle.push((used, open(&server, http).await));
    }
    server.terminate();
    assert_eq!(server.drained().await, DrainOutcome::Complete);
    for (mut used, mut fresh) in idle {
        for connection in [&mut used, &mut fresh] {
            let sent = connection.post("/mutate", "{}").await;
            assert!(matches!(sent, Err(NoAnswer::NotSent)), "{sent:?}");
        }
    }
}

#[tokio::test]
async fn what_hangs_is_dropped_at_the_deadline_and_at_a_second_signal() {
    let short = Duration::from_millis(1);
    for (timeout, signals, expected) in [
        (short, 1, DrainOutcome::TimedOut),
        (PATIENCE, 2, DrainOutcome::Forced),
    ] {
        let drain = DrainSettings {
            delay: Duration::ZERO,
            timeout,
        };
        let options = Options {
            drain,
            ..Options::default()
        };
        let server = Running::start(options);
        let mut connection = open(&server, Http::One).await;
        let hanging = tokio::spawn(async move { connection.post("/hold", "{}").await });
        let in_flight = "evenkeel_http_requests_in_flight{path=\"/hold\"}";
        server.metric_reaches(in_flight, 1).await;
        for _ in 0..signals {
            server.terminate();
        }
        assert_eq!(server.drained().await, expected);
        assert!(matches!(hanging.await.unwrap(), Err(NoAnswer::Lost(_))));
    }
}

#[tokio::test]
async fn probes_name_what_is_missing_and_turn_with_the_first_signal() {
    let options = Options {
        drain: DrainSettings {
            delay: PATIENCE,
            timeout: PATIENCE,
        },
        ..Options::default()
    };
    let server = Running::start(options);
    let stores = server.readiness.condition("stores synced");
    let (status, body) = probe(&server, "/readyz").await;
    assert_eq!(status, "503");
    assert_eq!(body, r#"{"ready":false,"missing":["stores synced"]}"#);
    stores.met();
    assert_eq!(probe(&server, "/readyz").await.0, "200");
    server.terminate();
    until("leaving", || {
        server.shutdown.phase() == ShutdownPhase::Leaving
    })
    .await;
    let (status, body) = probe(&server, "/readyz").await;
    assert_eq!(status, "503");
    assert!(body.contains("not shutting down"), "{body}");
    assert_eq!(probe(&server, "/livez").await.0, "200");
    let answer = open(&server, Http::One).await.post("/mutate", "{}").await;
    let answer = answer.expect("new connections are served for a while");
    assert!(answer.closes());
    server.terminate();
    assert_eq!(server.drained().await, DrainOutcome::Forced);
}

/// Asks a probe in plain HTTP; the status and the body.
async fn probe(server: &Running, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(server.probes).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = read_to_close(&mut stream).await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("a whole answer");
    let status = head.split(' ').nth(1).unwrap();
    (status.to_owned(), body.to_owned())
}

// Overload.

#[tokio::test]
async fn beyond_the_limit_requests_fail_open_at_once() {
    let options = Options {
        concurrency: 1,
        ..Options::default()
    };
    let server = Running::start(options);
    let mut first = open(&server, Http::One).await;
    let held = tokio::spawn(async move { first.post("/hold", "{}").await });
    let in_flight = "evenkeel_http_requests_in_flight{path=\"/hold\"}";
    server.metric_reaches(in_flight, 1).await;
    for http in Http::BOTH {
        let answer = open(&server, http).await.post("/hold", "{}").await.unwrap();
        assert_eq!((answer.status, answer.text()), (StatusCode::OK, "shed"));
        assert!(answer.headers.get(header::RETRY_AFTER).is_none());
    }
    let shed = "evenkeel_http_requests_shed_total{path=\"/hold\"}";
    assert_eq!(server.metric(shed), 2);
    server.hold.add_permits(1);
    assert_eq!(held.await.unwrap().unwrap().text(), "held 2");
    server.hold.add_permits(1);
    let answer = open(&server, Http::One).await.post("/hold", "{}").await;
    assert_eq!(answer.unwrap().text(), "held 2", "the limit is free again");
}

#[tokio::test]
async fn a_body_larger_than_the_budget_is_refused_as_too_large() {
    let options = Options {
        body_budget: BODY_LIMIT / 2,
        ..Options::default()
    };
    let server = Running::start(options);
    for (size, status) in [
        (BODY_LIMIT / 2, StatusCode::OK),
        (BODY_LIMIT / 2 + 1, StatusCode::PAYLOAD_TOO_LARGE),
    ] {
        let body = vec![b' '; size];
        let answer = open(&server, Http::One).await.post("/mutate", body).await;
        assert_eq!(answer.unwrap().status, status);
    }
}

// Broken requests.

#[tokio::test]
async fn a_body_too_large_is_refused_and_its_connection_goes_on_or_says_so() {
    let server = Running::start(Options::default());
    for http in Http::BOTH {
        for (size, status) in [
            (BODY_LIMIT, StatusCode::OK),
            (BODY_LIMIT + 1, StatusCode::PAYLOAD_TOO_LARGE),
            (BODY_LIMIT * 4, StatusCode::PAYLOAD_TOO_LARGE),
        ] {
            let mut connection = open(&server, http).await;
            for _ in 0..2 {
                let answer = connection.post("/mutate", vec![b' '; size]).await.unwrap();
                assert_eq!(answer.status, status, "{http:?} {size}");
                assert!(!answer.closes());
            }
        }
    }
    let announced = format!(
        "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        1_u64 << 40
    );
    let answer = raw(&server, announced.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.contains("connection: close\r\n"), "{answer}");
    assert!(answer.contains(r#""reason":"BodyTooLarge""#), "{answer}");
}

#[tokio::test]
async fn a_body_in_chunks_is_measured_too() {
    let server = Running::start(Options::default());
    let chunk = format!("{:x}\r\n{}\r\n", BODY_LIMIT, " ".repeat(BODY_LIMIT));
    let head = "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    let fits = raw(&server, format!("{head}{chunk}0\r\n\r\n").as_bytes()).await;
    assert!(fits.ends_with(&format!("{BODY_LIMIT} bytes")), "{fits}");
    let larger = raw(&server, format!("{head}{chunk}{chunk}0\r\n\r\n").as_bytes()).await;
    assert!(larger.starts_with("HTTP/1.1 413"), "{larger}");
}

#[tokio::test]
async fn a_body_cut_short_or_too_slow_ends_its_connection_and_nothing_else() {
    let options = Options {
        body_pace: BodyPace {
            grace: Duration::from_millis(20),
            ..PATIENT
        },
        ..Options::default()
    };
    let server = Running::start(options);
    let part = "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                Content-Length: 100\r\n\r\n{}";
    let slow = raw(&server, part.as_bytes()).await;
    assert!(slow.starts_with("HTTP/1.1 408"), "{slow}");
    assert!(slow.contains("connection: close\r\n"), "{slow}");

    let server = Running::start(Options::default());
    let trust = Trust::only(server.bundle.ca_bundle());
    let mut stream = connect_tls(server.address, &trust, Http::One)
        .await
        .unwrap();
    stream.write_all(part.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let cut = read_to_close(&mut stream).await;
    assert!(cut.is_empty() || cut.starts_with("HTTP/1.1 400"), "{cut}");
    let answer = open(&server, Http::One).await.post("/mutate", "{}").await;
    assert_eq!(answer.unwrap().status, StatusCode::OK);
    let in_flight = "evenkeel_http_requests_in_flight{path=\"/mutate\"}";
    until("nothing in flight", || server.metric(in_flight) == 0).await;
}

#[tokio::test]
async fn a_slow_head_is_cut_off_while_a_quiet_connection_stays() {
    let options = Options {
        listener: ListenerSettings {
            header_timeout: Duration::from_millis(20),
            ..ListenerSettings::new("test")
        },
        ..Options::default()
    };
    let server = Running::start(options);
    let mut used = open(&server, Http::One).await;
    used.post("/mutate", "{}").await.unwrap();
    let mut fresh = open(&server, Http::One).await;
    let answer = raw(&server, b"POST /mutate HTTP/1.1\r\nHost:").await;
    assert_eq!(answer, "", "cut off without an answer");
    let closed = "evenkeel_http_connections_closed_total{listener=\"test\",reason=\"SlowHead\"}";
    server.metric_reaches(closed, 1).await;
    for connection in [&mut used, &mut fresh] {
        let answer = connection.post("/mutate", "{}").await.unwrap();
        assert_eq!(answer.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_connection_idle_for_too_long_is_closed() {
    let options = Options {
        listener: ListenerSettings {
            header_timeout: Duration::from_millis(5),
            idle_timeout: Duration::from_millis(20),
            ..ListenerSettings::new("test")
        },
        ..Options::default()
    };
    let server = Running::start(options);
    let closed = "evenkeel_http_connections_closed_total{listener=\"test\",reason=\"Idle\"}";
    let _idle = (
        open(&server, Http::One).await,
        open(&server, Http::Two).await,
    );
    server.metric_reaches(closed, 2).await;
}

#[tokio::test]
async fn other_paths_methods_and_types_are_refused_in_json() {
    let server = Running::start(Options::default());
    let get = Request::get("https://localhost/mutate").body(Full::default());
    let mut text = post("/mutate", "{}");
    text.headers_mut()
        .insert(header::CONTENT_TYPE, "text/plain".parse().unwrap());
    let mut charset = post("/mutate", "{}");
    let json = "Application/JSON; charset=utf-8".parse().unwrap();
    charset.headers_mut().insert(header::CONTENT_TYPE, json);
    let cases = [
        (post("/nowhere", "{}"), 404, "NotFound"),
        (get.unwrap(), 405, "MethodNotAllowed"),
        (text, 415, "NotJson"),
        (charset, 200, ""),
    ];
    for http in Http::BOTH {
        let mut connection = open(&server, http).await;
        for (request, status, reason) in &cases {
            let answer = connection.send(request.clone()).await.unwrap();
            assert_eq!(answer.status, *status, "{reason}");
            if !reason.is_empty() {
                let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
                assert_eq!(body["reason"], *reason);
                assert!(body["error"].is_string());
            }
            assert!(answer.headers.get(header::RETRY_AFTER).is_none());
        }
    }
}

#[tokio::test]
async fn plain_http_to_the_tls_port_is_told_so() {
    let server = Running::start(Options::default());
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let answer = read_to_close(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(answer.contains("HTTPS"), "{answer}");
    let failed = "evenkeel_tls_handshake_failures_total{reason=\"NotTls\"}";
    server.metric_reaches(failed, 1).await;
}

#[tokio::test]
async fn a_client_that_does_not_trust_the_server_is_counted_as_such() {
    let server = Running::start(Options::default());
    let trust = Trust::only(fixture::bundle().ca_bundle());
    let refused = Connection::open(server.address, &trust, Http::One).await;
    assert!(refused.is_err());
    let failed = "evenkeel_tls_handshake_failures_total{reason=\"CertificateRefused\"}";
    server.metric_reaches(failed, 1).await;
}

#[tokio::test]
async fn a_handshake_that_does_not_come_is_given_up() {
    let options = Options {
        listener: ListenerSettings {
            handshake_timeout: Duration::from_millis(20),
            ..ListenerSettings::new("test")
        },
        ..Options::default()
    };
    let server = Running::start(options);
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    assert_eq!(read_to_close(&mut silent).await, "");
    let failed = "evenkeel_tls_handshake_failures_total{reason=\"TimedOut\"}";
    server.metric_reaches(failed, 1).await;
}

// A bug of ours.

#[tokio::test]
async fn a_panic_is_an_answer_and_a_count() {
    let server = Running::start(Options::default());
    for http in Http::BOTH {
        let answer = open(&server, http)
            .await
            .post("/panic", "{}")
            .await
            .unwrap();
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(answer.text().contains(r#""reason":"Panic""#));
        assert!(
            !answer.text().contains("bug of ours"),
            "no insides are shown"
        );
    }
    assert_eq!(
        server.metric("evenkeel_http_panics_total{path=\"/panic\"}"),
        2
    );
    let answer = open(&server, Http::One).await.post("/mutate", "{}").await;
    assert_eq!(answer.unwrap().status, StatusCode::OK);
}

// Client certificates.

/// A certificate that the server's own scheduler authority signed and that has expired.
fn expired(server: &Running) -> ClientCertificate {
    let long_ago = evenkeel_clock::now() - DAY * 30;
    server.bundle.issue_scheduler_client(long_ago, DAY).unwrap()
}

fn right(server: &Running) -> ClientCertificate {
    let now = evenkeel_clock::now();
    server.bundle.issue_scheduler_client(now, DAY).unwrap()
}

fn strange() -> ClientCertificate {
    let now = evenkeel_clock::now();
    SigningAuthority::generate("Strangers", now, DAY)
        .and_then(|authority| authority.issue_client("system:kube-scheduler", now, DAY))
        .unwrap()
}

#[tokio::test]
async fn each_path_asks_for_the_certificate_that_it_needs() {
    let server = Running::start(Options::default());
    let cases = [
        (None, 401, "ClientCertificateMissing"),
        (Some(right(&server)), 200, ""),
        (Some(strange()), 403, "ClientCertificateUntrusted"),
        (Some(expired(&server)), 403, "ClientCertificateOutOfDate"),
    ];
    for http in Http::BOTH {
        for (certificate, status, reason) in &cases {
            let mut trust = Trust::only(server.bundle.ca_bundle());
            trust.certificate.clone_from(certificate);
            let mut connection = Connection::open(server.address, &trust, http)
                .await
                .unwrap();
            for _ in 0..2 {
                let answer = connection.post("/mutate", "{}").await.unwrap();
                assert_eq!(answer.status, StatusCode::OK, "{http:?} {reason}");
                let answer = connection.post("/scheduler/filter", "{}").await.unwrap();
                assert_eq!(answer.status, *status, "{http:?} {reason}");
                assert!(answer.text().contains(reason), "{}", answer.text());
                assert!(!answer.closes(), "the connection can be used again");
            }
        }
    }
}

#[tokio::test]
async fn open_connections_follow_a_change_of_the_authorities() {
    let server = Running::start(Options::default());
    let other = fixture::bundle();
    let trust = Trust::only(server.bundle.ca_bundle()).showing(right(&server));
    let mut open = None;
    let mut status = async |authorities: ClientAuthorities| {
        let mut connection = if let Some(connection) = open.take() {
            connection
        } else {
            let open = Connection::open(server.address, &trust, Http::One).await;
            let mut connection = open.unwrap();
            // Until its answer, the handshake may be under way on the other side.
            connection.post("/mutate", "{}").await.unwrap();
            connection
        };
        server.store.replace(CertificateUpdate {
            server: None,
            authorities: Some(authorities),
        });
        let answer = connection.post("/scheduler/filter", "{}").await.unwrap();
        open = Some(connection).filter(|_| !answer.closes());
        (answer.status, answer.closes())
    };
    let of = |pem: String| {
        ClientAuthorities::default()
            .with_pem(Authority::Scheduler, pem.as_bytes())
            .unwrap()
    };
    let (ours, theirs) = (
        server.bundle.scheduler_ca_bundle(),
        other.scheduler_ca_bundle(),
    );
    assert_eq!(status(of(ours.clone())).await, (StatusCode::OK, false));
    let removed = status(of(theirs.clone())).await;
    assert_eq!(removed, (StatusCode::FORBIDDEN, true));
    // The connection began while the certificate counted for nothing.
    let both = theirs + &ours;
    assert_eq!(status(of(both.clone())).await, (StatusCode::OK, true));
    assert_eq!(status(of(both)).await, (StatusCode::OK, false));
    let unchanged = status(ClientAuthorities::default()).await;
    let what = "those that a change does not name stay";
    assert_eq!(unchanged, (StatusCode::OK, false), "{what}");
}

#[tokio::test]
async fn a_connection_of_kube_scheduler_ends_with_its_authority() {
    let options = Options {
        listener: ListenerSettings {
            header_timeout: Duration::from_millis(20),
            ..ListenerSettings::new("test")
        },
        ..Options::default()
    };
    let server = Running::start(options);
    let trust = Trust::only(server.bundle.ca_bundle());
    let scheduler = trust.clone().showing(right(&server));
    let _stranger = Connection::open(server.address, &trust, Http::One)
        .await
        .unwrap();
    let mut schedulers = Vec::new();
    for http in [Http::One, Http::Two] {
        let open = Connection::open(server.address, &scheduler, http).await;
        schedulers.push(open.unwrap());
    }
    for connection in &mut schedulers {
        let answer = connection.post("/scheduler/filter", "{}").await.unwrap();
        assert_eq!(answer.status, StatusCode::OK);
    }
    let others = fixture::bundle().scheduler_ca_bundle();
    let authorities =
        ClientAuthorities::default().with_pem(Authority::Scheduler, others.as_bytes());
    server.store.replace(CertificateUpdate {
        server: None,
        authorities: Some(authorities.unwrap()),
    });
    let closed = "evenkeel_http_connections_closed_total{listener=\"test\",reason=\"OtherClient\"}";
    server.metric_reaches(closed, 2).await;
    until("one connection is open", || {
        server.metric("evenkeel_http_connections{listener=\"test\"}") == 1
    })
    .await;
}

#[tokio::test]
async fn without_an_authority_no_certificate_is_asked_for() {
    let (bundle, metrics) = (fixture::bundle(), ListenerMetrics::default());
    let without = CertificateUpdate {
        authorities: None,
        ..fixture::change(&bundle)
    };
    let store = CertificateStore::new(without, metrics.clone()).unwrap();
    let server = Running::start_with(Arc::new(store), metrics, bundle, Options::default());
    let answer = open(&server, Http::One)
        .await
        .post("/scheduler/filter", "{}")
        .await;
    assert_eq!(answer.unwrap().status, StatusCode::OK);
}

#[tokio::test]
async fn kube_scheduler_is_spoken_to_one_call_after_another() {
    let server = Running::start(Options::default());
    let trust = Trust::only(server.bundle.ca_bundle());
    let (h2, http1) = ("h2", "http/1.1");
    let of_extender = fixture::EXTENDER_NAME;
    for (name, spoken, expected) in [
        (of_extender, &[h2, http1][..], Some(http1)),
        (of_extender, &[http1], Some(http1)),
        // A client that speaks nothing else is not refused.
        (of_extender, &[h2], Some(h2)),
        (of_extender, &[], None),
        ("localhost", &[h2, http1], Some(h2)),
        ("localhost", &[http1], Some(http1)),
    ] {
        let found = agreed(server.address, &trust, name, spoken).await.unwrap();
        assert_eq!(found.as_deref(), expected, "{name} {spoken:?}");
    }
}
