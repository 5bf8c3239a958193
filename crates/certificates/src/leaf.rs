//! The server's own certificate, short-lived and replaced well before its end.

use crate::rotation_plan::Lifetime;
use jiff::Timestamp;
use rcgen::KeyPair;
use rustls::pki_types::CertificateDer;

use super::subject_alt_names::Names;

#[derive(Debug)]
pub struct Leaf {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) key: KeyPair,
    pub(crate) life: Lifetime,
    pub(crate) names: Names,
    pub(crate) signer: CertificateDer<'static>,
}

impl Leaf {
    pub const fn not_after(&self) -> Timestamp {
        self.life.not_after
    }

    /// Names by which clients may call the server.
    pub const fn names(&self) -> &Names {
        &self.names
    }
}
