//! The certificate authorities by which clients are known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CertificateError, DistinguishedName, RootCertStore};

use super::TlsError;
use super::server_certificate::certificates;

const WHAT: &str = "client authority";

/// Whose clients an authority signs for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Authority {
    /// kube-scheduler, which calls the extender.
    Scheduler,
}

impl Authority {
    /// The name in refusals.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
        }
    }
}

/// The authorities that are configured, each with its root certificates.
#[derive(Debug, Clone, Default)]
pub struct ClientAuthorities(BTreeMap<Authority, Arc<dyn ClientCertVerifier>>);

impl ClientAuthorities {
    /// Adds the root certificates in a PEM text as `authority`.
    ///
    /// # Errors
    ///
    /// The text holds no certificate, or one that cannot be a root.
    pub fn with_pem(mut self, authority: Authority, pem: &[u8]) -> Result<Self, TlsError> {
        let unusable = |source| TlsError::Unusable { what: WHAT, source };
        let mut roots = RootCertStore::empty();
        for root in certificates(pem, WHAT)? {
            roots.add(root).map_err(unusable)?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider())
            .build()
            .map_err(|error| TlsError::Damaged {
                what: WHAT,
                problem: error.to_string(),
            })?;
        self.0.insert(authority, verifier);
        Ok(self)
    }

    /// True where `authority` is configured.
    pub fn contains(&self, authority: Authority) -> bool {
        self.0.contains_key(&authority)
    }

    /// The subjects of all roots: the hint by which a client picks its certificate.
    pub(super) fn subjects(&self) -> Vec<DistinguishedName> {
        self.0
            .values()
            .flat_map(|verifier| verifier.root_hint_subjects().iter().cloned())
            .collect()
    }

    /// The authorities that signed `chain` (the client's own certificate first), at `now`.
    ///
    /// # Errors
    ///
    /// None did: the refusal of the last one that was asked.
    pub(super) fn signers(
        &self,
        chain: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<BTreeSet<Authority>, rustls::Error> {
        let unknown = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let Some((own, intermediates)) = chain.split_first() else {
            return Err(unknown);
        };
        let mut refused = unknown;
        let mut signers = BTreeSet::new();
        for (authority, verifier) in &self.0 {
            match verifier.verify_client_cert(own, intermediates, now) {
                Ok(_) => {
                    signers.insert(*authority);
                }
                Err(error) => refused = error,
            }
        }
        if signers.is_empty() {
            return Err(refused);
        }
        Ok(signers)
    }
}

pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
