//! Verdicts and holds, by tables.

use evenkeel_units::Ratio;
use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::staged_change::{ChangeDirection, Direction, StepCommand};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn freshness(now: i64, after: Option<i64>) -> Freshness {
    Freshness {
        now: at(now),
        oldest: SignedDuration::from_secs(60),
        after: after.map(at),
    }
}

fn reading(milli: i64, second: i64) -> CheckReading {
    CheckReading {
        milli,
        since: at(second),
        at: at(second),
    }
}

fn checked(name: &str, action: Action, verdict: CheckVerdict) -> CheckResult {
    CheckResult {
        checker: Checker {
            name: name.to_owned(),
            action,
            cool_down: SignedDuration::from_secs(100),
        },
        verdict,
    }
}

fn pass() -> CheckVerdict {
    CheckVerdict::Pass("well".to_owned())
}

fn fail() -> CheckVerdict {
    CheckVerdict::Fail("ill".to_owned())
}

fn unknown() -> CheckVerdict {
    CheckVerdict::Unknown("not measured".to_owned())
}

const fn heading(direction: Direction, stepped: Option<Timestamp>) -> ChangeDirection {
    ChangeDirection {
        direction,
        stepped,
        can_step: true,
    }
}

/// A decision at a second of one check by this action, on a change down that has made a step.
fn decided(
    verdict: CheckVerdict,
    action: Action,
    second: i64,
    before: Option<&PausedChange>,
) -> CheckDecision {
    let checked = [checked("errors", action, verdict)];
    let checks = Checks {
        checked: &checked,
        heading: Some(heading(Direction::Down, Some(at(0)))),
        resume: None,
        now: at(second),
    };
    decide(
        &checks,
        before.map(std::slice::from_ref).unwrap_or_default(),
    )
}

#[test]
fn a_metric_fails_on_the_side_that_its_rule_names() {
    for (operator, failing) in [
        ("==", [false, true, false]),
        (">", [false, false, true]),
        ("<", [true, false, false]),
        (">=", [false, true, true]),
        ("<=", [true, true, false]),
    ] {
        let bound = MetricBound {
            metric: "latency".to_owned(),
            operator: operator.parse().unwrap(),
            milli: 250,
        };
        for (milli, fails) in [249, 250, 251].into_iter().zip(failing) {
            let verdict = bound.judge(Some(reading(milli, 100)), &freshness(100, None));
            assert_eq!(
                verdict.word() == "Fail",
                fails,
                "{milli} {operator}: {verdict:?}"
            );
            assert!(
                verdict.message().starts_with("latency is 0.2"),
                "{verdict:?}"
            );
        }
    }
    assert!("=".parse::<ComparisonOperator>().is_err());
}

#[test]
fn what_is_missing_old_or_from_before_the_step_says_nothing() {
    let bound = MetricBound {
        metric: "latency".to_owned(),
        operator: ComparisonOperator::Greater,
        milli: 0,
    };
    let error_rate = ErrorRate {
        most: Ratio::share(0.01).unwrap(),
    };
    for (given, now, after, words) in [
        (None, 100, None, "not measured"),
        (Some(reading(1, 39)), 100, None, "61 s ago"),
        (Some(reading(1, 89)), 100, Some(90), "since the last step"),
    ] {
        let verdict = bound.judge(given, &freshness(now, after));
        assert_eq!(verdict.word(), "Unknown");
        assert!(verdict.message().contains(words), "{verdict:?}");
        let verdict = error_rate.judge(given, given, &freshness(now, after));
        assert_eq!(verdict.word(), "Unknown", "{verdict:?}");
    }
    // A mean over the step: well until then says nothing, and ill is ill.
    for (milli, word) in [(0, "Unknown"), (1, "Fail")] {
        let mean = CheckReading {
            since: at(89),
            ..reading(milli, 95)
        };
        let verdict = bound.judge(Some(mean), &freshness(100, Some(90)));
        assert_eq!(verdict.word(), word, "{verdict:?}");
        let verdict = error_rate.judge(Some(mean), Some(reading(9, 95)), &freshness(100, Some(90)));
        assert_eq!(verdict.word(), word, "{verdict:?}");
    }
    assert_eq!(
        bound
            .judge(Some(reading(1, 90)), &freshness(100, Some(90)))
            .word(),
        "Fail"
    );
}

