//! The moments of schedules, through changes of the clocks in three zones, with excluded days, forwards
//! and backwards.

use proptest::prelude::*;

use super::*;

/// The next moments after one, as local times with their offsets.
fn next(text: &str, after: &str, count: usize) -> Vec<String> {
    let (schedule, mut from) = (schedule(text), at(after));
    let mut found = Vec::new();
    for _ in 0..count {
        let next = schedule.next_after(from).unwrap();
        from = next.timestamp();
        found.push(next.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string());
    }
    found
}

#[test]
fn five_fields_six_fields_and_names() {
    for (text, moments) in [
        (
            "0 8 * * *",
            ["2026-11-23T08:00:00+00:00", "2026-11-24T08:00:00+00:00"],
        ),
        (
            "30 0 8 * * *",
            ["2026-11-23T08:00:30+00:00", "2026-11-24T08:00:30+00:00"],
        ),
        (
            "*/20 * * * *",
            ["2026-11-22T20:20:00+00:00", "2026-11-22T20:40:00+00:00"],
        ),
        (
            "0 9-17/4 * * MON-FRI",
            ["2026-11-23T09:00:00+00:00", "2026-11-23T13:00:00+00:00"],
        ),
        (
            "0 0 * * 7",
            ["2026-11-29T00:00:00+00:00", "2026-12-06T00:00:00+00:00"],
        ),
        (
            "0 0 29 2 *",
            ["2028-02-29T00:00:00+00:00", "2032-02-29T00:00:00+00:00"],
        ),
        // Day of month or day of week, where both are given.
        (
            "0 0 1 * 3",
            ["2026-11-25T00:00:00+00:00", "2026-12-01T00:00:00+00:00"],
        ),
        (
            "0 0 L * *",
            ["2026-11-30T00:00:00+00:00", "2026-12-31T00:00:00+00:00"],
        ),
        (
            "@daily",
            ["2026-11-23T00:00:00+00:00", "2026-11-24T00:00:00+00:00"],
        ),
    ] {
        assert_eq!(next(text, "2026-11-22T20:00:00Z", 2), moments, "{text}");
    }
}

#[test]
fn the_zone_stands_before_the_expression_or_beside_it() {
    for text in [
        "CRON_TZ=Asia/Shanghai 1 1 * * *",
        "TZ=Asia/Shanghai  1 1 * * *",
    ] {
        let found = next(text, "2026-11-22T20:00:00Z", 1);
        assert_eq!(found, ["2026-11-24T01:01:00+08:00"], "{text}");
    }
    let shanghai = Zone::parse("Asia/Shanghai").unwrap();
    let beside = Schedule::parse("1 1 * * *", Some(&shanghai), &Zone::utc()).unwrap();
    let before = schedule("CRON_TZ=Asia/Shanghai 1 1 * * *");
    assert_eq!(beside, before);
    let default = Schedule::parse("1 1 * * *", None, &shanghai).unwrap();
    assert_eq!(default, before);
}

#[test]
fn what_is_no_schedule_is_refused_with_what_is_accepted() {
    let utc = Zone::utc();
    for (text, reason, told) in [
        ("", "Schedule", "five fields"),
        ("8 * * *", "Schedule", "five fields"),
        ("0 0 8 * * * 2026", "Schedule", "five fields"),
        ("60 8 * * *", "Schedule", "five fields"),
        ("0 8 * * MOONDAY", "Schedule", "five fields"),
        ("@every 5m", "Schedule", "five fields"),
        ("0 0 30 2 *", "Schedule", "never runs"),
        ("CRON_TZ=Mars/Olympus 0 8 * * *", "TimeZone", "IANA"),
        ("CRON_TZ=Asia/Shanghai", "Schedule", "five fields"),
    ] {
        let error = Schedule::parse(text, None, &utc).unwrap_err();
        assert_eq!(error.reason(), reason, "{text}");
        assert!(error.to_string().contains(told), "{text}: {error}");
    }
    let both = Schedule::parse("TZ=UTC 0 8 * * *", Some(&utc), &utc).unwrap_err();
    assert_eq!(both.reason(), "TwoTimeZones");
    let long = format!("0 8 * * {}", "1,".repeat(1000));
    let error = Schedule::parse(&long, None, &utc).unwrap_err().to_string();
    assert!(
        error.contains("longer than") && error.len() < 1000,
        "{error}"
    );
}

