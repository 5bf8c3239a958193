//! Asks for client certificates in the handshake and judges none of them. An unknown or expired
//! certificate must not keep a client from the paths that need none, so the handshake only proves
//! that the client holds the key; a path checks the signer. The chain is kept as long as the
//! connection, so a chain longer than any caller's is refused.

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

/// Certificates in a chain, and its bytes. kube-scheduler shows one of less than 1 KiB (2 KiB with
/// RSA), and perhaps two intermediates. With the bounds of connections, a peer's chains take at
/// most 4 MiB, and all chains 17 MiB.
const LONGEST_CHAIN: usize = 4;
const LARGEST_CHAIN: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct AnyClient {
    hints: Vec<DistinguishedName>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl AnyClient {
    /// Asks for certificates of authorities with the subjects `hints`.
    pub(super) fn new(hints: Vec<DistinguishedName>) -> Self {
        Self {
            hints,
            algorithms: ring::default_provider().signature_verification_algorithms,
        }
    }
}

impl ClientCertVerifier for AnyClient {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let size: usize = intermediates.iter().map(|one| one.len()).sum();
        if intermediates.len() >= LONGEST_CHAIN || own.len() + size > LARGEST_CHAIN {
            let error = CertificateError::ApplicationVerificationFailure;
            return Err(Error::InvalidCertificate(error));
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_longer_than_a_callers_is_refused() {
        let client = AnyClient::new(Vec::new());
        for (own, intermediates, accepted) in [
            (900, vec![], true),
            (2000, vec![2000; 3], true),
            (900, vec![900; 4], false),
            (LARGEST_CHAIN, vec![], true),
            (LARGEST_CHAIN, vec![1], false),
        ] {
            let certificate = |size| CertificateDer::from(vec![0; size]);
            let between: Vec<_> = intermediates.iter().copied().map(certificate).collect();
            let now = UnixTime::since_unix_epoch(std::time::Duration::ZERO);
            let judged = client.verify_client_cert(&certificate(own), &between, now);
            assert_eq!(judged.is_ok(), accepted, "{own} and {intermediates:?}");
        }
    }
}
