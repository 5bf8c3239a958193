//! The record of an object's bounds, which every tenant with write access to an HPA can forge. A record
//! that is read is written back unchanged. No forged text makes bounds that cross or survive a restore.

#![no_main]

use evenkeel_scaling::bounds_record::annotation::BoundsAnnotation;
use evenkeel_scaling::merge::recommendation::{Provider, Recommendation};
use jiff::{SignedDuration, Timestamp};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(read) = BoundsAnnotation::parse(text) else {
        return;
    };
    if let Ok(Some(written)) = read.to_text() {
        let again = BoundsAnnotation::parse(&written).expect("what was written is read");
        assert_eq!(again, read, "{written}");
    }
    let now = Timestamp::from_second(1_800_000_000).expect("a time in range");
    let mut settled = read.clone();
    let user = settled.record.user;
    let floor = Recommendation::of_prediction(5, now + SignedDuration::from_mins(10));
    settled.record.contribute(floor, now);
    let bounds = settled.settle(now);
    assert!(
        bounds == user || bounds.min.is_none_or(|min| min <= bounds.max),
        "{bounds:?} of {text:?}"
    );
    settled.record.withdraw(&Provider::Prediction);
    assert_eq!(settled.record.restore(), user);
});
