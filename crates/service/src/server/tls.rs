//! Certificates that the TLS listener shows and trusts, changed while it serves. The
//! [`CertificateStore`] holds one consistent set: the server's certificate with its key, and the
//! authorities of clients. It is swapped as a whole, from files ([`FileWatch`]) or by the
//! certificates' manager; open connections go on. The handshake never requires a client
//! certificate, because the API server needs none: each path names its authority ([`Authority`]).

mod authorities;
mod files;
mod peer;
mod server_certificate;
mod store;
mod verifier;

use std::path::PathBuf;

pub use authorities::{Authority, ClientAuthorities};
pub use files::{CertificateFiles, FileWatch, ServerFiles};
pub use peer::{ClientIdentity, Peer, PeerAuthorisationError};
pub use server_certificate::ServerCertificate;
pub use store::{CertificateStore, CertificateUpdate};

/// Certificates that could not be taken into use.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{} cannot be read", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// A text that should hold certificates or a key is not PEM.
    #[error("the {what} is not PEM")]
    Pem {
        what: &'static str,
        #[source]
        source: rustls::pki_types::pem::Error,
    },
    /// A text that should hold certificates holds none.
    #[error("the {what} holds no certificate")]
    Empty {
        /// Expected content.
        what: &'static str,
    },
    /// A certificate or a key that cannot be used, or the two do not belong together.
    #[error("the {what} cannot be used")]
    Unusable {
        what: &'static str,
        #[source]
        source: rustls::Error,
    },
    /// A certificate that does not parse.
    #[error("the {what} is damaged: {problem}")]
    Damaged {
        what: &'static str,
        /// Fault of the content.
        problem: String,
    },
    #[error("no server certificate is given")]
    NoServerCertificate,
}

impl TlsError {
    /// A short name for metrics and conditions.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Read { .. } => "FileUnreadable",
            Self::Pem { .. } => "InvalidPem",
            Self::Empty { .. } => "NoCertificate",
            Self::Unusable {
                source: rustls::Error::InconsistentKeys(_),
                ..
            } => "KeyMismatch",
            Self::Unusable { .. } => "UnusableCertificate",
            Self::Damaged { .. } => "DamagedCertificate",
            Self::NoServerCertificate => "NoServerCertificate",
        }
    }
}
