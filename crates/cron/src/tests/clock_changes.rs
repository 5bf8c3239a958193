//! Windows around changes of the clocks, held to a model that goes by what the clock on the wall shows,
//! minute by minute.
//!
//! The model decides repeats as the product does. A start that names its times opens a window when the
//! clock first shows one of them, or skips it. A start that repeats, by `*` or steps, opens one whenever
//! the clock shows such a time, in both passes of an hour that comes twice. A window closes when the clock,
//! watched from the opening on, shows or skips the next local time of its end; where start or end repeats,
//! also when the clock shows such a time for the second time.

use jiff::ToSpan as _;
use std::ops::Range;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::*;

/// Zones, each with years of changes: whole hours and half ones, two and three hours, at midnight, a day that
/// is skipped, winter time that is the exception, and offsets that are no whole hours.
const ZONES: [(&str, i16, i16); 20] = [
    ("Europe/Berlin", 2024, 2028),
    ("Europe/Dublin", 2024, 2028),
    ("America/New_York", 2024, 2028),
    ("America/St_Johns", 2008, 2012),
    ("America/Havana", 2024, 2028),
    ("America/Sao_Paulo", 2015, 2019),
    ("America/Santiago", 2024, 2028),
    ("America/Caracas", 2007, 2017),
    ("America/Scoresbysund", 2022, 2026),
    ("Africa/Cairo", 2024, 2028),
    ("Africa/Casablanca", 2024, 2028),
    ("Asia/Beirut", 2024, 2028),
    ("Asia/Tehran", 2018, 2022),
    ("Asia/Gaza", 2022, 2028),
    ("Asia/Pyongyang", 2014, 2019),
    ("Australia/Lord_Howe", 2024, 2028),
    ("Antarctica/Troll", 2024, 2028),
    ("Antarctica/Casey", 2018, 2023),
    ("Pacific/Apia", 2010, 2013),
    ("Pacific/Chatham", 2024, 2028),
];

const MINUTES_A_DAY: i64 = 24 * 60;

/// A zone by the database that the schedules go by.
fn zone(name: &str) -> TimeZone {
    Zone::parse(name).unwrap().rules().clone()
}

/// The changes of the clocks of a zone.
fn changes((name, first, last): (&str, i16, i16)) -> Vec<Timestamp> {
    let zone = zone(name);
    let at = |year| {
        jiff::civil::date(year, 1, 1)
            .to_zoned(TimeZone::UTC)
            .unwrap()
            .timestamp()
    };
    let mut found = Vec::new();
    for change in zone
        .following(at(first))
        .take_while(|change| change.timestamp() < at(last))
    {
        let change = change.timestamp();
        let before = zone.to_offset(change - SignedDuration::from_secs(1));
        if zone.to_offset(change) != before {
            found.push(change);
        }
    }
    found
}

/// A schedule as the model has it.
#[derive(Debug, Clone)]
struct WallSchedule {
    text: String,
    minutes: Vec<i8>,
    hours: Vec<i8>,
    /// A weekday from Sunday on; `None` for every day.
    weekday: Option<i8>,
    repeats: bool,
}

impl WallSchedule {
    fn is_of(&self, day: Date) -> bool {
        let weekday = day.weekday().to_sunday_zero_offset();
        self.weekday.is_none_or(|own| own == weekday)
    }

    fn names(&self, local: DateTime) -> bool {
        self.is_of(local.date())
            && self.hours.contains(&local.hour())
            && self.minutes.contains(&local.minute())
    }

    /// The first local time after one, of a calendar without changes.
    fn after(&self, local: DateTime) -> DateTime {
        let mut day = local.date();
        loop {
            for hour in &self.hours {
                for minute in &self.minutes {
                    let found = day.at(*hour, *minute, 0, 0);
                    if self.is_of(day) && found > local {
                        return found;
                    }
                }
            }
            day = day.tomorrow().unwrap();
        }
    }
}

