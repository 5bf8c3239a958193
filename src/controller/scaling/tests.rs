use serde_json::json;

use super::*;
use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::object_ref::ObjectRef;
use evenkeel_kubernetes::plan::Purpose;

fn at(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(millisecond).unwrap()
}

#[test]
fn events_carry_the_time_of_the_cluster() {
    let clock = Clock::accelerated(10.0, at(0));
    let event = |time: &str| Write {
        purpose: Purpose::AnnotationWarning,
        target: ObjectRef::of_cluster(Kind::Node, "a"),
        operation: Operation::Create(json!({"eventTime": time, "note": "n"})),
    };
    let told = in_real_time(&clock, event("1970-01-01T00:01:40.000000Z"));
    assert_eq!(told, event("1970-01-01T00:00:10.000000Z"));
    let same = event("2026-01-01T00:00:00.000000Z");
    assert_eq!(in_real_time(&Clock::real(), same.clone()), same);
}

#[tokio::test]
async fn work_that_panics_leaves_a_loop_that_goes_on() {
    let (targets, outcome) = work(Targets::default(), |_| -> usize { panic!("on purpose") }).await;
    assert_eq!(outcome, 0);
    let (_, outcome) = work(targets, |_| 7).await;
    assert_eq!(outcome, 7);
}