#[test]
fn a_run_in_the_gap_of_spring_is_made_at_its_end_and_once() {
    for (text, after, moments) in [
        // 02:00 -> 03:00.
        (
            "CRON_TZ=Europe/Berlin 30 2 * * *",
            "2026-03-28T12:00:00Z",
            [
                "2026-03-29T03:00:00+02:00",
                "2026-03-30T02:30:00+02:00",
                "2026-03-31T02:30:00+02:00",
            ],
        ),
        // Two runs that fall together are one moment.
        (
            "CRON_TZ=America/New_York 0 2,3 * * *",
            "2026-03-08T00:00:00Z",
            [
                "2026-03-08T03:00:00-04:00",
                "2026-03-09T02:00:00-04:00",
                "2026-03-09T03:00:00-04:00",
            ],
        ),
        // Half an hour: 02:00 -> 02:30.
        (
            "CRON_TZ=Australia/Lord_Howe 15 2 * * *",
            "2026-10-03T00:00:00Z",
            [
                "2026-10-04T02:30:00+11:00",
                "2026-10-05T02:15:00+11:00",
                "2026-10-06T02:15:00+11:00",
            ],
        ),
        // At midnight: 00:00 -> 01:00, on the same day.
        (
            "CRON_TZ=Africa/Cairo 0 0 * * *",
            "2026-04-23T12:00:00Z",
            [
                "2026-04-24T01:00:00+03:00",
                "2026-04-25T00:00:00+03:00",
                "2026-04-26T00:00:00+03:00",
            ],
        ),
        // A schedule that repeats within the hour goes on, with no run to make up for.
        (
            "CRON_TZ=Europe/Berlin */30 * * * *",
            "2026-03-29T00:29:59Z",
            [
                "2026-03-29T01:30:00+01:00",
                "2026-03-29T03:00:00+02:00",
                "2026-03-29T03:30:00+02:00",
            ],
        ),
    ] {
        assert_eq!(next(text, after, 3), moments, "{text}");
    }
}

#[test]
fn a_run_in_the_hour_that_autumn_repeats_is_made_at_its_first_moment_alone() {
    for (text, after, moments) in [
        // 03:00 -> 02:00.
        (
            "CRON_TZ=Europe/Berlin 30 2 * * *",
            "2026-10-24T12:00:00Z",
            ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"],
        ),
        (
            "CRON_TZ=America/New_York 30 1 * * *",
            "2026-10-31T12:00:00Z",
            ["2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"],
        ),
        // Half an hour: 02:00 -> 01:30.
        (
            "CRON_TZ=Australia/Lord_Howe 45 1 * * *",
            "2026-04-04T00:00:00Z",
            ["2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"],
        ),
        // Asked between its two moments, and at the second.
        (
            "CRON_TZ=Europe/Berlin 30 2 * * *",
            "2026-10-25T00:45:00Z",
            ["2026-10-26T02:30:00+01:00", "2026-10-27T02:30:00+01:00"],
        ),
        (
            "CRON_TZ=Europe/Berlin 30 2 * * *",
            "2026-10-25T01:29:59Z",
            ["2026-10-26T02:30:00+01:00", "2026-10-27T02:30:00+01:00"],
        ),
        // A schedule that repeats within the hour goes on through both.
        (
            "CRON_TZ=Europe/Berlin */30 * * * *",
            "2026-10-25T00:00:00Z",
            ["2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+01:00"],
        ),
    ] {
        assert_eq!(next(text, after, 2), moments, "{text}");
    }
}

