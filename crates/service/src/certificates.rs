//! The service's certificates: made and rotated here, or read from files. A bundle holds what
//! Evenkeel makes: the server's certificate with its authorities, and the authorities of
//! kube-scheduler's client certificate. The [`Signer`], a process of its own, keeps it in a Secret
//! that no other process reads, rotates it, and writes the Secret that
//! replicas serve from and the caBundle. [`CertificateProvider`] follows that Secret, or files.

mod provider;
mod serving_secret;
mod settings;
pub mod signer;

pub use provider::CertificateProvider;
pub use settings::{FileSettings, SelfManagedSettings, ServingCertificateSource, Settings};
pub use signer::Signer;
