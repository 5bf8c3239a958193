//! The certificate authorities by which clients are known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evenkeel_units::words;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CertificateError, DistinguishedName, RootCertStore};

use super::TlsError;
use super::server_certificate::{certificates, common_name};

const WHAT: &str = "client authority";

/// The refusal of a known authority's certificate with another name than its clients'.
const OTHER_NAME: rustls::Error =
    rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure);

words! {
    /// The clients that an authority signs for.
    pub enum Authority {
        /// kube-scheduler, which calls the extender.
        Scheduler = "scheduler",
        /// The API server's front proxy, which passes on what others ask of an extension API.
        FrontProxy = "front-proxy",
    }
}

impl Authority {
    /// True if every client may call while the authority is not configured: by that the operator
    /// says that callers of the extender have no certificates. For the front proxy, no caller is
    /// then identified by headers.
    pub(super) const fn may_be_absent(self) -> bool {
        match self {
            Self::Scheduler => true,
            Self::FrontProxy => false,
        }
    }
}

#[derive(Debug, Clone)]
struct TrustedAuthority {
    verifier: Arc<dyn ClientCertVerifier>,
    /// The common names of their certificates; any where there are none.
    names: BTreeSet<String>,
}

/// The authorities that are configured, each with its root certificates.
#[derive(Debug, Clone, Default)]
pub struct ClientAuthorities(BTreeMap<Authority, TrustedAuthority>);

impl ClientAuthorities {
    /// Adds the root certificates in a PEM text as `authority`.
    ///
    /// # Errors
    /// The text holds no certificate, or one that cannot be a root.
    pub fn with_pem(self, authority: Authority, pem: &[u8]) -> Result<Self, TlsError> {
        self.with_names(authority, pem, BTreeSet::new())
    }

    /// The same for clients with one of the common names `names`, or for all without names.
    ///
    /// # Errors
    /// As [`Self::with_pem`].
    pub(crate) fn with_names(
        mut self,
        authority: Authority,
        pem: &[u8],
        names: BTreeSet<String>,
    ) -> Result<Self, TlsError> {
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
        self.0
            .insert(authority, TrustedAuthority { verifier, names });
        Ok(self)
    }

    /// These, and `others`, which take the places of those of the same kind.
    pub(super) fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// True where `authority` is configured.
    pub fn contains(&self, authority: Authority) -> bool {
        self.0.contains_key(&authority)
    }

    /// The subjects of all roots: the hint by which a client picks its certificate.
    pub(super) fn subjects(&self) -> Vec<DistinguishedName> {
        self.0
            .values()
            .flat_map(|known| known.verifier.root_hint_subjects().iter().cloned())
            .collect()
    }

    /// The authorities that signed `chain` (the client's own certificate first), at `now`, and that
    /// know its name as a client's.
    ///
    /// # Errors
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
        for (authority, TrustedAuthority { verifier, names }) in &self.0 {
            match verifier.verify_client_cert(own, intermediates, now) {
                Ok(_) if is_named(own, names) => {
                    signers.insert(*authority);
                }
                Ok(_) => refused = OTHER_NAME,
                Err(error) => refused = error,
            }
        }
        if signers.is_empty() {
            return Err(refused);
        }
        Ok(signers)
    }
}

/// True for a certificate with one of the common names, where there are any.
fn is_named(certificate: &CertificateDer<'_>, names: &BTreeSet<String>) -> bool {
    names.is_empty() || common_name(certificate).is_some_and(|name| names.contains(&name))
}

pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
