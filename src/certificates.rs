//! The certificates that the service is served with: made and rotated here, or read from files.
//!
//! A [`Bundle`] holds everything that Evenkeel makes itself: the authorities that sign the server's
//! certificate, that certificate, and the authorities that sign kube-scheduler's client
//! certificate. The [`Signer`], a process of its own, keeps it in a Secret that nobody else reads
//! ([`Bundle::encode`], [`Bundle::decode`]), moves it on ([`Kept::next`]), and hands on what others
//! need: the Secret that replicas serve from, and the caBundle. [`CertificateProvider`] reads that
//! Secret, or files, and takes what has changed into use.

mod authority;
mod bundle;
mod error;
mod files;
mod kept;
mod leaf;
mod names;
mod parse;
mod pem;
mod provider;
mod rotation;
mod secret;
mod serving;
mod settings;
pub mod signer;

pub use authority::{ClientCertificate, SigningAuthority};
pub use bundle::Bundle;
pub use error::CertificateError;
pub use evenkeel_kubernetes::plan::rotation::Validity;
pub use files::{
    AUTHORITIES, AUTHORITY_KEYS, SCHEDULER_AUTHORITIES, SCHEDULER_AUTHORITY_KEYS,
    SERVER_CERTIFICATE, SERVER_KEY,
};
pub use kept::{Annotations, Kept};
pub use leaf::Leaf;
pub use names::Names;
pub use provider::CertificateProvider;
pub use rotation::next;
pub use settings::{FileSettings, SelfManagedSettings, Serving, Settings};
pub use signer::Signer;
