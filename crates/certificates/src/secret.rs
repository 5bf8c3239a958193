//! The bundle as the data of the signer's Secret: files of PEM blocks. The first three file names
//! are cert-manager's. A key file holds one key for each authority, in any order. A damaged Secret
//! is an error and is not replaced: clients would lose the authority that they trust.

use std::sync::Arc;

use rcgen::KeyPair;
use rustls::RootCertStore;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::ParsedCertificate;

use crate::certificate_secret::Files;

use super::authority::SigningAuthority;
use super::bundle::Bundle;
use super::error::CertificateError;
use super::files::{
    AUTHORITIES, AUTHORITY_KEYS, SCHEDULER_AUTHORITIES, SCHEDULER_AUTHORITY_KEYS,
    SERVER_CERTIFICATE, SERVER_KEY,
};
use super::leaf::Leaf;
use super::parse::facts;

impl Bundle {
    pub fn encode(&self) -> Files {
        let keys = |authorities: &[Arc<SigningAuthority>]| -> String {
            authorities.iter().map(|a| a.key.serialize_pem()).collect()
        };
        [
            (AUTHORITIES, self.ca_bundle()),
            (AUTHORITY_KEYS, keys(&self.authorities)),
            (SERVER_CERTIFICATE, self.server_certificate()),
            (SERVER_KEY, self.server_key()),
            (SCHEDULER_AUTHORITIES, self.scheduler_ca_bundle()),
            (SCHEDULER_AUTHORITY_KEYS, keys(&self.scheduler)),
        ]
        .into_iter()
        .map(|(file, pem)| (file.to_owned(), pem.into_bytes()))
        .collect()
    }

    /// Reads the data of the Secret.
    ///
    /// # Errors
    /// A file is missing or damaged, a key belongs to another certificate, or
    /// the server's certificate is signed by none of the authorities.
    pub fn decode(files: &Files) -> Result<Self, CertificateError> {
        let authorities = authorities(files, AUTHORITIES, AUTHORITY_KEYS)?;
        let leaf = leaf(files, &authorities)?;
        Ok(Self {
            authorities,
            leaf: Arc::new(leaf),
            scheduler: authorities_of_scheduler(files)?,
        })
    }
}

fn authorities_of_scheduler(files: &Files) -> Result<Vec<Arc<SigningAuthority>>, CertificateError> {
    authorities(files, SCHEDULER_AUTHORITIES, SCHEDULER_AUTHORITY_KEYS)
}

fn authorities(
    files: &Files,
    certificate_file: &'static str,
    key_file: &'static str,
) -> Result<Vec<Arc<SigningAuthority>>, CertificateError> {
    let mut keys = keys(files, key_file)?;
    let mut authorities = Vec::new();
    for certificate in certificates(files, certificate_file)? {
        let facts = facts(&certificate).map_err(|what| damaged(certificate_file, what))?;
        if !facts.is_authority {
            return Err(damaged(
                certificate_file,
                "a certificate in it is not an authority",
            ));
        }
        let position = keys
            .iter()
            .position(|key| key.public_key_raw() == facts.public_key)
            .ok_or(CertificateError::KeyMismatch {
                certificate: certificate_file,
                key: key_file,
            })?;
        authorities.push(Arc::new(SigningAuthority {
            certificate,
            key: keys.swap_remove(position),
            life: facts.life,
        }));
    }
    authorities.sort_by_key(|authority| authority.life.not_before);
    Ok(authorities)
}

fn leaf(files: &Files, authorities: &[Arc<SigningAuthority>]) -> Result<Leaf, CertificateError> {
    let certificate = certificates(files, SERVER_CERTIFICATE)?.swap_remove(0);
    let key = keys(files, SERVER_KEY)?.swap_remove(0);
    let facts = facts(&certificate).map_err(|what| damaged(SERVER_CERTIFICATE, what))?;
    if key.public_key_raw() != facts.public_key {
        return Err(CertificateError::KeyMismatch {
            certificate: SERVER_CERTIFICATE,
            key: SERVER_KEY,
        });
    }
    // Checked at its start, so that an expired certificate is found signed too: expiry is the
    // rotation's concern.
    let began = facts.life.not_before.as_second().max(0).unsigned_abs();
    let at = UnixTime::since_unix_epoch(std::time::Duration::from_secs(began));
    let signer = authorities
        .iter()
        .find(|authority| signed(&certificate, authority, at))
        .ok_or(CertificateError::Unsigned)?
        .certificate
        .clone();
    Ok(Leaf {
        certificate,
        key,
        life: facts.life,
        names: facts.names,
        signer,
    })
}

fn signed(leaf: &CertificateDer<'_>, authority: &SigningAuthority, at: UnixTime) -> bool {
    let Ok(leaf) = ParsedCertificate::try_from(leaf) else {
        return false;
    };
    let mut roots = RootCertStore::empty();
    let algorithms = rustls::crypto::ring::default_provider().signature_verification_algorithms;
    roots.add(authority.certificate.clone()).is_ok()
        && verify_server_cert_signed_by_trust_anchor(&leaf, &roots, &[], at, algorithms.all).is_ok()
}

fn certificates(
    files: &Files,
    file: &'static str,
) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let found = CertificateDer::pem_slice_iter(contents(files, file)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| damaged(file, error.to_string()))?;
    if found.is_empty() {
        return Err(damaged(file, "there is no certificate in it"));
    }
    Ok(found)
}

fn keys(files: &Files, file: &'static str) -> Result<Vec<KeyPair>, CertificateError> {
    let mut keys = Vec::new();
    for key in PrivatePkcs8KeyDer::pem_slice_iter(contents(files, file)?) {
        let key = key.map_err(|error| damaged(file, error.to_string()))?;
        keys.push(KeyPair::try_from(&key).map_err(|error| damaged(file, error.to_string()))?);
    }
    if keys.is_empty() {
        return Err(damaged(file, "there is no PKCS #8 private key in it"));
    }
    Ok(keys)
}

/// The contents of a file that the Secret must have.
///
/// # Errors
/// The file is missing.
pub fn contents<'a>(files: &'a Files, file: &'static str) -> Result<&'a [u8], CertificateError> {
    files
        .get(file)
        .map(Vec::as_slice)
        .ok_or(CertificateError::Missing { file })
}

fn damaged(file: &'static str, what: impl Into<String>) -> CertificateError {
    CertificateError::Damaged {
        file,
        what: what.into(),
    }
}

#[cfg(test)]
mod tests;
