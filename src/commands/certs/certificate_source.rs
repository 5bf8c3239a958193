//! Access to certificates in a directory that `generate` has filled, or in the cluster's Secret.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use evenkeel_certificates::bundle::Bundle;
use evenkeel_certificates::files::{
    AUTHORITIES, AUTHORITY_KEYS, SCHEDULER_AUTHORITIES, SCHEDULER_AUTHORITY_KEYS,
    SERVER_CERTIFICATE, SERVER_KEY,
};
use k8s_openapi::api::core::v1::{Secret, Service};
use kube::{Api, Client};

use evenkeel_terminal::cluster_args::{ClusterArgs, PATIENCE};
use evenkeel_terminal::output::CliFailure;
use evenkeel_terminal::runtime::runtime;

/// The files of a bundle, as the Secret names them.
const FILES: [&str; 6] = [
    AUTHORITIES,
    AUTHORITY_KEYS,
    SERVER_CERTIFICATE,
    SERVER_KEY,
    SCHEDULER_AUTHORITIES,
    SCHEDULER_AUTHORITY_KEYS,
];

/// Flags that name the place of the certificates.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Source of the certificates")]
pub(super) struct CertificateSourceArgs {
    /// Read this directory, filled by `certs generate`, instead of the cluster
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    #[command(flatten)]
    pub(super) cluster: ClusterArgs,

    /// The Secret with the certificates
    #[arg(long, value_name = "NAME", default_value = "evenkeel-certificates")]
    secret: String,
}

impl CertificateSourceArgs {
    /// The certificates with their keys.
    pub(super) fn bundle(&self) -> Result<Bundle, CliFailure> {
        let (files, origin) = match &self.dir {
            Some(dir) => (read_directory(dir)?, dir.display().to_string()),
            None => (
                self.read_secret()?,
                format!("Secret {}/{}", self.cluster.namespace, self.secret),
            ),
        };
        Bundle::decode(&files).map_err(|error| CliFailure::work(format_args!("{origin}: {error}")))
    }

    fn read_secret(&self) -> Result<BTreeMap<String, Vec<u8>>, CliFailure> {
        let (namespace, secret) = (&self.cluster.namespace, &self.secret);
        let read = self.block_on(async |client| {
            let api: Api<Secret> = Api::namespaced(client, namespace);
            Ok(api.get_opt(secret).await?)
        });
        let what = || format!("Secret {namespace}/{secret} cannot be read");
        let found = read.map_err(|failure| failure.context(what()))?;
        let found = found.ok_or_else(|| no_signer(namespace, secret))?;
        let data = found.data.unwrap_or_default().into_iter();
        Ok(data.map(|(file, content)| (file, content.0)).collect())
    }

    pub(super) fn cluster_ip(&self, service: &str) -> Result<String, CliFailure> {
        let namespace = &self.cluster.namespace;
        let read = self.block_on(async |client| {
            let api: Api<Service> = Api::namespaced(client, namespace);
            let spec = api.get(service).await?.spec.unwrap_or_default();
            spec.cluster_ip.context("it has no ClusterIP")
        });
        let what = || format!("the address of Service {namespace}/{service} cannot be read");
        read.map_err(|failure| failure.context(what()))
    }

    fn block_on<T, F: Future<Output = anyhow::Result<T>>>(
        &self,
        ask: impl FnOnce(Client) -> F,
    ) -> Result<T, CliFailure> {
        runtime()?.block_on(async {
            let client = self.cluster.connect().await.map_err(CliFailure::Call)?;
            let asked = tokio::time::timeout(PATIENCE, ask(client)).await;
            let asked = asked.context("the cluster does not answer");
            asked.and_then(|answer| answer).map_err(CliFailure::Work)
        })
    }
}

pub(super) fn no_signer(namespace: &str, secret: &str) -> CliFailure {
    CliFailure::work(format_args!(
        "there is no Secret {namespace}/{secret}, so the signer keeps no keys there: check that -n \
         names the namespace that Evenkeel runs in. Rotate certificates from files, for example \
         those of cert-manager, where they are issued (certs/README.md)"
    ))
}

fn read_directory(dir: &Path) -> Result<BTreeMap<String, Vec<u8>>, CliFailure> {
    let mut files = BTreeMap::new();
    for file in FILES {
        let path = dir.join(file);
        let content = std::fs::read(&path)
            .with_context(|| format!("cannot read {}", path.display()))
            .map_err(CliFailure::Call)?;
        files.insert(file.to_owned(), content);
    }
    Ok(files)
}
