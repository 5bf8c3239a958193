//! Access to the API server: the kubeconfig for users, and clients with own user agents, by which
//! the API server tells the managers of fields apart.

use std::io;
use std::path::{Path, PathBuf};

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use tokio::io::AsyncWriteExt as _;

use super::StartError;
use evenkeel_apiserver::ApiServer;

/// Writes the kubeconfig, for its owner only; its path, and what it says.
pub(super) async fn connect(
    server: &ApiServer,
    folder: &Path,
) -> Result<(PathBuf, kube::Config), StartError> {
    let path = folder.join("kubeconfig");
    let text = server.kubeconfig();
    write_private(&path, &text)
        .await
        .map_err(|source| StartError::Io {
            what: "the kubeconfig cannot be written",
            source,
        })?;
    let unusable = |error: KubeconfigError| StartError::Unusable(error.to_string());
    let kubeconfig = Kubeconfig::from_yaml(&text).map_err(unusable)?;
    let config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Ok((path, config.map_err(unusable)?))
}

/// Writes a new file that no other user may read. Fails if the file exists.
async fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = tokio::fs::OpenOptions::new();
    // A mode holds for new files only.
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(path).await?;
    file.write_all(text.as_bytes()).await?;
    file.flush().await
}

/// A client with the user agent `agent`.
pub(super) fn named(config: &kube::Config, agent: &'static str) -> Result<Client, StartError> {
    let mut config = config.clone();
    let agent = hyper::header::HeaderValue::from_static(agent);
    config.headers.push((hyper::header::USER_AGENT, agent));
    Ok(Client::try_from(config)?)
}
