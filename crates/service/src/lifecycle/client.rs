//! The way to the API server, and the name of this replica there.

use std::time::Duration;

use anyhow::Context as _;
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::Client;
use kube::client::{Body, ConfigExt as _};
use tower::{BoxError, ServiceBuilder};

use crate::config::ClusterConnection;
use crate::kubeconfig;

/// Each API request has this long; watches are renewed by the server before that.
const READ_TIMEOUT: Duration = Duration::from_secs(295);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A peer that is silent for this long is probed, and gone if it answers no probe. So a watch
/// begins anew half a minute after its connection was silently lost, as with a machine or a route.
const KEEPALIVE: Duration = Duration::from_secs(15);
const QUESTIONS: u32 = 3;
const BETWEEN_QUESTIONS: Duration = Duration::from_secs(5);

/// The API server's address and credentials: from the named kubeconfig, else the Pod's service
/// account, else the user's own kubeconfig.
pub(super) async fn kubernetes(connection: &ClusterConnection) -> anyhow::Result<kube::Config> {
    let context = connection.context.as_deref();
    let mut kubernetes = kubeconfig::find(connection.kubeconfig.as_deref(), context).await?;
    // Watches, election and writer retry by themselves, at their own times; a client that retries
    // for minutes would outlast the lease.
    kubernetes.default_retry = false;
    kubernetes.connect_timeout = Some(CONNECT_TIMEOUT);
    kubernetes.read_timeout = Some(READ_TIMEOUT);
    Ok(kubernetes)
}

/// A client with these settings, as kube makes one, but with connections that are kept alive.
pub(super) fn connect(config: kube::Config) -> anyhow::Result<Client> {
    const WHAT: &str = "the API server cannot be reached";
    if config.proxy_url.is_some() {
        return Client::try_from(config).context(WHAT);
    }
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_keepalive(Some(KEEPALIVE));
    connector.set_keepalive_interval(Some(BETWEEN_QUESTIONS));
    connector.set_keepalive_retries(Some(QUESTIONS));
    let connector = config.rustls_https_connector_with_connector(connector);
    let mut connector = TimeoutConnector::new(connector.context(WHAT)?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let http: HttpClient<_, Body> = HttpClient::builder(TokioExecutor::new()).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().context(WHAT)?)
        .layer(config.extra_headers_layer().context(WHAT)?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace))
}

/// The name of this replica: the given one, or host name (unique among Pods) and process ID (unique
/// on a host).
pub(super) fn identity(given: Option<&str>) -> anyhow::Result<String> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let host = hostname::get().context("the host name cannot be read")?;
    Ok(format!("{}_{}", host.to_string_lossy(), std::process::id()))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// True if the kernel keeps this loopback port's connection alive: its row's timer is of kind
    /// 2.
    fn is_kept_alive(port: u16) -> bool {
        let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        let remote = format!("0100007F:{port:04X}");
        table.lines().any(|line| {
            let fields: Vec<_> = line.split_whitespace().collect();
            fields.get(2) == Some(&remote.as_str())
                && fields.get(5).is_some_and(|timer| timer.starts_with("02:"))
        })
    }

    /// The harm: a watch on a connection that was lost in silence was begun anew after 90 s.
    #[tokio::test]
    async fn the_connections_to_the_api_server_are_kept_alive() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = kube::Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
        for is_ours in [true, false] {
            let client = if is_ours {
                connect(config.clone()).unwrap()
            } else {
                Client::try_from(config.clone()).unwrap()
            };
            let asking = tokio::spawn(async move { client.apiserver_version().await });
            // It has been sent, so that the connection waits for nothing but an answer.
            let (stream, _) = listener.accept().await.unwrap();
            stream.readable().await.unwrap();
            let is_kept = is_kept_alive(port);
            asking.abort();
            let _ = asking.await;
            assert_eq!(is_kept, is_ours);
        }
    }
}
