//! Settings of the certificates, as the configuration gives them.

use std::path::PathBuf;
use std::time::Duration;

use evenkeel_certificates::rotation_plan::Validity;
use evenkeel_certificates::subject_alt_names::Names;

use crate::server::tls::ServerFiles;

/// Source of the serving certificate, and trust in callers of the extender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub serving: ServingCertificateSource,
    /// The file with the CA of clients that may call the extender; `None` for the self-managed CA.
    /// With a serving certificate from files, `None` only if the configuration lets every client
    /// call.
    pub scheduler_ca: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServingCertificateSource {
    /// Made and rotated by the signer, and read from a Secret.
    SelfManaged(SelfManagedSettings),
    /// Given by someone else, such as cert-manager, in files.
    Files(FileSettings),
}

/// A certificate that Evenkeel makes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelfManagedSettings {
    /// The signer's Secret, with the keys of the authorities.
    pub secret_name: String,
    pub serving_secret_name: String,
    /// Names and addresses in it besides those of the Services.
    pub names: Names,
    /// Services that have their names and cluster addresses in the certificate.
    pub services: Vec<String>,
    pub validity: Validity,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSettings {
    pub server: ServerFiles,
    /// Time between two looks at the files.
    pub reload_interval: Duration,
}
