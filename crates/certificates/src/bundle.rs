//! Everything that is kept in the Secret.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::authority::{ClientCertificate, SigningAuthority};
use super::error::CertificateError;
use super::leaf::Leaf;
use super::pem::certificate_pem;
use super::subject_alt_names::Names;
use crate::certificate_secret::Files;
use crate::files::{AUTHORITIES, SCHEDULER_AUTHORITIES, SERVER_CERTIFICATE, SERVER_KEY};
use crate::rotation_plan::{RotationRules, Validity};

/// The user name in kube-scheduler's client certificate.
const SCHEDULER: &str = "system:kube-scheduler";

/// The authorities and certificates that Evenkeel manages. Never without an authority of either
/// kind; each list is oldest first.
#[derive(Debug, Clone)]
pub struct Bundle {
    pub(crate) authorities: Vec<Arc<SigningAuthority>>,
    pub(crate) leaf: Arc<Leaf>,
    pub(crate) scheduler: Vec<Arc<SigningAuthority>>,
}

impl Bundle {
    /// The data of the Secret that replicas serve from: no authority's key is among it.
    pub fn serving_files(&self) -> Files {
        [
            (AUTHORITIES, self.ca_bundle()),
            (SERVER_CERTIFICATE, self.server_certificate()),
            (SERVER_KEY, self.server_key()),
            (SCHEDULER_AUTHORITIES, self.scheduler_ca_bundle()),
        ]
        .into_iter()
        .map(|(file, pem)| (file.to_owned(), pem.into_bytes()))
        .collect()
    }

    /// The first bundle of an installation.
    ///
    /// # Errors
    /// A key or a certificate cannot be made.
    pub fn generate(
        now: Timestamp,
        names: &Names,
        validity: &Validity,
    ) -> Result<Self, CertificateError> {
        let authority = new_authority(now, validity)?;
        let leaf = authority.issue_server(names, now, validity.leaf())?;
        Ok(Self {
            authorities: vec![authority],
            leaf: Arc::new(leaf),
            scheduler: vec![new_scheduler_authority(now, validity)?],
        })
    }

    /// The authorities that clients must trust, oldest first.
    pub fn authorities(&self) -> &[Arc<SigningAuthority>] {
        &self.authorities
    }

    pub fn leaf(&self) -> &Leaf {
        &self.leaf
    }

    /// True where the certificate was issued by an authority that stays under `rules`.
    pub(crate) fn signed_anew(&self, rules: &RotationRules) -> bool {
        let mut authorities = self.authorities.iter();
        authorities.any(|one| one.signed(&self.leaf) && !rules.goes(&one.life))
    }

    /// The `caBundle` of the webhook configuration and `caData` of the extender: all current
    /// authorities, as PEM.
    pub fn ca_bundle(&self) -> String {
        pem(&self.authorities)
    }

    /// The authorities by which kube-scheduler is known, as PEM.
    pub fn scheduler_ca_bundle(&self) -> String {
        pem(&self.scheduler)
    }

    pub fn server_certificate(&self) -> String {
        certificate_pem(&self.leaf.certificate)
    }

    /// The server's private key as PEM, PKCS #8.
    pub fn server_key(&self) -> String {
        self.leaf.key.serialize_pem()
    }

    /// A client certificate for kube-scheduler, signed by the newest of its authorities, which
    /// the server accepts as soon as the bundle is loaded.
    ///
    /// # Errors
    /// The key or the certificate cannot be made.
    pub fn issue_scheduler_client(
        &self,
        now: Timestamp,
        life: SignedDuration,
    ) -> Result<ClientCertificate, CertificateError> {
        newest(&self.scheduler).issue_client(SCHEDULER, now, life)
    }
}

/// The last that was made.
pub(crate) fn newest(authorities: &[Arc<SigningAuthority>]) -> &SigningAuthority {
    authorities
        .last()
        .expect("a bundle is never without an authority")
}

fn pem(authorities: &[Arc<SigningAuthority>]) -> String {
    authorities
        .iter()
        .map(|authority| certificate_pem(&authority.certificate))
        .collect()
}

pub(crate) fn new_authority(
    now: Timestamp,
    validity: &Validity,
) -> Result<Arc<SigningAuthority>, CertificateError> {
    SigningAuthority::generate("Evenkeel CA", now, validity.authority()).map(Arc::new)
}

pub(crate) fn new_scheduler_authority(
    now: Timestamp,
    validity: &Validity,
) -> Result<Arc<SigningAuthority>, CertificateError> {
    SigningAuthority::generate("Evenkeel scheduler CA", now, validity.authority()).map(Arc::new)
}