#[test]
fn times_in_lists_and_ranges_are_neither_skipped_in_spring_nor_doubled_in_autumn() {
    for (text, after, moments) in [
        // 02:00 -> 03:00, and 03:00 -> 02:00.
        (
            "CRON_TZ=Europe/Berlin 30 2,14 * * *",
            "2026-03-28T13:30:00Z",
            vec!["2026-03-29T03:00:00+02:00", "2026-03-29T14:30:00+02:00"],
        ),
        (
            "CRON_TZ=Europe/Berlin 30 2,14 * * *",
            "2026-10-24T12:30:00Z",
            vec![
                "2026-10-25T02:30:00+02:00",
                "2026-10-25T14:30:00+01:00",
                "2026-10-26T02:30:00+01:00",
            ],
        ),
        (
            "CRON_TZ=Europe/Berlin 0,30 2 * * *",
            "2026-10-25T00:15:00Z",
            vec!["2026-10-25T02:30:00+02:00", "2026-10-26T02:00:00+01:00"],
        ),
        (
            "CRON_TZ=America/New_York 15,45 1-3 * * *",
            "2026-03-08T06:50:00Z",
            vec![
                "2026-03-08T03:00:00-04:00",
                "2026-03-08T03:15:00-04:00",
                "2026-03-08T03:45:00-04:00",
            ],
        ),
        (
            "CRON_TZ=America/New_York 15,45 1-3 * * *",
            "2026-11-01T05:20:00Z",
            vec!["2026-11-01T01:45:00-04:00", "2026-11-01T02:15:00-05:00"],
        ),
        // Half an hour: 02:00 -> 02:30, and 02:00 -> 01:30.
        (
            "CRON_TZ=Australia/Lord_Howe 10,40 1,2 * * *",
            "2026-10-03T15:10:00Z",
            vec!["2026-10-04T02:30:00+11:00", "2026-10-04T02:40:00+11:00"],
        ),
        (
            "CRON_TZ=Australia/Lord_Howe 10,40 1,2 * * *",
            "2026-04-04T14:20:00Z",
            vec!["2026-04-05T01:40:00+11:00", "2026-04-05T02:10:00+10:30"],
        ),
        (
            "CRON_TZ=America/Santiago 0,30 0,23 * * *",
            "2026-09-06T03:30:00Z",
            vec!["2026-09-06T01:00:00-03:00", "2026-09-06T23:00:00-03:00"],
        ),
    ] {
        assert_eq!(next(text, after, moments.len()), moments, "{text}");
    }
}

/// A year of a schedule in a zone has one run a day, whichever way it is walked.
fn is_daily_through_the_year(zone: &str, time: &str) {
    let schedule = schedule(&format!("CRON_TZ={zone} {time} * * *"));
    let mut from = at("2025-12-31T12:00:00Z");
    let mut forwards = Vec::new();
    while forwards.len() < 365 {
        let next = schedule.next_after(from).unwrap();
        from = next.timestamp();
        forwards.push(next);
    }
    for pair in forwards.windows(2) {
        let next_day = pair[0].date().tomorrow().unwrap();
        assert_eq!(pair[1].date(), next_day, "{zone} {time}");
    }
    let mut until = forwards[364].timestamp();
    for expected in forwards.iter().rev() {
        let found = schedule.latest_until(until).unwrap();
        assert_eq!(&found, expected, "{zone} {time} backwards");
        until = Timestamp::from_second(found.timestamp().as_second() - 1).unwrap();
    }
}

#[test]
fn a_daily_run_comes_once_on_each_day_of_a_year_with_changes_of_the_clocks() {
    for zone in [
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Africa/Cairo",
        "America/Santiago",
        "Asia/Shanghai",
    ] {
        for time in ["0 0", "30 1", "0 2", "15 2", "30 2", "0 3", "59 23"] {
            is_daily_through_the_year(zone, time);
        }
    }
}

