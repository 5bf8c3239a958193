//! The meaning of expressions, checked against a reading of robfig/cron v3's rules that shares no
//! code with the tested one.

use std::collections::BTreeSet;

use jiff::civil::{Date, date};
use proptest::prelude::*;

use super::*;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The values of one field by robfig's `getField`, and whether it has the star bit.
fn robfig_field(field: &str, (least, most): (u32, u32), names: &[&str]) -> (BTreeSet<u32>, bool) {
    let number = |text: &str| {
        let place = names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(text));
        place.map_or_else(
            || text.parse().unwrap(),
            |place| u32::try_from(place).unwrap() + least,
        )
    };
    let (mut values, mut star) = (BTreeSet::new(), false);
    for part in field.split(',').filter(|part| !part.is_empty()) {
        let (range, step) = part.split_once('/').unwrap_or((part, "1"));
        let step: u32 = step.parse().unwrap();
        let is_star = matches!(range, "*" | "?");
        let (start, end) = match range.split_once('-') {
            _ if is_star => (least, most),
            Some((start, end)) => (number(start), number(end)),
            None if part.contains('/') => (number(range), most),
            None => (number(range), number(range)),
        };
        star |= is_star && step == 1;
        values.extend((start..=end).step_by(usize::try_from(step).unwrap()));
    }
    (values, star)
}

/// The moments of a day at which robfig's schedule is due.
fn robfig_day(text: &str, day: Date) -> Vec<(u32, u32)> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let (minutes, _) = robfig_field(fields[0], (0, 59), &[]);
    let (hours, _) = robfig_field(fields[1], (0, 23), &[]);
    let (days, star_day) = robfig_field(fields[2], (1, 31), &[]);
    let (months, _) = robfig_field(fields[3], (1, 12), &MONTHS);
    let (weekdays, star_weekday) = robfig_field(fields[4], (0, 6), &WEEKDAYS);
    let number = |number: i8| u32::from(number.unsigned_abs());
    let by_day = days.contains(&number(day.day()));
    let by_weekday = weekdays.contains(&number(day.weekday().to_sunday_zero_offset()));
    let of_day = if star_day || star_weekday {
        by_day && by_weekday
    } else {
        by_day || by_weekday
    };
    if !of_day || !months.contains(&number(day.month())) {
        return Vec::new();
    }
    let each = |hour: &u32| {
        minutes
            .iter()
            .map(|minute| (*hour, *minute))
            .collect::<Vec<_>>()
    };
    hours.iter().flat_map(each).collect()
}

/// The same as the schedule that is tested has them.
fn own_day(schedule: &Schedule, day: Date) -> Vec<(u32, u32)> {
    let start = day.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp();
    let before = start - SignedDuration::from_secs(1);
    let next = |at: &Timestamp| schedule.next_after(*at).map(|next| next.timestamp());
    let all = std::iter::successors(next(&before), next);
    let number = |number: i8| u32::from(number.unsigned_abs());
    all.map(|at| schedule.local(at))
        .take_while(|at| at.date() == day)
        .map(|at| (number(at.hour()), number(at.minute())))
        .collect()
}

/// Holds a text to robfig's reading, each so many days of 800, a leap day among them.
fn is_read_as_by_robfig(text: &str, each: usize) {
    let parsed = Schedule::parse(text, None, &Zone::utc());
    let first = date(2027, 11, 1);
    let days = first.series(jiff::Span::new().days(1)).take(800);
    let mut days = days.step_by(each);
    match parsed {
        Ok(schedule) => {
            for day in days {
                assert_eq!(
                    own_day(&schedule, day),
                    robfig_day(text, day),
                    "{text} on {day}"
                );
            }
        }
        Err(ScheduleError::Never(_)) => {
            assert!(days.all(|day| robfig_day(text, day).is_empty()), "{text}");
        }
        Err(error) => panic!("{text}: {error}"),
    }
}

#[test]
fn forms_that_robfig_reads_are_read_alike() {
    for text in [
        "5/15 * * * *",
        "0/30 8 * * *",
        "7/15,3 0/6 * * *",
        "? 8 ? ? ?",
        "*/100 8 * * *",
        "0 8 5/10 * *",
        "0 8 * 3/4 *",
        "0 8 * * 1/2",
        "0 8 * * mon/2",
        "0 8 * jan-Mar,OCT *",
        "0 8 * 2 Tue-THU,sat",
        // Both restricted: either. One with a star among its parts: both, and */1 is a star.
        "0 8 13 * FRI",
        "0 8 */2 * 1",
        "0 8 */1 * 1",
        "0 8 *,5 * 1",
        "0 8 5,? * 1",
        "0 8 13 * */1",
        "0 8 13 * */2",
        "0 8 1-31 * 1",
        "0 8 31 2,4,6 *",
        "0 0 29 2 *",
    ] {
        is_read_as_by_robfig(text, 1);
    }
}

