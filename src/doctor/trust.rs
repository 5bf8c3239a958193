//! Verification of a certificate as by a client with a bundle, by the serving library, and
//! certificate contents.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    /// Distinguished name of the subject.
    pub subject: String,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
    /// IP addresses among the subject's alternative names.
    pub addresses: Vec<IpAddr>,
}

/// The certificates in a PEM text.
///
/// # Errors
/// The text holds no certificate, or a broken one.
pub(super) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("not PEM: {error}"))?;
    if found.is_empty() {
        return Err("there is no certificate in it".to_owned());
    }
    Ok(found)
}

/// Reads the contents of a certificate.
///
/// # Errors
/// The certificate does not parse.
pub(super) fn facts(certificate: &CertificateDer<'_>) -> Result<Facts, String> {
    let (_, certificate) =
        X509Certificate::from_der(certificate).map_err(|error| error.to_string())?;
    let moment = |seconds| Timestamp::from_second(seconds).map_err(|error| error.to_string());
    let names = certificate
        .subject_alternative_name()
        .map_err(|error| error.to_string())?;
    let names = names.iter().flat_map(|names| &names.value.general_names);
    let addresses = names.filter_map(|name| match name {
        GeneralName::IPAddress(bytes) => address(bytes),
        _ => None,
    });
    Ok(Facts {
        subject: certificate.subject().to_string(),
        not_before: moment(certificate.validity().not_before.timestamp())?,
        not_after: moment(certificate.validity().not_after.timestamp())?,
        addresses: addresses.collect(),
    })
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from))
        .ok()
}

/// Verifies `chain` as a client does that trusts `authorities` and calls the server `name`.
///
/// # Errors
/// The reason why the client refuses it.
pub(super) fn verify(
    authorities: &[CertificateDer<'static>],
    chain: &[CertificateDer<'_>],
    name: &str,
    now: Timestamp,
) -> Result<(), String> {
    let (leaf, between) = chain.split_first().ok_or("there is no certificate")?;
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots
            .add(authority.clone())
            .map_err(|error| error.to_string())?;
    }
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| error.to_string())?;
    let name = ServerName::try_from(name.to_owned()).map_err(|error| error.to_string())?;
    let seconds = now.as_second().max(0).unsigned_abs();
    let at = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    verifier
        .verify_server_cert(leaf, between, &name, &[], at)
        .map(drop)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use evenkeel_certificates::bundle::Bundle;
    use evenkeel_certificates::rotation_plan::Validity;
    use evenkeel_certificates::subject_alt_names::Names;
    use jiff::{SignedDuration, Timestamp};

    use super::*;

    const DAY: SignedDuration = SignedDuration::from_hours(24);

    fn bundle(now: Timestamp) -> Bundle {
        let names = Names::default()
            .with_service("evenkeel", "evenkeel-system")
            .unwrap()
            .with_address([10, 0, 0, 7].into());
        Bundle::generate(now, &names, &Validity::default()).unwrap()
    }

    #[test]
    fn a_client_accepts_what_its_authority_signed_for_that_name_and_time() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let (ours, foreign) = (bundle(now), bundle(now));
        let chain = certificates(ours.server_certificate().as_bytes()).unwrap();
        let trusted = certificates(ours.ca_bundle().as_bytes()).unwrap();
        let other = certificates(foreign.ca_bundle().as_bytes()).unwrap();
        let name = "evenkeel.evenkeel-system.svc";
        for (authorities, name, at, accepted) in [
            (&trusted, name, now, true),
            (&trusted, "10.0.0.7", now, true),
            (&other, name, now, false),
            (&trusted, "evenkeel.elsewhere.svc", now, false),
            (&trusted, "10.0.0.8", now, false),
            (&trusted, name, now + DAY * 31, false),
        ] {
            let verdict = verify(authorities, &chain, name, at);
            assert_eq!(verdict.is_ok(), accepted, "{name} {at}: {verdict:?}");
        }
        assert!(verify(&trusted, &[], name, now).is_err());
    }

    #[test]
    fn facts_are_those_that_were_signed() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let bundle = bundle(now);
        let chain = certificates(bundle.server_certificate().as_bytes()).unwrap();
        let facts = facts(&chain[0]).unwrap();
        assert_eq!(facts.not_after, bundle.leaf().not_after());
        assert_eq!(facts.addresses, [IpAddr::from([10, 0, 0, 7])]);
        assert!(facts.subject.contains("evenkeel"), "{}", facts.subject);
    }

    #[test]
    fn what_is_no_certificate_is_named() {
        for text in ["", "no PEM", "-----BEGIN CERTIFICATE-----\n"] {
            assert!(certificates(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
