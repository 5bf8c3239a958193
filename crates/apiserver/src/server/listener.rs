//! Accepts connections, with or without TLS, and is absent during an outage.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::fault_injection::{Control, Outage};
use crate::server::routes;
use crate::state::Api;

/// After an outage another process may hold the port for a moment.
const REBIND_PAUSE: Duration = Duration::from_millis(50);

/// The state that each connection shares.
#[derive(Clone)]
pub(crate) struct ListenerContext {
    pub(crate) api: Arc<Api>,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) control: Control,
}

/// Runs until `stop`, and then cuts the connections.
pub(crate) async fn serve(
    listener: TcpListener,
    service: ListenerContext,
    stop: CancellationToken,
) {
    let running = accept_loop(listener, &service);
    tokio::select! {
        () = running => {}
        () = stop.cancelled() => {}
    }
    service.control.cut();
}

async fn accept_loop(mut listener: TcpListener, service: &ListenerContext) {
    let mut outages = service.control.outages();
    let Ok(address) = listener.local_addr() else {
        return;
    };
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => connect(stream, service.clone()),
                // Out of descriptors, or reset before it was accepted: others may come.
                Err(error) => {
                    tracing::warn!(%error, "connection not accepted");
                    tokio::time::sleep(REBIND_PAUSE).await;
                }
            },
            changed = outages.changed() => {
                let outage = *outages.borrow_and_update();
                let (Ok(()), Outage::For(pause)) = (changed, outage) else { continue };
                drop(listener);
                service.control.cut();
                tokio::time::sleep(pause).await;
                listener = rebind(address).await;
                service.control.recovered();
            }
        }
    }
}

async fn rebind(address: SocketAddr) -> TcpListener {
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => return listener,
            Err(error) => {
                tracing::warn!(%error, %address, "port not free yet");
                tokio::time::sleep(REBIND_PAUSE).await;
            }
        }
    }
}

fn connect(stream: TcpStream, service: ListenerContext) {
    let cut = service.control.connection();
    tokio::spawn(async move {
        let served = async {
            // Small answers and watch lines must not wait for each other.
            stream.set_nodelay(true)?;
            match &service.tls {
                Some(tls) => {
                    let stream = tls.accept(stream).await?;
                    speak(stream, service.api).await
                }
                None => speak(stream, service.api).await,
            }
        };
        tokio::select! {
            result = served => if let Err(error) = result {
                tracing::debug!(%error, "connection ended");
            },
            () = cut.cancelled() => {}
        }
    });
}

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    api: Arc<Api>,
) -> io::Result<()> {
    let service = service_fn(move |request| {
        let api = Arc::clone(&api);
        async move { Ok::<_, Infallible>(routes::handle(&api, request).await) }
    });
    Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service)
        .await
        .map_err(io::Error::other)
}
