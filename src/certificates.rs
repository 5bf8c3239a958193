//! The certificates that the service is served with: made and rotated here, or read from files.
//!
//! A [`Bundle`] holds everything that Evenkeel makes itself: the authorities that sign the server's
//! certificate, that certificate, and the authorities that sign kube-scheduler's client
//! certificate. It is kept in a Secret ([`Bundle::encode`], [`Bundle::decode`]) and moved on by
//! [`next`]; [`CertificateProvider`] reads the Secret or the files, plans the writes that are due,
//! and takes what has changed into use.

mod authority;
mod bundle;
mod error;
mod files;
mod keeper;
mod leaf;
mod names;
mod parse;
mod pem;
mod provider;
mod rotation;
mod secret;
mod settings;

pub use authority::{ClientCertificate, SigningAuthority};
pub use bundle::Bundle;
pub use error::CertificateError;
pub use evenkeel_kubernetes::plan::rotation::Validity;
pub use files::{
    AUTHORITIES, AUTHORITY_KEYS, SCHEDULER_AUTHORITIES, SCHEDULER_AUTHORITY_KEYS,
    SERVER_CERTIFICATE, SERVER_KEY,
};
pub use leaf::Leaf;
pub use names::Names;
pub use provider::CertificateProvider;
pub use rotation::next;
pub use settings::{FileSettings, SelfManagedSettings, Serving, Settings};
