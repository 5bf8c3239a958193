//! A certificate authority for one run, and kubeconfigs that trust it.

use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::Value;
use std::sync::Arc;

/// Name of the authority, and of the cluster in kubeconfigs.
const NAME: &str = "in-memory";
/// Certificates outlive every run.
const VALIDITY: SignedDuration = SignedDuration::from_hours(24 * 30);
/// Clocks of containers beside this process may lag.
const SKEW: SignedDuration = SignedDuration::from_hours(24);

/// Why there are no certificates.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthorityError {
    #[error("a certificate cannot be made: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("the server's certificate cannot be used: {0}")]
    Tls(#[from] rustls::Error),
}

/// The authority's certificate and the server's TLS settings.
#[derive(Debug)]
pub(crate) struct Authority {
    pub(crate) certificate_pem: String,
    pub(crate) tls: Arc<ServerConfig>,
}

impl Authority {
    /// A new authority and a server certificate for loopback.
    pub(crate) fn new(address: SocketAddr, now: Timestamp) -> Result<Self, AuthorityError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, NAME);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        valid(&mut params, now);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let names = vec![
            address.ip().to_string(),
            "localhost".to_owned(),
            "kubernetes".to_owned(),
        ];
        let mut params = CertificateParams::new(names)?;
        params
            .distinguished_name
            .push(DnType::CommonName, "kube-apiserver");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        valid(&mut params, now);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &authority)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut tls = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            certificate_pem: authority.pem(),
            tls: Arc::new(tls),
        })
    }
}

/// From the day before `now` on, because other clocks may lag.
fn valid(params: &mut CertificateParams, now: Timestamp) {
    let at = |time: Timestamp| {
        let date = time.to_zoned(TimeZone::UTC).date();
        let part = |number: i8| u8::try_from(number).unwrap_or(1);
        rcgen::date_time_ymd(date.year().into(), part(date.month()), part(date.day()))
    };
    params.not_before = at(now.saturating_add(-SKEW).unwrap_or(now));
    params.not_after = at(now.saturating_add(VALIDITY).unwrap_or(now));
}

/// As YAML. If the server needs no token the file has one all the same: without credentials kubectl
/// asks its user for a name and a password.
pub(crate) fn kubeconfig(url: &str, certificate_pem: Option<&str>, token: Option<&str>) -> String {
    let trust = certificate_pem.map_or_else(String::new, |pem| {
        format!("\n    certificate-authority-data: {}", STANDARD.encode(pem))
    });
    // JSON is YAML, whatever the token has.
    let token = Value::from(token.unwrap_or(NAME));
    format!(
        "apiVersion: v1
kind: Config
current-context: {NAME}
clusters:
- name: {NAME}
  cluster:
    server: {url}{trust}
contexts:
- name: {NAME}
  context:
    cluster: {NAME}
    user: kubernetes-admin
    namespace: default
users:
- name: kubernetes-admin
  user:
    token: {token}
"
    )
}
