//! Certificates of our own: kept in a Secret that all replicas read, rotated by the leader, and
//! trusted by the webhook configuration.
//!
//! Every replica looks at the Secret and takes what it holds into use. The leader creates it,
//! writes the next bundle when one is due, and keeps the caBundle in step. A damaged Secret is
//! left as it is, with what was in use before still in use: replacing it would break the trust of
//! every client.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{Secret, Service};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::writer::WriteQueue;
use crate::clock;
use crate::plan::{Operation, Purpose, Target, Write, ca_bundle};
use crate::server::certificates::{Bundle, CertificateError, Names, Validity, next};
use crate::server::tls::{
    Authority, CertificateStore, Change, ClientAuthorities, ServerCertificate, TlsError,
};

/// How often the Secret is looked at while there is nothing to serve with.
const FIRST: Duration = Duration::from_secs(1);

/// How often it is looked at afterwards: a rotation has weeks of overlap.
const LATER: Duration = Duration::from_secs(10);

/// The webhook configuration that trusts the certificates.
const WEBHOOK: &str = "evenkeel";

/// What the certificates are made with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the Secret and the Services are.
    pub namespace: String,
    /// The Secret.
    pub secret: String,
    /// Names and addresses in the server's certificate, besides those of the Services.
    pub names: Names,
    /// Services whose names and cluster addresses stand in it.
    pub services: Vec<String>,
    /// How long things last.
    pub validity: Validity,
    /// Whether clients are known by the Secret's own scheduler CA.
    pub own_scheduler_authority: bool,
}

