//! An extender that judges nothing: every node passes, none has a score, and it binds nothing. It
//! shows what kube-scheduler loses by calling any extender, over HTTP or over TLS.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rcgen::CertifiedKey;
use rustls::ServerConfig;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::between::lead;

/// It serves until it is dropped.
pub(crate) struct IdleExtender {
    port: u16,
    /// The certificate, in PEM; `None` for plain HTTP.
    certificate: Option<String>,
    serving: JoinHandle<()>,
}

impl IdleExtender {
    pub(crate) async fn over_http() -> Self {
        let (listener, port) = listen().await;
        let serving = tokio::spawn(async move {
            axum::serve(listener, router()).await.expect("it serves");
        });
        Self {
            port,
            certificate: None,
            serving,
        }
    }

    pub(crate) async fn over_tls() -> Self {
        let (listener, port) = listen().await;
        let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]);
        let CertifiedKey { cert, signing_key } = own.expect("a certificate");
        let key = signing_key.serialize_der().try_into().expect("a key");
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .expect("the key is that of the certificate");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Self {
            port,
            certificate: Some(cert.pem()),
            serving: tokio::spawn(serve(listener, acceptor)),
        }
    }

    /// kube-scheduler's configuration, where it asks this one instead.
    pub(crate) fn instead_of(&self, mut configuration: Value) -> Value {
        let extender = &mut configuration["extenders"][0];
        match &self.certificate {
            None => lead(extender, self.port),
            Some(certificate) => {
                extender["urlPrefix"] = json!(format!("https://127.0.0.1:{}", self.port));
                extender["tlsConfig"] = json!({"caData": BASE64_STANDARD.encode(certificate)});
            }
        }
        configuration
    }
}

impl Drop for IdleExtender {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("it is bound").port();
    (listener, port)
}

fn router() -> Router {
    Router::new()
        .route("/filter", post(filter))
        .route("/prioritize", post(async || "[]"))
        .route("/bind", post(async || r#"{"Error":"it binds nothing"}"#))
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor) {
    let service = TowerToHyperService::new(router());
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("an option of sockets");
        let (acceptor, service) = (acceptor.clone(), service.clone());
        tokio::spawn(async move {
            // kube-scheduler ends its connections as it likes.
            if let Ok(stream) = acceptor.accept(stream).await {
                let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                let _ = served.await;
            }
        });
    }
}

/// The names as they came, which stand last in a question.
async fn filter(question: Bytes) -> Vec<u8> {
    let names = br#""NodeNames":"#;
    let from = question
        .windows(names.len())
        .rposition(|part| part == names);
    let names = &question[from.expect("a question by names")..];
    [b"{", names].concat()
}
