use jiff::{SignedDuration, Timestamp};

use super::super::rotation::next;
use super::super::subject_alt_names::Names;
use super::*;
use crate::rotation_plan::Validity;

const DAY: SignedDuration = SignedDuration::from_hours(24);

fn now() -> Timestamp {
    "2026-03-01T12:00:00.5Z".parse().unwrap()
}

fn names() -> Names {
    Names::default()
        .with_service("keel", "boats")
        .unwrap()
        .with_address([10, 96, 0, 9].into())
        .with_address("fd00::9".parse().unwrap())
}

fn bundle() -> Bundle {
    Bundle::generate(now(), &names(), &Validity::default()).unwrap()
}

fn without(file: &str) -> Files {
    let mut files = bundle().encode();
    files.remove(file).unwrap();
    files
}

fn with(file: &str, contents: impl Into<Vec<u8>>) -> Files {
    let mut files = bundle().encode();
    files.insert(file.to_owned(), contents.into()).unwrap();
    files
}

#[test]
fn a_bundle_reads_back_as_it_was() {
    let written = bundle();
    let read = Bundle::decode(&written.encode()).unwrap();
    assert_eq!(read.encode(), written.encode());
    assert_eq!(*read.leaf().names(), names());
    assert_eq!(read.leaf().not_after(), written.leaf().not_after());
    assert!(read.authorities()[0].signed(read.leaf()));
    let due = next(now(), &read, &names(), &Validity::default().into()).unwrap();
    assert!(due.is_none(), "a bundle just made needs no rotation");
}

#[test]
fn two_authorities_read_back_with_their_keys_in_any_order() {
    let validity = Validity::default().into();
    let renewal = now() + DAY * 3300;
    let two = next(renewal, &bundle(), &names(), &validity)
        .unwrap()
        .unwrap();
    assert_eq!(two.authorities().len(), 2);
    let mut files = two.encode();
    let reversed: String = two
        .authorities
        .iter()
        .rev()
        .map(|authority| authority.key.serialize_pem())
        .collect();
    files.insert(AUTHORITY_KEYS.to_owned(), reversed.into_bytes());
    let read = Bundle::decode(&files).unwrap();
    assert_eq!(read.encode(), two.encode());
    assert!(read.authorities()[0].signed(read.leaf()));
}

#[test]
fn an_expired_certificate_is_read_and_not_called_damaged() {
    let read = Bundle::decode(&bundle().encode()).unwrap();
    assert!(!read.leaf().life.contains(now() + DAY * 31));
}

#[test]
fn every_missing_file_is_named() {
    for file in bundle().encode().into_keys() {
        let error = Bundle::decode(&without(&file)).unwrap_err();
        assert_eq!(error.reason(), "FileMissing");
        assert_eq!(error.to_string(), format!("{file} is missing"));
    }
}

#[test]
fn every_damaged_file_is_named() {
    let whole = bundle().encode();
    for (file, contents) in &whole {
        let half = contents[..contents.len() / 2].to_vec();
        let noise = b"-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n".to_vec();
        for broken in [half, noise, b"".to_vec()] {
            let error = Bundle::decode(&with(file, broken)).unwrap_err();
            assert_eq!(error.reason(), "FileDamaged", "{file}: {error}");
            assert!(error.to_string().starts_with(file.as_str()), "{error}");
        }
    }
}

#[test]
fn keys_and_signers_of_another_bundle_are_refused() {
    let other = bundle().encode();
    let cases = [
        (AUTHORITY_KEYS, "KeyMismatch"),
        (SERVER_KEY, "KeyMismatch"),
        (SCHEDULER_AUTHORITY_KEYS, "KeyMismatch"),
        (SERVER_CERTIFICATE, "KeyMismatch"),
    ];
    for (file, reason) in cases {
        let error = Bundle::decode(&with(file, other[file].clone())).unwrap_err();
        assert_eq!(error.reason(), reason, "{file}");
    }
    let mut files = bundle().encode();
    for file in [SERVER_CERTIFICATE, SERVER_KEY] {
        files.insert(file.to_owned(), other[file].clone());
    }
    assert_eq!(
        Bundle::decode(&files).unwrap_err().reason(),
        "UnknownSigner"
    );
}

#[test]
fn a_leaf_does_not_pass_for_an_authority() {
    let mut files = bundle().encode();
    files.insert(AUTHORITIES.to_owned(), files[SERVER_CERTIFICATE].clone());
    files.insert(AUTHORITY_KEYS.to_owned(), files[SERVER_KEY].clone());
    let error = Bundle::decode(&files).unwrap_err();
    assert!(error.to_string().contains("not an authority"), "{error}");
}

#[test]
fn nothing_secret_is_printed() {
    let printed = format!("{:?}", bundle());
    for line in bundle().server_key().lines().skip(1) {
        assert!(!printed.contains(line));
    }
    assert!(!printed.contains("PRIVATE KEY"));
}
