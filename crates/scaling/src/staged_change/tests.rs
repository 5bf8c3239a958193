//! Changes in numbers, and what holds of all of them.

use evenkeel_api::replica_counts::ReplicaCounts;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::limits::LimitedBy;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

const fn counts(online: i32, cutoff: i32, standby: i32) -> ReplicaCounts {
    ReplicaCounts {
        online,
        cutoff,
        standby,
    }
}

fn pace(size: StepSize, interval: i64, observation: i64) -> StepPace {
    StepPace {
        size,
        interval: SignedDuration::from_secs(interval),
        observation: SignedDuration::from_secs(observation),
    }
}

/// The same steps both ways.
fn staged(
    size: StepSize,
    (interval, observation): (i64, i64),
    park: ScaleDownTarget,
) -> StagedBehavior {
    let pace = pace(size, interval, observation);
    StagedBehavior {
        up: ScaleUpBehavior {
            disabled: false,
            stages: Some(pace),
        },
        down: ScaleDownWay {
            disabled: false,
            stages: Some(ScaleDownStages { pace, park }),
        },
    }
}

/// A target that receives all writes.
struct Run {
    behavior: StagedBehavior,
    current: ReplicaCounts,
    change: Option<StagedChange>,
    reached: Option<ReplicaProgress>,
}

impl Run {
    fn new(behavior: StagedBehavior, current: ReplicaCounts) -> Self {
        Self {
            behavior,
            current,
            change: None,
            reached: None,
        }
    }

    fn asked(&self, wanted: i32, command: StepCommand, second: i64) -> StepResult {
        let staging = Staging {
            current: self.current,
            wanted,
            command,
            reached: self.reached,
            now: at(second),
        };
        step(&self.behavior, self.change.as_ref(), &staging)
    }

    fn tick(&mut self, wanted: i32, command: StepCommand, second: i64) -> StepResult {
        let staged = self.asked(wanted, command, second);
        self.current = staged.counts;
        self.change = staged.change;
        staged
    }

    fn go(&mut self, wanted: i32, second: i64) -> (i32, i32, i32) {
        let ReplicaCounts {
            online,
            cutoff,
            standby,
        } = self.tick(wanted, StepCommand::Proceed, second).counts;
        (online, cutoff, standby)
    }
}

#[test]
fn the_first_step_is_made_at_once_and_the_others_by_the_interval() {
    let behavior = staged(StepSize::Percent(30), (60, 0), ScaleDownTarget::Cutoff);
    let mut run = Run::new(behavior, counts(10, 0, 0));
    for (second, online, percent) in [(0, 13, 30), (59, 13, 30), (60, 16, 60), (119, 16, 60)] {
        let staged = run.tick(20, StepCommand::Proceed, second);
        let change = staged.change.unwrap();
        assert_eq!((staged.counts.online, change.percent), (online, percent));
        let until = change.stepped.unwrap() + SignedDuration::from_secs(60);
        assert_eq!(staged.next, Some(until), "{staged:?}");
        assert_eq!(
            staged.limited_by,
            Some(LimitedBy::ChangeInterval { until }),
            "{staged:?}"
        );
    }
    assert_eq!(run.go(20, 120), (19, 0, 0));
    let last = run.tick(20, StepCommand::Proceed, 180);
    assert_eq!(
        (last.counts.online, last.happened, last.phase),
        (20, Some(StagedChangeEvent::Finished), ChangePhase::Settled)
    );
    let settled = run.tick(20, StepCommand::Proceed, 181);
    assert_eq!(
        (settled.phase, settled.happened),
        (ChangePhase::Settled, None)
    );
    assert!(settled.change.is_some(), "until its interval is over");
    assert_eq!(run.tick(20, StepCommand::Proceed, 240).change, None);
}

#[test]
fn pods_wait_cut_off_until_the_scale_in_has_been_observed() {
    for (park, waiting) in [
        (ScaleDownTarget::Cutoff, (6, 4, 0)),
        (ScaleDownTarget::Standby, (6, 0, 4)),
    ] {
        let behavior = staged(StepSize::Count(2), (60, 300), park);
        let mut run = Run::new(behavior, counts(10, 0, 0));
        run.go(6, 0);
        assert_eq!(run.go(6, 60), waiting);
        assert_eq!(run.change.unwrap().percent, 100);
        let observed = run.tick(6, StepCommand::Proceed, 359);
        assert_eq!(observed.phase, ChangePhase::Observing);
        assert_eq!(observed.next, Some(at(360)));
        assert_eq!(run.go(6, 360), (6, 0, 0));
    }
    let behavior = staged(StepSize::Count(2), (60, 300), ScaleDownTarget::Deleted);
    let mut run = Run::new(behavior, counts(10, 0, 0));
    assert_eq!(run.go(6, 0), (8, 0, 0));
}

