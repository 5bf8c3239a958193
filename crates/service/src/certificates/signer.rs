//! The signer: a process of its own that makes all certificates, keeps the authorities' keys
//! unreadable for others, and publishes the rest. Its Secret is its only memory. Each round first
//! corrects the replicas' Secret and the caBundles of webhook and APIService, and only then
//! rotates, so that no step overtakes the one before. A damaged Secret is left as it is, because
//! replacing it would break every client's trust. A missing Secret was deleted by a user and its
//! keys never come back, so the signer makes all keys anew.

mod metrics;

use std::net::IpAddr;
use std::time::Duration;

use evenkeel_certificates::bundle::Bundle;
use evenkeel_certificates::error::CertificateError;
use evenkeel_certificates::key_rotation::KeyRotationError;
use evenkeel_certificates::signer_secret::SignerSecret;
use evenkeel_certificates::subject_alt_names::Names;
use evenkeel_certificates::{ca_bundle, certificate_secret};
use evenkeel_clock as clock;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::plan::ObjectChange;
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::core::DynamicObject;
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::serving_secret::files_of;
use super::settings::SelfManagedSettings;
use crate::controller::writer;
use crate::telemetry::RateLimited;

pub use metrics::SignerMetrics;

/// The name by which it is known to the API server.
pub const NAME: &str = "evenkeel-signer";

/// Pause after a round that changed something: the next looks whether it holds.
const MOVING: Duration = Duration::from_secs(1);

/// Pause after a round that found everything in place or failed: for at most this long, a reapplied
/// webhook lacks its caBundle.
const RESTING: Duration = Duration::from_secs(5);

/// Time that one round may take: it makes a handful of calls.
const PATIENCE: Duration = Duration::from_secs(30);

/// The webhook configuration that trusts the certificates.
const WEBHOOK: &str = "evenkeel";

/// A reason for which the certificates are not as they should be.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("the API server: {0}")]
    Api(#[from] kube::Error),
    #[error("the API server did not answer within 30 seconds")]
    TimedOut,
    #[error("Secret {name}: {source}")]
    Damaged {
        name: String,
        source: CertificateError,
    },
    #[error("a certificate could not be made: {0}")]
    Make(#[from] CertificateError),
    #[error("Secret {name}: {source}")]
    Request {
        name: String,
        source: KeyRotationError,
    },
    #[error(
        "Secret {name}: new keys are requested while a rotation is in progress, which continues as \
         planned: finish it first"
    )]
    Rotates { name: String },
}

