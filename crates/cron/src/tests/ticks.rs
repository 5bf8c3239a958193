//! Runs and windows tick by tick: what is made up for, what overlaps, what is put back.

use evenkeel_objects::bounds::ObjectBounds;

use super::*;

const CREATED: &str = "2026-11-22T00:00:00Z";

/// A CronHPA beside its HPA, tick by tick.
struct Played {
    spec: CronSpec,
    state: CronState,
    agenda: ScheduleCache,
    user: ObjectBounds,
    saying: CronEffect,
    current: i32,
    effective: Option<i32>,
    recorded: Option<i32>,
}

impl Played {
    fn new(rules: Vec<Rule>, (min, max): (i32, i32), current: i32) -> Self {
        let user = ObjectBounds {
            min: Some(min),
            max,
        };
        Self {
            spec: spec(rules),
            state: CronState::default(),
            agenda: ScheduleCache::default(),
            user,
            saying: CronEffect::Bounds,
            current,
            effective: None,
            recorded: None,
        }
    }

    /// The same beside a workload of so many replicas that nothing else scales.
    fn alone(rules: Vec<Rule>, count: i32) -> Self {
        Self {
            user: ObjectBounds::of_count(count),
            saying: CronEffect::Count,
            ..Self::new(rules, (count, count), count)
        }
    }

    /// Gives it other rules, and so another agenda.
    fn change(&mut self, rules: Vec<Rule>) {
        (self.spec, self.agenda) = (spec(rules), ScheduleCache::default());
    }

    fn observe(&mut self, now: &str) -> CronTickResult {
        let observation = CronObservation {
            now: at(now),
            created: at(CREATED),
            current: Some(self.current),
            user: self.user,
            saying: self.saying,
            effective: self.effective,
            recorded: self.recorded,
        };
        let ticked = tick(&self.spec, &self.state, &observation, &mut self.agenda);
        self.state = ticked.state.clone();
        ticked
    }

    /// The least that is wanted at a time of 22 November, in UTC.
    fn min(&mut self, time: &str) -> Option<i32> {
        let ticked = self.observe(&format!("2026-11-22T{time}Z"));
        ticked.wanted.map(|wanted| wanted.min)
    }
}

/// The names of what happened.
fn told(ticked: &CronTickResult) -> Vec<String> {
    let told = ticked.happened.iter().map(|one| match one {
        CronEvent::Ran { rule, min, .. } => format!("ran {rule} {min:?}"),
        CronEvent::Missed { rule, .. } => format!("missed {rule}"),
        CronEvent::Opened { rule, .. } => format!("opened {rule}"),
        CronEvent::Closed { rule } => format!("closed {rule}"),
    });
    told.collect()
}

#[test]
fn a_run_stands_until_the_next_one_says_otherwise() {
    let rules = vec![run("day", "0 8 * * *", 6), run("night", "0 20 * * *", 2)];
    let mut played = Played::new(rules, (1, 10), 5);
    assert_eq!(played.min("07:59:59"), None);
    assert_eq!(played.min("08:00:10"), Some(6), "raised");
    played.current = 8;
    assert_eq!(played.min("12:00:00"), Some(6), "it stands");
    assert_eq!(played.min("20:00:00"), Some(2), "lowered from what stood");
    played.current = 2;
    let again = played.observe("2026-11-23T08:00:00Z");
    assert_eq!(told(&again), ["ran day Some(6)"]);
}

#[test]
fn without_a_scaler_a_run_sets_the_count_whatever_there_is() {
    let rules = vec![
        run("less", "0 8 * * *", 2),
        run("own", "0 9 * * *", 5),
        run("more", "0 10 * * *", 7),
        window("rush", ("0 11 * * *", "0 13 * * *"), 9),
        run("during", "0 12 * * *", 6),
    ];
    let mut played = Played::alone(rules, 5);
    for (time, wanted) in [
        ("08:00:05", Some(2)),
        ("09:00:05", None),
        ("10:00:05", Some(7)),
        ("11:00:05", Some(9)),
        ("12:00:05", Some(9)),
        // An HPA would have been left what the load needs of the 9.
        ("13:00:05", Some(6)),
    ] {
        assert_eq!(played.min(time), wanted, "{time}");
        played.current = wanted.unwrap_or(5);
    }
}