#[test]
fn without_an_observation_what_is_cut_off_is_still_cut_off_before_it_goes() {
    let behavior = staged(StepSize::Percent(100), (60, 0), ScaleDownTarget::Cutoff);
    let mut run = Run::new(behavior, counts(10, 0, 0));
    assert_eq!(run.go(6, 0), (6, 4, 0));
    assert_eq!(run.go(6, 0), (6, 0, 0));
}

#[test]
fn a_scale_out_takes_what_is_cut_off_then_what_is_on_standby_then_new_pods() {
    let behavior = staged(StepSize::Count(2), (60, 0), ScaleDownTarget::Cutoff);
    let mut run = Run::new(behavior, counts(5, 3, 2));
    for (second, expected) in [
        (0, (7, 1, 2)),
        (60, (9, 0, 1)),
        (120, (11, 0, 0)),
        (180, (12, 0, 0)),
    ] {
        assert_eq!(run.go(12, second), expected);
    }
}

#[test]
fn a_change_at_once_is_one_step() {
    let mut run = Run::new(StagedBehavior::default(), counts(5, 3, 0));
    let up = run.tick(7, StepCommand::Proceed, 0);
    assert_eq!((up.counts, up.change), (counts(7, 1, 0), None));
    assert_eq!(up.happened, Some(StagedChangeEvent::Finished));
    assert_eq!(run.go(7, 15), (7, 0, 0), "what is surplus goes");
    assert_eq!(run.go(2, 30), (2, 0, 0));
}

#[test]
fn a_turn_goes_on_from_what_is_there() {
    let behavior = staged(StepSize::Percent(20), (60, 300), ScaleDownTarget::Cutoff);
    let mut run = Run::new(behavior, counts(20, 0, 0));
    run.go(10, 0);
    assert_eq!(run.go(10, 60), (16, 4, 0));
    // Up again, by a fifth of what lies between 16 and 26.
    assert_eq!(run.go(26, 61), (18, 2, 0));
    assert_eq!(run.go(26, 121), (20, 0, 0));
    assert_eq!(run.go(26, 181), (22, 0, 0));
    assert_eq!(run.go(20, 182), (21, 1, 0));
}

#[test]
fn a_target_that_moves_at_every_tick_makes_no_more_steps() {
    let behavior = staged(StepSize::Percent(10), (60, 0), ScaleDownTarget::Deleted);
    let mut run = Run::new(behavior, counts(10, 0, 0));
    let mut steps = 0;
    for second in 0..=600 {
        let wanted = 30 + i32::try_from(second % 7).unwrap();
        let staged = run.tick(wanted, StepCommand::Proceed, second);
        steps += i32::from(staged.happened.is_some());
    }
    assert!((10..=11).contains(&steps), "{steps}");
    assert!(run.current.online >= 30, "{:?}", run.current);
}

/// The harm: each Pod of a ramp was a change of its own, and its first step asks neither the interval nor a check.
#[test]
fn a_target_that_creeps_makes_no_more_steps_and_each_is_checked() {
    for park in [ScaleDownTarget::Cutoff, ScaleDownTarget::Deleted] {
        let behavior = staged(StepSize::Percent(20), (600, 0), park);
        let mut run = Run::new(behavior, counts(10, 0, 0));
        let mut counts_of = Vec::new();
        for tick in 0..=80 {
            let wanted = 11 + i32::try_from(tick).unwrap();
            let (online, _, _) = run.go(wanted, tick * 15);
            if counts_of.last() != Some(&online) {
                counts_of.push(online);
            }
        }
        // The first at once, then by a fifth of what the change has grown to.
        assert_eq!(counts_of.len(), 3, "{counts_of:?}");
        let staging = |wanted| Staging {
            current: run.current,
            wanted,
            command: StepCommand::Proceed,
            reached: None,
            now: at(1201),
        };
        let heading = heading(&run.behavior, run.change.as_ref(), &staging(100)).unwrap();
        assert!(heading.stepped.is_some(), "the checks are asked");
        let before = counts_of[counts_of.len() - 2];
        let rolled_back = run.tick(100, StepCommand::RollBack, 1201).counts.online;
        assert!(
            rolled_back > 10 && rolled_back <= before,
            "what had passed stays: {rolled_back} of {counts_of:?}"
        );
    }
    let behavior = staged(StepSize::Percent(50), (60, 0), ScaleDownTarget::Cutoff);
    let mut run = Run::new(behavior, counts(20, 0, 0));
    let mut steps = 0;
    for second in 0..=300 {
        let before = run.current.online;
        run.go(19 - i32::try_from(second / 5).unwrap().min(18), second);
        steps += i32::from(run.current.online != before);
    }
    assert_eq!(
        steps, 4,
        "down too, though what waited is deleted in between"
    );
}

