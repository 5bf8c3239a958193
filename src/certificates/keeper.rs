//! The Secret with the certificates that Evenkeel makes itself: read by all replicas, rotated by
//! the leader, and trusted by the webhook configuration.
//!
//! Every replica looks at the Secret and takes what it holds into use. The leader creates it,
//! writes the next bundle when one is due, and keeps the caBundle in step. A damaged Secret is
//! left as it is, with what was in use before still in use: replacing it would break the trust of
//! every client.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Secret, Service};
use kube::core::DynamicObject;
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::bundle::Bundle;
use super::error::CertificateError;
use super::names::Names;
use super::rotation::next;
use super::settings::SelfManagedSettings;
use crate::controller::WriteQueue;
use crate::server::tls::{
    Authority, CertificateStore, Change, ClientAuthorities, ServerCertificate, TlsError,
};
use crate::telemetry::RateLimited;
use evenkeel_clock as clock;
use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::plan::{ca_bundle, certificate_secret};

/// Pause between two looks at the Secret while there is nothing to serve with.
const FIRST: Duration = Duration::from_secs(1);

/// Pause between two looks afterwards: a rotation has weeks of overlap.
const LATER: Duration = Duration::from_secs(10);

/// The webhook configuration that trusts the certificates.
const WEBHOOK: &str = "evenkeel";

/// A reason for which the certificates are not as they should be.
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

impl Error {
    const fn reason(&self) -> &'static str {
        match self {
            Self::Api(_) => "ApiServer",
            Self::Damaged { source, .. } | Self::Make(source) => source.reason(),
            Self::Unusable(source) => source.reason(),
        }
    }

    /// The fault of the Secret, where it is the Secret that is at fault.
    const fn unusable(&self) -> Option<&'static str> {
        match self {
            Self::Damaged { .. } | Self::Unusable(_) => Some(self.reason()),
            Self::Api(_) | Self::Make(_) => None,
        }
    }
}

/// A bundle with the version of the Secret that held it.
struct Held {
    bundle: Bundle,
    resource_version: String,
}

/// Looks after the Secret.
pub(super) struct SecretKeeper {
    client: Client,
    namespace: String,
    settings: SelfManagedSettings,
    own_scheduler_authority: bool,
    queue: WriteQueue,
    held: Option<Held>,
    warned: RateLimited<&'static str>,
}

impl SecretKeeper {
    /// A keeper of the Secret, which need not be there yet. With `own_scheduler_authority`, clients
    /// are known by the scheduler CA of the Secret.
    pub(super) fn new(
        client: Client,
        namespace: String,
        settings: SelfManagedSettings,
        own_scheduler_authority: bool,
        queue: WriteQueue,
    ) -> Self {
        Self {
            client,
            namespace,
            settings,
            own_scheduler_authority,
            queue,
            held: None,
            warned: RateLimited::default(),
        }
    }

    /// Waits until the Secret holds certificates, which the leader makes where there are none.
    pub(super) async fn first(&mut self) -> Change {
        loop {
            match self.read().await {
                Ok(Some(change)) => return change,
                Ok(None) => self
                    .create()
                    .await
                    .unwrap_or_else(|error| self.report(&error)),
                Err(error) => self.report(&error),
            }
            tokio::time::sleep(FIRST).await;
        }
    }