#[test]
fn the_share_of_errors_is_judged_where_there_are_requests() {
    let rate = ErrorRate {
        most: Ratio::share(0.01).unwrap(),
    };
    let fresh = freshness(100, None);
    for (errors, requests, word) in [
        (10, 1000, "Pass"),
        (11, 1000, "Fail"),
        (0, 0, "Pass"),
        (-1, 1000, "Unknown"),
        (1, -1, "Unknown"),
    ] {
        let verdict = rate.judge(
            Some(reading(errors, 100)),
            Some(reading(requests, 100)),
            &fresh,
        );
        assert_eq!(verdict.word(), word, "{errors} of {requests}: {verdict:?}");
    }
    assert_eq!(
        rate.judge(None, Some(reading(0, 100)), &fresh).word(),
        "Pass"
    );
    assert_eq!(
        rate.judge(None, Some(reading(5, 100)), &fresh).word(),
        "Unknown"
    );
}

#[test]
fn pods_have_a_while_to_become_ready() {
    let rule = PodsReady {
        percent: 90,
        within: SignedDuration::from_secs(30),
    };
    for (ready, online, second, word) in [
        (9, 10, 1, "Pass"),
        (8, 10, 30, "Unknown"),
        (8, 10, 31, "Fail"),
        (10, 11, 31, "Pass"),
        (9, 11, 31, "Fail"),
        (0, 0, 31, "Pass"),
    ] {
        let verdict = rule.judge(ready, online, Some(at(0)), at(second));
        assert_eq!(verdict.word(), word, "{ready} of {online}: {verdict:?}");
    }
}

#[test]
fn the_worst_of_several_is_the_verdict() {
    for (all, word, message) in [
        (vec![], "Unknown", "nothing is checked"),
        (vec![pass(), pass()], "Pass", "well; well"),
        (vec![pass(), unknown()], "Unknown", "not measured"),
        (vec![fail(), unknown(), pass(), fail()], "Fail", "ill; ill"),
    ] {
        let verdict = CheckVerdict::of_all(all);
        assert_eq!((verdict.word(), verdict.message()), (word, message));
    }
}

#[test]
fn a_failed_check_holds_until_all_have_passed_for_the_cool_down() {
    for (action, command) in [
        (Action::Pause, StepCommand::Pause),
        (Action::Rollback, StepCommand::RollBack),
    ] {
        let first = decided(fail(), action, 10, None);
        assert_eq!(
            (first.command, first.happened),
            (command, Some(CheckTransition::Held))
        );
        assert!(first.reason.contains("errors: ill"), "{}", first.reason);
        let second = decided(fail(), action, 25, first.holds.first());
        assert_eq!((second.command, second.happened), (command, None));
        let passing = decided(pass(), action, 40, second.holds.first());
        assert_eq!(passing.command, command);
        assert_eq!(passing.holds.first().unwrap().ends(), Some(at(140)));
        // An unknown verdict begins the cool-down anew.
        let missing = decided(unknown(), action, 100, passing.holds.first());
        assert_eq!(
            (missing.command, missing.holds.first().unwrap().ends()),
            (command, None)
        );
        let passing = decided(pass(), action, 150, missing.holds.first());
        let still = decided(pass(), action, 249, passing.holds.first());
        assert_eq!(still.command, command);
        assert_eq!(still.holds.first().unwrap().since, at(10));
        let over = decided(pass(), action, 250, still.holds.first());
        assert_eq!((over.command, over.holds), (StepCommand::Proceed, vec![]));
        assert_eq!(over.happened, Some(CheckTransition::Passed));
    }
}

#[test]
fn a_pause_becomes_a_roll_back_and_not_the_other_way_round() {
    let paused = decided(fail(), Action::Pause, 10, None);
    let worse = decided(fail(), Action::Rollback, 20, paused.holds.first());
    assert_eq!(
        (worse.command, worse.happened),
        (StepCommand::RollBack, Some(CheckTransition::Held))
    );
    let milder = decided(fail(), Action::Pause, 30, worse.holds.first());
    assert_eq!(
        (milder.command, milder.happened),
        (StepCommand::RollBack, None)
    );
}

#[test]
fn a_request_to_go_on_counts_where_it_was_made_after_the_hold_began() {
    let held = decided(fail(), Action::Pause, 10, None);
    let failing = [checked("errors", Action::Pause, fail())];
    for (resume, command) in [
        (None, StepCommand::Pause),
        (Some(9), StepCommand::Pause),
        (Some(10), StepCommand::Resume),
        (Some(50), StepCommand::Resume),
        (Some(51), StepCommand::Pause),
    ] {
        let checks = Checks {
            checked: &failing,
            heading: Some(heading(Direction::Down, Some(at(0)))),
            resume: resume.map(at),
            now: at(50),
        };
        let decided = decide(&checks, &held.holds);
        assert_eq!(decided.command, command, "{resume:?}");
        let is_told = decided.reason.contains("evenkeel.dev/resume");
        assert_eq!(is_told, resume == Some(51), "{}", decided.reason);
    }
}