/// The harm: a turn of one tick and back made a step before its time, which no check had a say in.
#[test]
fn a_turn_and_back_makes_no_step_before_its_time() {
    let behavior = staged(StepSize::Count(1), (600, 0), ScaleDownTarget::Deleted);
    let mut run = Run::new(behavior, counts(10, 0, 0));
    let highest = |run: &mut Run, ticks: std::ops::Range<i64>| {
        let counts = ticks.map(|tick| {
            let wanted = if tick % 2 == 0 { 20 } else { 10 };
            run.go(wanted, tick * 15).0
        });
        counts.max().unwrap()
    };
    assert_eq!(highest(&mut run, 0..39), 11);
    assert!(highest(&mut run, 39..60) <= 12);
}

/// The harm: each interval booked a step though none was written, and all of them came in one.
#[test]
fn no_step_follows_one_that_was_not_written() {
    let behavior = staged(StepSize::Count(1), (60, 0), ScaleDownTarget::Deleted);
    let mut run = Run::new(behavior, counts(10, 0, 0));
    for second in 0..300 {
        run.tick(20, StepCommand::Proceed, second);
        run.current = counts(10, 0, 0);
    }
    let staged = run.tick(20, StepCommand::Proceed, 300);
    assert_eq!((staged.counts.online, staged.next), (11, None));
    assert_eq!(
        staged.limited_by,
        Some(LimitedBy::StepPending { refused: None })
    );
    // It counts from when it was there.
    assert_eq!(run.go(20, 301).0, 11);
    assert_eq!(run.go(20, 360).0, 11);
    assert_eq!(run.go(20, 361).0, 12);
}

/// The harm: what a ReplicaProfile had not cut off was observed all the same, and deleted.
#[test]
fn what_is_not_cut_off_is_not_observed_and_what_is_refused_is_let_go() {
    let refused = Some("MaxUnavailable");
    let serving = |online, refused| {
        Some(ReplicaProgress {
            online: Some(online),
            refused,
        })
    };
    let behavior = staged(StepSize::Percent(100), (60, 300), ScaleDownTarget::Cutoff);
    let mut run = Run::new(behavior, counts(10, 0, 0));
    run.reached = serving(10, None);
    assert_eq!(run.go(5, 0), (5, 5, 0));
    run.reached = Some(ReplicaProgress {
        online: None,
        refused: None,
    });
    run.go(5, 15);
    run.reached = serving(8, None);
    let pending = run.tick(5, StepCommand::Proceed, 1000);
    assert_eq!(
        (pending.counts, pending.phase),
        (counts(5, 5, 0), ChangePhase::Stepping),
        "nobody refuses it"
    );
    let mut slow = Run::new(behavior, run.current);
    (slow.change, slow.reached) = (run.change, serving(5, None));
    let there = slow.tick(5, StepCommand::Proceed, 1001);
    assert_eq!(
        (there.phase, there.next),
        (ChangePhase::Observing, Some(at(1301)))
    );

    run.reached = serving(8, refused);
    let limited = run.tick(5, StepCommand::Proceed, 1015);
    assert_eq!(
        (limited.counts, limited.phase, limited.next),
        (counts(8, 2, 0), ChangePhase::Observing, Some(at(1315)))
    );
    run.current = counts(5, 5, 0);
    let again = run.tick(5, StepCommand::Proceed, 1030);
    assert_eq!(again.counts, counts(8, 2, 0), "before it is written");
    run.reached = serving(8, None);
    assert_eq!(run.go(5, 1314), (8, 2, 0));
    assert_eq!(run.go(5, 1315), (8, 0, 0), "what was observed goes");
    assert_eq!(run.go(5, 1330), (5, 3, 0), "and the rest is next");
}

