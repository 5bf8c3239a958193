//! The signer's Secret, damaged: what a hand, a restore of a backup or a bad disk makes of it is
//! refused with a reason, and what is read is written again as the same.
//!
//! The input is a list of edits to a Secret that the signer made, since no fuzzer finds a valid key,
//! and behind them the two annotations.

#![no_main]

use std::sync::OnceLock;

use evenkeel_certificates::bundle::Bundle;
use evenkeel_certificates::certificate_secret::Files;
use evenkeel_certificates::key_rotation::{REQUEST, ROTATION};
use evenkeel_certificates::rotation_plan::Validity;
use evenkeel_certificates::signer_secret::{SignerSecret, SignerSecretAnnotations};
use evenkeel_certificates::subject_alt_names::Names;
use jiff::{SignedDuration, Timestamp};
use libfuzzer_sys::fuzz_target;

/// The separator between the edits and the annotations.
const END: u8 = 0xff;

/// The most bytes that an edit repeats: about a certificate's.
const MOST_REPEATED: usize = 1024;

/// The Secret that the edits are made to.
fn made() -> &'static Files {
    static MADE: OnceLock<Files> = OnceLock::new();
    MADE.get_or_init(|| {
        let now = Timestamp::from_second(1_800_000_000).expect("a time in range");
        let names = Names::new(["evenkeel.evenkeel-system.svc".to_owned()], []).expect("a name");
        let days = |days: i64| SignedDuration::from_hours(24 * days);
        let validity = Validity::new(days(3650), days(30), days(10)).expect("lives in order");
        let bundle = Bundle::generate(now, &names, &validity).expect("keys are made");
        bundle.encode()
    })
}

/// Makes the edits of five bytes each: which file, how, where, and what.
fn edited(edits: &[u8]) -> Files {
    let mut files = made().clone();
    for edit in edits.chunks_exact(5) {
        let index = usize::from(edit[0]) % files.len();
        let content = files.values_mut().nth(index).expect("an index in range");
        let at = usize::from(u16::from_be_bytes([edit[2], edit[3]])) % content.len().max(1);
        match edit[1] % 5 {
            0 if at < content.len() => content[at] = edit[4],
            1 => content.insert(at.min(content.len()), edit[4]),
            2 if at < content.len() => drop(content.remove(at)),
            3 => content.truncate(at),
            _ => {
                let end = content.len().min(at + MOST_REPEATED);
                content.extend_from_within(at.min(end)..end);
            }
        }
    }
    files
}

fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|byte| *byte == END);
    let (edits, text) = input.split_at(end.unwrap_or(input.len()));
    let text = String::from_utf8_lossy(text);
    let mut annotations = SignerSecretAnnotations::new();
    if let Some((rotation, request)) = text.split_once('\n') {
        annotations.insert(
            ROTATION.to_owned(),
            rotation.trim_start_matches('\u{fffd}').to_owned(),
        );
        annotations.insert(REQUEST.to_owned(), request.to_owned());
    }
    match SignerSecret::decode(&edited(edits), &annotations) {
        Ok((kept, refused)) => {
            for error in refused {
                assert!(!error.to_string().is_empty());
            }
            let written = kept.annotations();
            let carried = written
                .into_iter()
                .filter_map(|(name, text)| Some((name.to_owned(), text?)));
            let (again, refused) = SignerSecret::decode(&kept.bundle.encode(), &carried.collect())
                .expect("what was written is read");
            assert!(refused.is_empty(), "{refused:?}");
            assert_eq!(again.annotations(), kept.annotations());
            assert_eq!(again.bundle.encode(), kept.bundle.encode());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
