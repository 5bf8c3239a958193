//! Errors of making certificates and of reading what a Secret keeps of them.

use super::files::{AUTHORITIES, SERVER_CERTIFICATE};

#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("{0:?} is not a valid DNS name for a certificate")]
    Name(String),
    /// A moment that a certificate cannot state.
    #[error("{0} cannot be in a certificate")]
    Time(jiff::Timestamp),
    /// A key or a certificate could not be made.
    #[error("a certificate could not be made")]
    Generate(#[from] rcgen::Error),
    /// The Secret lacks a file.
    #[error("{file} is missing")]
    Missing {
        /// The file's name in the Secret.
        file: &'static str,
    },
    /// A file of the Secret is not what it should be.
    #[error("{file} is damaged: {what}")]
    Damaged {
        /// The file's name in the Secret.
        file: &'static str,
        /// Fault of the content.
        what: String,
    },
    /// A certificate and its key do not belong together.
    #[error("{certificate} and {key} do not belong together")]
    KeyMismatch {
        certificate: &'static str,
        key: &'static str,
    },
    /// The server certificate is signed by none of the authorities.
    #[error("{SERVER_CERTIFICATE} is not signed by any of {AUTHORITIES}")]
    Unsigned,
}

impl CertificateError {
    /// A short name for metrics, conditions and Events.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Name(_) => "InvalidName",
            Self::Time(_) => "InvalidTime",
            Self::Generate(_) => "GenerateFailed",
            Self::Missing { .. } => "FileMissing",
            Self::Damaged { .. } => "FileDamaged",
            Self::KeyMismatch { .. } => "KeyMismatch",
            Self::Unsigned => "UnknownSigner",
        }
    }
}
