//! Cron schedules and excluded days, which every tenant with a CronHPA writes: none breaks the walk
//! through them. Once the next time of a schedule has come, it is the schedule's latest. Lines: a
//! time in seconds, a schedule, excluded days with semicolons between them.

#![no_main]

use std::sync::Arc;

use evenkeel_cron::{
    CronSpec, CronState, ExcludedDay, ExcludedDays, Rule, RuleTiming, Schedule, Zone, upcoming,
};
use jiff::{SignedDuration, Timestamp};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut lines = text.lines();
    let mut line = || lines.next().unwrap_or_default();
    let (second, text, days) = (line(), line(), line());
    let second: u32 = second.parse().unwrap_or(1_800_000_000);
    let Ok(schedule) = Schedule::parse(text, None, &Zone::utc()) else {
        return;
    };
    let at = Timestamp::from_second(i64::from(second)).expect("a time in range");
    if let Some(next) = schedule.next_after(at) {
        let next = next.timestamp();
        assert!(next > at, "{text:?} at {at}");
        let latest = schedule.latest_until(next).map(|latest| latest.timestamp());
        assert_eq!(latest, Some(next), "{text:?} at {at}");
    }
    if let Some(latest) = schedule.latest_until(at) {
        assert!(latest.timestamp() <= at, "{text:?} at {at}");
    }
    let excluded: Option<ExcludedDays> = days
        .split(';')
        .map(|days| ExcludedDay::parse(days).ok())
        .collect();
    let rule = Rule {
        name: "a".to_owned(),
        when: RuleTiming::Run(schedule),
        replicas: 1,
        run_once: false,
        suspended: false,
        excluded: Arc::new(excluded.unwrap_or_default()),
    };
    let spec = CronSpec::new(vec![rule], false, SignedDuration::ZERO).expect("one sound rule");
    let moments: Vec<Timestamp> = upcoming(&spec, &CronState::default(), at, 5)
        .into_iter()
        .map(|one| one.at.timestamp())
        .collect();
    let ordered = moments.is_sorted_by(|a, b| a < b);
    assert!(
        ordered && moments.iter().all(|moment| *moment > at),
        "{text:?} without {days:?}"
    );
});
