//! The certificates in use: from the Secret that the signer fills, from files, or from both.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio_util::sync::CancellationToken;

use super::serving_secret::ServingSecret;
use super::settings::{ServingCertificateSource, Settings};
use crate::server::Shutdown;
use crate::server::tls::{
    Authority, CertificateFiles, CertificateStore, CertificateUpdate, FileWatch, TlsError,
};

/// Time between two looks at a file with the scheduler's CA.
const FILE_INTERVAL: Duration = Duration::from_secs(10);

/// Brings the first certificates, and keeps them in step from then on.
pub struct CertificateProvider {
    secret: Option<ServingSecret>,
    files: Option<FileWatch>,
}

impl CertificateProvider {
    /// A provider by `settings`; a Secret is one of `namespace`.
    pub fn new(settings: &Settings, namespace: &str, client: &Client) -> Self {
        let Settings {
            serving,
            scheduler_ca,
        } = settings;
        let authority = |file: &PathBuf| (Authority::Scheduler, file.clone());
        let authorities = scheduler_ca.iter().map(authority).collect();
        match serving {
            ServingCertificateSource::SelfManaged(own) => {
                let by_secret = scheduler_ca.is_none();
                let files = CertificateFiles {
                    server: None,
                    authorities,
                };
                Self {
                    secret: Some(ServingSecret::new(
                        client.clone(),
                        namespace,
                        own.serving_secret_name.clone(),
                        by_secret,
                    )),
                    files: (!by_secret).then(|| FileWatch::new(files, FILE_INTERVAL)),
                }
            }
            ServingCertificateSource::Files(given) => {
                let files = CertificateFiles {
                    server: Some(given.server.clone()),
                    authorities,
                };
                Self {
                    secret: None,
                    files: Some(FileWatch::new(files, given.reload_interval)),
                }
            }
        }
    }

    /// Waits for the first certificates; files must be good at once.
    ///
    /// # Errors
    /// A file that cannot be read, or that does not hold what it should.
    pub async fn first(&mut self) -> Result<CertificateUpdate, TlsError> {
        let kept = match &mut self.secret {
            Some(secret) => secret.first().await,
            None => CertificateUpdate::default(),
        };
        let given = match &mut self.files {
            Some(watch) => watch.load().await?,
            None => None,
        };
        Ok(match given {
            Some(given) => CertificateUpdate {
                server: given.server.or(kept.server),
                authorities: given.authorities,
            },
            None => kept,
        })
    }

    /// Takes changes into use until `cancel`, and those of files until the service has drained.
    pub async fn run(
        self,
        store: Arc<CertificateStore>,
        cancel: CancellationToken,
        shutdown: Shutdown,
    ) {
        let secret = async {
            if let Some(secret) = self.secret {
                secret.run(Arc::clone(&store), cancel).await;
            }
        };
        let files = async {
            if let Some(watch) = self.files {
                watch.run(&store, shutdown).await;
            }
        };
        tokio::join!(secret, files);
    }
}
