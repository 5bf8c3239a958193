//! The way to a cluster, for subcommands that ask its API server.

use std::path::PathBuf;
use std::time::Duration;

use evenkeel_service::kubeconfig;
use kube::Client;

/// Time limit for reaching the API server, and for each call.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Flags that say how to reach a cluster.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct KubeconfigArgs {
    /// Use this kubeconfig instead of KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE", env = "EVENKEEL_KUBECONFIG")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Use this context of the kubeconfig instead of its current one
    #[arg(long, value_name = "NAME", env = "EVENKEEL_CONTEXT")]
    pub(crate) context: Option<String>,
}

impl KubeconfigArgs {
    /// A client of the cluster: by the given kubeconfig, else KUBECONFIG, ~/.kube/config or the
    /// Pod's service account.
    pub async fn connect(&self) -> anyhow::Result<Client> {
        let Self {
            kubeconfig,
            context,
        } = self;
        let mut config = kubeconfig::find(kubeconfig.as_deref(), context.as_deref()).await?;
        config.connect_timeout = Some(PATIENCE);
        config.read_timeout = Some(PATIENCE);
        // Else a 503, such as the one for a Pod that does not answer, is tried for minutes.
        config.default_retry = false;
        Ok(Client::try_from(config)?)
    }
}

/// Flags that name a cluster, and Evenkeel's namespace in it.
#[derive(Debug, clap::Args)]
pub struct ClusterArgs {
    #[command(flatten)]
    kubeconfig: KubeconfigArgs,

    /// The namespace that Evenkeel runs in
    #[arg(
        long,
        short,
        value_name = "NAME",
        env = "EVENKEEL_NAMESPACE",
        default_value = "evenkeel-system"
    )]
    pub namespace: String,
}

impl ClusterArgs {
    pub async fn connect(&self) -> anyhow::Result<Client> {
        self.kubeconfig.connect().await
    }
}