#[test]
fn a_step_that_is_refused_waits_its_interval_and_says_who_refuses_it() {
    let behavior = staged(StepSize::Percent(100), (60, 300), ScaleDownTarget::Cutoff);
    let mut run = Run::new(behavior, counts(10, 0, 0));
    run.go(5, 0);
    let refused = Some("NoReadinessGate");
    for (online, second) in [(8, 58), (10, 59)] {
        run.reached = Some(ReplicaProgress {
            online: Some(online),
            refused,
        });
        let staged = run.tick(5, StepCommand::Proceed, second);
        assert_eq!(staged.counts, counts(5, 5, 0), "{second}");
        assert_eq!(staged.limited_by, Some(LimitedBy::StepPending { refused }));
        assert_eq!(staged.limited_by.unwrap().reason(), "NoReadinessGate");
    }
    let rolled_back = run.tick(5, StepCommand::RollBack, 59);
    assert_eq!(rolled_back.counts, counts(10, 0, 0));
}

/// The harm: a target with no Pod to cut off, such as a quarter of three Pods, never scaled in any more.
#[test]
fn where_no_pod_can_be_cut_off_they_go_without() {
    let behavior = staged(StepSize::Percent(100), (60, 300), ScaleDownTarget::Cutoff);
    let mut run = Run::new(behavior, counts(3, 0, 0));
    assert_eq!(run.go(2, 0), (2, 1, 0));
    let refused = Some("MaxUnavailable");
    run.reached = Some(ReplicaProgress {
        online: Some(3),
        refused,
    });
    assert_eq!(run.go(2, 59), (2, 1, 0));
    let mut kept = Run::new(behavior, run.current);
    (kept.change, kept.reached) = (run.change, run.reached);
    kept.behavior.down.disabled = true;
    assert_eq!(kept.go(2, 60), (2, 1, 0), "nothing is deleted");
    let staged = run.tick(2, StepCommand::Proceed, 60);
    assert_eq!(
        (staged.counts, staged.phase),
        (counts(2, 0, 0), ChangePhase::Settled)
    );
    assert_eq!(staged.limited_by, Some(LimitedBy::StepPending { refused }));
}

#[test]
fn a_switched_off_direction_is_not_gone() {
    let mut behavior = staged(StepSize::Percent(50), (60, 0), ScaleDownTarget::Cutoff);
    behavior.up.disabled = true;
    let mut run = Run::new(behavior, counts(10, 0, 0));
    let up = run.tick(20, StepCommand::Proceed, 0);
    let field = "behavior.scaleUp.disabled";
    assert_eq!(up.limited_by, Some(LimitedBy::ScalingDisabled { field }));
    assert_eq!(
        (up.counts, up.phase),
        (counts(10, 0, 0), ChangePhase::Settled)
    );
    assert_eq!(run.go(6, 1), (8, 2, 0));
    run.behavior.down.disabled = true;
    let stopped = run.tick(6, StepCommand::Proceed, 900);
    assert_eq!(
        stopped.counts,
        counts(8, 2, 0),
        "nothing is deleted: {stopped:?}"
    );
    let field = "behavior.scaleDown.disabled";
    assert_eq!(
        stopped.limited_by,
        Some(LimitedBy::ScalingDisabled { field })
    );
}

#[test]
fn a_check_that_does_not_know_lets_the_first_step_happen_and_no_other() {
    let behavior = staged(StepSize::Percent(20), (60, 120), ScaleDownTarget::Cutoff);
    let mut run = Run::new(behavior, counts(10, 0, 0));
    assert_eq!(run.tick(5, StepCommand::Wait, 0).counts, counts(9, 1, 0));
    let waiting = run.tick(5, StepCommand::Wait, 600);
    assert_eq!(
        (waiting.counts, waiting.phase),
        (counts(9, 1, 0), ChangePhase::Waiting)
    );
    assert_eq!(waiting.limited_by, Some(LimitedBy::StabilityCheck));
    for second in [601, 661, 721, 781] {
        run.go(5, second);
    }
    assert_eq!(run.current, counts(5, 5, 0));
    assert_eq!(
        run.tick(5, StepCommand::Wait, 2000).counts,
        counts(5, 5, 0),
        "what waits is not deleted either"
    );
    assert_eq!(run.go(5, 2001), (5, 0, 0));
}

