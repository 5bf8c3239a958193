//! Records as they are read, written and refused.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

const fn bounds(min: i32, max: i32) -> ObjectBounds {
    ObjectBounds {
        min: Some(min),
        max,
    }
}

fn text_of(annotation: &BoundsAnnotation) -> String {
    annotation.to_text().unwrap().unwrap()
}

/// A floor of 6 above a least of 2, until second 600.
fn floored() -> BoundsAnnotation {
    let mut annotation = BoundsAnnotation::of_user(bounds(2, 10));
    let floor = Recommendation::of_prediction(6, at(600));
    annotation.record.contribute(floor, at(0));
    annotation.settle(at(0));
    annotation
}

#[test]
fn the_record_is_what_it_was_written_as() {
    let mut annotation = floored();
    let cron = Recommendation {
        by: Provider::Cron("a/b".to_owned()),
        priority: 1,
        ask: Ask::AtLeast {
            min: None,
            max: Some(12),
        },
        ..Recommendation::of_prediction(0, at(9))
    };
    annotation.record.contribute(cron, at(0));
    let text = text_of(&annotation);
    assert_eq!(
        text,
        concat!(
            r#"{"user":{"min":2,"max":10},"written":{"min":6,"max":10},"contributions":{"#,
            r#""cron/a/b":{"max":12,"until":"1970-01-01T00:00:09Z"},"#,
            r#""prediction":{"min":6,"until":"1970-01-01T00:10:00Z"}},"contested":false}"#
        )
    );
    assert_eq!(BoundsAnnotation::parse(&text).unwrap(), annotation);
    let bare = text.replace(r#""written":{"min":6,"max":10}"#, r#""written":{"min":6}"#);
    for refused in ["", "5", "{}", &text[..50], &bare] {
        let error = BoundsAnnotation::parse(refused).unwrap_err();
        assert_eq!(error.reason(), "OwnershipRecord", "{refused}");
    }
}

fn with_contributions(contributions: &str) -> String {
    format!(
        r#"{{"user":{{"min":2,"max":10}},"written":{{"min":2,"max":10}},"contributions":{{{contributions}}}}}"#
    )
}

#[test]
fn a_record_beyond_what_makes_sense_is_refused() {
    let many = |count: usize| {
        let all: Vec<_> = (0..count).map(|n| format!(r#""x{n}":{{}}"#)).collect();
        with_contributions(&all.join(","))
    };
    let long = with_contributions(&format!(r#""x":"{}""#, "y".repeat(LONGEST)));
    for (text, accepted) in [
        (many(MOST_CONTRIBUTIONS), true),
        (many(MOST_CONTRIBUTIONS + 1), false),
        (many(20_000), false),
        (long, false),
    ] {
        let parsed = BoundsAnnotation::parse(&text);
        assert_eq!(parsed.is_ok(), accepted, "{} bytes", text.len());
    }
}

#[test]
fn what_is_not_known_is_kept_to_the_letter_and_takes_no_more_than_its_text() {
    let kept = r#""x/y":{"a" : 1e400,"b":[[[]],{}], "b":0.10}"#;
    let annotation = BoundsAnnotation::parse(&with_contributions(kept)).unwrap();
    assert!(text_of(&annotation).contains(kept));
}

#[test]
fn one_contribution_that_cannot_be_read_damages_nothing() {
    let later = r#""cron/day":{"min":8,"priority":2}"#;
    let text = with_contributions(&format!(
        r#"{later},"cron/night":{{"min":4,"until":"1970-01-01T00:10:00Z"}},"prediction":{{"min":"6"}}"#
    ));
    let mut annotation = BoundsAnnotation::parse(&text).unwrap();
    assert_eq!(annotation.settle(at(0)), bounds(4, 10), "it has no effect");
    assert_eq!(annotation.settle(at(9000)), bounds(2, 10));
    let written = text_of(&annotation);
    assert!(written.contains(later), "{written}");
    assert!(!written.contains("prediction"), "{written}");
    for odd in [r#""undone":5,"contested":null"#, r#""contributions":[1]"#] {
        let text = format!(r#"{{"user":{{"max":9}},"written":{{"max":9}},{odd}}}"#);
        let record = BoundsAnnotation::parse(&text).unwrap().record;
        let user = ObjectBounds { min: None, max: 9 };
        assert_eq!(record, BoundsRecord::of_user(user), "{odd}");
    }
}

#[test]
fn what_a_later_version_left_ends_although_it_says_otherwise() {
    let text = LATER.replace("1970-01-01T00:20:00.000Z", "9999-01-01T00:00:00Z");
    let mut annotation = BoundsAnnotation::parse(&text).unwrap();
    assert_eq!(annotation.settle(at(0)), bounds(8, 10));
    let written = text_of(&annotation);
    let expected = text.replace("9999-01-01T00:00:00Z", "1970-01-01T06:00:00Z");
    assert_eq!(
        json(&written),
        json(&expected),
        "and nothing else has changed"
    );
    let mut read = BoundsAnnotation::parse(&written).unwrap();
    assert_eq!(read.record, annotation.record);
    assert_eq!(text_of(&read), written, "it is brought nearer once");
    assert_eq!(read.settle(at(6 * 3600)), bounds(2, 10));
}

#[test]
fn a_record_that_says_nothing_goes() {
    let mut annotation = floored();
    assert_eq!(annotation.record.restore(), bounds(2, 10));
    assert_eq!(annotation.to_text().unwrap(), None);
}

/// A record of a later version: another contributor, other fields everywhere.
const LATER: &str = concat!(
    r#"{"user":{"min":2,"max":10,"step":3},"written":{"min":8,"max":10},"contributions":{"#,
    r#""plan/x":{"how":[1,2]},"#,
    r#""portrait/web":{"min":8,"until":"1970-01-01T00:20:00.000Z","stage":"canary"},"#,
    r#""prediction":{"min":6,"until":"1970-01-01T00:10:00Z","model":"trees"}},"#,
    r#""contested":false,"version":2}"#
);

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn all_that_a_later_version_wrote_is_kept_as_it_is() {
    let mut annotation = BoundsAnnotation::parse(LATER).unwrap();
    let mut expected = json(LATER);
    assert_eq!(json(&text_of(&annotation)), expected);
    annotation.record.withdraw(&Provider::Prediction);
    assert_eq!(annotation.settle(at(0)), bounds(8, 10), "it counts as well");
    let contributions = expected["contributions"].as_object_mut().unwrap();
    contributions.remove("prediction");
    assert_eq!(json(&text_of(&annotation)), expected);
    assert_eq!(annotation.settle(at(1200)), bounds(2, 10), "it has ended");
    expected["written"]["min"] = 2.into();
    expected["contributions"]
        .as_object_mut()
        .unwrap()
        .remove("portrait/web");
    assert_eq!(json(&text_of(&annotation)), expected);
}

#[test]
fn who_renews_a_floor_keeps_the_fields_of_others() {
    let mut annotation = BoundsAnnotation::parse(LATER).unwrap();
    let floor = Recommendation::of_prediction(6, at(1500));
    annotation.record.contribute(floor, at(900));
    let renewed = LATER.replace("00:10:00Z", "00:25:00Z");
    assert_eq!(json(&text_of(&annotation)), json(&renewed));
    let before = BoundsAnnotation::parse(LATER).unwrap();
    assert!(annotation.differs_in_time_only(&before));
}

proptest! {
    #[test]
    fn any_record_is_read_as_it_was_written(
        user in prop::option::of(0..9_i32),
        who in prop_oneof![Just("prediction".to_owned()), "cron/[a-z]{1,5}", "[a-z]{1,5}/x"],
        (min, max) in (prop::option::of(0..9_i32), prop::option::of(0..9_i32)),
        priority in -2..3_i32,
        until in 0..1000_i64,
    ) {
        let mut annotation = BoundsAnnotation::of_user(ObjectBounds { min: user, max: 9 });
        let (by, ask) = (Provider::from(who.as_str()), Ask::AtLeast { min, max });
        let one = Recommendation { by, priority, ask, until: Some(at(until)) };
        annotation.record.contribute(one, at(0));
        let read = BoundsAnnotation::parse(&text_of(&annotation)).unwrap();
        prop_assert_eq!(&read.record, &annotation.record);
        prop_assert_eq!(text_of(&read), text_of(&annotation));
    }
}
