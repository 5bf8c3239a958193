//! The certificates that Evenkeel makes for itself, as pure functions of the time and of what
//! there is.
//!
//! A [`Bundle`] holds everything: the authorities that sign the server's certificate, that
//! certificate, and the authorities that sign kube-scheduler's client certificate. It is kept in
//! a Secret ([`Bundle::encode`], [`Bundle::decode`]) and moved on by [`next`], which never takes
//! an authority into use before its clients have had time to learn of it. Who reads and writes
//! the Secret, and when, is decided elsewhere.

mod authority;
mod bundle;
mod leaf;
mod names;
mod parse;
mod rotation;
mod secret;
mod validity;

pub use authority::{ClientCertificate, SigningAuthority};
pub use bundle::Bundle;
pub use leaf::Leaf;
pub use names::Names;
pub use rotation::next;
pub use secret::{
    AUTHORITIES, AUTHORITY_KEYS, SCHEDULER_AUTHORITIES, SCHEDULER_AUTHORITY_KEYS,
    SERVER_CERTIFICATE, SERVER_KEY,
};
pub use validity::Validity;

/// Why certificates could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A name that no certificate can carry.
    #[error("{0:?} is no DNS name that a certificate can carry")]
    Name(String),
    /// Life times that do not go together.
    #[error("{field}: {accepted}")]
    Validity {
        /// Which life time.
        field: &'static str,
        /// What is accepted.
        accepted: &'static str,
    },
    /// A moment that a certificate cannot state.
    #[error("{0} cannot stand in a certificate")]
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
        /// What is wrong with it.
        what: String,
    },
    /// A certificate and its key do not belong together.
    #[error("{certificate} and {key} do not belong together")]
    KeyMismatch {
        /// The file of the certificate.
        certificate: &'static str,
        /// The file of the key.
        key: &'static str,
    },
    /// The server certificate is signed by none of the authorities.
    #[error("{SERVER_CERTIFICATE} is signed by none of {AUTHORITIES}")]
    Unsigned,
}

impl CertificateError {
    /// A short name for metrics, conditions and Events.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Name(_) => "InvalidName",
            Self::Validity { .. } => "InvalidValidity",
            Self::Time(_) => "InvalidTime",
            Self::Generate(_) => "GenerateFailed",
            Self::Missing { .. } => "FileMissing",
            Self::Damaged { .. } => "FileDamaged",
            Self::KeyMismatch { .. } => "KeyMismatch",
            Self::Unsigned => "UnknownSigner",
        }
    }
}