#[test]
fn a_roll_back_is_whole_at_once_and_written_again_where_it_was_lost() {
    let behavior = staged(StepSize::Percent(20), (60, 120), ScaleDownTarget::Cutoff);
    let mut run = Run::new(behavior, counts(10, 2, 1));
    run.go(5, 0);
    run.go(5, 60);
    let there = run.current;
    let back = run.tick(5, StepCommand::RollBack, 70);
    assert_eq!(back.counts, counts(10, 2, 1));
    assert_eq!(
        (back.happened, back.phase),
        (Some(StagedChangeEvent::RolledBack), ChangePhase::RolledBack)
    );
    run.current = there;
    let again = run.tick(5, StepCommand::RollBack, 85);
    assert_eq!((again.counts, again.happened), (counts(10, 2, 1), None));
    assert_eq!(
        run.tick(3, StepCommand::RollBack, 90).counts,
        counts(10, 2, 1)
    );
    assert_eq!(run.go(5, 100), (9, 3, 1), "from the begin");
    // A turn is free of what holds the other way.
    assert_eq!(
        run.tick(14, StepCommand::Proceed, 101).counts,
        counts(10, 2, 1)
    );
}

#[test]
fn going_on_by_hand_makes_one_step_before_its_time() {
    let behavior = staged(StepSize::Percent(20), (60, 120), ScaleDownTarget::Cutoff);
    let mut run = Run::new(behavior, counts(10, 0, 0));
    run.go(20, 0);
    assert_eq!(run.tick(20, StepCommand::Pause, 200).counts.online, 12);
    assert_eq!(run.tick(20, StepCommand::Resume, 201).counts.online, 14);
    assert_eq!(run.tick(20, StepCommand::Proceed, 202).counts.online, 14);
}

#[test]
fn what_others_have_written_is_where_a_change_begins() {
    let behavior = staged(StepSize::Percent(20), (60, 0), ScaleDownTarget::Deleted);
    let mut run = Run::new(behavior, counts(10, 0, 0));
    run.go(20, 0);
    run.current = counts(40, 0, 0);
    assert_eq!(run.go(20, 10), (36, 0, 0));
}

fn any_size() -> impl Strategy<Value = StepSize> {
    prop_oneof![
        (1u8..=100).prop_map(StepSize::Percent),
        (1i32..20).prop_map(StepSize::Count),
    ]
}

fn any_park() -> impl Strategy<Value = ScaleDownTarget> {
    prop_oneof![
        Just(ScaleDownTarget::Cutoff),
        Just(ScaleDownTarget::Standby),
        Just(ScaleDownTarget::Deleted)
    ]
}

/// A second lost write made the change begin anew, from the counts before the last step. That is right only after
/// the interval: others may have changed the counts since.
#[test]
fn the_last_counts_of_a_change_are_written_again_within_its_interval() {
    let behavior = staged(StepSize::Percent(50), (16, 0), ScaleDownTarget::Cutoff);
    let mut run = Run::new(behavior, counts(48, 6, 0));
    run.tick(52, StepCommand::Proceed, 0);
    let before = run.current;
    for second in [16, 20, 31] {
        let last = run.tick(52, StepCommand::Proceed, second);
        assert_eq!(
            (last.counts, last.phase),
            (counts(52, 2, 0), ChangePhase::Settled)
        );
        run.current = before;
    }
    assert_eq!(run.go(52, 33), (51, 3, 0), "a new change");
}

fn any_behavior() -> impl Strategy<Value = StagedBehavior> {
    (any_size(), 1i64..50, 0i64..50, any_park())
        .prop_map(|(size, interval, observation, park)| staged(size, (interval, observation), park))
}

fn any_counts() -> impl Strategy<Value = ReplicaCounts> {
    (0i32..60, 0i32..8, 0i32..8)
        .prop_map(|(online, cutoff, standby)| counts(online, cutoff, standby))
}

fn any_command() -> impl Strategy<Value = StepCommand> {
    prop_oneof![
        4 => Just(StepCommand::Proceed),
        1 => Just(StepCommand::Wait),
        1 => Just(StepCommand::Pause),
        1 => Just(StepCommand::Resume),
    ]
}