/// The minutes at which the model has a window open, of those from one moment on.
fn model(
    zone: &TimeZone,
    (start, end): (&WallSchedule, &WallSchedule),
    from: Timestamp,
    minutes: i64,
) -> Vec<bool> {
    let minute = SignedDuration::from_mins(1);
    let clock = |at: Timestamp| zone.to_datetime(at);
    let mut highest = clock(from - minute);
    // The local times at which the open windows close.
    let mut open: Vec<DateTime> = Vec::new();
    let mut shown = Vec::new();
    for place in 0..minutes {
        let now = clock(from + minute * i32::try_from(place).unwrap());
        let ends_again = (start.repeats || end.repeats) && end.names(now);
        open.retain(|end| now < *end && !ends_again);
        let mut starts = Vec::new();
        if start.repeats {
            starts.extend(start.names(now).then_some(now));
        } else {
            while highest < now {
                highest += 1.minute();
                starts.extend(start.names(highest).then_some(highest));
            }
        }
        let ends = starts.into_iter().map(|start| end.after(start));
        open.extend(ends.filter(|end| now < *end));
        shown.push(!open.is_empty());
    }
    shown
}

/// The minutes at which the service has a window open.
fn service(spec: &CronSpec, from: Timestamp, minutes: Range<i64>) -> Vec<bool> {
    let mut agenda = ScheduleCache::default();
    let at = |place| from + SignedDuration::from_mins(place);
    minutes
        .map(|place| {
            matches!(
                asked(spec, &mut agenda, at(place)),
                OpenWindows::Replicas { .. }
            )
        })
        .collect()
}

/// The same by the windows that `evenkeel cron next` prints, of those that begin at `from` or later.
fn printed(spec: &CronSpec, from: Timestamp, minutes: i64) -> Vec<bool> {
    let until = from + SignedDuration::from_mins(minutes);
    let before = from - SignedDuration::from_secs(1);
    let all = upcoming(spec, &CronState::default(), before, 1500);
    assert!(
        all.last().is_none_or(|last| last.at.timestamp() >= until),
        "1500 are enough"
    );
    let mut shown = vec![false; usize::try_from(minutes).unwrap()];
    for one in all {
        let CronOccasion::Window { end } = one.occasion else {
            panic!("only windows are asked for")
        };
        assert!(one.at < end, "an empty window is not printed");
        let place = |at: Timestamp| usize::try_from(at.duration_since(from).as_mins()).unwrap();
        let range =
            place(one.at.timestamp()).min(shown.len())..place(end.timestamp()).min(shown.len());
        shown[range].fill(true);
    }
    shown
}

/// A time of day near one that clocks skip or repeat.
fn near(hours: Vec<i8>) -> impl Strategy<Value = (Vec<i8>, Vec<i8>, String, bool)> {
    let minutes = prop::sample::select(vec![0_i8, 1, 15, 29, 30, 45, 59]);
    let several = prop::collection::btree_set(minutes.clone(), 1..3);
    let few = prop::collection::btree_set(prop::sample::select(hours), 1..3);
    let step = prop::sample::select(vec![15_i8, 20, 30]);
    let text = |minutes: &[i8]| {
        let texts: Vec<String> = minutes.iter().map(ToString::to_string).collect();
        texts.join(",")
    };
    prop_oneof![
        // Named times.
        4 => (several, few.clone()).prop_map(move |(minutes, hours)| {
            let (minutes, hours): (Vec<_>, Vec<_>) = (minutes.into_iter().collect(), hours.into_iter().collect());
            let written = format!("{} {}", text(&minutes), text(&hours));
            (minutes, hours, written, false)
        }),
        // Steps within named hours.
        2 => (step, few).prop_map(move |(step, hours)| {
            let hours: Vec<_> = hours.into_iter().collect();
            let minutes = (0..60).step_by(usize::from(step.unsigned_abs())).collect();
            (minutes, hours.clone(), format!("*/{step} {}", text(&hours)), true)
        }),
        // Every hour.
        1 => minutes.prop_map(|minute| (vec![minute], (0..24).collect(), format!("{minute} *"), true)),
    ]
}

fn named(hours: Vec<i8>, weekdays: Vec<Option<i8>>) -> impl Strategy<Value = WallSchedule> {
    let weekday = prop::sample::select(weekdays);
    (near(hours), weekday).prop_map(
        |((minutes, hours, written, repeats), weekday)| WallSchedule {
            text: weekday.map_or_else(
                || format!("{written} * * *"),
                |day| format!("{written} * * {day}"),
            ),
            minutes,
            hours,
            weekday,
            repeats,
        },
    )
}

