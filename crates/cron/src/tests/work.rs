//! The work and the memory that the worst rules cost: steps and bytes are counted.

use evenkeel_objects::bounds::ObjectBounds;

use super::*;
use crate::walk::{MOST_YEARS, steps};

/// The most rules, and the most excluded days, that a CronHPA may have.
const RULES: usize = 32;
const DAYS: usize = 128;

/// The steps of one walk at most: each month that is looked through, and each range that is passed.
fn longest() -> u32 {
    let months = u32::from(MOST_YEARS.unsigned_abs() + 1) * 12;
    months + u32::try_from(DAYS).unwrap()
}

/// Days of which each is excluded by a pattern, or by a date, of its own.
fn excluded_days() -> Vec<String> {
    let patterns =
        (0..DAYS / 2).map(|place| format!("* * {} {} *", place % 28 + 1, place % 12 + 1));
    let ranges = (0..DAYS / 2).map(|place| {
        let year = 2027 + 40 * place;
        format!("{year:04}-01-01/{:04}-12-31", year + 38)
    });
    patterns.chain(ranges).collect()
}

/// The rules of one object, of a form, which all exclude these days.
fn rules(days: &[String], rule: impl Fn(String) -> Rule) -> Vec<Rule> {
    let days = days.iter().map(|day| ExcludedDay::parse(day).unwrap());
    let excluded = Arc::new(days.collect());
    let rule = |place| Rule {
        excluded: Arc::clone(&excluded),
        ..rule(format!("rule-{place}"))
    };
    (0..RULES).map(rule).collect()
}

struct Followed {
    spec: CronSpec,
    state: CronState,
    agenda: ScheduleCache,
}

impl Followed {
    fn new(rules: Vec<Rule>) -> Self {
        Self {
            spec: spec(rules),
            state: CronState::default(),
            agenda: ScheduleCache::default(),
        }
    }

    /// The steps of a tick, with what is to come, as it is shown.
    fn steps(&mut self, now: &str) -> u32 {
        let now = at(now);
        let user = ObjectBounds {
            min: Some(1),
            max: 10,
        };
        let observation = CronObservation {
            now,
            created: at("2026-01-01T00:00:00Z"),
            current: Some(5),
            user,
            saying: CronEffect::Bounds,
            effective: Some(1),
            recorded: None,
        };
        let Self {
            spec,
            state,
            agenda,
        } = self;
        let (steps, next) = steps::of(|| {
            *state = tick(spec, state, &observation, agenda).state;
            agenda.next(spec, state, now, 5).len()
        });
        assert!(next <= 5);
        steps
    }
}

#[test]
fn rules_that_never_come_are_looked_through_once() {
    let all = vec!["* * * * *".to_owned()];
    let never: [fn(String) -> Rule; 4] = [
        |name| run(&name, "* * * * * *", 3),
        |name| once(run(&name, "* * * * * *", 3)),
        |name| window(&name, ("* * * * * *", "0 0 29 2 *"), 3),
        |name| once(window(&name, ("* * * * * *", "0 0 29 2 *"), 3)),
    ];
    for rule in never {
        let mut followed = Followed::new(rules(&all, rule));
        let first = followed.steps("2026-11-22T08:00:00Z");
        let most = 4 * longest() * u32::try_from(RULES).unwrap();
        assert!((1..=most).contains(&first), "{first} of {most}");
        for second in 1..60 {
            let now = format!("2026-11-22T08:00:{second:02}Z");
            assert_eq!(followed.steps(&now), 0, "{now}");
        }
    }
}

#[test]
fn rules_that_come_seldom_past_many_excluded_days_cost_nothing_between_their_moments() {
    let days = excluded_days();
    let mut followed = Followed::new(rules(&days, |name| run(&name, "0 0 29 2 +SAT", 3)));
    let first = followed.steps("2026-11-22T08:00:00Z");
    let walks = 2 * u32::try_from(RULES).unwrap() + 5;
    assert!((1..=walks * longest()).contains(&first), "{first}");
    assert_eq!(followed.steps("2026-11-22T08:00:15Z"), 0);
    assert_eq!(followed.steps("2026-11-23T08:00:15Z"), 0);
}

#[test]
fn rules_that_run_every_second_cost_a_few_steps_each_and_leave_the_others_alone() {
    let mut all = rules(&[], |name| run(&name, "* * * * * *", 3));
    let days = excluded_days();
    let seldom = rules(&days, |name| {
        window(&name, ("0 0 29 2 +SAT", "0 0 29 2 +SAT"), 3)
    });
    all.splice(RULES / 2.., seldom.into_iter().skip(RULES / 2));
    let mut followed = Followed::new(all);
    followed.steps("2026-11-22T08:00:00Z");
    // Two walks for each rule that has come, and one for each that is shown.
    let most = u32::try_from(RULES / 2 * 2 + 5).unwrap();
    for second in 1..10 {
        let steps = followed.steps(&format!("2026-11-22T08:00:{second:02}Z"));
        assert!((1..=most).contains(&steps), "{steps}");
    }
    // Set back, the clock is believed, and the calendar is looked through anew.
    assert!(followed.steps("2026-11-22T07:00:00Z") > most);
}

#[test]
fn a_schedule_in_a_gap_of_every_year_is_given_up() {
    let rule = run("a", "TZ=Europe/Berlin */5 2 * 3 SUN#L", 3);
    let (taken, next) = steps::of(|| rule.next_after(at("2026-11-22T08:00:00Z")));
    assert_eq!(next, None, "clocks never show it");
    assert!(taken <= 3 * longest(), "{taken}");
}

#[test]
fn a_list_without_an_entry_names_no_time_and_is_no_schedule() {
    for text in [", * * * *", "* , * * *", ", , * * *"] {
        let parsed = Schedule::parse(text, None, &Zone::utc());
        assert!(
            matches!(parsed, Err(ScheduleError::Never(_))),
            "{text}: {parsed:?}"
        );
    }
}

#[test]
fn the_largest_rules_take_no_more_than_their_size() {
    let days = excluded_days();
    let long = |name: String| {
        let text = format!(
            "TZ=Europe/Berlin {} * * *",
            (0..80)
                .map(|n| (n % 60).to_string())
                .collect::<Vec<_>>()
                .join(",")
                + " 1"
        );
        window(&name, (&text, &text), 3)
    };
    let shared = spec(rules(&days, long)).bytes();
    let mut own = rules(&days, long);
    for rule in &mut own {
        rule.excluded = Arc::new(rule.excluded.as_ref().clone());
    }
    let own = spec(own).bytes();
    assert!(
        shared < own,
        "shared days are held once: {shared} and {own}"
    );
    assert!((10_000..100_000).contains(&own), "{own}");
}