#[test]
fn excluded_days_are_days_of_the_rules_zone() {
    // 07:00 in Auckland on the 25th is the 24th in UTC.
    let rule = run("a", "CRON_TZ=Pacific/Auckland 0 7 * * *", 3);
    let rule = excluding(rule, &["2026-12-25", "* * 1 1 *"]);
    let mut from = at("2026-12-23T12:00:00Z");
    let mut days = Vec::new();
    for _ in 0..9 {
        let found = rule.next_after(from).unwrap();
        from = found.timestamp();
        days.push((i32::from(found.month()), i32::from(found.day())));
    }
    let expected = [
        (12, 24),
        (12, 26),
        (12, 27),
        (12, 28),
        (12, 29),
        (12, 30),
        (12, 31),
        (1, 2),
        (1, 3),
    ];
    assert_eq!(days, expected);
}

#[test]
fn a_rule_of_which_all_days_are_excluded_has_no_next_run() {
    let rule = excluding(run("a", "* * * * * *", 3), &["* * * * *"]);
    assert_eq!(rule.next_after(at("2026-11-22T20:00:00Z")), None);
    assert_eq!(rule.latest_until(at("2026-11-22T20:00:00Z")), None);
}

#[test]
fn what_is_to_come_is_shown_in_order_with_the_ends_of_windows() {
    let rules = vec![
        run("day", "CRON_TZ=Europe/Berlin 0 8 * * *", 10),
        window("noon", ("0 11 * * *", "0 13 * * *"), 20),
        once(run("sale", "0 20 28 11 *", 30)),
        Rule {
            suspended: true,
            ..run("never", "* * * * *", 1)
        },
    ];
    let spec = spec(rules);
    let now = at("2026-11-27T10:00:00Z");
    let shown: Vec<_> = upcoming(&spec, &CronState::default(), now, 2)
        .iter()
        .map(|one| {
            let at = one.at.strftime("%d %H:%M");
            let until = match &one.occasion {
                CronOccasion::Run => String::new(),
                CronOccasion::Window { end } => end.strftime(" until %H:%M").to_string(),
            };
            format!("{} {at}{until}", one.rule.name)
        })
        .collect();
    let expected = [
        "noon 27 11:00 until 13:00",
        "day 28 08:00",
        "noon 28 11:00 until 13:00",
        "sale 28 20:00",
        "day 29 08:00",
    ];
    assert_eq!(shown, expected);
    // Seen before its one moment, it has none thereafter.
    let seen = tick(
        &spec,
        &CronState::default(),
        &CronObservation {
            saying: CronEffect::Bounds,
            now,
            created: now,
            current: Some(1),
            user: evenkeel_objects::bounds::ObjectBounds {
                min: Some(1),
                max: 10,
            },
            effective: None,
            recorded: None,
        },
        &mut ScheduleCache::default(),
    );
    let later = upcoming(&spec, &seen.state, at("2026-11-29T00:00:00Z"), 2);
    assert!(later.iter().all(|one| one.rule.name != "sale"));
}

/// One field of an expression: all, one, a range, a list or steps.
fn field(least: u8, most: u8) -> impl Strategy<Value = String> {
    let one = move || least..=most;
    prop_oneof![
        Just("*".to_owned()),
        one().prop_map(|one| one.to_string()),
        (one(), one()).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
        (one(), one()).prop_map(|(a, b)| format!("{a},{b}")),
        (1..=most).prop_map(|step| format!("*/{step}")),
    ]
}

