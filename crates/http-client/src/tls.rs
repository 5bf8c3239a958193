//! TLS settings: trusted servers, and the client's certificate.

use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt as _;

#[derive(Debug, Clone, Copy)]
pub enum TrustAnchors<'a> {
    System,
    /// Those in this PEM, and no others.
    Authorities(&'a [u8]),
}

/// A certificate chain and its private key, both PEM.
#[derive(Clone, Copy)]
pub struct Identity<'a> {
    pub chain: &'a [u8],
    pub key: &'a [u8],
}

/// Unusable certificates or keys.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the CA file holds no certificate")]
    NoAuthority,
    #[error("certificate: {0}")]
    Certificate(#[source] rustls::pki_types::pem::Error),
    #[error("private key: {0}")]
    Key(#[source] rustls::pki_types::pem::Error),
    /// The certificates are refused, or the system's store is unusable.
    #[error(transparent)]
    Refused(#[from] rustls::Error),
}

/// Trusts servers by `trust`, and shows `identity`.
///
/// # Errors
/// An unusable certificate or key, or a system without a certificate store.
pub fn config(
    trust: TrustAnchors<'_>,
    identity: Option<Identity<'_>>,
) -> Result<ClientConfig, TlsError> {
    let builder = match trust {
        TrustAnchors::System => builder().with_platform_verifier()?,
        TrustAnchors::Authorities(pem) => authorities(pem)?,
    };
    let Some(Identity { chain, key }) = identity else {
        return Ok(builder.with_no_client_auth());
    };
    let chain = CertificateDer::pem_slice_iter(chain)
        .collect::<Result<_, _>>()
        .map_err(TlsError::Certificate)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(TlsError::Key)?;
    Ok(builder.with_client_auth_cert(chain, key)?)
}

/// Trusts no server.
pub(crate) fn nobody() -> ClientConfig {
    builder()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth()
}

fn builder() -> ConfigBuilder<ClientConfig, WantsVerifier> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has the ciphers of TLS 1.2 and 1.3")
}

fn authorities(pem: &[u8]) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate.map_err(TlsError::Certificate)?)?;
    }
    if roots.is_empty() {
        return Err(TlsError::NoAuthority);
    }
    Ok(builder().with_root_certificates(roots))
}
