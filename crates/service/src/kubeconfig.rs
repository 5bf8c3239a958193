//! The way to a cluster: a named kubeconfig, else KUBECONFIG or `~/.kube/config`, else the Pod's
//! own ServiceAccount.

use std::error::Error as _;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use evenkeel_objects::suggestion::did_you_mean;
use kube::Config;
use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig};

/// The API server's address and credentials, by the named context, else the current one.
///
/// # Errors
/// The named file or context cannot be used, or no place names a cluster.
pub async fn find(file: Option<&Path>, context: Option<&str>) -> anyhow::Result<Config> {
    let name = file.map_or_else(
        || "KUBECONFIG or ~/.kube/config".to_owned(),
        |file| file.display().to_string(),
    );
    let read = match (file, context) {
        (None, None) => return Config::infer().await.map_err(|error| unfound(&error)),
        (None, Some(_)) => Kubeconfig::read(),
        (Some(file), _) => Kubeconfig::read_from(file),
    };
    let read = read.with_context(|| format!("the kubeconfig {name} cannot be read"))?;
    if let Some(context) = context {
        check_context(&read, context, &name)?;
    }
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    Config::from_custom_kubeconfig(read, &options)
        .await
        .with_context(|| format!("the kubeconfig {name} cannot be used"))
}

fn check_context(read: &Kubeconfig, context: &str, name: &str) -> anyhow::Result<()> {
    let contexts = || read.contexts.iter().map(|known| known.name.as_str());
    if contexts().any(|known| known == context) {
        return Ok(());
    }
    let meant = did_you_mean(context, contexts());
    bail!("the kubeconfig {name} has no context {context:?}{meant}")
}

/// The error names its kubeconfig alone: outside of a Pod its variables are always missing.
fn unfound(error: &InferConfigError) -> anyhow::Error {
    let kubeconfig = error.source().map_or_else(String::new, ToString::to_string);
    anyhow!(
        "no cluster is configured: neither KUBECONFIG nor ~/.kube/config can be used \
         ({kubeconfig}), and this is not a Pod with a ServiceAccount; give --kubeconfig FILE"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "\
apiVersion: v1
kind: Config
current-context: home
contexts:
  - {name: home, context: {cluster: home, user: me}}
  - {name: production, context: {cluster: production, user: me}}
clusters:
  - {name: home, cluster: {server: 'http://home.test'}}
  - {name: production, cluster: {server: 'http://production.test'}}
users: [{name: me, user: {}}]
";

    #[tokio::test]
    async fn a_context_that_is_named_wins_and_one_that_is_not_there_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), TWO).unwrap();
        let url = async |context| {
            let found = find(Some(file.path()), context).await;
            found.map(|config| config.cluster_url.host().map(str::to_owned))
        };
        assert_eq!(url(None).await.unwrap().as_deref(), Some("home.test"));
        let other = url(Some("production")).await.unwrap();
        assert_eq!(other.as_deref(), Some("production.test"));
        let error = url(Some("produktion")).await.unwrap_err().to_string();
        assert!(error.contains("did you mean \"production\"?"), "{error}");
    }
}