/// A moment within two days of a change of the clocks in one of the zones.
fn near_a_change() -> impl Strategy<Value = i64> {
    let changes = [
        "2026-03-29T01:00:00Z",
        "2026-10-25T01:00:00Z",
        "2026-03-08T07:00:00Z",
        "2026-11-01T06:00:00Z",
        "2026-10-03T15:30:00Z",
        "2026-04-04T15:00:00Z",
    ];
    let changes = changes.map(|change| at(change).as_second());
    let two_days = 2 * 24 * 3600_i64;
    (prop::sample::select(changes.to_vec()), -two_days..two_days).prop_map(|(at, by)| at + by)
}

/// A field that names its values.
fn fixed_field(least: u8, most: u8) -> impl Strategy<Value = String> {
    let one = move || least..=most;
    prop_oneof![
        one().prop_map(|one| one.to_string()),
        (one(), one()).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b))),
        (one(), one(), one()).prop_map(|(a, b, c)| format!("{a},{b},{c}")),
    ]
}

proptest! {
    /// Each time of day that is named comes at the first moment at which clocks show it, and where they
    /// never do, when they change; walked either way.
    #[test]
    fn named_times_come_once_a_day_through_changes_of_the_clocks(
        (minute, hour) in (fixed_field(0, 59), fixed_field(0, 4)),
        from in near_a_change(),
        zone in prop::sample::select(vec!["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
    ) {
        let schedule = schedule(&format!("TZ={zone} {minute} {hour} * * *"));
        let utc = Schedule::parse(&format!("{minute} {hour} * * *"), None, &Zone::utc()).unwrap();
        let zone = jiff::tz::TimeZone::get(zone).unwrap();
        let from = Timestamp::from_second(from).unwrap();
        let until = from + SignedDuration::from_hours(48);
        // The local times as clocks without changes show them, each at its first moment.
        let mut named = Vec::new();
        let mut at = from - SignedDuration::from_hours(48);
        while let Some(found) = utc.next_after(at).filter(|at| at.timestamp() < until + SignedDuration::from_hours(48)) {
            at = found.timestamp();
            let mut local = found.datetime();
            let moment = loop {
                let ambiguous = zone.to_ambiguous_zoned(local);
                match ambiguous.offset() {
                    jiff::tz::AmbiguousOffset::Gap { .. } => local += SignedDuration::from_mins(1),
                    _ => break ambiguous.earlier().unwrap().timestamp(),
                }
            };
            named.push(moment);
        }
        named.dedup();
        named.retain(|moment| from < *moment && *moment <= until);
        let next = |at: &Timestamp| schedule.next_after(*at).map(|next| next.timestamp());
        let forwards: Vec<_> = std::iter::successors(next(&from), next)
            .take_while(|at| *at <= until)
            .collect();
        prop_assert_eq!(&forwards, &named);
        let second = SignedDuration::from_secs(1);
        let latest = |at: Timestamp| schedule.latest_until(at).map(|latest| latest.timestamp());
        let mut backwards: Vec<_> = std::iter::successors(latest(until), |at| latest(*at - second))
            .take_while(|at| *at > from)
            .collect();
        backwards.reverse();
        prop_assert_eq!(&backwards, &named);
    }

    #[test]
    fn the_next_moment_is_the_latest_once_it_has_come(
        (second, minute, hour) in (field(0, 59), field(0, 59), field(0, 23)),
        (day, month, weekday) in (field(1, 28), field(1, 12), field(0, 7)),
        from in near_a_change(),
        zone in prop::sample::select(vec!["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
    ) {
        let text = format!("TZ={zone} {second} {minute} {hour} {day} {month} {weekday}");
        let schedule = schedule(&text);
        let from = Timestamp::from_second(from).unwrap();
        let next = schedule.next_after(from).unwrap();
        prop_assert!(next.timestamp() > from);
        prop_assert_eq!(schedule.latest_until(next.timestamp()), Some(next.clone()), "{}", text);
        let before = Timestamp::from_second(next.timestamp().as_second() - 1).unwrap();
        if let Some(latest) = schedule.latest_until(before) {
            prop_assert!(latest.timestamp() <= from, "{} at {}: {} between", text, from, latest);
        }
    }
}
