//! A server on loopback that stands in for Prometheus and fails in the ways that real ones do.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::any;
use futures::StreamExt;
use http_body_util::BodyExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// How the stand-in answers a query.
#[derive(Clone)]
pub(crate) enum Reply {
    /// With this status and body.
    Answer(u16, String),
    /// With a redirect to this address.
    Redirect(String),
    /// Never.
    Hang,
    /// With the status of a success and the beginning of a body, and then the connection breaks.
    BreakOff,
    /// With so many bytes, their number not announced.
    Flood(u64),
}

/// The requests that the stand-in received.
#[derive(Default)]
pub(crate) struct Asked {
    /// The method and path of each request, with its `authorization`.
    pub heads: Mutex<Vec<(String, Option<String>)>>,
    /// The tenant that each request names in `x-scope-orgid`.
    pub tenants: Mutex<Vec<Option<String>>>,
    /// The form of each request.
    pub forms: Mutex<Vec<String>>,
    /// Bytes of floods that were taken off the server's hands.
    pub flooded: AtomicU64,
}

type Script = Arc<dyn Fn(&str) -> Reply + Send + Sync>;

/// The running server; it ends when dropped.
pub(crate) struct StandIn {
    /// Its address.
    pub url: evenkeel_http_client::Uri,
    /// The requests that it received.
    pub asked: Arc<Asked>,
    server: JoinHandle<()>,
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Starts a server that answers as `script` says for each form that it is sent.
pub(crate) async fn start(script: impl Fn(&str) -> Reply + Send + Sync + 'static) -> StandIn {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Asked::default());
    let router = router(Arc::new(script), asked.clone());
    StandIn {
        url: format!("http://{address}").parse().unwrap(),
        asked,
        server: tokio::spawn(async move { axum::serve(listener, router).await.unwrap() }),
    }
}

/// The server's routes, to be served in another way than `start` does.
pub(crate) fn router(script: Script, asked: Arc<Asked>) -> Router {
    Router::new()
        .fallback(any(answer))
        .with_state((script, asked))
}

async fn answer(State((script, asked)): State<(Script, Arc<Asked>)>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let text = |header: &str| {
        let value = head.headers.get(header)?;
        Some(value.to_str().unwrap().to_owned())
    };
    asked.heads.lock().unwrap().push((
        format!("{} {}", head.method, head.uri.path()),
        text("authorization"),
    ));
    asked.tenants.lock().unwrap().push(text("x-scope-orgid"));
    let body = body.collect().await.unwrap().to_bytes();
    let form = String::from_utf8(body.to_vec()).unwrap();
    asked.forms.lock().unwrap().push(form.clone());
    let response = Response::builder();
    match script(&form) {
        Reply::Answer(status, body) => response.status(status).body(Body::from(body)),
        Reply::Redirect(to) => response
            .status(302)
            .header("location", to)
            .body(Body::empty()),
        Reply::Hang => std::future::pending().await,
        Reply::BreakOff => {
            let begun = futures::stream::iter([Ok(Bytes::from_static(b"{\"status\":"))]);
            let broken = futures::stream::iter([Err(std::io::Error::other("broken off"))]);
            response.body(Body::from_stream(begun.chain(broken)))
        }
        Reply::Flood(bytes) => response.body(flood(bytes, asked)),
    }
    .unwrap()
}

fn flood(bytes: u64, asked: Arc<Asked>) -> Body {
    const CHUNK: u64 = 8 * 1024;
    let chunks = futures::stream::iter(0..bytes / CHUNK).map(move |_| {
        asked.flooded.fetch_add(CHUNK, Ordering::Relaxed);
        Ok::<_, std::io::Error>(Bytes::from_static(&[b' '; 8 * 1024]))
    });
    Body::from_stream(chunks)
}

/// The answer that holds these series: labels as JSON members, and the value.
pub(crate) fn vector(series: &[(&str, &str)]) -> Reply {
    let series: Vec<String> = series
        .iter()
        .map(|(labels, value)| format!(r#"{{"metric":{{{labels}}},"value":[1,"{value}"]}}"#))
        .collect();
    let list = series.join(",");
    Reply::Answer(
        200,
        format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{list}]}}}}"#),
    )
}

/// A certificate with its key.
pub(crate) type Identity = rcgen::CertifiedKey<rcgen::KeyPair>;

/// A self-signed certificate for loopback.
pub(crate) fn certificate() -> Identity {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    rcgen::generate_simple_self_signed(names).unwrap()
}

/// Serves over TLS at the port that it returns, to this caller alone where one is given.
pub(crate) async fn serve_tls(
    identity: &Identity,
    caller: Option<&Identity>,
    router: Router,
) -> u16 {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let key = rustls::pki_types::PrivateKeyDer::try_from(identity.signing_key.serialize_der());
    let tls = rustls::ServerConfig::builder();
    let tls = match caller {
        None => tls.with_no_client_auth(),
        Some(caller) => {
            let mut roots = rustls::RootCertStore::empty();
            roots.add(caller.cert.der().clone()).unwrap();
            let verifier = rustls::server::WebPkiClientVerifier::builder(Arc::new(roots));
            tls.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let chain = vec![identity.cert.der().clone()];
    let tls = tls.with_single_cert(chain, key.unwrap()).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let service = hyper_util::service::TowerToHyperService::new(router.clone());
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // Callers that do not trust the certificate break off here.
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let stream = hyper_util::rt::TokioIo::new(stream);
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(stream, service)
                    .await;
            });
        }
    });
    port
}
