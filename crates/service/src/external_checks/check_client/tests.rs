//! Checks that are asked on loopback: what is sent, and everything that is no answer.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evenkeel_api::cron_hpa::spec::ScaledRef;
use evenkeel_api::replica_counts::ReplicaCounts;
use evenkeel_scaling::specs::ihpa::ExternalCheck;
use evenkeel_scaling::staged_change::Direction;
use http_body_util::BodyExt as _;
use hyper::Response;
use jiff::SignedDuration;
use kube::client::Body;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::external_checks::AllowedUrl;

const PASS: &str = "HTTP/1.1 200 OK\r\ncontent-length: 19\r\n\r\n{\"verdict\": \"Pass\"}";

/// The requests that servers received, heads and bodies.
type Heard = Arc<Mutex<Vec<String>>>;

fn now() -> Timestamp {
    "2026-11-22T08:00:00Z".parse().unwrap()
}

/// Reads one request and answers these bytes, or hangs where there are none.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: &[u8], heard: &Heard) {
    let mut read = Vec::new();
    let mut part = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&read);
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
        let is_whole = |body: &str| serde_json::from_str::<Value>(body).is_ok();
        if body.is_some_and(is_whole) {
            break;
        }
        match stream.read(&mut part).await {
            Ok(count @ 1..) => read.extend_from_slice(&part[..count]),
            _ => return,
        }
    }
    let text = String::from_utf8(read).unwrap();
    heard.lock().unwrap().push(text);
    let _ = stream.write_all(answer).await;
    if answer.is_empty() {
        std::future::pending::<()>().await;
    }
    let _ = stream.shutdown().await;
}

/// A server on loopback that answers all so, or hangs where the answer is empty.
async fn server(answer: impl Into<Vec<u8>>) -> (u16, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (answer, heard) = (answer.into(), Heard::default());
    let known = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            serve(stream, &answer, &known).await;
        }
    });
    (port, heard)
}

/// The API server, with the Service `smoke` at `address` and tokens that tell their audience.
fn cluster(address: Value, port: u16) -> kube::Client {
    let service = tower::service_fn(move |request: hyper::Request<Body>| {
        let address = address.clone();
        async move {
            let path = request.uri().path().to_owned();
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
            let (status, answer) = match &*path {
                "/api/v1/namespaces/shop/services/smoke" => {
                    let spec = json!({"clusterIP": address, "ports": [{"port": port}]});
                    (200, json!({"metadata": {"name": "smoke"}, "spec": spec}))
                }
                "/api/v1/namespaces/keel/serviceaccounts/evenkeel-checks/token" => {
                    let audience = asked["spec"]["audiences"][0].as_str().unwrap();
                    let status = json!({"token": format!("for-{audience}"),
                        "expirationTimestamp": "2100-01-01T00:00:00Z"});
                    let spec = json!({"audiences": []});
                    (201, json!({"metadata": {}, "spec": spec, "status": status}))
                }
                _ => {
                    let status = json!({"status": "Failure", "message": "not found",
                        "reason": "NotFound", "code": 404});
                    (404, status)
                }
            };
            let body = Body::from(answer.to_string().into_bytes());
            Ok::<_, Infallible>(Response::builder().status(status).body(body).unwrap())
        }
    });
    kube::Client::new(service, "default")
}

fn source(port: u16, allowed: &[&str]) -> CheckSource {
    let allowed = allowed.iter().map(|url| AllowedUrl::parse(url).unwrap());
    let settings = Settings {
        allowed: allowed.collect(),
    };
    CheckSource::new(settings, cluster("127.0.0.1".into(), port), "keel")
}

fn question(endpoint: Endpoint) -> CheckQuestion {
    CheckQuestion {
        namespace: "shop".into(),
        autoscaler: "web".into(),
        check: "smoke".into(),
        asked: Arc::new(ExternalCheck {
            name: "smoke".to_owned(),
            endpoint,
            timeout: SignedDuration::from_millis(500),
            config: [("suite".to_owned(), "quick".to_owned())].into(),
        }),
    }
}

fn service(port: u16, ca: Option<String>) -> CheckQuestion {
    question(Endpoint::Service {
        name: "smoke".to_owned(),
        port,
        path: "/changes".to_owned(),
        ca,
    })
}

async fn ask(
    source: &CheckSource,
    question: &CheckQuestion,
) -> Result<StepCheckAnswer, CheckError> {
    let change = ChangeAsked {
        target: ScaledRef {
            api_version: Some("apps/v1".to_owned()),
            kind: "Deployment".to_owned(),
            name: "web".to_owned(),
        },
        direction: Direction::Up,
        from: ReplicaCounts::all_online(2),
        to: 8,
        online: 4,
        stepped: Some(now()),
    };
    source.fetch(question, Some(&change), now()).await
}