/// The harm: what no check will ever know, as that of a query without a series, stopped a change for good.
#[test]
fn a_request_to_go_on_lets_one_step_be_made_past_a_check_that_does_not_know() {
    let checked = [checked("errors", Action::Pause, unknown())];
    for (stepped, resume, command) in [
        (Some(20), None, StepCommand::Wait),
        (Some(20), Some(19), StepCommand::Wait),
        (Some(20), Some(20), StepCommand::Resume),
        (Some(20), Some(51), StepCommand::Wait),
        (None, Some(20), StepCommand::Wait),
    ] {
        let checks = Checks {
            checked: &checked,
            heading: Some(heading(Direction::Down, stepped.map(at))),
            resume: resume.map(at),
            now: at(50),
        };
        let decided = decide(&checks, &[]);
        assert_eq!(decided.command, command, "{stepped:?} {resume:?}");
        let happened = (command == StepCommand::Resume).then_some(CheckTransition::Resumed);
        assert_eq!(decided.happened, happened);
        assert!(decided.reason.contains("not measured"));
    }
}

#[test]
fn a_turn_is_free_of_the_hold_of_the_other_direction_which_outlasts_it() {
    let held = decided(fail(), Action::Rollback, 10, None);
    let failing = [checked("errors", Action::Rollback, fail())];
    let checks = |heading| Checks {
        checked: &failing,
        heading,
        resume: None,
        now: at(20),
    };
    let turned = decide(&checks(Some(heading(Direction::Up, None))), &held.holds);
    assert_eq!(
        (turned.command, &turned.holds),
        (StepCommand::Proceed, &held.holds)
    );
    let down = heading(Direction::Down, None);
    let back = decide(&checks(Some(down)), &turned.holds);
    assert_eq!(back.command, StepCommand::RollBack, "a turn and back");
    let up = heading(Direction::Up, Some(at(15)));
    let both = decide(&checks(Some(up)), &held.holds);
    assert_eq!(both.command, StepCommand::RollBack);
    let directions: Vec<_> = both.holds.iter().map(|hold| hold.direction).collect();
    assert_eq!(directions, [Direction::Up, Direction::Down]);
    let idle = decide(&checks(None), &held.holds);
    assert_eq!(
        (idle.command, &idle.holds),
        (StepCommand::Proceed, &held.holds)
    );
    let later = Checks {
        now: at(110),
        ..checks(None)
    };
    assert_eq!(decide(&later, &idle.holds).holds, [], "cooled down");
    let rolled_back = decide(&checks(Some(heading(Direction::Down, None))), &held.holds);
    assert_eq!(rolled_back.command, StepCommand::RollBack);
    let checks = Checks {
        checked: &[checked("errors", Action::Pause, unknown())],
        ..checks(Some(heading(Direction::Down, Some(at(0)))))
    };
    let waiting = decide(&checks, &[]);
    assert_eq!(
        (waiting.command, waiting.holds),
        (StepCommand::Wait, vec![])
    );
    assert!(waiting.reason.contains("not measured"));
}

#[test]
fn the_word_of_somebody_outside_counts_where_it_is_about_the_last_step_and_not_too_old() {
    let answer = |passes, message: &str, second| ExternalCheckAnswer {
        passes,
        message: message.to_owned(),
        at: at(second),
    };
    let passed = || CheckVerdict::Pass("it passes".to_owned());
    let failed = || CheckVerdict::Fail("5 % fail".to_owned());
    let unknown = |why: &str| CheckVerdict::Unknown(why.to_owned());
    let (well, ill) = (answer(true, "", 90), answer(false, "5 % fail", 90));
    let (before, old) = (answer(true, "", 79), answer(false, "", 39));
    let gone = Some("no answer within the timeout");
    let unasked = "not asked since the last step";
    for (given, failure, after, verdict) in [
        (Some(&well), None, Some(80), passed()),
        (Some(&well), None, None, passed()),
        (Some(&ill), None, Some(90), failed()),
        // One that counts is not undone by a failure after it.
        (Some(&ill), gone, Some(80), failed()),
        (Some(&before), None, Some(80), unknown(unasked)),
        (
            Some(&old),
            None,
            None,
            unknown("last asked 61 s ago, which is too old"),
        ),
        (None, None, None, unknown(unasked)),
        (
            Some(&before),
            gone,
            Some(80),
            unknown("no answer within the timeout"),
        ),
        (None, gone, None, unknown("no answer within the timeout")),
    ] {
        let found = ExternalCheckAnswer::judge(given, failure, &freshness(100, after));
        assert_eq!(found, verdict);
    }
}
