//! Rotation of Evenkeel's own certificates, decided from their lifetimes alone. An authority gets a
//! successor when a tenth of its life is left. The successor is published and signs nothing for
//! half of that time, so that clients learn of it. Then it signs the server's certificate; the old
//! authority stays published until its end. A requested [`KeyRotation`] goes the same way, faster,
//! and its old authorities leave at its end.

use jiff::{SignedDuration, Timestamp};

use super::key_rotation::{KeyRotation, SETTLE};

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// The time by which a certificate is valid before it is made, for clients with slow clocks.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_hours(1);

/// An authority is replaced over the last tenth of its life. In the first half of that time (half a
/// year, for ten years) its successor is published and not used, so that an operator can add it to
/// a kube-scheduler configuration file.
const RENEWAL_SHARE: i32 = 10;

/// The time in which a certificate is valid: from `not_before`, and before `not_after`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

impl Lifetime {
    /// The life of a certificate made at `now`: from a little earlier, `life` long, and never
    /// beyond `limit`. In whole seconds, as certificates are.
    pub fn starting(now: Timestamp, life: SignedDuration, limit: Timestamp) -> Self {
        let whole = |moment: Timestamp| {
            Timestamp::from_second(moment.as_second()).expect("the seconds are those of a moment")
        };
        let start = now.saturating_sub(CLOCK_SKEW).unwrap_or(Timestamp::MIN);
        let end = now.saturating_add(life).unwrap_or(Timestamp::MAX);
        Self {
            not_before: whole(start),
            not_after: whole(end.min(limit)),
        }
    }

    pub fn contains(&self, now: Timestamp) -> bool {
        (self.not_before..self.not_after).contains(&now)
    }

    /// The moment at which the certificate was made, and so published.
    pub fn published(&self) -> Timestamp {
        self.not_before
            .saturating_add(CLOCK_SKEW)
            .unwrap_or(Timestamp::MAX)
    }

    /// True where more than `margin` of it is left at `now`.
    fn outlasts(&self, now: Timestamp, margin: SignedDuration) -> bool {
        self.not_after
            .saturating_sub(margin)
            .is_ok_and(|due| due > now)
    }
}

/// Life times that go together: a leaf fits into the time in which only its signer is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    authority: SignedDuration,
    leaf: SignedDuration,
    rotate_before: SignedDuration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {accepted}")]
pub struct ValidityError {
    /// The configuration field that holds the life time.
    pub field: &'static str,
    pub accepted: &'static str,
}

