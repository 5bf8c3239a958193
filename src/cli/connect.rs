//! The way to a cluster, for subcommands that ask its API server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};

/// Time limit for reaching the API server, and for each call.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Flags that name a cluster, and Evenkeel's namespace in it.
#[derive(Debug, clap::Args)]
pub(super) struct Cluster {
    /// Reach the cluster by this file instead of KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE", env = "EVENKEEL_KUBECONFIG")]
    kubeconfig: Option<PathBuf>,

    /// The namespace that Evenkeel runs in
    #[arg(
        long,
        short,
        value_name = "NAME",
        env = "EVENKEEL_NAMESPACE",
        default_value = "evenkeel-system"
    )]
    pub(super) namespace: String,
}

impl Cluster {
    /// Makes a client of the cluster.
    pub(super) async fn connect(&self) -> anyhow::Result<Client> {
        connect(self.kubeconfig.as_deref()).await
    }
}

/// A client by the kubeconfig that is given, else by KUBECONFIG, ~/.kube/config or the Pod's service
/// account.
pub(super) async fn connect(kubeconfig: Option<&Path>) -> anyhow::Result<Client> {
    let mut config = match kubeconfig {
        None => kube::Config::infer()
            .await
            .context("no way to reach a cluster was found: give --kubeconfig")?,
        Some(path) => {
            let name = path.display();
            let read = Kubeconfig::read_from(path)
                .with_context(|| format!("the kubeconfig {name} cannot be read"))?;
            kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
                .await
                .with_context(|| format!("the kubeconfig {name} cannot be used"))?
        }
    };
    config.connect_timeout = Some(PATIENCE);
    config.read_timeout = Some(PATIENCE);
    // Else a 503, such as the one for a Pod that does not answer, is tried for minutes.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
