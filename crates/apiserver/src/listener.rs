//! The socket: accepts connections, with or without TLS, and goes away during an outage.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::control::{Control, Outage};

/// After an outage another process may hold the port for a moment.
const REBIND_PAUSE: Duration = Duration::from_millis(50);

/// What a connection needs.
#[derive(Clone)]
struct Service {
    router: Router,
    tls: Option<TlsAcceptor>,
    control: Control,
}

/// Serves until `stop`.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    tls: Option<Arc<ServerConfig>>,
    (control, stop): (Control, CancellationToken),
) {
    let service = Service {
        router,
        tls: tls.map(TlsAcceptor::from),
        control,
    };
    let running = accept_loop(listener, &service);
    tokio::select! {
        () = running => {}
        () = stop.cancelled() => {}
    }
    service.control.cut();
}

async fn accept_loop(mut listener: TcpListener, service: &Service) {
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

fn connect(stream: TcpStream, service: Service) {
    let cut = service.control.connection();
    tokio::spawn(async move {
        let served = async {
            // Small answers and watch lines shall not wait for each other.
            stream.set_nodelay(true)?;
            match &service.tls {
                Some(tls) => {
                    let stream = tls.accept(stream).await?;
                    speak(stream, service.router).await
                }
                None => speak(stream, service.router).await,
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
    router: Router,
) -> io::Result<()> {
    let service = TowerToHyperService::new(router);
    Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service)
        .await
        .map_err(io::Error::other)
}