#[test]
fn what_a_run_lowered_is_put_back_by_the_next() {
    let rules = vec![run("night", "0 1 * * *", 2), run("day", "0 8 * * *", 5)];
    let mut played = Played::new(rules, (5, 10), 5);
    assert_eq!(played.min("01:00:00"), Some(2));
    played.current = 3;
    assert_eq!(played.min("08:00:00"), None, "the user's own least does");
    let mut met = Played::new(played.spec.rules().to_vec(), (5, 10), 5);
    assert_eq!(met.min("01:00:00"), Some(2));
    assert_eq!(
        met.min("08:00:00"),
        None,
        "also where the count is the target"
    );
}

#[test]
fn a_run_that_changes_nothing_leaves_what_stands() {
    let rules = vec![run("a", "0 8 * * *", 6), run("b", "0 9 * * *", 7)];
    let mut played = Played::new(rules, (1, 10), 5);
    assert_eq!(played.min("08:00:00"), Some(6));
    played.current = 9;
    assert_eq!(played.min("09:00:00"), Some(6), "7 is between 6 and 9");
}

#[test]
fn of_runs_at_one_moment_the_larger_is_made() {
    let rules = vec![
        run("a", "0 8 * * *", 9),
        run("b", "0 8 * * *", 6),
        run("c", "CRON_TZ=Europe/Berlin 0 9 * * *", 7),
    ];
    let mut played = Played::new(rules, (1, 10), 5);
    let ticked = played.observe("2026-11-22T08:00:05Z");
    assert_eq!(told(&ticked), ["ran a Some(9)"]);
    assert_eq!(told(&played.observe("2026-11-22T08:00:20Z")), [""; 0]);
}

#[test]
fn the_newest_missed_run_is_made_up_for_once_within_the_deadline() {
    let rules = || vec![run("a", "0 8 * * *", 6), run("b", "2 8 * * *", 7)];
    for (back, happened) in [
        ("08:00:00", vec!["ran a Some(6)"]),
        ("08:04:59", vec!["ran b Some(7)"]),
        ("08:07:00", vec!["ran b Some(7)"]),
        ("08:07:01", vec!["missed a", "missed b"]),
    ] {
        let mut played = Played::new(rules(), (1, 10), 5);
        assert_eq!(played.min("07:00:00"), None);
        let ticked = played.observe(&format!("2026-11-22T{back}Z"));
        assert_eq!(told(&ticked), happened, "{back}");
        let again = played.observe(&format!("2026-11-22T{back}Z"));
        assert_eq!(told(&again), [""; 0], "{back}: once");
        assert_eq!(again.wanted, ticked.wanted, "{back}");
    }
}

#[test]
fn a_restart_repeats_nothing_and_forgets_nothing() {
    let rules = || vec![run("a", "0 8 * * *", 6)];
    let mut before = Played::new(rules(), (1, 10), 5);
    assert_eq!(before.min("08:00:00"), Some(6));
    let mut after = Played {
        state: before.state.clone(),
        current: 9,
        ..Played::new(rules(), (1, 10), 5)
    };
    let ticked = after.observe("2026-11-22T08:01:00Z");
    assert_eq!(told(&ticked), [""; 0]);
    assert_eq!(
        ticked.wanted,
        Some(RequestedMinimum {
            min: 6,
            until: None,
            raises: true,
        })
    );
    // If the state was lost with its write, the run is made again, with the same result.
    let mut lost = Played::new(rules(), (1, 10), 5);
    assert_eq!(lost.min("08:01:00"), Some(6));
}

#[test]
fn nothing_from_before_the_object_was_made_is_made_up_for() {
    let mut played = Played::new(vec![run("a", "0 0 * * *", 6)], (1, 10), 5);
    assert_eq!(played.min("00:01:00"), None, "made at midnight itself");
    let mut edited = Played::new(vec![run("a", "0 9 * * *", 6)], (1, 10), 5);
    assert_eq!(edited.min("08:00:00"), None);
    edited.change(vec![run("a", "59 7 * * *", 6)]);
    assert_eq!(edited.min("08:00:15"), None, "changed after its moment");
    assert_eq!(told(&edited.observe("2026-11-23T07:59:00Z")).len(), 1);
}

