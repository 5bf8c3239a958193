//! The few facts that rotation needs of an X.509 certificate, and the moments that one can state.

use core::net::IpAddr;

use crate::rotation_plan::Lifetime;
use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::error::CertificateError;
use super::subject_alt_names::Names;

pub(crate) struct Facts {
    pub life: Lifetime,
    pub names: Names,
    pub is_authority: bool,
    pub public_key: Vec<u8>,
}

/// Reads a certificate; the error says what is wrong with it.
pub(crate) fn facts(certificate: &CertificateDer<'_>) -> Result<Facts, String> {
    let (_, certificate) =
        X509Certificate::from_der(certificate).map_err(|error| error.to_string())?;
    let moment = |seconds: i64| Timestamp::from_second(seconds).map_err(|error| error.to_string());
    let validity = certificate.validity();
    Ok(Facts {
        life: Lifetime {
            not_before: moment(validity.not_before.timestamp())?,
            not_after: moment(validity.not_after.timestamp())?,
        },
        names: names(&certificate)?,
        is_authority: certificate.is_ca(),
        public_key: certificate.public_key().subject_public_key.data.to_vec(),
    })
}

fn names(certificate: &X509Certificate<'_>) -> Result<Names, String> {
    let alternatives = certificate
        .subject_alternative_name()
        .map_err(|error| error.to_string())?;
    let mut dns = Vec::new();
    let mut addresses = Vec::new();
    for name in alternatives.iter().flat_map(|all| &all.value.general_names) {
        match name {
            GeneralName::DNSName(name) => dns.push((*name).to_owned()),
            GeneralName::IPAddress(bytes) => addresses.push(address(bytes)?),
            _ => {}
        }
    }
    Names::new(dns, addresses).map_err(|error| error.to_string())
}

fn address(bytes: &[u8]) -> Result<IpAddr, String> {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Ok(v4.into());
    }
    <[u8; 16]>::try_from(bytes)
        .map(IpAddr::from)
        .map_err(|_| format!("an address of {} bytes", bytes.len()))
}

/// `moment` in the type that certificates are made with.
pub(crate) fn date(moment: Timestamp) -> Result<OffsetDateTime, CertificateError> {
    OffsetDateTime::from_unix_timestamp(moment.as_second())
        .map_err(|_| CertificateError::Time(moment))
}
