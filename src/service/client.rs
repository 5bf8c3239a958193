//! The way to the API server, and the name of this replica there.

use std::time::Duration;

use anyhow::Context as _;

use crate::config::Connection;
use crate::kubeconfig;

/// Each API request has this long; watches are renewed by the server before that.
const READ_TIMEOUT: Duration = Duration::from_secs(295);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The API server's address and our credentials: from the kubeconfig that is named, else from the
/// Pod's service account, else from the user's own kubeconfig.
pub(super) async fn kubernetes(connection: &Connection) -> anyhow::Result<kube::Config> {
    let context = connection.context.as_deref();
    let mut kubernetes = kubeconfig::find(connection.kubeconfig.as_deref(), context).await?;
    // Watches, election and writer try again by themselves, at their own times; a client that does
    // so for minutes behind their backs would outlast the lease.
    kubernetes.default_retry = false;
    kubernetes.connect_timeout = Some(CONNECT_TIMEOUT);
    kubernetes.read_timeout = Some(READ_TIMEOUT);
    Ok(kubernetes)
}

/// The name of this replica: the given one, or one that is unique among Pods by the host name and
/// among processes of one host by the process ID.
pub(super) fn identity(given: Option<&str>) -> anyhow::Result<String> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let host = hostname::get().context("the host name cannot be read")?;
    Ok(format!("{}_{}", host.to_string_lossy(), std::process::id()))
}
