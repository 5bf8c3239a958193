//! The server's certificate chain with the key that belongs to it.

use std::sync::Arc;

use jiff::Timestamp;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::TlsError;

const CERTIFICATE: &str = "server certificate";

/// A certificate chain and its key, known to belong together.
#[derive(Debug, Clone)]
pub struct ServerCertificate {
    key: Arc<CertifiedKey>,
    not_after: Timestamp,
}

impl ServerCertificate {
    /// Reads a chain, the server's own certificate first, and its private key, both PEM.
    ///
    /// # Errors
    /// Either does not parse, or they do not belong together.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let chain = certificates(certificate, CERTIFICATE)?;
        let not_after = not_after(&chain[0], CERTIFICATE)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|source| TlsError::Pem {
            what: "server key",
            source,
        })?;
        let key =
            CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(|source| {
                TlsError::Unusable {
                    what: "server certificate with its key",
                    source,
                }
            })?;
        Ok(Self {
            key: Arc::new(key),
            not_after,
        })
    }

    /// The end of its life.
    pub const fn not_after(&self) -> Timestamp {
        self.not_after
    }

    pub(super) fn certified_key(&self) -> &CertifiedKey {
        &self.key
    }
}

/// The certificates in a PEM text, at least one.
pub(super) fn certificates(
    pem: &[u8],
    what: &'static str,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|source| TlsError::Pem { what, source })?;
    if found.is_empty() {
        return Err(TlsError::Empty { what });
    }
    Ok(found)
}

/// The common name of a certificate's subject; `None` where it has none or does not parse.
pub(super) fn common_name(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let name = certificate.subject().iter_common_name().next()?;
    name.as_str().ok().map(str::to_owned)
}

pub(super) fn not_after(
    certificate: &CertificateDer<'_>,
    what: &'static str,
) -> Result<Timestamp, TlsError> {
    let damaged = |problem: String| TlsError::Damaged { what, problem };
    let (_, certificate) =
        X509Certificate::from_der(certificate).map_err(|error| damaged(error.to_string()))?;
    Timestamp::from_second(certificate.validity().not_after.timestamp())
        .map_err(|error| damaged(error.to_string()))
}
