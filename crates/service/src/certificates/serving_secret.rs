//! The Secret that replicas serve from: the server's certificate with its key, and the public parts
//! of the authorities.

use std::sync::Arc;
use std::time::Duration;

use evenkeel_certificates::certificate_secret::Files;
use evenkeel_certificates::error::CertificateError;
use evenkeel_certificates::files::{SCHEDULER_AUTHORITIES, SERVER_CERTIFICATE, SERVER_KEY};
use evenkeel_certificates::secret::contents;
use evenkeel_clock as clock;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::server::tls::{
    Authority, CertificateStore, CertificateUpdate, ClientAuthorities, ServerCertificate, TlsError,
};
use crate::telemetry::RateLimited;

const FIRST: Duration = Duration::from_secs(1);

/// Pause between two looks afterwards. Every change of the served data waits longer than that.
const LATER: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("the API server: {0}")]
    Api(#[from] kube::Error),
    #[error("there is no Secret {0}, which evenkeel-signer creates")]
    Absent(String),
    #[error("Secret {name}: {source}")]
    Incomplete {
        name: String,
        source: CertificateError,
    },
    #[error("Secret {name} cannot be used: {source}")]
    Unusable { name: String, source: TlsError },
}

impl Error {
    const fn reason(&self) -> &'static str {
        match self {
            Self::Api(_) => "ApiServer",
            Self::Absent(_) => "SecretMissing",
            Self::Incomplete { source, .. } => source.reason(),
            Self::Unusable { source, .. } => source.reason(),
        }
    }

    const fn is_of_the_secret(&self) -> bool {
        match self {
            Self::Incomplete { .. } | Self::Unusable { .. } => true,
            Self::Api(_) | Self::Absent(_) => false,
        }
    }
}

pub(super) struct ServingSecret {
    secrets: Api<Secret>,
    name: String,
    own_scheduler_authority: bool,
    version: Option<String>,
    warned: RateLimited<&'static str>,
}

impl ServingSecret {
    /// A follower of the Secret `name`, which may not exist yet. With `own_scheduler_authority`,
    /// clients are authenticated by the scheduler's authorities in it.
    pub(super) fn new(
        client: Client,
        namespace: &str,
        name: String,
        own_scheduler_authority: bool,
    ) -> Self {
        Self {
            secrets: Api::namespaced(client, namespace),
            name,
            own_scheduler_authority,
            version: None,
            warned: RateLimited::default(),
        }
    }

    pub(super) async fn first(&mut self) -> CertificateUpdate {
        loop {
            match self.read().await {
                Ok((version, change)) => {
                    self.version = Some(version);
                    return change;
                }
                Err(error) => self.report(&error),
            }
            tokio::time::sleep(FIRST).await;
        }
    }

    pub(super) async fn run(mut self, store: Arc<CertificateStore>, cancel: CancellationToken) {
        let mut ticks = tokio::time::interval(LATER);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let looking = async {
            loop {
                ticks.tick().await;
                match self.read().await {
                    Ok((version, change)) => {
                        if self.version.as_ref() != Some(&version) {
                            store.replace(change);
                            self.version = Some(version);
                        }
                    }
                    Err(error) => {
                        if error.is_of_the_secret() {
                            store.metrics().certificate_reload_failed(error.reason());
                        }
                        self.report(&error);
                    }
                }
            }
        };
        cancel.run_until_cancelled(looking).await;
    }

    /// The Secret's version, and what it holds.
    async fn read(&self) -> Result<(String, CertificateUpdate), Error> {
        let name = || self.name.clone();
        let found = self.secrets.get_opt(&self.name).await?;
        let secret = found.ok_or_else(|| Error::Absent(name()))?;
        let files = files_of(secret.data);
        let change = self.change(&files)?;
        Ok((secret.metadata.resource_version.unwrap_or_default(), change))
    }

    fn change(&self, files: &Files) -> Result<CertificateUpdate, Error> {
        let name = || self.name.clone();
        let file = |file| {
            contents(files, file).map_err(|source| Error::Incomplete {
                name: name(),
                source,
            })
        };
        let unusable = |source| Error::Unusable {
            name: name(),
            source,
        };
        let server = ServerCertificate::from_pem(file(SERVER_CERTIFICATE)?, file(SERVER_KEY)?);
        let authorities = if self.own_scheduler_authority {
            let pem = file(SCHEDULER_AUTHORITIES)?;
            let known = ClientAuthorities::default().with_pem(Authority::Scheduler, pem);
            Some(known.map_err(unusable)?)
        } else {
            None
        };
        Ok(CertificateUpdate {
            server: Some(server.map_err(unusable)?),
            authorities,
        })
    }

    fn report(&self, error: &Error) {
        if let Some(suppressed) = self.warned.permit(error.reason(), clock::instant()) {
            warn!(%error, suppressed, "the certificates could not be read");
        }
    }
}

pub(super) fn files_of(
    data: Option<std::collections::BTreeMap<String, k8s_openapi::ByteString>>,
) -> Files {
    let data = data.unwrap_or_default().into_iter();
    data.map(|(file, content)| (file, content.0)).collect()
}