#[test]
fn names_of_schedules_and_zones_before_them_are_read() {
    for (text, meaning) in [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
        ("TZ=UTC @hourly", "0 * * * *"),
        ("CRON_TZ=UTC   5/15 8 * * MON", "5-59/15 8 * * 1"),
    ] {
        let [named, fields] = [schedule(text), schedule(meaning)];
        let none = ExcludedDays::default();
        assert!(
            named.includes(&fields, &none) && fields.includes(&named, &none),
            "{text}"
        );
    }
    let zoned = schedule("TZ=Asia/Tokyo @daily");
    assert_eq!(zoned.zone().to_string(), "Asia/Tokyo");
}

#[test]
fn what_robfig_refuses_is_refused_but_for_the_extensions() {
    for (text, told) in [
        ("@every 5m", "does not have"),
        ("TZ=UTC @every 1h30m", "does not have"),
        ("@reboot", "the names are @yearly"),
        ("@hourly 5", "the names are @yearly"),
        ("/10 * * * *", "is not a schedule"),
        ("*/0 * * * *", "is not a schedule"),
        ("5-1 * * * *", "is not a schedule"),
        ("1-2-3 * * * *", "is not a schedule"),
        ("1/2/3 * * * *", "is not a schedule"),
        ("60 * * * *", "is not a schedule"),
        ("0 24 * * *", "is not a schedule"),
        ("0 24/2 * * *", "is not a schedule"),
        ("0 8 0 * *", "is not a schedule"),
        ("0 8 * 13 *", "is not a schedule"),
        ("0 8 * * 8", "is not a schedule"),
        // A name of another field, or beside a digit.
        ("0 MON * * *", "\"MON\" has no meaning in hours"),
        ("0 8 * FRI *", "\"FRI\" has no meaning in the month"),
        ("0 8 * * JAN", "\"JAN\" has no meaning in the day of week"),
        (
            "0 8 MON1 * *",
            "\"MON1\" has no meaning in the day of month",
        ),
        (
            "0 8 * * SUNMON",
            "\"SUNMON\" has no meaning in the day of week",
        ),
        (
            "0 8 * * MONDAY",
            "\"MONDAY\" has no meaning in the day of week",
        ),
        ("0 8 * *", "it has 4 fields"),
        ("0 0 8 * * * 2026", "it has 7 fields"),
        ("TZ= 0 8 * * *", "not a time zone"),
        ("TZ=Local 0 8 * * *", "not a time zone"),
    ] {
        let error = Schedule::parse(text, None, &Zone::utc()).unwrap_err();
        assert!(error.to_string().contains(told), "{text}: {error}");
    }
    for text in [
        "0 0 * * 7",
        "0 8 L * *",
        "0 8 15W * *",
        "0 8 LW * *",
        "0 8 * * FRI#L",
        "0 8 * * FRIL",
        "0 8 * * mon#1",
        "0 8 13 * +FRI",
        "30 0 8 * * *",
    ] {
        Schedule::parse(text, None, &Zone::utc()).unwrap();
    }
}

/// One part of a field that robfig accepts.
fn part(least: u32, most: u32, names: &'static [&'static str]) -> impl Strategy<Value = String> {
    let written = move |value: u32| {
        let place = usize::try_from(value - least).unwrap();
        names
            .get(place)
            .map_or_else(|| value.to_string(), |name| (*name).to_owned())
    };
    prop_oneof![
        4 => (least..=most).prop_map(|value| value.to_string()),
        1 => (least..=most).prop_map(written),
        1 => Just("*".to_owned()),
        1 => Just("?".to_owned()),
        2 => (1..=most + 5).prop_map(|step| format!("*/{step}")),
        2 => (least..=most, 1..=most).prop_map(|(value, step)| format!("{value}/{step}")),
        2 => (least..=most, least..=most, 1..=most)
            .prop_map(|(a, b, step)| format!("{}-{}/{step}", a.min(b), a.max(b))),
        2 => (least..=most, least..=most).prop_map(move |(a, b)| format!("{}-{}", written(a.min(b)), b.max(a))),
    ]
}

fn field(least: u32, most: u32, names: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::collection::vec(part(least, most, names), 1..4).prop_map(|parts| parts.join(","))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_expression_of_robfigs_is_read_as_by_robfig(
        (minute, hour) in (field(0, 59, &[]), field(0, 23, &[])),
        (day, month, weekday) in (field(1, 31, &[]), field(1, 12, &MONTHS), field(0, 6, &WEEKDAYS)),
    ) {
        is_read_as_by_robfig(&format!("{minute} {hour} {day} {month} {weekday}"), 11);
    }
}
