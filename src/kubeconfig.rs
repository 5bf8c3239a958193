//! The way to a cluster: a kubeconfig that is named, else KUBECONFIG or `~/.kube/config`, else the Pod's own
//! ServiceAccount.

use std::error::Error as _;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use kube::Config;
use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig};

/// The address of the API server and the credentials for it.
///
/// # Errors
/// The file that is named cannot be used, or no place names a cluster.
pub(crate) async fn find(file: Option<&Path>) -> anyhow::Result<Config> {
    let Some(file) = file else {
        return Config::infer().await.map_err(|error| unfound(&error));
    };
    let name = file.display();
    let read = Kubeconfig::read_from(file)
        .with_context(|| format!("the kubeconfig {name} cannot be read"))?;
    Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
        .await
        .with_context(|| format!("the kubeconfig {name} cannot be used"))
}

/// The error names its kubeconfig alone: outside of a Pod its variables are missing, which says nothing.
fn unfound(error: &InferConfigError) -> anyhow::Error {
    let kubeconfig = error.source().map_or_else(String::new, ToString::to_string);
    anyhow!(
        "no way to reach a cluster was found: neither KUBECONFIG nor ~/.kube/config can be used ({kubeconfig}), and \
         this is no Pod with a ServiceAccount; give --kubeconfig FILE"
    )
}
