use std::collections::BTreeSet;

use crate::key_rotation::SETTLE;
use jiff::SignedDuration;

use super::*;
use crate::authority::SigningAuthority;

const HOUR: SignedDuration = SignedDuration::from_hours(1);
const MINUTE: SignedDuration = SignedDuration::from_mins(1);

fn start() -> Timestamp {
    "2026-03-01T12:00:00.4Z".parse().unwrap()
}

fn names() -> Names {
    Names::default().with_service("keel", "boats").unwrap()
}

fn first() -> SignerSecret {
    Bundle::generate(start(), &names(), &Validity::default())
        .unwrap()
        .into()
}

fn asked(mut kept: SignerSecret, request: &str) -> SignerSecret {
    kept.request = Some(request.parse().unwrap());
    kept
}

/// The Secret at `now`, after as many steps as are due.
fn at(now: Timestamp, mut kept: SignerSecret) -> SignerSecret {
    for _ in 0..4 {
        match kept.next(now, &names(), &Validity::default()).unwrap() {
            Some(next) => kept = next,
            None => return kept,
        }
    }
    panic!("{now}: it does not come to rest");
}

fn public_keys<'a>(
    authorities: impl IntoIterator<Item = &'a std::sync::Arc<SigningAuthority>>,
) -> BTreeSet<Vec<u8>> {
    let raw = |one: &std::sync::Arc<SigningAuthority>| one.key.public_key_raw().to_vec();
    authorities.into_iter().map(raw).collect()
}

/// The public keys of everything: authorities of both kinds, and the certificate.
fn all_keys(kept: &SignerSecret) -> BTreeSet<Vec<u8>> {
    let Bundle {
        authorities,
        leaf,
        scheduler,
    } = &kept.bundle;
    let mut keys = public_keys(authorities.iter().chain(scheduler));
    keys.insert(leaf.key.public_key_raw().to_vec());
    keys
}

/// Authorities, which of them signs, and those of the scheduler.
type Phase = (usize, usize, usize);

/// Which of the authorities, oldest first, signed the certificate, of how many.
fn phase(kept: &SignerSecret) -> Phase {
    let bundle = &kept.bundle;
    let signed = |one: &std::sync::Arc<SigningAuthority>| one.signed(&bundle.leaf);
    let position = bundle.authorities.iter().position(signed).unwrap();
    (bundle.authorities.len(), position, bundle.scheduler.len())
}

#[test]
fn a_rotation_changes_every_key_with_an_overlap() {
    let before = first();
    let begun = start() + HOUR;
    let mut kept = asked(before.clone(), "24h");
    let mut seen = Vec::new();
    for minutes in 0..26 * 60 {
        kept = at(begun + MINUTE * minutes, kept);
        let now = phase(&kept);
        if seen.last().is_none_or(|(_, last)| *last != now) {
            seen.push((minutes, now));
        }
    }
    assert_eq!(
        seen,
        [(0, (2, 0, 2)), (12 * 60, (2, 1, 2)), (24 * 60, (1, 0, 1))],
        "minute, (authorities, which of them signs, those of the scheduler)"
    );
    assert!(all_keys(&kept).is_disjoint(&all_keys(&before)));
    assert_eq!(all_keys(&before).len(), 3);
    assert_eq!((kept.rotation, kept.request), (None, None));
}

#[test]
fn a_rotation_in_the_second_of_the_installation_makes_new_keys_too() {
    let before = first();
    let kept = at(start(), asked(before.clone(), "1h"));
    assert_eq!(phase(&kept), (2, 0, 2));
    // The signer was away until after the end, and waits for its own last step all the same.
    let kept = at(start() + HOUR * 2, kept);
    assert_eq!(phase(&kept), (2, 1, 2));
    let kept = at(start() + HOUR * 2 + SETTLE, kept);
    assert_eq!(phase(&kept), (1, 0, 1));
    assert!(all_keys(&kept).is_disjoint(&all_keys(&before)));
}

/// The moments after `finished`, in seconds, at which the phase changed; ends in rest.
fn steps(finished: Timestamp, kept: SignerSecret) -> (Vec<(i64, Phase)>, SignerSecret) {
    let mut kept = asked(kept, "finish");
    let mut seen: Vec<(i64, Phase)> = Vec::new();
    for seconds in 0..600 {
        kept = at(finished + SignedDuration::from_secs(seconds), kept);
        let now = phase(&kept);
        if seen.last().is_none_or(|(_, last)| *last != now) {
            seen.push((seconds, now));
        }
    }
    (seen, kept)
}