/// A change of the clocks in one of the zones, and a window near it.
fn window_near_a_change()
-> impl Strategy<Value = (&'static str, Timestamp, WallSchedule, WallSchedule)> {
    let all: Vec<(&str, Timestamp)> = ZONES
        .into_iter()
        .flat_map(|zone| {
            changes(zone)
                .into_iter()
                .map(move |change| (zone.0, change))
        })
        .collect();
    prop::sample::select(all).prop_flat_map(|(name, change)| {
        let zone = zone(name);
        let [before, after] =
            [-1, 0].map(|second| zone.to_datetime(change + SignedDuration::from_secs(second)));
        let around =
            |local: DateTime| (-2..=2).map(move |hour: i8| (local.hour() + hour).rem_euclid(24));
        let mut hours: Vec<i8> = around(before).chain(around(after)).collect();
        hours.sort_unstable();
        hours.dedup();
        let weekday = |local: DateTime| Some(local.date().weekday().to_sunday_zero_offset());
        let weekdays = vec![None, None, weekday(before), weekday(after)];
        let one = || named(hours.clone(), weekdays.clone());
        (Just(name), Just(change), one(), one())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn windows_open_and_close_by_the_clock_on_the_wall(
        (name, change, start, end) in window_near_a_change(),
    ) {
        let of_zone = |named: &WallSchedule| schedule(&format!("TZ={name} {}", named.text));
        let (opens, closes) = (of_zone(&start), of_zone(&end));
        prop_assume!(!opens.includes(&closes, &ExcludedDays::default()));
        let rule = Rule {
            when: RuleTiming::Window { start: opens, end: closes },
            ..run("a", "0 0 * * *", 3)
        };
        let spec = spec(vec![rule]);
        let zone = zone(name);
        // A week before it, no window has been open for longer than the model looks back.
        let from = change - SignedDuration::from_hours(9 * 24);
        let compared = 8 * MINUTES_A_DAY..10 * MINUTES_A_DAY + 720;
        let part = |all: Vec<bool>| {
            let range = [compared.start, compared.end].map(|place| usize::try_from(place).unwrap());
            all[range[0]..range[1]].to_vec()
        };
        let model = part(model(&zone, (&start, &end), from, compared.end));
        let found = service(&spec, from, compared.clone());
        let first = model.iter().zip(&found).position(|(model, found)| model != found);
        let minute = first.map(|place| {
            let past = SignedDuration::from_mins(compared.start + i64::try_from(place).unwrap());
            (from + past).to_zoned(zone.clone())
        });
        prop_assert_eq!(minute, None, "{} {} to {}", name, start.text, end.text);
        let found = part(printed(&spec, from, compared.end));
        prop_assert_eq!(&model, &found, "as it is printed: {} {} to {}", name, start.text, end.text);
    }
}

/// The windows of a rule that begin on one day and the next, as they are printed.
fn windows(zone: &str, (start, end): (&str, &str), after: &str) -> Vec<String> {
    let zoned = |text: &str| format!("TZ={zone} {text}");
    let rule = window("a", (&zoned(start), &zoned(end)), 3);
    let spec = spec(vec![rule]);
    let until = at(after) + SignedDuration::from_hours(48);
    let shown = upcoming(&spec, &CronState::default(), at(after), 20);
    let shown = shown
        .into_iter()
        .take_while(|one| one.at.timestamp() < until);
    let format = "%dT%H:%M%:z";
    shown
        .map(|one| match one.occasion {
            CronOccasion::Window { end } => {
                format!("{} {}", one.at.strftime(format), end.strftime(format))
            }
            CronOccasion::Run => "a run".to_owned(),
        })
        .collect()
}

/// A zone, the schedules of a window, the moment after which windows are asked for, and those expected.
type Row<'a> = (&'a str, (&'a str, &'a str), &'a str, &'a [&'a str]);

fn are_shown(rows: &[Row<'_>]) {
    for (zone, window, after, expected) in rows {
        assert_eq!(
            windows(zone, *window, after),
            *expected,
            "{zone} {window:?}"
        );
    }
}

#[test]
fn windows_in_hours_that_clocks_skip() {
    are_shown(&[
        // 02:00 -> 03:00: skipped as a whole, it does not open, and not for a week.
        (
            "Europe/Berlin",
            ("0 2 * * SUN", "0 3 * * SUN"),
            "2026-03-28T12:00:00Z",
            &[],
        ),
        (
            "Europe/Berlin",
            ("30 2 * * *", "30 3 * * *"),
            "2026-03-28T12:00:00Z",
            &[
                "29T03:00+02:00 29T03:30+02:00",
                "30T02:30+02:00 30T03:30+02:00",
            ],
        ),
        (
            "Europe/Berlin",
            ("30 1 * * SUN", "30 2 * * SUN"),
            "2026-03-28T12:00:00Z",
            &["29T01:30+01:00 29T03:00+02:00"],
        ),
        // The whole of 30 December 2011 is skipped.
        (
            "Pacific/Apia",
            ("0 8 * * *", "0 18 * * *"),
            "2011-12-30T00:00:00Z",
            &[
                "31T08:00+14:00 31T18:00+14:00",
                "01T08:00+14:00 01T18:00+14:00",
            ],
        ),
        (
            "Pacific/Apia",
            ("0 20 29 12 *", "0 6 30 12 *"),
            "2011-12-30T00:00:00Z",
            &["29T20:00-10:00 31T00:00+14:00"],
        ),
    ]);
}

#[test]
fn windows_in_hours_that_clocks_repeat() {
    are_shown(&[
        // 02:00 -> 01:00: what repeats opens in both passes, each for as long as on the wall.
        (
            "America/New_York",
            ("*/30 1 * * *", "45 1 * * *"),
            "2026-11-01T00:00:00Z",
            &[
                "01T01:00-04:00 01T01:45-04:00",
                "01T01:30-04:00 01T01:45-04:00",
                "01T01:00-05:00 01T01:45-05:00",
                "01T01:30-05:00 01T01:45-05:00",
                "02T01:00-05:00 02T01:45-05:00",
                "02T01:30-05:00 02T01:45-05:00",
            ],
        ),
        // Named times: the first pass, and across it.
        (
            "America/New_York",
            ("0 1 * * *", "45 1 * * *"),
            "2026-11-01T00:00:00Z",
            &[
                "01T01:00-04:00 01T01:45-04:00",
                "02T01:00-05:00 02T01:45-05:00",
            ],
        ),
        (
            "America/New_York",
            ("30 1 * * SUN", "30 2 * * SUN"),
            "2026-11-01T00:00:00Z",
            &["01T01:30-04:00 01T02:30-05:00"],
        ),
    ]);
}

#[test]
fn a_window_that_clocks_skip_as_a_whole_is_not_the_one_of_a_rule_that_applies_once() {
    let rule = window(
        "a",
        (
            "TZ=Europe/Berlin 0 2 * * SUN",
            "TZ=Europe/Berlin 0 3 * * SUN",
        ),
        3,
    );
    let spec = spec(vec![once(rule)]);
    let shown = upcoming(&spec, &CronState::default(), at("2026-03-28T12:00:00Z"), 5);
    let shown: Vec<_> = shown.iter().map(|one| one.at.timestamp()).collect();
    assert_eq!(shown, [at("2026-04-05T02:00:00+02:00")]);
}

#[test]
fn a_window_that_applies_once_and_is_open_is_to_come() {
    let spec = spec(vec![once(window("a", ("0 8 * * *", "0 18 * * *"), 3))]);
    for (now, start) in [
        ("2026-11-22T07:59:00Z", "2026-11-22T08:00:00Z"),
        ("2026-11-22T08:00:00Z", "2026-11-22T08:00:00Z"),
        ("2026-11-22T17:59:59Z", "2026-11-22T08:00:00Z"),
        ("2026-11-22T18:00:00Z", "2026-11-23T08:00:00Z"),
    ] {
        let shown = upcoming(&spec, &CronState::default(), at(now), 5);
        let shown: Vec<_> = shown.iter().map(|one| one.at.timestamp()).collect();
        assert_eq!(shown, [at(start)], "{now}");
    }
}
