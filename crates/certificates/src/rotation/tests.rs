use std::collections::HashMap;

use jiff::SignedDuration;
use proptest::prelude::*;

use super::*;

const DAY: SignedDuration = SignedDuration::from_hours(24);

fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn names() -> Names {
    Names::default().with_service("keel", "boats").unwrap()
}

fn first() -> Bundle {
    Bundle::generate(start(), &names(), &Validity::default()).unwrap()
}

/// A service that checks its bundle now and then, and remembers when each authority was first
/// published.
struct Installation {
    bundle: Bundle,
    published: HashMap<Vec<u8>, Timestamp>,
    leaves: usize,
}

impl Installation {
    fn new() -> Self {
        let bundle = first();
        let published = HashMap::from([(bundle.authorities[0].certificate.to_vec(), start())]);
        Self {
            bundle,
            published,
            leaves: 1,
        }
    }

    fn look(&mut self, now: Timestamp) {
        let Some(next) = next(now, &self.bundle, &names(), &Validity::default().into()).unwrap()
        else {
            return;
        };
        self.leaves += usize::from(!Arc::ptr_eq(&next.leaf, &self.bundle.leaf));
        for authority in &next.authorities {
            let known = authority.certificate.to_vec();
            self.published.entry(known).or_insert(now);
        }
        self.bundle = next;
    }

    /// Time since the served certificate's authority was published; `None` for the first of all,
    /// which has no predecessor.
    fn signer_published_for(&self, now: Timestamp) -> Option<SignedDuration> {
        let signer = self.bundle.leaf.signer.to_vec();
        let since = self.published[&signer];
        (since != start()).then(|| now.duration_since(since))
    }

    fn check(&self, now: Timestamp) {
        let Bundle {
            authorities,
            leaf,
            scheduler,
        } = &self.bundle;
        assert!(leaf.life.contains(now), "{now}: the certificate is valid");
        let signer = authorities.iter().find(|a| a.signed(leaf));
        let signer = signer.expect("the signer is published");
        assert!(signer.life.contains(now), "{now}: its signer is valid");
        assert!(leaf.life.not_after <= signer.life.not_after, "{now}");
        assert!((1..=2).contains(&authorities.len()), "{now}");
        assert!(
            scheduler.iter().any(|a| a.life.contains(now)),
            "{now}: the scheduler can be known"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn for_25_years_the_certificate_is_valid_and_its_signer_long_known(
        // Looks are between a minute and nine days apart: less than the ten that a leaf has left.
        gaps in proptest::collection::vec(60_i64..9 * 86_400, 200),
    ) {
        let mut installation = Installation::new();
        let mut now = start();
        for gap in gaps.iter().cycle() {
            let end = now + SignedDuration::from_secs(*gap);
            // Just before the next look is when a certificate is oldest.
            installation.check(end);
            installation.look(end);
            installation.check(end);
            if let Some(known) = installation.signer_published_for(end) {
                prop_assert!(known >= Validity::default().overlap(), "{end}: {known}");
            }
            now = end;
            if now > start() + DAY * 25 * 365 {
                break;
            }
        }
        prop_assert!(installation.published.len() >= 3, "authorities were replaced");
        let least = 25 * 365 / 30;
        prop_assert!((least..2 * least).contains(&installation.leaves), "{}", installation.leaves);
    }
}

#[test]
fn a_bundle_is_stable_between_its_rotations() {
    let mut installation = Installation::new();
    for day in (0..9200).step_by(5) {
        let now = start() + DAY * day;
        installation.look(now);
        let again = next(
            now,
            &installation.bundle,
            &names(),
            &Validity::default().into(),
        )
        .unwrap();
        assert!(again.is_none(), "day {day}: a second look changes nothing");
    }
}

#[test]
fn a_leaf_is_replaced_with_a_third_of_its_life_left() {
    let bundle = first();
    let due = |day| {
        next(
            start() + DAY * day,
            &bundle,
            &names(),
            &Validity::default().into(),
        )
        .unwrap()
        .is_some()
    };
    assert!(!due(19));
    assert!(due(20));
}

#[test]
fn a_new_address_is_taken_up_at_once_by_the_same_authority() {
    let names = names().with_address([10, 96, 0, 9].into());
    let bundle = first();
    let next = next(start(), &bundle, &names, &Validity::default().into())
        .unwrap()
        .unwrap();
    assert_eq!(*next.leaf.names(), names);
    assert!(bundle.authorities[0].signed(&next.leaf));
    assert_eq!(next.ca_bundle(), bundle.ca_bundle());
}

#[test]
fn an_authority_is_replaced_in_three_phases() {
    let mut installation = Installation::new();
    let mut seen = Vec::new();
    for day in 0..3700 {
        installation.look(start() + DAY * day);
        let bundle = &installation.bundle;
        let signer = bundle
            .authorities
            .iter()
            .position(|a| a.signed(&bundle.leaf))
            .unwrap();
        let phase = (bundle.authorities.len(), signer);
        if seen.last().is_none_or(|(_, last)| *last != phase) {
            seen.push((day, phase));
        }
    }
    assert_eq!(
        seen,
        [
            (0, (1, 0)),
            (3285, (2, 0)),
            // 182.5 days later.
            (3468, (2, 1)),
            (3650, (1, 0)),
        ],
        "day, (published authorities, which of them signs)"
    );
}

#[test]
fn a_service_that_slept_comes_back_with_a_valid_certificate() {
    for days in [25, 40, 3290, 3500, 3640, 3649, 3700, 9000] {
        let mut installation = Installation::new();
        let now = start() + DAY * days;
        installation.look(now);
        installation.check(now);
        let again = next(
            now,
            &installation.bundle,
            &names(),
            &Validity::default().into(),
        )
        .unwrap();
        assert!(again.is_none(), "day {days}");
        for later in 0..400 {
            let now = now + DAY * later;
            installation.look(now);
            installation.check(now);
        }
    }
}

#[test]
fn the_scheduler_is_known_by_both_authorities_while_they_overlap() {
    let bundle = first();
    let renewal = start() + DAY * 3290;
    let next = next(renewal, &bundle, &names(), &Validity::default().into())
        .unwrap()
        .unwrap();
    assert_eq!(next.scheduler.len(), 2);
    assert!(
        next.scheduler_ca_bundle()
            .starts_with(&bundle.scheduler_ca_bundle())
    );
}
