//! How long certificates live and when they are replaced.

use jiff::SignedDuration;

use super::CertificateError;

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// An authority is replaced over the last tenth of its life: in the first half of that its
/// successor is published and not used, so that a kube-scheduler whose configuration file names
/// the authorities can be given the new one (half a year, at ten years).
const RENEWAL_SHARE: i32 = 10;

/// Life times that go together: a leaf fits into the time in which only its signer is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    authority: SignedDuration,
    leaf: SignedDuration,
    rotate_before: SignedDuration,
}

impl Validity {
    /// Authorities that live for `authority`, and leaves that live for `leaf` and are replaced
    /// `rotate_before` their end.
    ///
    /// # Errors
    ///
    /// Where a leaf is shorter than an hour or longer than a twentieth of the authority's life,
    /// or `rotate_before` is not between zero and the leaf's life.
    pub fn new(
        authority: SignedDuration,
        leaf: SignedDuration,
        rotate_before: SignedDuration,
    ) -> Result<Self, CertificateError> {
        let refused = |field, accepted| Err(CertificateError::Validity { field, accepted });
        if leaf < SignedDuration::from_hours(1) {
            return refused("leafValidity", "at least an hour");
        }
        if leaf > authority / (2 * RENEWAL_SHARE) {
            return refused("leafValidity", "at most a twentieth of caValidity");
        }
        if rotate_before <= SignedDuration::ZERO || rotate_before >= leaf {
            return refused("rotateBefore", "more than zero and less than leafValidity");
        }
        Ok(Self {
            authority,
            leaf,
            rotate_before,
        })
    }

    /// How long an authority lives.
    pub const fn authority(&self) -> SignedDuration {
        self.authority
    }

    /// How long a leaf lives.
    pub const fn leaf(&self) -> SignedDuration {
        self.leaf
    }

    /// How long before its end a leaf is replaced.
    pub const fn rotate_before(&self) -> SignedDuration {
        self.rotate_before
    }

    /// How long before its end an authority gets a successor.
    pub fn renew_authority_before(&self) -> SignedDuration {
        self.authority / RENEWAL_SHARE
    }

    /// How long an authority is published before it signs the server's certificate.
    pub fn overlap(&self) -> SignedDuration {
        self.renew_authority_before() / 2
    }
}

impl Default for Validity {
    /// Ten years, thirty days, and a third of the leaf's life.
    fn default() -> Self {
        Self {
            authority: DAY * 3650,
            leaf: DAY * 30,
            rotate_before: DAY * 10,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_would_be_accepted() {
        let default = Validity::default();
        assert_eq!(
            Validity::new(default.authority, default.leaf, default.rotate_before).unwrap(),
            default
        );
        assert!(default.overlap() > default.leaf);
    }

    #[test]
    fn life_times_that_do_not_go_together_are_refused() {
        let cases = [
            (3650, 0, 1, "leafValidity"),
            (3650, 183, 10, "leafValidity"),
            (3650, 30, 30, "rotateBefore"),
            (3650, 30, 0, "rotateBefore"),
        ];
        for (authority, leaf, rotate_before, named) in cases {
            let error =
                Validity::new(DAY * authority, DAY * leaf, DAY * rotate_before).unwrap_err();
            assert!(error.to_string().starts_with(named), "{error}");
            assert_eq!(error.reason(), "InvalidValidity");
        }
    }
}
