//! A small HTTP server for tests, plain or over TLS.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// On a free port until the runtime ends; the handler is given path and body.
pub(crate) async fn serve<H, F>(tls: Option<TlsAcceptor>, handler: H) -> SocketAddr
where
    H: Fn(String, Bytes) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let handler = Arc::new(handler);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (tls, handler) = (tls.clone(), Arc::clone(&handler));
            tokio::spawn(async move {
                match tls {
                    Some(tls) => {
                        if let Ok(stream) = tls.accept(stream).await {
                            speak(stream, handler).await;
                        }
                    }
                    None => speak(stream, handler).await,
                }
            });
        }
    });
    address
}

async fn speak<H, F>(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, handler: Arc<H>)
where
    H: Fn(String, Bytes) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let handler = Arc::clone(&handler);
        async move {
            let path = request.uri().to_string();
            let body = request.into_body().collect().await;
            let body = body.map(http_body_util::Collected::to_bytes);
            Ok::<_, Infallible>(handler(path, body.unwrap_or_default()).await)
        }
    });
    let builder = Builder::new(TokioExecutor::new());
    // Clients may hang up.
    let _ = builder
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