/// Why the certificates are not as they should be.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("the API server: {0}")]
    Api(#[from] kube::Error),
    #[error("Secret {name}: {source}")]
    Damaged {
        name: String,
        source: CertificateError,
    },
    #[error("a certificate could not be made: {0}")]
    Make(#[from] CertificateError),
    #[error("the certificates of the Secret cannot be used: {0}")]
    Unusable(#[from] TlsError),
}

/// A bundle with the version of the Secret that held it.
struct Held {
    bundle: Bundle,
    resource_version: String,
}

/// Looks after the Secret.
pub struct SelfManaged {
    client: Client,
    settings: Settings,
    queue: WriteQueue,
    held: Option<Held>,
}

impl SelfManaged {
    /// A keeper of the Secret, which need not be there yet.
    #[must_use]
    pub const fn new(client: Client, settings: Settings, queue: WriteQueue) -> Self {
        Self {
            client,
            settings,
            queue,
            held: None,
        }
    }

    /// Waits until the Secret holds certificates, which the leader makes where there are none.
    pub async fn first(&mut self) -> Change {
        loop {
            match self.read().await {
                Ok(Some(change)) => return change,
                Ok(None) => self.create().await.unwrap_or_else(|error| report(&error)),
                Err(error) => report(&error),
            }
            tokio::time::sleep(FIRST).await;
        }
    }

    /// Keeps store, Secret and webhook configuration in step until cancelled.
    pub async fn run(mut self, store: Arc<CertificateStore>, cancel: CancellationToken) {
        let mut ticks = tokio::time::interval(LATER);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let looking = async {
            loop {
                ticks.tick().await;
                if let Err(error) = self.round(&store).await {
                    report(&error);
                }
            }
        };
        cancel.run_until_cancelled(looking).await;
    }

    async fn round(&mut self, store: &CertificateStore) -> Result<(), Error> {
        let before = self.held.as_ref().map(|held| held.resource_version.clone());
        match self.read().await? {
            Some(change) if self.version() != before.as_deref() => store.replace(change),
            Some(_) => {}
            None => return self.create().await,
        }
        self.rotate().await?;
        self.trust().await
    }

    fn version(&self) -> Option<&str> {
        self.held
            .as_ref()
            .map(|held| held.resource_version.as_str())
    }

    /// Reads the Secret; `None` when there is none.
    async fn read(&mut self) -> Result<Option<Change>, Error> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &self.settings.namespace);
        let Some(secret) = api.get_opt(&self.settings.secret).await? else {
            return Ok(None);
        };
        let files: BTreeMap<String, Vec<u8>> = secret
            .data
            .unwrap_or_default()
            .into_iter()
            .map(|(file, content)| (file, content.0))
            .collect();
        let bundle = Bundle::decode(&files).map_err(|source| Error::Damaged {
            name: self.settings.secret.clone(),
            source,
        })?;
        let change = self.change(&bundle)?;
        self.held = Some(Held {
            bundle,
            resource_version: secret.metadata.resource_version.unwrap_or_default(),
        });
        Ok(Some(change))
    }

    fn change(&self, bundle: &Bundle) -> Result<Change, Error> {
        let (certificate, key) = (bundle.server_certificate(), bundle.server_key());
        let authorities = self
            .settings
            .own_scheduler_authority
            .then(|| {
                let bundle = bundle.scheduler_ca_bundle();
                ClientAuthorities::default().with_pem(Authority::Scheduler, bundle.as_bytes())
            })
            .transpose()?;
        Ok(Change {
            server: Some(ServerCertificate::from_pem(
                certificate.as_bytes(),
                key.as_bytes(),
            )?),
            authorities,
        })
    }

    /// Plans the Secret: the bundle in use where one is, so that clients go on trusting it.
    async fn create(&mut self) -> Result<(), Error> {
        let bundle = if let Some(held) = self.held.take() {
            held.bundle
        } else {
            let names = self.names().await?;
            Bundle::generate(clock::now(), &names, &self.settings.validity)?
        };
        let mut body = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": self.settings.secret,
                "namespace": self.settings.namespace,
                "labels": { "app.kubernetes.io/name": "evenkeel" },
            },
            "type": "Opaque",
        });
        body["data"] = encoded(&bundle);
        self.queue.put(self.write(Operation::Create(body)));
        Ok(())
    }

    /// Plans the next bundle when one is due.
    async fn rotate(&self) -> Result<(), Error> {
        let Some(held) = &self.held else {
            return Ok(());
        };
        let names = self.names().await?;
        let now: Timestamp = clock::now();
        if let Some(bundle) = next(now, &held.bundle, &names, &self.settings.validity)? {
            info!(not_after = %bundle.leaf().not_after(), "the next certificates are due");
            self.queue.put(self.write(Operation::Merge(json!({
                "metadata": { "resourceVersion": held.resource_version },
                "data": encoded(&bundle),
            }))));
        }
        Ok(())
    }

    /// Plans the caBundle, where a webhook configuration is installed.
    async fn trust(&self) -> Result<(), Error> {
        let Some(held) = &self.held else {
            return Ok(());
        };
        let api: Api<MutatingWebhookConfiguration> = Api::all(self.client.clone());
        let Some(configuration) = api.get_opt(WEBHOOK).await? else {
            return Ok(());
        };
        let configuration = serde_json::to_value(configuration).unwrap_or_default();
        if let Some(write) = ca_bundle::plan(&configuration, &held.bundle.ca_bundle()) {
            self.queue.put(write);
        }
        Ok(())
    }

    /// The names that the certificate must carry, with the Services' addresses as they now are.
    async fn names(&self) -> Result<Names, Error> {
        let api: Api<Service> = Api::namespaced(self.client.clone(), &self.settings.namespace);
        let mut names = self.settings.names.clone();
        for service in &self.settings.services {
            names = names.with_service(service, &self.settings.namespace)?;
            let spec = api.get_opt(service).await?.and_then(|service| service.spec);
            for address in spec.and_then(|spec| spec.cluster_ips).unwrap_or_default() {
                // A headless Service has the address "None".
                if let Ok(address) = address.parse::<IpAddr>() {
                    names = names.with_address(address);
                }
            }
        }
        Ok(names)
    }

    fn write(&self, operation: Operation) -> Write {
        let Settings {
            namespace, secret, ..
        } = &self.settings;
        Write {
            purpose: Purpose::Certificates,
            target: Target::Secret(namespace.clone(), secret.clone()),
            operation,
        }
    }
}

fn encoded(bundle: &Bundle) -> Value {
    bundle
        .encode()
        .into_iter()
        .map(|(file, content)| (file, Value::from(STANDARD.encode(content))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn report(error: &Error) {
    warn!(%error, "the certificates could not be looked after");
}