/// Checks that the counts of one tick may follow those of another: Pods go to a neighbouring state,
/// and no other Pod is made or deleted.
fn follows(a: ReplicaCounts, b: ReplicaCounts, park: ScaleDownTarget) -> Result<(), TestCaseError> {
    prop_assert!(b.online >= 0 && b.cutoff >= 0 && b.standby >= 0);
    match b.online.cmp(&a.online) {
        std::cmp::Ordering::Greater => {
            prop_assert!(b.cutoff <= a.cutoff && b.standby <= a.standby);
            prop_assert!(
                b.standby == a.standby || b.cutoff == 0,
                "cut-off Pods first"
            );
            prop_assert!(b.total() == a.total() || b.parked() == 0, "new Pods last");
        }
        std::cmp::Ordering::Less if park == ScaleDownTarget::Deleted => {
            prop_assert_eq!((b.cutoff, b.standby), (a.cutoff, a.standby));
        }
        std::cmp::Ordering::Less => prop_assert_eq!(a.total(), b.total()),
        std::cmp::Ordering::Equal => prop_assert!(a == b || b.parked() == 0),
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_change_reaches_its_target_in_one_direction_and_in_time(
        behavior in any_behavior(), begun in any_counts(), wanted in 0i32..60,
    ) {
        let mut run = Run::new(behavior, begun);
        let whole = (wanted - begun.online).abs();
        let StepPace { size, interval, observation } = behavior.up.stages.unwrap();
        let most = match size {
            StepSize::Percent(percent) => (100 + i32::from(percent) - 1) / i32::from(percent),
            StepSize::Count(count) => (whole + count - 1) / count,
        };
        let (mut steps, mut second) = (0, 0);
        loop {
            let before = run.current;
            let staged = run.tick(wanted, StepCommand::Proceed, second);
            follows(before, staged.counts, behavior.park())?;
            let (least, highest) = (before.online.min(wanted), before.online.max(wanted));
            prop_assert!((least..=highest).contains(&staged.counts.online));
            steps += i32::from(before.online != staged.counts.online);
            if staged.phase == ChangePhase::Settled {
                if staged.counts.parked() == 0 { break; }
                second += 1;
            } else {
                let next = staged.next.unwrap().as_second();
                prop_assert!(next >= second);
                second = next;
            }
            prop_assert!(second < 1_000_000);
        }
        prop_assert_eq!(run.current, counts(wanted, 0, 0));
        prop_assert!(steps <= most.min(whole), "{steps} of {most}");
        let longest = i64::from(most) * interval.as_secs() + 2 * observation.as_secs() + 2;
        prop_assert!(second <= longest, "{second} of {longest}");
    }

    #[test]
    fn any_course_goes_by_neighbours_and_never_beyond_what_is_wanted(
        behavior in any_behavior(),
        begun in any_counts(),
        ticks in prop::collection::vec((0i32..60, any_command(), 0i64..40), 1..60),
    ) {
        let mut run = Run::new(behavior, begun);
        let mut second = 0;
        for (wanted, command, passed) in ticks {
            second += passed;
            let before = run.current;
            let staged = run.tick(wanted, command, second);
            follows(before, staged.counts, behavior.park())?;
            let range = before.online.min(wanted)..=before.online.max(wanted);
            prop_assert!(range.contains(&staged.counts.online), "{before} to {staged:?}");
            let again = run.asked(wanted, command, second);
            if !matches!(command, StepCommand::Resume) && staged.phase != ChangePhase::Settled && staged.next != Some(at(second)) {
                prop_assert_eq!(again.counts, staged.counts, "twice is as once");
            }
        }
    }

    #[test]
    fn a_lost_write_of_the_counts_is_written_again_and_nothing_beyond_it(
        behavior in any_behavior(),
        begun in any_counts(),
        ticks in prop::collection::vec((any_command(), 0i64..40, any::<bool>()), 1..60),
        wanted in 0i32..60,
    ) {
        let mut run = Run::new(behavior, begun);
        let mut second = 0;
        for (command, passed, is_lost) in ticks {
            second += passed;
            let before = run.current;
            let change = run.change.filter(|change| change.progress != Progress::Finished);
            let lost = change.filter(|change| change.online != before.online);
            let staged = run.tick(wanted, command, second);
            if let Some(lost) = lost {
                prop_assert_eq!(staged.counts, lost.counts(behavior.park()));
            }
            if is_lost {
                run.current = before;
            }
        }
        for _ in 0..10_000 {
            second += 60;
            run.go(wanted, second);
        }
        prop_assert_eq!(run.current, counts(wanted, 0, 0));
    }

    #[test]
    fn a_roll_back_comes_to_the_begin(
        behavior in any_behavior(), begun in any_counts(), wanted in 0i32..60, ticks in 1i64..9,
    ) {
        let mut run = Run::new(behavior, begun);
        for second in 0..ticks {
            run.go(wanted, second * 10);
        }
        let change = run.change.filter(|change| change.progress != Progress::Finished);
        if change.is_some_and(|change| change.whole() > 0 && change.begun == begun) {
            prop_assert_eq!(run.tick(wanted, StepCommand::RollBack, 100).counts, begun);
        }
    }
}
