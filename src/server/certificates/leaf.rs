//! The server's own certificate, short-lived and replaced well before its end.

use jiff::Timestamp;
use rcgen::KeyPair;
use rustls::pki_types::CertificateDer;

use super::{Names, SigningAuthority, Validity};

/// The server's certificate with its key.
#[derive(Debug)]
pub struct Leaf {
    pub(super) certificate: CertificateDer<'static>,
    pub(super) key: KeyPair,
    pub(super) not_before: Timestamp,
    pub(super) not_after: Timestamp,
    pub(super) names: Names,
    /// The certificate of the authority that signed it.
    pub(super) signer: CertificateDer<'static>,
}

impl Leaf {
    /// The end of its life.
    pub const fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// What clients may call the server by.
    pub const fn names(&self) -> &Names {
        &self.names
    }

    /// Whether it is valid at `now`.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        (self.not_before..self.not_after).contains(&now)
    }

    /// Whether `authority` signed it.
    pub fn is_signed_by(&self, authority: &SigningAuthority) -> bool {
        self.signer == authority.certificate
    }

    /// Whether it can stay: signed by the authority in use, for just these names, and with more
    /// life left than the rotation wants, or as much as a new one would have.
    pub(super) fn can_stay(
        &self,
        now: Timestamp,
        names: &Names,
        signer: &SigningAuthority,
        validity: &Validity,
    ) -> bool {
        let ends_soon = self
            .not_after
            .saturating_sub(validity.rotate_before())
            .is_ok_and(|due| due <= now);
        let gains = signer.leaf_end(now, validity.leaf()).as_second() > self.not_after.as_second();
        self.is_valid(now)
            && self.names == *names
            && self.is_signed_by(signer)
            && !(ends_soon && gains)
    }
}