#[test]
fn without_a_count_runs_wait_for_one_within_their_deadline() {
    let mut played = Played::new(vec![run("a", "0 8 * * *", 6)], (1, 10), 5);
    let unknown = CronObservation {
        saying: played.saying,
        now: at("2026-11-22T08:00:00Z"),
        created: at(CREATED),
        current: None,
        user: played.user,
        effective: None,
        recorded: None,
    };
    let ticked = tick(&played.spec, &played.state, &unknown, &mut played.agenda);
    assert_eq!((told(&ticked).len(), ticked.wanted), (0, None));
    played.state = ticked.state;
    assert_eq!(played.min("08:04:00"), Some(6));
}

#[test]
fn a_window_holds_its_replicas_while_it_is_open() {
    let rules = vec![window("noon", ("0 11 * * *", "0 13 * * *"), 8)];
    let mut played = Played::new(rules, (2, 10), 9);
    assert_eq!(played.min("10:59:59"), None);
    let ticked = played.observe("2026-11-22T11:00:00Z");
    assert_eq!(told(&ticked), ["opened noon"]);
    let until = Some(at("2026-11-22T13:00:00Z"));
    assert_eq!(
        ticked.wanted,
        Some(RequestedMinimum {
            min: 8,
            until,
            raises: true
        }),
        "also with 9 there"
    );
    assert_eq!(played.min("12:59:59"), Some(8));
    let ticked = played.observe("2026-11-22T13:00:00Z");
    assert_eq!(
        (told(&ticked), ticked.wanted),
        (vec!["closed noon".to_owned()], None)
    );
    // A program that starts late finds it open, whatever the deadline.
    let mut late = Played::new(played.spec.rules().to_vec(), (2, 10), 2);
    assert_eq!(late.min("12:30:00"), Some(8));
}

#[test]
fn windows_pass_midnight_and_overlap_by_the_larger() {
    let rules = vec![
        window("night", ("0 22 * * *", "0 6 * * *"), 3),
        window("late", ("0 23 * * *", "0 1 * * *"), 7),
        run("base", "30 0 * * *", 5),
    ];
    let mut played = Played::new(rules, (1, 10), 1);
    for (now, min, until) in [
        ("2026-11-22T22:30:00Z", 3, Some("2026-11-23T06:00:00Z")),
        ("2026-11-22T23:00:00Z", 7, Some("2026-11-23T01:00:00Z")),
        ("2026-11-23T00:30:00Z", 7, Some("2026-11-23T01:00:00Z")),
        ("2026-11-23T01:00:00Z", 5, None),
        ("2026-11-23T06:00:00Z", 5, None),
    ] {
        let wanted = played.observe(now).wanted.unwrap();
        assert_eq!((wanted.min, wanted.until), (min, until.map(at)), "{now}");
    }
}

#[test]
fn a_window_that_spans_a_change_of_the_clocks_opens_and_closes_once() {
    let rules = vec![window(
        "night",
        (
            "CRON_TZ=Europe/Berlin 30 2 * * *",
            "CRON_TZ=Europe/Berlin 0 4 * * *",
        ),
        8,
    )];
    for (begin, opens, closes) in [
        (
            "2026-03-29T00:00:00Z",
            "2026-03-29T01:00:00Z",
            "2026-03-29T02:00:00Z",
        ),
        (
            "2026-10-25T00:00:00Z",
            "2026-10-25T00:30:00Z",
            "2026-10-25T03:00:00Z",
        ),
    ] {
        let mut played = Played::new(rules.clone(), (1, 10), 1);
        let (mut now, mut opened, mut closed) = (at(begin), Vec::new(), Vec::new());
        for _ in 0..4 * 60 {
            for happening in played.observe(&now.to_string()).happened {
                match happening {
                    CronEvent::Opened { .. } => opened.push(now),
                    _ => closed.push(now),
                }
            }
            now += SignedDuration::from_mins(1);
        }
        assert_eq!(
            (opened, closed),
            (vec![at(opens)], vec![at(closes)]),
            "{begin}"
        );
    }
}

