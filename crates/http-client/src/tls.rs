//! TLS settings: the trusted servers, and the certificate that the client shows.

use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt as _;

/// The issuers of the server certificates that the client trusts.
#[derive(Debug, Clone, Copy)]
pub enum TrustAnchors<'a> {
    /// Those that the operating system trusts.
    System,
    /// Those of the authorities in this PEM, and no others.
    Authorities(&'a [u8]),
}

/// A client certificate with its chain, and its private key, both PEM.
#[derive(Clone, Copy)]
pub struct Identity<'a> {
    pub chain: &'a [u8],
    pub key: &'a [u8],
}

/// Certificates or keys with which no client can be made.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The PEM holds no certificate.
    #[error("the CA file holds no certificate")]
    NoAuthority,
    #[error("certificate: {0}")]
    Certificate(#[source] rustls::pki_types::pem::Error),
    #[error("private key: {0}")]
    Key(#[source] rustls::pki_types::pem::Error),
    /// The certificates are refused, or the system's store cannot be used.
    #[error(transparent)]
    Refused(#[from] rustls::Error),
}

/// TLS as a client that believes servers as `trust` says, and shows them `identity`.
///
/// # Errors
/// A certificate or key that cannot be used, or a system without a store of certificates.
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

/// Trust in no certificate at all.
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