impl Validity {
    /// Authorities that live for `authority`, and leaves that live for `leaf` and are replaced
    /// `rotate_before` their end.
    ///
    /// # Errors
    /// A leaf that is shorter than an hour or longer than a twentieth of the authority's life, or
    /// a `rotate_before` that is not between zero and the leaf's life.
    pub fn new(
        authority: SignedDuration,
        leaf: SignedDuration,
        rotate_before: SignedDuration,
    ) -> Result<Self, ValidityError> {
        let refused = |field, accepted| Err(ValidityError { field, accepted });
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

    pub const fn authority(&self) -> SignedDuration {
        self.authority
    }

    pub const fn leaf(&self) -> SignedDuration {
        self.leaf
    }

    /// Time between an authority's publication and its first signature of the server's certificate.
    pub fn overlap(&self) -> SignedDuration {
        self.renew_authority_before() / 2
    }

    /// Time before its end at which an authority gets a successor.
    fn renew_authority_before(&self) -> SignedDuration {
        self.authority / RENEWAL_SHARE
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

/// The change that is due to the authorities of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewal {
    /// Positions of the authorities that stay published: those that have not ended.
    pub kept: Vec<usize>,
    /// True where a new authority is added, because no other lasts much longer.
    pub successor: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RotationRules {
    pub validity: Validity,
    /// The rotation that an operator requested, from its beginning on.
    pub keys: Option<KeyRotation>,
}

impl From<Validity> for RotationRules {
    fn from(validity: Validity) -> Self {
        Self {
            validity,
            keys: None,
        }
    }
}

impl RotationRules {
    /// True where a rotation of keys takes `authority` out of use.
    pub fn goes(&self, authority: &Lifetime) -> bool {
        self.keys
            .is_some_and(|keys| keys.replaces(authority.published()))
    }

    /// True where a rotation of keys has come to the end of its overlap.
    fn over(&self, now: Timestamp) -> bool {
        self.keys.is_some_and(|keys| keys.ends <= now)
    }
}

/// The change that is due to `authorities` at `now`; `None` if none. `settled` is true for the
/// index of an authority that no client depends on.
pub fn renewal(
    now: Timestamp,
    authorities: &[Lifetime],
    rules: &RotationRules,
    settled: impl Fn(usize) -> bool,
) -> Option<Renewal> {
    let over = rules.over(now);
    let stays = |position: &usize| {
        let authority = &authorities[*position];
        let retired = over && rules.goes(authority) && settled(*position);
        authority.not_after > now && !retired
    };
    let kept: Vec<usize> = (0..authorities.len()).filter(stays).collect();
    let margin = rules.validity.renew_authority_before();
    let successor = !authorities
        .iter()
        .any(|authority| authority.outlasts(now, margin) && !rules.goes(authority));
    let changes = successor || kept.len() != authorities.len();
    changes.then_some(Renewal { kept, successor })
}

/// True where clients that followed the leaf before `leaf` have had time to take this one up.
pub fn is_settled(now: Timestamp, leaf: Lifetime) -> bool {
    leaf.published()
        .saturating_add(SETTLE)
        .is_ok_and(|settled| settled <= now)
}

/// Index of the authority that signs at `now`, of one or more, oldest first: the newest that has
/// been published long enough. Otherwise (the first of all, or after a missed renewal) the oldest
/// that outlives the next rotation, and else the newest.
pub fn signer(now: Timestamp, authorities: &[Lifetime], rules: &RotationRules) -> usize {
    let RotationRules { validity, keys } = rules;
    let known = |authority: &Lifetime| {
        let replaces = keys.filter(|keys| !keys.replaces(authority.published()));
        replaces.is_some_and(|keys| keys.signs <= now)
            || authority
                .published()
                .saturating_add(validity.overlap())
                .is_ok_and(|settled| settled <= now)
    };
    let lasts = |authority: &Lifetime| authority.outlasts(now, validity.rotate_before);
    authorities
        .iter()
        .rposition(|authority| known(authority) && lasts(authority))
        .or_else(|| authorities.iter().position(lasts))
        .unwrap_or(authorities.len().saturating_sub(1))
}

/// True if a leaf may stay at `now`: valid, and with more life left than the rotation wants, or as
/// much as a new one would have.
pub fn leaf_stays(now: Timestamp, leaf: Lifetime, signer: Lifetime, validity: &Validity) -> bool {
    let new = now.saturating_add(validity.leaf).unwrap_or(Timestamp::MAX);
    let gains = new.min(signer.not_after).as_second() > leaf.not_after.as_second();
    leaf.contains(now) && (leaf.outlasts(now, validity.rotate_before) || !gains)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(day: i32) -> Timestamp {
        Timestamp::UNIX_EPOCH + DAY * 20_000 + DAY * day
    }

    fn authority(made: i32) -> Lifetime {
        let life = Validity::default().authority();
        Lifetime::starting(day(made), life, Timestamp::MAX)
    }

    #[test]
    fn the_default_would_be_accepted() {
        let default = Validity::default();
        assert_eq!(
            Validity::new(default.authority, default.leaf, default.rotate_before),
            Ok(default)
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
        for (authority, leaf, rotate_before, field) in cases {
            let error =
                Validity::new(DAY * authority, DAY * leaf, DAY * rotate_before).unwrap_err();
            assert_eq!(error.field, field);
            assert!(error.to_string().starts_with(field), "{error}");
        }
    }

    #[test]
    fn an_authority_gets_a_successor_with_a_tenth_of_its_life_left_and_goes_at_its_end() {
        let validity = Validity::default();
        let both = [authority(0), authority(3285)];
        for (now, authorities, expected) in [
            (3284, &both[..1], None),
            (3285, &both[..1], Some((vec![0], true))),
            (3285, &both[..], None),
            (3649, &both[..], None),
            (3650, &both[..], Some((vec![1], false))),
            (9000, &both[..], Some((vec![], true))),
        ] {
            let due = renewal(day(now), authorities, &validity.into(), |_| true);
            let due = due.map(|Renewal { kept, successor }| (kept, successor));
            assert_eq!(due, expected, "day {now}");
        }
    }

    #[test]
    fn a_successor_signs_once_it_has_been_published_for_half_of_the_overlap() {
        let validity = Validity::default();
        let both = [authority(0), authority(3285)];
        for (now, position) in [(3285, 0), (3467, 0), (3468, 1), (3649, 1)] {
            assert_eq!(
                signer(day(now), &both, &validity.into()),
                position,
                "day {now}"
            );
        }
        // No client knew the successor in time, and the first ends before the next rotation.
        let late = [authority(0), authority(3645)];
        assert_eq!(signer(day(3646), &late, &validity.into()), 1);
        assert_eq!(signer(day(0), &both[..1], &validity.into()), 0);
        assert_eq!(signer(day(9000), &both, &validity.into()), 1);
    }

    #[test]
    fn a_leaf_goes_with_a_third_of_its_life_left_unless_a_new_one_would_not_last_longer() {
        let validity = Validity::default();
        let signer = authority(0);
        let leaf = |made| Lifetime::starting(day(made), validity.leaf(), signer.not_after);
        assert!(leaf_stays(day(19), leaf(0), signer, &validity));
        assert!(!leaf_stays(day(20), leaf(0), signer, &validity));
        assert!(!leaf_stays(day(31), leaf(0), signer, &validity));
        assert!(leaf_stays(day(3645), leaf(3630), signer, &validity));
    }

    const HOUR: SignedDuration = SignedDuration::from_hours(1);

    #[test]
    fn keys_that_are_rotated_go_at_the_end_of_the_overlap_and_not_before_nobody_needs_them() {
        let keys = KeyRotation::starting(day(100), day(0), HOUR * 24);
        let rules = RotationRules {
            validity: Validity::default(),
            keys: Some(keys),
        };
        let both = [authority(0), authority(100)];
        for (hours, authorities, settled, expected) in [
            (0, &both[..1], true, Some((vec![0], true))),
            (0, &both[..], true, None),
            (23, &both[..], true, None),
            (24, &both[..], false, None),
            (24, &both[..], true, Some((vec![1], false))),
            (24, &both[1..], true, None),
            // The signer was away all the time: a successor comes, and the old one waits for it.
            (48, &both[..1], false, Some((vec![0], true))),
        ] {
            let due = renewal(day(100) + HOUR * hours, authorities, &rules, |_| settled);
            let due = due.map(|Renewal { kept, successor }| (kept, successor));
            assert_eq!(due, expected, "{hours} h, {}", authorities.len());
        }
        for (hours, position) in [(0, 0), (11, 0), (12, 1), (24, 1)] {
            let now = day(100) + HOUR * hours;
            assert_eq!(signer(now, &both, &rules), position, "{hours} h");
        }
    }

    #[test]
    fn a_leaf_is_settled_once_all_have_had_time_to_take_it_up() {
        let leaf = Lifetime::starting(day(1), DAY * 30, Timestamp::MAX);
        assert!(!is_settled(day(1) + SETTLE / 2, leaf));
        assert!(is_settled(day(1) + SETTLE, leaf));
    }
}