#[test]
fn nothing_begins_on_an_excluded_day_and_what_is_open_closes_on_it() {
    let rules = vec![
        excluding(run("day", "0 8 * * *", 6), &["2026-11-22"]),
        excluding(
            window("night", ("0 22 * * *", "0 6 * * *"), 8),
            &["2026-11-23"],
        ),
    ];
    let mut played = Played::new(rules, (1, 10), 1);
    assert_eq!(played.min("08:00:00"), None, "excluded");
    assert_eq!(played.min("22:00:00"), Some(8));
    for (now, min) in [
        ("2026-11-23T05:59:00Z", Some(8)),
        ("2026-11-23T06:00:00Z", None),
        ("2026-11-23T08:00:00Z", Some(6)),
        ("2026-11-23T22:00:00Z", Some(6)),
        ("2026-11-24T22:00:00Z", Some(8)),
    ] {
        let wanted = played.observe(now).wanted.map(|wanted| wanted.min);
        assert_eq!(wanted, min, "{now}");
    }
}

#[test]
fn a_planned_event_applies_once() {
    let sale = once(window("sale", ("0 20 28 11 *", "0 2 29 11 *"), 30));
    let mut played = Played::new(
        vec![sale, once(run("warm", "0 19 28 11 *", 12))],
        (1, 10),
        4,
    );
    for (now, min) in [
        ("2026-11-27T20:00:00Z", None),
        ("2026-11-28T19:00:00Z", Some(12)),
        ("2026-11-28T20:00:00Z", Some(30)),
        ("2026-11-29T01:59:59Z", Some(30)),
        ("2026-11-29T02:00:00Z", Some(12)),
        // A year later there is no sale.
        ("2027-11-28T20:00:00Z", Some(12)),
    ] {
        let wanted = played.observe(now).wanted.map(|wanted| wanted.min);
        assert_eq!(wanted, min, "{now}");
    }
    // Made during it, it joins in; missed altogether, it is over.
    let state = |played: &mut Played, now: &str| played.observe(now).wanted.map(|one| one.min);
    let mut missed = Played::new(played.spec.rules().to_vec(), (1, 10), 4);
    assert_eq!(state(&mut missed, "2026-11-30T00:00:00Z"), None);
    assert_eq!(state(&mut missed, "2027-11-28T20:30:00Z"), None);
}

#[test]
fn while_suspended_nothing_is_asked_for() {
    let rules = vec![
        run("day", "0 8 * * *", 6),
        window("noon", ("0 11 * * *", "0 13 * * *"), 8),
    ];
    let mut played = Played::new(rules.clone(), (1, 10), 5);
    assert_eq!(
        played.min("11:30:00"),
        Some(8),
        "open; the run of 08:00 is too old"
    );
    let deadline = SignedDuration::from_mins(5);
    played.spec = CronSpec::new(rules.clone(), true, deadline).unwrap();
    played.agenda = ScheduleCache::default();
    let ticked = played.observe("2026-11-22T12:00:00Z");
    assert_eq!(
        (told(&ticked), ticked.wanted),
        (vec!["closed noon".to_owned()], None)
    );
    played.change(rules);
    assert_eq!(played.min("12:30:00"), Some(8));
}

#[test]
fn what_a_rule_holds_goes_with_it() {
    let mut played = Played::new(
        vec![run("day", "0 8 * * *", 6), run("night", "0 20 * * *", 2)],
        (1, 10),
        5,
    );
    assert_eq!(played.min("08:00:00"), Some(6));
    played.change(vec![run("night", "0 20 * * *", 2)]);
    assert_eq!(played.min("09:00:00"), None);
}

#[test]
fn a_run_holds_where_somebody_elses_least_is_all_that_keeps_the_count_up() {
    for (count, effective, target, least) in [
        (8, Some(8), 8, Some(8)), // a floor of 8 stands: it may go a minute later
        (8, Some(8), 6, Some(6)), // so may a window of 8
        (5, Some(8), 6, Some(6)), // which is not scaled to yet
        (9, Some(8), 8, None),    // the load is what there are 9 for
        (8, Some(8), 1, None),    // no more than the user's own
        (8, Some(1), 8, None),    // nothing was raised: the source's first row
        (8, None, 6, None),
    ] {
        let mut played = Played::new(vec![run("day", "0 8 * * *", target)], (1, 20), count);
        played.effective = effective;
        assert_eq!(
            played.min("08:00:10"),
            least,
            "{target} at {count}, {effective:?}"
        );
        // The floor has gone, and the HPA is free again.
        played.effective = Some(least.unwrap_or(1));
        assert_eq!(played.min("08:20:00"), least, "{target} at {count}, later");
    }
    let mut night = Played::new(vec![run("night", "0 8 * * *", 2)], (5, 10), 8);
    night.effective = Some(8);
    assert_eq!(
        night.min("08:00:00"),
        Some(2),
        "what lowers does so beneath a floor"
    );
}

