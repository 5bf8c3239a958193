//! Certificates in files from another program, such as the mounted Secret of cert-manager. The
//! kubelet swaps a symlink above a Secret's files, which a watch of the files does not see, so
//! their contents are read periodically. A pair from the middle of a swap does not fit together and
//! is ignored until the next look.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::MissedTickBehavior;

use super::{
    Authority, CertificateStore, CertificateUpdate, ClientAuthorities, ServerCertificate, TlsError,
};
use crate::server::Shutdown;
use crate::telemetry::RateLimited;
use evenkeel_clock as clock;

/// The files of the server's certificate, both PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFiles {
    /// The chain, the server's own certificate first.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The files to look at; what is not kept in files stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CertificateFiles {
    pub server: Option<ServerFiles>,
    /// The root certificates of each authority by which clients are known.
    pub authorities: BTreeMap<Authority, PathBuf>,
}

/// Reads certificate files and takes changes into use.
#[derive(Debug)]
pub struct FileWatch {
    files: CertificateFiles,
    interval: Duration,
    in_use: Option<Contents>,
    log: RateLimited<&'static str>,
}

/// A digest of all files' contents.
type Contents = [u8; 32];

impl FileWatch {
    /// Looks at `files` every `interval`.
    pub fn new(files: CertificateFiles, interval: Duration) -> Self {
        Self {
            files,
            interval,
            in_use: None,
            log: RateLimited::default(),
        }
    }

    /// Reads the files; `None` while they hold what the last successful call found.
    ///
    /// # Errors
    /// A file that cannot be read or does not hold what it should, alone or with the others.
    pub async fn load(&mut self) -> Result<Option<CertificateUpdate>, TlsError> {
        let CertificateFiles {
            server,
            authorities,
        } = &self.files;
        let mut digest = Sha256::new();
        let server = match server {
            None => None,
            Some(ServerFiles { certificate, key }) => Some((
                read(certificate, &mut digest).await?,
                read(key, &mut digest).await?,
            )),
        };
        let mut roots = Vec::new();
        for (authority, path) in authorities {
            roots.push((*authority, read(path, &mut digest).await?));
        }
        let contents = Contents::from(digest.finalize());
        if self.in_use == Some(contents) {
            return Ok(None);
        }
        let server = server
            .map(|(certificate, key)| ServerCertificate::from_pem(&certificate, &key))
            .transpose()?;
        let authorities = roots
            .iter()
            .try_fold(ClientAuthorities::default(), |all, (authority, pem)| {
                all.with_pem(*authority, pem)
            })?;
        self.in_use = Some(contents);
        Ok(Some(CertificateUpdate {
            server,
            authorities: (!roots.is_empty()).then_some(authorities),
        }))
    }

    /// Keeps `store` in step with the files until the service drains.
    pub async fn run(mut self, store: &CertificateStore, shutdown: Shutdown) {
        let mut ticks = tokio::time::interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.draining() => return,
                _ = ticks.tick() => self.look(store).await,
            }
        }
    }

    async fn look(&mut self, store: &CertificateStore) {
        match self.load().await {
            Ok(None) => {}
            Ok(Some(change)) => store.replace(change),
            Err(error) => {
                store.metrics().certificate_reload_failed(error.reason());
                if let Some(suppressed) = self.log.permit(error.reason(), clock::instant()) {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        suppressed,
                        "new certificate files cannot be used, and the old certificates stay"
                    );
                }
            }
        }
    }
}

async fn read(path: &Path, digest: &mut Sha256) -> Result<Vec<u8>, TlsError> {
    let contents = tokio::fs::read(path)
        .await
        .map_err(|source| TlsError::Read {
            path: path.to_owned(),
            source,
        })?;
    // With its length, so that text that moves from one file to the next is a change.
    digest.update(contents.len().to_le_bytes());
    digest.update(&contents);
    Ok(contents)
}
