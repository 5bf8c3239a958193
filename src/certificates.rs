//! The service's certificates: made and rotated here, or read from files. A [`Bundle`] holds what
//! Evenkeel makes: the server's certificate with its authorities, and the authorities of
//! kube-scheduler's client certificate. The [`Signer`], a process of its own, keeps it in a Secret
//! that no other process reads, rotates it ([`SignerSecret::next`]), and writes the Secret that
//! replicas serve from and the caBundle. [`CertificateProvider`] follows that Secret, or files.

mod authority;
mod bundle;
mod error;
mod files;
mod leaf;
mod parse;
mod pem;
mod provider;
mod rotation;
mod secret;
mod serving_secret;
mod settings;
pub mod signer;
mod signer_secret;
mod subject_alt_names;

pub use authority::{ClientCertificate, SigningAuthority};
pub use bundle::Bundle;
pub use error::CertificateError;
pub use evenkeel_kubernetes::plan::rotation::Validity;
pub use files::{
    AUTHORITIES, AUTHORITY_KEYS, SCHEDULER_AUTHORITIES, SCHEDULER_AUTHORITY_KEYS,
    SERVER_CERTIFICATE, SERVER_KEY,
};
pub use leaf::Leaf;
pub use provider::CertificateProvider;
pub use rotation::next;
pub use settings::{FileSettings, SelfManagedSettings, ServingCertificateSource, Settings};
pub use signer::Signer;
pub use signer_secret::{SignerSecret, SignerSecretAnnotations};
pub use subject_alt_names::Names;
