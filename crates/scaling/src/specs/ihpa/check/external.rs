//! Validates the stability checks that ask an external endpoint.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evenkeel_api::ihpa::spec::{CheckService, ExternalChecker};
use jiff::SignedDuration;

use super::error::{IhpaError, IhpaSpecFault, at};
use crate::specs::ihpa::rules::{Endpoint, ExternalCheck};

/// The time for an answer, in seconds, and the most that it may be.
const ANSWER_WITHIN: i64 = 5;
const ANSWER_LONGEST: i64 = 10;

/// The longest name of a Service.
const NAME: usize = 63;

pub(super) fn check(path: &str, written: &ExternalChecker) -> Result<ExternalCheck, IhpaError> {
    let ExternalChecker {
        name,
        service,
        url,
        timeout_seconds,
        config,
    } = written;
    let endpoint = match (service, url) {
        (Some(service), None) => of_service(&format!("{path}.service"), service)?,
        (None, Some(url)) if url.starts_with("https://") || url.starts_with("http://") => {
            Endpoint::Url(url.clone())
        }
        (None, Some(url)) => {
            let problem =
                IhpaSpecFault::word(url, "an address that begins with https:// or http://");
            return at(format!("{path}.url"), Err(problem));
        }
        _ => return at(path, Err(IhpaSpecFault::Missing("either service or url"))),
    };
    let timeout =
        IhpaSpecFault::number(timeout_seconds.unwrap_or(ANSWER_WITHIN), 1, ANSWER_LONGEST);
    let timeout = at(format!("{path}.timeoutSeconds"), timeout)?;
    Ok(ExternalCheck {
        name: name.clone(),
        endpoint,
        timeout: SignedDuration::from_secs(timeout),
        config: config.clone(),
    })
}

fn of_service(path: &str, service: &CheckService) -> Result<Endpoint, IhpaError> {
    let CheckService {
        name,
        port,
        path: asked,
        ca_bundle,
    } = service;
    if !is_service_name(name) {
        let problem = IhpaSpecFault::word(name, "the name of a Service");
        return at(format!("{path}.name"), Err(problem));
    }
    let port = IhpaSpecFault::number(i64::from(*port), 1, 65_535);
    let port = at(format!("{path}.port"), port)?;
    let asked = asked.clone().unwrap_or_else(|| "/".to_owned());
    if !asked.starts_with('/') || asked.contains(char::is_whitespace) {
        let problem = IhpaSpecFault::word(&asked, "a path that begins with /");
        return at(format!("{path}.path"), Err(problem));
    }
    let ca = ca_bundle.as_deref().map(authorities).transpose();
    Ok(Endpoint::Service {
        name: name.clone(),
        port: u16::try_from(port).unwrap_or_default(),
        path: asked,
        ca: at(format!("{path}.caBundle"), ca)?,
    })
}

/// The PEM in a `caBundle`.
fn authorities(bundle: &str) -> Result<String, IhpaSpecFault> {
    let pem = STANDARD.decode(bundle.trim()).ok();
    let pem = pem.and_then(|pem| String::from_utf8(pem).ok());
    let pem = pem.filter(|pem| pem.contains("-----BEGIN CERTIFICATE-----"));
    pem.ok_or_else(|| IhpaSpecFault::word(bundle, "certificates in PEM, in base64"))
}

/// True for what can be the name of a Service: it becomes part of a path and of a host.
fn is_service_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    name.len() <= NAME
        && bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.last().copied().is_some_and(is_letter)
        && bytes.iter().all(|byte| is_letter(*byte) || *byte == b'-')
}
