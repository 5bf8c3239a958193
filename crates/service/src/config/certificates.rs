//! `certificates`: the source of the serving certificate, and the callers of the extender.

use std::net::IpAddr;
use std::path::PathBuf;

use evenkeel_certificates::rotation_plan::Validity;
use evenkeel_certificates::subject_alt_names::Names;
use evenkeel_objects::yaml_values::YamlText;
use serde::{Deserialize, Serialize};

use super::check::Checker;
use super::section::section;
use crate::certificates::{FileSettings, SelfManagedSettings, ServingCertificateSource, Settings};
use crate::server::tls::ServerFiles;

section! {
    /// `certificates` as it is written.
    CertificatesSection {
        mode: CertificateMode = CertificateMode::default(),
        self_managed: SelfManagedSection = SelfManagedSection::default(),
        files: FilesSection = FilesSection::default(),
        scheduler_ca: Option<YamlText> = None,
        extender_callers: ExtenderCallers = ExtenderCallers::default(),
    }

    /// `certificates.selfManaged` as it is written.
    SelfManagedSection {
        secret_name: String = "evenkeel-certificates".to_owned(),
        serving_secret_name: String = "evenkeel-serving-certificate".to_owned(),
        dns_names: Vec<String> = Vec::new(),
        services: Vec<String> = vec!["evenkeel".to_owned(), "evenkeel-extender".to_owned()],
        ip_addresses: Vec<String> = Vec::new(),
        // Ten years: kube-scheduler's file on every control-plane node holds this CA.
        ca_validity: YamlText = "87600h".into(),
        leaf_validity: YamlText = "720h".into(),
        rotate_before: YamlText = "240h".into(),
    }

    /// `certificates.files` as it is written.
    FilesSection {
        certificate: String = "/etc/evenkeel/tls/tls.crt".to_owned(),
        key: String = "/etc/evenkeel/tls/tls.key".to_owned(),
        reload_interval: YamlText = "10s".into(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CertificateMode {
    #[default]
    SelfManaged,
    Files,
}

/// The clients that may call the extender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ExtenderCallers {
    /// Clients with a certificate of the scheduler authority.
    #[default]
    Authenticated,
    /// Every client that reaches the port; only with files, and only if the configuration says so.
    Anybody,
}

impl CertificatesSection {
    pub(super) fn check(&self, check: &mut Checker) -> Settings {
        let Self {
            mode,
            self_managed,
            files,
            scheduler_ca,
            extender_callers,
        } = self;
        let scheduler_ca = scheduler_ca.as_ref().map(YamlText::as_ref);
        let scheduler_ca = scheduler_ca.filter(|path: &&str| !path.is_empty());
        check_callers(*mode, scheduler_ca, *extender_callers, check);
        // Both are checked, so that a mistake shows before the mode is switched.
        let self_managed = self_managed.check(check);
        let files = files.check(check);
        Settings {
            serving: match mode {
                CertificateMode::SelfManaged => ServingCertificateSource::SelfManaged(self_managed),
                CertificateMode::Files => ServingCertificateSource::Files(files),
            },
            scheduler_ca: scheduler_ca.map(PathBuf::from),
        }
    }
}

/// Reports a configuration that opens the extender to every client without saying so, or says so
/// and contradicts it.
fn check_callers(
    mode: CertificateMode,
    scheduler_ca: Option<&str>,
    callers: ExtenderCallers,
    check: &mut Checker,
) {
    const CALLERS: &str = "certificates.extenderCallers";
    match (mode, scheduler_ca, callers) {
        (CertificateMode::Files, None, ExtenderCallers::Authenticated) => check.refuse_value(
            "certificates.mode",
            "files",
            "files with certificates.schedulerCa, the file of the CA that signs kube-scheduler's \
             client certificate, such as /etc/evenkeel/scheduler/ca.crt; or with \
             certificates.extenderCallers: anybody, which lets every client that reaches the port \
             call the extender",
        ),
        (CertificateMode::Files, Some(_), ExtenderCallers::Anybody) => check.refuse_value(
            CALLERS,
            "anybody",
            "authenticated, because certificates.schedulerCa is set",
        ),
        (CertificateMode::SelfManaged, _, ExtenderCallers::Anybody) => check.refuse_value(
            CALLERS,
            "anybody",
            "authenticated, or certificates.mode: files: self-managed certificates have an \
             authority for callers",
        ),
        (CertificateMode::Files, None, ExtenderCallers::Anybody)
        | (CertificateMode::Files, Some(_), ExtenderCallers::Authenticated)
        | (CertificateMode::SelfManaged, _, ExtenderCallers::Authenticated) => {}
    }
}

/// The path of a field of `certificates.selfManaged`.
fn own(field: &str) -> String {
    format!("certificates.selfManaged.{field}")
}

impl SelfManagedSection {
    fn check(&self, check: &mut Checker) -> SelfManagedSettings {
        let Self {
            secret_name,
            serving_secret_name,
            dns_names: _,
            services,
            ip_addresses: _,
            ca_validity: _,
            leaf_validity: _,
            rotate_before: _,
        } = self;
        if secret_name.is_empty() {
            check.refuse_value(&own("secretName"), secret_name, "the name of a Secret");
        }
        if serving_secret_name.is_empty() || serving_secret_name == secret_name {
            check.refuse_value(
                &own("servingSecretName"),
                serving_secret_name,
                "the name of a Secret other than secretName, which holds the authorities' keys",
            );
        }
        for service in services {
            if let Err(error) = Names::default().with_service(service, "namespace") {
                check.refuse(&own("services"), error);
            }
        }
        SelfManagedSettings {
            secret_name: secret_name.clone(),
            serving_secret_name: serving_secret_name.clone(),
            names: self.names(check),
            services: services.clone(),
            validity: self.validity(check),
        }
    }

    fn names(&self, check: &mut Checker) -> Names {
        let addresses: Vec<IpAddr> = self
            .ip_addresses
            .iter()
            .enumerate()
            .filter_map(|(index, text)| {
                let address = text.parse().ok();
                if address.is_none() {
                    let path = own(&format!("ipAddresses[{index}]"));
                    check.refuse_value(&path, text, "an IP address");
                }
                address
            })
            .collect();
        let names = Names::new(self.dns_names.iter().cloned(), addresses);
        check.take(&own("dnsNames"), names, Names::default())
    }

    fn validity(&self, check: &mut Checker) -> Validity {
        let authority = check.duration(&own("caValidity"), &self.ca_validity);
        let leaf = check.duration(&own("leafValidity"), &self.leaf_validity);
        let rotate_before = check.duration(&own("rotateBefore"), &self.rotate_before);
        let written = [authority, leaf, rotate_before];
        // A zero stands for one that was refused already.
        if !written.iter().all(jiff::SignedDuration::is_positive) {
            return Validity::default();
        }
        Validity::new(authority, leaf, rotate_before).unwrap_or_else(|error| {
            check.refuse(&own(error.field), error);
            Validity::default()
        })
    }
}

impl FilesSection {
    fn check(&self, check: &mut Checker) -> FileSettings {
        let Self {
            certificate,
            key,
            reload_interval,
        } = self;
        FileSettings {
            server: ServerFiles {
                certificate: certificate.into(),
                key: key.into(),
            },
            reload_interval: check.period("certificates.files.reloadInterval", reload_interval),
        }
    }
}
