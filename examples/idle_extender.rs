//! An extender that judges nothing: every node passes, none has a score, and it binds nothing. It
//! shows what kube-scheduler loses by calling any extender, over HTTP or with `tls` over TLS. The first line that
//! it prints has its port, and its certificate in PEM: `{"port": 40123, "certificate": null}`.

#![allow(clippy::print_stdout)] // the first line

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rcgen::CertifiedKey;
use rustls::ServerConfig;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let tls = match std::env::args().nth(1).as_deref() {
        None => None,
        Some("tls") => Some(certified()?),
        Some(other) => return Err(format!("{other}: accepted is tls, or nothing").into()),
    };
    let (acceptor, certificate) = tls.unzip();
    println!("{}", json!({"port": port, "certificate": certificate}));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            // kube-scheduler ends its connections as it likes.
            match acceptor {
                None => serve(stream).await,
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream).await;
                    }
                }
            }
        });
    }
}

fn certified() -> Result<(TlsAcceptor, String), Box<dyn std::error::Error>> {
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    let CertifiedKey { cert, signing_key } = own;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(
            vec![cert.der().clone()],
            signing_key.serialize_der().try_into()?,
        )?;
    Ok((TlsAcceptor::from(Arc::new(config)), cert.pem()))
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin) {
    let router = Router::new()
        .route("/filter", post(filter))
        .route("/prioritize", post(async || "[]"))
        .route("/bind", post(async || r#"{"Error":"it binds nothing"}"#));
    let service = TowerToHyperService::new(router);
    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let _ = served.await;
}

/// The names as they came, which stand last in a question.
async fn filter(question: Bytes) -> Vec<u8> {
    let names = br#""NodeNames":"#;
    let from = question
        .windows(names.len())
        .rposition(|part| part == names);
    let names = &question[from.unwrap_or_default()..];
    [b"{", names].concat()
}