    /// Keeps store, Secret and webhook configuration in step until cancelled.
    pub(super) async fn run(mut self, store: Arc<CertificateStore>, cancel: CancellationToken) {
        let mut ticks = tokio::time::interval(LATER);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let looking = async {
            loop {
                ticks.tick().await;
                if let Err(error) = self.round(&store).await {
                    if let Some(reason) = error.unusable() {
                        store.metrics().certificate_reload_failed(reason);
                    }
                    self.report(&error);
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
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        let Some(secret) = api.get_opt(&self.settings.secret_name).await? else {
            return Ok(None);
        };
        let files: BTreeMap<String, Vec<u8>> = secret
            .data
            .unwrap_or_default()
            .into_iter()
            .map(|(file, content)| (file, content.0))
            .collect();
        let bundle = Bundle::decode(&files).map_err(|source| Error::Damaged {
            name: self.settings.secret_name.clone(),
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
    async fn create(&self) -> Result<(), Error> {
        let files = if let Some(held) = &self.held {
            held.bundle.encode()
        } else {
            let names = self.names().await?;
            Bundle::generate(clock::now(), &names, &self.settings.validity)?.encode()
        };
        let name = &self.settings.secret_name;
        self.queue
            .put(certificate_secret::create(&self.namespace, name, &files));
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
            self.queue.put(certificate_secret::replace(
                &self.namespace,
                &self.settings.secret_name,
                &held.resource_version,
                &bundle.encode(),
            ));
        }
        Ok(())
    }

    /// Plans the caBundle, where a webhook configuration is installed.
    async fn trust(&self) -> Result<(), Error> {
        let Some(held) = &self.held else {
            return Ok(());
        };
        // Read as it stands: its list is written back whole, also with fields of versions to come.
        let api: Api<DynamicObject> = Api::all_with(
            self.client.clone(),
            &Kind::MutatingWebhookConfiguration.api_resource(),
        );
        let Some(configuration) = api.get_opt(WEBHOOK).await? else {
            return Ok(());
        };
        let configuration = serde_json::to_value(configuration).map_err(kube::Error::SerdeError)?;
        if let Some(write) = ca_bundle::plan(&configuration, &held.bundle.ca_bundle()) {
            self.queue.put(write);
        }
        Ok(())
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

    fn report(&self, error: &Error) {
        if let Some(suppressed) = self.warned.permit(error.reason(), clock::instant()) {
            warn!(%error, suppressed, "the certificates could not be looked after");
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Method;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use evenkeel_kubernetes::plan::rotation::Validity;
    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;
    use crate::controller::fake_api::{FakeApi, Mood, eventually};
    use crate::controller::writer;
    use crate::controller::{Leadership, Metrics, WriteSwitch, Writer, Writes};
    use crate::{server, telemetry};

    const SECRET: &str = "/api/v1/namespaces/system/secrets/certificates";
    const CONFIGURATION: &str =
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/evenkeel";

    /// A replica's keeper, with its writer at work.
    fn keeper(api: &FakeApi, leads: bool) -> SecretKeeper {
        let day = SignedDuration::from_hours(24);
        let settings = SelfManagedSettings {
            secret_name: "certificates".to_owned(),
            names: Names::new(["localhost".to_owned()], []).unwrap(),
            services: vec!["evenkeel".to_owned()],
            validity: Validity::new(day * 3650, day * 90, day * 30).unwrap(),
        };
        let leadership = if leads {
            Leadership::leading()
        } else {
            Leadership::default()
        };
        let (writer, queue) = Writer::new(
            api.client(),
            writer::Settings::default(),
            leadership,
            WriteSwitch::new(Writes::Disabled),
            Metrics::default(),
        );
        tokio::spawn(writer.run(CancellationToken::new()));
        SecretKeeper::new(api.client(), "system".to_owned(), settings, true, queue)
    }

    async fn within_a_minute(keeper: &mut SecretKeeper) -> Option<Change> {
        tokio::time::timeout(Duration::from_secs(60), keeper.first())
            .await
            .ok()
    }

    #[tokio::test(start_paused = true)]
    async fn the_leader_makes_the_secret_and_a_follower_waits_for_it() {
        let api = FakeApi::default();
        let mut follower = keeper(&api, false);
        assert!(within_a_minute(&mut follower).await.is_none());
        assert_eq!(api.writes(), []);
        let mut leader = keeper(&api, true);
        let change = within_a_minute(&mut leader).await.unwrap();
        assert!(change.server.is_some());
        assert!(change.authorities.unwrap().contains(Authority::Scheduler));
        let made = (Method::POST, "/api/v1/namespaces/system/secrets".to_owned());
        assert_eq!(api.writes(), [made]);
        assert!(within_a_minute(&mut follower).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_damaged_secret_is_left_as_it_is() {
        let api = FakeApi::default();
        api.set(
            SECRET,
            json!({"metadata": {"name": "certificates"}, "data": {"tls.crt": "eA=="}}),
        );
        let before = api.get(SECRET);
        let mut leader = keeper(&api, true);
        assert!(within_a_minute(&mut leader).await.is_none());
        assert_eq!(api.writes(), []);
        assert_eq!(api.get(SECRET), before);
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_damaged_later_is_counted_and_changes_nothing() {
        let api = FakeApi::default();
        let mut leader = keeper(&api, true);
        let change = within_a_minute(&mut leader).await.unwrap();
        let metrics = server::Metrics::default();
        let mut registry = telemetry::registry();
        metrics.register(&mut registry);
        let store = Arc::new(CertificateStore::new(change, metrics).unwrap());
        let mut secret = api.get(SECRET).unwrap();
        secret["data"]["tls.crt"] = "eA==".into();
        api.set(SECRET, secret);
        let (before, cancel) = (api.writes().len(), CancellationToken::new());
        let running = tokio::spawn(leader.run(Arc::clone(&store), cancel.clone()));
        let counted = "evenkeel_tls_certificate_reload_failures_total{reason=\"FileDamaged\"}";
        eventually("it is counted", || {
            telemetry::encode(&registry).unwrap().contains(counted)
        })
        .await;
        cancel.cancel();
        running.await.unwrap();
        assert_eq!(store.current().generation, 0);
        assert_eq!(api.writes().len(), before);
    }

    #[tokio::test(start_paused = true)]
    async fn rounds_keep_the_trust_in_step_and_write_nothing_else() {
        let api = FakeApi::default();
        let mut leader = keeper(&api, true);
        let change = within_a_minute(&mut leader).await.unwrap();
        let store = CertificateStore::new(change, server::Metrics::default()).unwrap();
        let mut webhook = json!({"name": "pods.evenkeel.dev", "admissionReviewVersions": ["v1"],
                                 "sideEffects": "None", "ofVersionsToCome": {"kept": [1, {}]},
                                 "clientConfig": {"url": "https://localhost", "and": "here"}});
        let configuration =
            json!({"metadata": {"name": "evenkeel"}, "webhooks": [webhook.clone()]});
        api.set(CONFIGURATION, configuration);
        for _ in 0..3 {
            leader.round(&store).await.unwrap();
            tokio::time::sleep(LATER).await;
        }
        let bundle = leader.held.as_ref().unwrap().bundle.ca_bundle();
        webhook["clientConfig"]["caBundle"] = STANDARD.encode(bundle).into();
        assert_eq!(
            api.get(CONFIGURATION).unwrap()["webhooks"],
            json!([webhook])
        );
        assert_eq!(api.writes().len(), 2, "the Secret, and once the caBundle");
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_that_was_deleted_comes_back_with_what_clients_trust() {
        let api = FakeApi::default();
        let mut leader = keeper(&api, true);
        let change = within_a_minute(&mut leader).await.unwrap();
        let store = CertificateStore::new(change, server::Metrics::default()).unwrap();
        let data = api.get(SECRET).unwrap()["data"].clone();
        api.remove(SECRET);
        // The first attempt is refused by the API server.
        api.mood(Mood::RefusesWrites(500));
        leader.round(&store).await.unwrap();
        tokio::time::sleep(LATER).await;
        api.mood(Mood::Answers);
        leader.round(&store).await.unwrap();
        tokio::time::sleep(LATER).await;
        assert_eq!(api.get(SECRET).unwrap()["data"], data);
    }
}