#[tokio::test]
async fn a_service_is_told_of_the_change_and_shown_a_token_for_itself() {
    let (port, heard) = server(PASS).await;
    let answered = ask(&source(port, &[]), &service(port, None)).await.unwrap();
    assert!(answered.answer.passes);
    assert_eq!(answered.stepped, Some(now()));
    let heard = heard.lock().unwrap();
    let (request, body) = heard[0].split_once("\r\n\r\n").unwrap();
    let request = request.to_ascii_lowercase();
    for line in [
        "post /changes http/1.1".to_owned(),
        format!("host: smoke.shop.svc:{port}"),
        format!("authorization: bearer for-http://smoke.shop.svc:{port}"),
        "content-type: application/json".to_owned(),
    ] {
        assert!(
            request.lines().any(|one| one == line),
            "{line} in {request}"
        );
    }
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["to"], 8, "{body}");
    assert_eq!(body["config"]["suite"], "quick", "{body}");
}

#[tokio::test]
async fn everything_but_a_whole_answer_in_time_is_none() {
    let (elsewhere, redirected) = server(PASS).await;
    let redirect = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:{elsewhere}/\r\n\
         content-length: 0\r\n\r\n"
    );
    let long = 64 * 1024 + 1;
    let padded = format!("{{\"verdict\": \"Pass\"{}}}", " ".repeat(long));
    for (answer, reason) in [
        (String::new(), "Timeout"),
        (redirect, "Redirect"),
        (
            "HTTP/1.1 503 Sorry\r\ncontent-length: 0\r\n\r\n".to_owned(),
            "HttpStatus",
        ),
        (PASS.replace("200 OK", "201 Created"), "HttpStatus"),
        (PASS.replace("200 OK", "500 Oh"), "HttpStatus"),
        (PASS.replace("Pass", "pass"), "Malformed"),
        (PASS.replace("19", "18"), "Malformed"),
        (PASS.replace("19", "30"), "Transport"),
        (
            format!("HTTP/1.1 200 OK\r\ncontent-length: {long}\r\n\r\n"),
            "TooLarge",
        ),
        (format!("HTTP/1.1 200 OK\r\n\r\n{padded}"), "TooLarge"),
        ("SSH-2.0-OpenSSH_9.9\r\n".to_owned(), "Transport"),
    ] {
        let shown: String = answer.chars().take(40).collect();
        let (port, _) = server(answer).await;
        let error = ask(&source(port, &[]), &service(port, None))
            .await
            .unwrap_err();
        assert_eq!(error.reason(), reason, "{shown:?}: {error}");
    }
    assert!(redirected.lock().unwrap().is_empty(), "nobody was led on");
    let error = ask(&source(1, &[]), &service(1, None)).await.unwrap_err();
    assert_eq!(error.reason(), "Connect", "{error}");
}

#[tokio::test]
async fn a_service_that_cannot_be_asked_is_refused_in_words() {
    let (port, heard) = server(PASS).await;
    let headless = cluster("None".into(), port);
    let headless = CheckSource::new(Settings::default(), headless, "keel");
    let error = ask(&headless, &service(port, None)).await.unwrap_err();
    assert!(error.to_string().contains("is headless"), "{error}");
    let mut missing = service(port, None);
    missing.namespace = "other".into();
    let error = ask(&source(port, &[]), &missing).await.unwrap_err();
    assert_eq!(error.to_string(), "Service smoke does not exist");
    assert!(heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_url_is_asked_where_it_is_allowed() {
    let (port, heard) = server(PASS).await;
    let origin = format!("http://127.0.0.1:{port}");
    let source = source(port, &[&format!("{origin}/changes")]);
    let url = |path: &str| question(Endpoint::Url(format!("{origin}{path}")));
    let error = ask(&source, &url("/admin")).await.unwrap_err();
    assert!(
        error.to_string().contains("scaling.checks.allowed"),
        "{error}"
    );
    assert!(heard.lock().unwrap().is_empty());
    assert!(ask(&source, &url("/changes/web")).await.is_ok());
    let heard = heard.lock().unwrap();
    assert!(
        heard[0].contains(&format!("Bearer for-{origin}\r\n")),
        "{heard:?}"
    );
}

/// A server over TLS that shows a certificate for a name.
async fn encrypted(name: &str) -> (u16, String) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![cert.der().clone()],
            signing_key.serialize_der().try_into().unwrap(),
        )
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                serve(stream, PASS.as_bytes(), &Heard::default()).await;
            }
        }
    });
    (port, cert.pem())
}

#[tokio::test]
async fn with_a_ca_bundle_a_service_has_to_show_its_name_in_the_cluster() {
    for (name, is_believed) in [("smoke.shop.svc", true), ("smoke.other.svc", false)] {
        let (port, pem) = encrypted(name).await;
        let asked = ask(&source(port, &[]), &service(port, Some(pem))).await;
        assert_eq!(asked.is_ok(), is_believed, "{name}: {asked:?}");
    }
    let (_, other) = encrypted("smoke.shop.svc").await;
    let (port, _) = encrypted("smoke.shop.svc").await;
    let asked = ask(&source(port, &[]), &service(port, Some(other))).await;
    assert_eq!(asked.unwrap_err().reason(), "Connect");
}

#[test]
fn the_time_for_all_is_longer_than_that_for_an_answer() {
    assert!(crate::external_checks::TIMEOUT > Duration::from_secs(10));
}