#[test]
fn a_rotation_is_finished_early_but_not_before_everybody_has_followed() {
    let before = first();
    let begun = start() + HOUR;
    let rotating = at(begun, asked(before.clone(), "24h"));
    for (after, expected) in [
        // The authority is not known yet; then two minutes for the certificate. kube-scheduler's
        // old authority goes with the last step, and no sooner.
        (0, &[(0, (2, 0, 2)), (120, (2, 1, 2)), (240, (1, 0, 1))][..]),
        (60, &[(0, (2, 0, 2)), (60, (2, 1, 2)), (180, (1, 0, 1))]),
        (3600, &[(0, (2, 1, 2)), (120, (1, 0, 1))]),
        // It signs since long ago, or just now.
        (13 * 3600, &[(0, (1, 0, 1))]),
        (12 * 3600 + 30, &[(0, (2, 1, 2)), (90, (1, 0, 1))]),
    ] {
        let finished = begun + SignedDuration::from_secs(after);
        let middle = finished.min(begun + HOUR * 12);
        let kept = at(finished, at(middle, rotating.clone()));
        let told = asked(kept.clone(), "finish").asked(finished, &Validity::default());
        let (seen, kept) = steps(finished, kept);
        assert_eq!(seen, expected, "{after} s");
        assert!(all_keys(&kept).is_disjoint(&all_keys(&before)));
        assert!(kept.rotation.is_none());
        // The announced end is the real end, to the second.
        let (left, _) = *seen.last().unwrap();
        let end = told.unwrap().ends.max(finished);
        let left = finished + SignedDuration::from_secs(left);
        assert!(
            left.duration_since(end).abs() <= SignedDuration::from_secs(1),
            "{left} {end}"
        );
    }
}

#[test]
fn a_second_request_in_the_overlap_is_refused_and_moves_no_end() {
    let before = first();
    let kept = at(start() + HOUR, asked(before.clone(), "24h"));
    let (between, rotation) = (all_keys(&kept), kept.rotation);
    let again = asked(kept, "4368h");
    assert!(again.asks_too_early());
    let kept = at(start() + HOUR * 2, again);
    assert_eq!((kept.rotation, kept.request), (rotation, None));
    assert_eq!(all_keys(&kept), between);
    assert!(!kept.asks_too_early());
    let kept = at(start() + HOUR * 25 + MINUTE, kept);
    let kept = at(start() + HOUR * 26, kept);
    assert_eq!(phase(&kept), (1, 0, 1));
    assert!(all_keys(&kept).is_disjoint(&all_keys(&before)));
}

#[test]
fn nothing_to_finish_is_no_rotation() {
    let before = first();
    let kept = at(start() + HOUR, asked(before.clone(), "finish"));
    assert_eq!(all_keys(&kept), all_keys(&before));
    assert_eq!((kept.rotation, kept.request), (None, None));
}

#[test]
fn it_reads_back_with_its_rotation_and_its_request() {
    let kept = asked(at(start() + HOUR, asked(first(), "24h")), "finish");
    let written = kept.annotations().into_iter();
    let written: SignerSecretAnnotations = written
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect();
    assert_eq!(written.len(), 2);
    let (read, refused) = SignerSecret::decode(&kept.bundle.encode(), &written).unwrap();
    assert_eq!(refused, []);
    assert_eq!((read.rotation, read.request), (kept.rotation, kept.request));
    assert_eq!(all_keys(&read), all_keys(&kept));
}

#[test]
fn what_cannot_be_read_is_told_and_holds_up_nothing() {
    let kept = first();
    let nonsense = [(REQUEST, "now"), (ROTATION, "yesterday")];
    let nonsense = nonsense.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let (read, refused) = SignerSecret::decode(&kept.bundle.encode(), &nonsense.into()).unwrap();
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert_eq!((read.rotation, read.request), (None, None));
    let later = at(start() + HOUR * 24 * 21, read);
    assert_ne!(
        later.bundle.server_certificate(),
        kept.bundle.server_certificate(),
        "the certificate was renewed"
    );
}

mod upgrade {
    //! The Secret as 0.1.0 kept it before there was a signer.

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::Value;

    use super::*;

    const PREVIOUS: &str = include_str!("../../../../tests/fixtures/upgrade/secret-0.1.0.json");

    fn previous() -> Files {
        let secret: Value = serde_json::from_str(PREVIOUS).unwrap();
        let data = secret["data"].as_object().unwrap();
        data.iter()
            .map(|(file, text)| {
                let content = STANDARD.decode(text.as_str().unwrap()).unwrap();
                (file.clone(), content)
            })
            .collect()
    }

    #[test]
    fn the_secret_of_the_previous_version_is_the_signers_and_reads_back_byte_by_byte() {
        let (kept, refused) =
            SignerSecret::decode(&previous(), &SignerSecretAnnotations::new()).unwrap();
        assert_eq!(refused, []);
        // The previous version reads exactly these files: what is written here is read there.
        assert_eq!(kept.bundle.encode(), previous());
        let now = kept.bundle.leaf().life.not_before + HOUR * 2;
        let names = kept.bundle.leaf().names().clone();
        let next = kept.next(now, &names, &Validity::default()).unwrap();
        assert!(next.is_none(), "nothing is made anew by an upgrade");
    }

    #[test]
    fn amid_a_rotation_it_holds_the_files_that_the_previous_version_reads() {
        let (kept, _) = SignerSecret::decode(&previous(), &SignerSecretAnnotations::new()).unwrap();
        let now = kept.bundle.leaf().life.not_before + HOUR * 2;
        let kept = at(now, asked(kept, "24h"));
        let files: Vec<String> = kept.bundle.encode().into_keys().collect();
        assert_eq!(files, previous().into_keys().collect::<Vec<_>>());
        // The reader of the previous version is this one: it takes any number of authorities.
        let read = Bundle::decode(&kept.bundle.encode()).unwrap();
        assert_eq!(read.authorities().len(), 2);
    }
}
