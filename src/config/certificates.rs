//! `certificates`: who makes the serving certificate, and who may call the extender.

use std::net::IpAddr;
use std::path::PathBuf;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::check::Checker;
use super::value::Text;
use crate::server::certificates::{CertificateError, Names, Validity};

/// `certificates` as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct CertificatesFile {
    mode: ModeFile,
    self_managed: SelfManagedFile,
    files: FilesFile,
    scheduler_ca: Option<Text>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ModeFile {
    #[default]
    SelfManaged,
    Files,
}

/// `certificates.selfManaged` as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct SelfManagedFile {
    secret_name: String,
    dns_names: Vec<String>,
    services: Vec<String>,
    ip_addresses: Vec<String>,
    ca_validity: Text,
    leaf_validity: Text,
    rotate_before: Text,
}

impl Default for SelfManagedFile {
    fn default() -> Self {
        Self {
            secret_name: "evenkeel-certificates".to_owned(),
            dns_names: Vec::new(),
            services: vec!["evenkeel".to_owned(), "evenkeel-extender".to_owned()],
            ip_addresses: Vec::new(),
            // Ten years: kube-scheduler's file on every control-plane node holds this CA.
            ca_validity: "87600h".into(),
            leaf_validity: "720h".into(),
            rotate_before: "240h".into(),
        }
    }
}

/// `certificates.files` as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct FilesFile {
    certificate: String,
    key: String,
    reload_interval: Text,
}

impl Default for FilesFile {
    fn default() -> Self {
        Self {
            certificate: "/etc/evenkeel/tls/tls.crt".to_owned(),
            key: "/etc/evenkeel/tls/tls.key".to_owned(),
            reload_interval: "10s".into(),
        }
    }
}

/// Who makes the serving certificate, and who may call the extender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificates {
    /// Where the serving certificate comes from.
    pub serving: Serving,
    /// The CA whose client certificates may call the extender, read from a file; without one, the
    /// self-managed CA, or anybody where the certificate comes from files.
    pub scheduler_ca: Option<PathBuf>,
}

/// Where the serving certificate comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Serving {
    /// Made and rotated here, and kept in a Secret.
    SelfManaged(SelfManaged),
    /// Given by someone else, such as cert-manager, in files.
    Files(CertificateFiles),
}

/// A certificate that Evenkeel makes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelfManaged {
    /// The Secret that keeps it.
    pub secret_name: String,
    /// Names in it besides those of the Services.
    pub dns_names: Vec<String>,
    /// Services whose names and cluster addresses stand in it.
    pub services: Vec<String>,
    /// Addresses in it besides those of the Services.
    pub ip_addresses: Vec<IpAddr>,
    /// How long a CA is valid.
    pub ca_validity: SignedDuration,
    /// How long a leaf is valid.
    pub leaf_validity: SignedDuration,
    /// How long before its end a leaf is replaced.
    pub rotate_before: SignedDuration,
}

/// A certificate that is given in files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate chain, PEM.
    pub certificate: PathBuf,
    /// The private key, PEM.
    pub key: PathBuf,
    /// How often the files are compared with what is served.
    pub reload_interval: SignedDuration,
}

impl CertificatesFile {
    pub(crate) fn check(&self, check: &mut Checker) -> Certificates {
        let Self {
            mode,
            self_managed,
            files,
            scheduler_ca,
        } = self;
        // Both are checked, so that a mistake shows before the mode is switched.
        let self_managed = self_managed.check(check);
        let files = files.check(check);
        Certificates {
            serving: match mode {
                ModeFile::SelfManaged => Serving::SelfManaged(self_managed),
                ModeFile::Files => Serving::Files(files),
            },
            scheduler_ca: scheduler_ca
                .as_ref()
                .map(|path| PathBuf::from(path.as_ref())),
        }
    }
}

impl SelfManagedFile {
    fn check(&self, check: &mut Checker) -> SelfManaged {
        let Self {
            secret_name,
            dns_names,
            services,
            ip_addresses,
            ca_validity,
            leaf_validity,
            rotate_before,
        } = self;
        let at = |field: &str| format!("certificates.selfManaged.{field}");
        if secret_name.is_empty() {
            check.refuse_value(&at("secretName"), secret_name, "the name of a Secret");
        }
        let addresses = ip_addresses.iter().enumerate().filter_map(|(index, text)| {
            let address = text.parse().ok();
            if address.is_none() {
                let path = at(&format!("ipAddresses[{index}]"));
                check.refuse_value(&path, text, "an IP address");
            }
            address
        });
        let checked = SelfManaged {
            secret_name: secret_name.clone(),
            dns_names: dns_names.clone(),
            services: services.clone(),
            ip_addresses: addresses.collect(),
            ca_validity: check.duration(&at("caValidity"), ca_validity),
            leaf_validity: check.duration(&at("leafValidity"), leaf_validity),
            rotate_before: check.duration(&at("rotateBefore"), rotate_before),
        };
        checked.check_together(check);
        checked
    }
}

impl SelfManaged {
    /// What the certificates themselves would refuse once they are made.
    fn check_together(&self, check: &mut Checker) {
        let Self {
            secret_name: _,
            dns_names,
            services,
            ip_addresses: _,
            ca_validity,
            leaf_validity,
            rotate_before,
        } = self;
        let at = |field: &str| format!("certificates.selfManaged.{field}");
        if let Err(error) = Names::new(dns_names.iter().cloned(), []) {
            check.refuse(&at("dnsNames"), error);
        }
        for service in services {
            if let Err(error) = Names::default().with_service(service, "namespace") {
                check.refuse(&at("services"), error);
            }
        }
        let written = [ca_validity, leaf_validity, rotate_before];
        // A zero stands for one that was refused already.
        if written.iter().all(|duration| duration.is_positive())
            && let Err(error) = Validity::new(*ca_validity, *leaf_validity, *rotate_before)
        {
            let field = match &error {
                CertificateError::Validity { field, .. } => *field,
                _ => "caValidity",
            };
            check.refuse(&at(field), error);
        }
    }
}

impl FilesFile {
    fn check(&self, check: &mut Checker) -> CertificateFiles {
        let Self {
            certificate,
            key,
            reload_interval,
        } = self;
        CertificateFiles {
            certificate: certificate.into(),
            key: key.into(),
            reload_interval: check.duration("certificates.files.reloadInterval", reload_interval),
        }
    }
}
