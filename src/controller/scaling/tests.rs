use super::*;

fn at(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(millisecond).unwrap()
}

#[test]
fn ticks_stand_in_the_middle_of_the_steps() {
    for (now, next) in [
        (0, 7_500),
        (7_499, 7_500),
        (7_500, 22_500),
        (22_400, 22_500),
        (29_000, 37_500),
    ] {
        assert_eq!(after(at(now), STEP), at(next), "{now}");
    }
    assert_eq!(after(at(-1), STEP), at(7_500));
    assert_eq!(after(at(0), SignedDuration::from_secs(1)), at(500));
}

#[test]
fn every_step_is_measured_and_decisions_keep_their_interval() {
    let mut ticks = Ticks::new(SignedDuration::from_secs(45), at(0));
    let mut decided = Vec::new();
    for tick in 0..9 {
        let now = ticks.next + SignedDuration::from_millis(tick * 100);
        if ticks.pass(now) {
            decided.push(tick);
        }
        assert_eq!(ticks.next, at(7_500 + 15_000 * (tick + 1)));
    }
    assert_eq!(decided, [0, 3, 6]);
    let mut often = Ticks::new(SignedDuration::from_secs(5), at(0));
    for tick in 0..3 {
        assert_eq!(often.next, at(2_500 + 5_000 * tick));
        assert!(often.pass(often.next));
    }
    // A clock that was set back does not stop the loop.
    assert!(often.pass(at(-100_000)));
}

#[tokio::test]
async fn work_that_panics_leaves_a_loop_that_goes_on() {
    let (targets, outcome) = work(Targets::default(), |_| -> usize { panic!("on purpose") }).await;
    assert_eq!(outcome, 0);
    let (_, outcome) = work(targets, |_| 7).await;
    assert_eq!(outcome, 7);
}
