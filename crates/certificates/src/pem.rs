//! Certificates as text.

use rustls::pki_types::CertificateDer;

pub(crate) fn certificate_pem(certificate: &CertificateDer<'_>) -> String {
    let mut encoded = String::from("-----BEGIN CERTIFICATE-----\n");
    let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, certificate);
    for line in text.as_bytes().chunks(64) {
        encoded.push_str(std::str::from_utf8(line).expect("base64 is ASCII"));
        encoded.push('\n');
    }
    encoded.push_str("-----END CERTIFICATE-----\n");
    encoded
}
