//! The way to the API server, and the name of this replica there.

use std::time::Duration;

use anyhow::Context as _;
use kube::config::KubeConfigOptions;

use crate::config::Connection;

/// Each API request has this long; watches are renewed by the server before that.
const READ_TIMEOUT: Duration = Duration::from_secs(295);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The API server's address and our credentials: from the kubeconfig that is named, else from the
/// Pod's service account, else from the user's own kubeconfig.
pub(super) async fn kubernetes(connection: &Connection) -> anyhow::Result<kube::Config> {
    let mut kubernetes = match &connection.kubeconfig {
        None => kube::Config::infer().await.context(
            "no way to reach a cluster was found: give --kubeconfig, or run in a Pod with a service account",
        )?,
        Some(file) => {
            let name = file.display();
            let read = kube::config::Kubeconfig::read_from(file)
                .with_context(|| format!("the kubeconfig {name} cannot be read"))?;
            kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
                .await
                .with_context(|| format!("the kubeconfig {name} cannot be used"))?
        }
    };
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