#[test]
fn a_run_whose_status_was_lost_stands_as_the_record_has_it() {
    for (now, count, happened) in [
        ("08:01:00", 8, vec!["ran day Some(8)"]),
        ("08:01:00", 12, vec!["ran day Some(8)"]),
        // Too late to be made, and it was made.
        ("08:06:00", 8, vec![]),
    ] {
        let mut played = Played::new(vec![run("day", "0 8 * * *", 8)], (1, 20), count);
        (played.effective, played.recorded) = (Some(8), Some(8));
        let ticked = played.observe(&format!("2026-11-22T{now}Z"));
        assert_eq!(told(&ticked), happened, "{now} {count}");
        assert_eq!(
            ticked.wanted.map(|wanted| wanted.min),
            Some(8),
            "{now} {count}"
        );
        played.recorded = None;
        assert_eq!(played.min("12:00:00"), Some(8), "{now} {count}: and stands");
    }
    // A window's request is no run's.
    let mut window = Played::new(
        vec![
            run("day", "0 8 * * *", 8),
            window("w", ("0 7 * * *", "10 8 * * *"), 8),
        ],
        (1, 20),
        12,
    );
    assert_eq!(window.min("07:30:00"), Some(8));
    (window.effective, window.recorded) = (Some(8), Some(8));
    assert_eq!(
        told(&window.observe("2026-11-22T08:06:00Z")),
        ["missed day"]
    );
    assert_eq!(window.min("08:10:00"), None);
}

#[test]
fn a_missed_run_ends_what_the_one_before_lowered_and_leaves_what_it_raised() {
    for (night, least) in [(2, None), (8, Some(8))] {
        let rules = vec![run("night", "0 1 * * *", night), run("day", "0 8 * * *", 6)];
        let mut played = Played::new(rules, (5, 10), 5);
        assert_eq!(played.min("01:00:00"), Some(night));
        let ticked = played.observe("2026-11-22T08:06:00Z");
        assert_eq!(told(&ticked), ["missed day"]);
        assert_eq!(ticked.wanted.map(|wanted| wanted.min), least, "{night}");
        assert_eq!(played.min("12:00:00"), least, "{night}");
    }
    // One that lay before it says nothing.
    let rules = || vec![run("night", "4 8 * * *", 2)];
    let mut played = Played::new(rules(), (5, 10), 5);
    assert_eq!(played.min("08:04:00"), Some(2));
    let mut both = rules();
    both.push(run("day", "0 8 * * *", 6));
    played.change(both);
    assert_eq!(played.min("08:06:00"), Some(2));
}

#[test]
fn what_raised_stays_so_whatever_the_user_sets_later_and_what_lowered_too() {
    let raises = |played: &mut Played, time: &str| {
        let ticked = played.observe(&format!("2026-11-22T{time}Z"));
        ticked.wanted.map(|wanted| (wanted.min, wanted.raises))
    };
    let mut day = Played::new(vec![run("day", "0 8 * * *", 6)], (1, 10), 5);
    assert_eq!(raises(&mut day, "08:00:00"), Some((6, true)));
    day.user.min = Some(8);
    assert_eq!(raises(&mut day, "12:00:00"), Some((6, true)));
    // The next run is made beneath what the user has now.
    let ticked = day.observe("2026-11-23T08:00:00Z");
    assert_eq!(
        ticked.wanted.map(|one| (one.min, one.raises)),
        Some((6, false))
    );

    let noon = || vec![window("noon", ("0 11 * * *", "0 13 * * *"), 6)];
    for (own, edited, raised) in [(1, 8, true), (8, 1, false)] {
        let mut window = Played::new(noon(), (own, 10), 5);
        assert_eq!(raises(&mut window, "11:00:00"), Some((6, raised)));
        window.user.min = Some(edited);
        assert_eq!(raises(&mut window, "12:00:00"), Some((6, raised)), "{own}");
        // A version that did not record the user's minimum at the decision.
        window.state.rules.get_mut("noon").unwrap().least = None;
        assert_eq!(raises(&mut window, "12:30:00"), Some((6, !raised)), "{own}");
    }
}