impl Error {
    const fn reason(&self) -> &'static str {
        match self {
            Self::Api(_) => "ApiServer",
            Self::TimedOut => "TimedOut",
            Self::Damaged { source, .. } | Self::Make(source) => source.reason(),
            Self::Request { .. } => "InvalidAnnotation",
            Self::Rotates { .. } => "RotationGoesOn",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SignerRoundOutcome {
    /// Something was written.
    Moved,
    /// Everything was in place.
    Rested,
}

struct StoredSignerSecret {
    kept: SignerSecret,
    resource_version: String,
}

pub struct Signer {
    client: Client,
    namespace: String,
    settings: SelfManagedSettings,
    /// The APIServices that lead to Evenkeel.
    led: Vec<&'static str>,
    metrics: SignerMetrics,
    warned: RateLimited<&'static str>,
}

impl Signer {
    /// A signer with its Secrets, which may not exist yet, in `namespace`. It also updates the
    /// APIServices in `led` that lead to Evenkeel.
    pub fn new(
        client: Client,
        namespace: String,
        settings: SelfManagedSettings,
        led: Vec<&'static str>,
        metrics: SignerMetrics,
    ) -> Self {
        Self {
            client,
            namespace,
            settings,
            led,
            metrics,
            warned: RateLimited::default(),
        }
    }

    /// Keeps Secrets and webhook configuration in step until cancelled; calls `placed` whenever
    /// they are.
    pub async fn run(self, placed: impl Fn(), cancel: CancellationToken) {
        let working = async {
            loop {
                tokio::time::sleep(self.turn(&placed).await).await;
            }
        };
        cancel.run_until_cancelled(working).await;
    }

    /// Makes one round; gives the pause until the next.
    async fn turn(&self, placed: impl Fn()) -> Duration {
        let round = tokio::time::timeout(PATIENCE, self.round()).await;
        match round.unwrap_or(Err(Error::TimedOut)) {
            Ok(SignerRoundOutcome::Moved) => MOVING,
            Ok(SignerRoundOutcome::Rested) => {
                self.metrics.in_place(clock::now());
                placed();
                RESTING
            }
            // Another client has written meanwhile; the next round reads the change.
            Err(Error::Api(kube::Error::Api(status))) if status.code == 409 => MOVING,
            Err(error) => {
                self.report(&error);
                RESTING
            }
        }
    }

    async fn round(&self) -> Result<SignerRoundOutcome, Error> {
        let held = loop {
            match self.read().await? {
                Some(held) => break held,
                None => self.create().await?,
            }
        };
        let bundle = &held.kept.bundle;
        self.metrics.observe(&held.kept);
        // One that cannot be put right does not hold up the other.
        let served = self.put(self.serve(bundle).await).await;
        let trusted = self.put(self.trust(bundle).await).await;
        let led = self.lead_all(bundle).await;
        if served? || trusted? {
            return Ok(SignerRoundOutcome::Moved);
        }
        // An optional APIService stops no renewal.
        match led {
            Ok(true) => Ok(SignerRoundOutcome::Moved),
            Ok(false) => self.advance(&held).await,
            Err(error) => self.advance(&held).await.and(Err(error)),
        }
    }

    /// Reads the signer's Secret; `None` when there is none.
    async fn read(&self) -> Result<Option<StoredSignerSecret>, Error> {
        let name = &self.settings.secret_name;
        let Some(secret) = self.secrets().get_opt(name).await? else {
            return Ok(None);
        };
        let annotations = secret.metadata.annotations.unwrap_or_default();
        let read = SignerSecret::decode(&files_of(secret.data), &annotations);
        let (kept, refused) = read.map_err(|source| Error::Damaged {
            name: name.clone(),
            source,
        })?;
        for source in refused {
            let name = name.clone();
            self.report(&Error::Request { name, source });
        }
        Ok(Some(StoredSignerSecret {
            kept,
            resource_version: secret.metadata.resource_version.unwrap_or_default(),
        }))
    }

    /// Makes the signer's Secret with keys that never were before.
    async fn create(&self) -> Result<(), Error> {
        let names = self.names().await?;
        let bundle = Bundle::generate(clock::now(), &names, &self.settings.validity)?;
        let name = &self.settings.secret_name;
        let change = certificate_secret::create(&self.namespace, name, &bundle.encode());
        info!(secret = name, "new authorities are created");
        self.write(&change).await
    }

    /// The change that puts the caBundle right, where a webhook configuration is installed.
    async fn trust(&self, bundle: &Bundle) -> Result<Option<ObjectChange>, Error> {
        // Read as it stands: its list is written back whole, also with fields of versions to come.
        let api: Api<DynamicObject> = Api::all_with(
            self.client.clone(),
            &Kind::MutatingWebhookConfiguration.api_resource(),
        );
        let Some(configuration) = api.get_opt(WEBHOOK).await? else {
            return Ok(None);
        };
        let configuration = serde_json::to_value(configuration).map_err(kube::Error::SerdeError)?;
        Ok(ca_bundle::plan(&configuration, &bundle.ca_bundle()))
    }

    /// Corrects the caBundles of the APIServices; true if one was wrong. A failure holds up no
    /// other.
    async fn lead_all(&self, bundle: &Bundle) -> Result<bool, Error> {
        let (mut moved, mut failure) = (false, None);
        for name in &self.led {
            match self.put(self.lead(name, bundle).await).await {
                Ok(put) => moved |= put,
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            Some(error) if !moved => Err(error),
            _ => Ok(moved),
        }
    }

    /// The change that corrects the caBundle of Evenkeel's APIService, if it exists.
    async fn lead(&self, name: &str, bundle: &Bundle) -> Result<Option<ObjectChange>, Error> {
        let api: Api<APIService> = Api::all(self.client.clone());
        let found = api.get_opt(name).await?;
        let own = &self.namespace;
        let bundle = bundle.ca_bundle();
        Ok(found.and_then(|found| ca_bundle::plan_api_service(&found, own, &bundle)))
    }

    async fn serve(&self, bundle: &Bundle) -> Result<Option<ObjectChange>, Error> {
        let name = &self.settings.serving_secret_name;
        let found = self.secrets().get_opt(name).await?.map(|secret| {
            let version = secret.metadata.resource_version.unwrap_or_default();
            (version, files_of(secret.data))
        });
        let found = found
            .as_ref()
            .map(|(version, files)| (version.as_str(), files));
        Ok(certificate_secret::hold(
            &self.namespace,
            name,
            found,
            &bundle.serving_files(),
        ))
    }

    /// Writes what is due next: a request that was made, or a renewal.
    async fn advance(&self, held: &StoredSignerSecret) -> Result<SignerRoundOutcome, Error> {
        let names = self.names().await?;
        let validity = &self.settings.validity;
        let Some(next) = held.kept.next(clock::now(), &names, validity)? else {
            return Ok(SignerRoundOutcome::Rested);
        };
        if held.kept.asks_too_early() {
            let name = self.settings.secret_name.clone();
            self.report(&Error::Rotates { name });
        }
        let (bundle, rotation) = (&next.bundle, next.rotation.map(|it| it.to_string()));
        let authorities = bundle.authorities().len();
        info!(not_after = %bundle.leaf().not_after(), authorities, rotation, "the certificates enter their next step");
        let change = certificate_secret::replace(
            &self.namespace,
            &self.settings.secret_name,
            &held.resource_version,
            &bundle.encode(),
            &next.annotations(),
        );
        self.write(&change).await?;
        Ok(SignerRoundOutcome::Moved)
    }

    async fn put(&self, due: Result<Option<ObjectChange>, Error>) -> Result<bool, Error> {
        let Some(change) = due? else { return Ok(false) };
        self.write(&change).await?;
        Ok(true)
    }

    async fn write(&self, change: &ObjectChange) -> Result<(), Error> {
        let ObjectChange { target, operation } = change;
        Ok(writer::send(&self.client, target, operation).await?)
    }

    /// The names that the certificate must carry, with the Services' addresses as they now are.
    async fn names(&self) -> Result<Names, Error> {
        let api: Api<Service> = Api::namespaced(self.client.clone(), &self.namespace);
        let mut names = self.settings.names.clone();
        for service in &self.settings.services {
            names = names.with_service(service, &self.namespace)?;
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

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn report(&self, error: &Error) {
        self.metrics.failures(error.reason()).inc();
        if let Some(suppressed) = self.warned.permit(error.reason(), clock::instant()) {
            warn!(%error, suppressed, "the certificates could not be maintained");
        }
    }
}

#[cfg(test)]
mod tests;
