//! Places of ticks: at round values, and at round times of the reader's clock.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

use super::text_width;

/// Ticks of a value axis that begins at 0.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ValueAxis {
    pub top: f64,
    pub ticks: Vec<ValueTick>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ValueTick {
    pub value: f64,
    pub label: String,
}

/// Ticks that are aimed at on a value axis.
const TICKS: f64 = 5.0;

const BETWEEN: f64 = 6.0;

/// Length of the axis as a multiple of the highest value, so that there is room above it.
const HEADROOM: f64 = 1.05;

impl ValueAxis {
    /// An axis that holds `highest`; in steps of 1 at least where only `whole` numbers count.
    pub(super) fn up_to(highest: f64, whole: bool) -> Self {
        let highest = if highest > 0.0 && highest.is_finite() {
            highest * HEADROOM
        } else {
            1.0
        };
        let step = nice(highest / TICKS);
        let step = if whole { step.max(1.0).round() } else { step };
        Self {
            top: highest,
            ticks: in_steps(0.0, highest, step),
        }
    }

    /// Ticks of an axis between two numbers along `room` pixels: as many as labels of this size
    /// fit, and ten at most.
    pub(super) fn between(from: f64, to: f64, room: f64, size: f64) -> Vec<ValueTick> {
        let per_pixel = (to - from) / room;
        let mut step = nice((to - from) / (2.0 * TICKS));
        loop {
            let ticks = in_steps(from, to, step);
            let widths = ticks
                .iter()
                .map(|tick| text_width::width(&tick.label, size));
            let widest = widths.fold(0.0, f64::max) + 2.0 * BETWEEN;
            if ticks.len() < 2 || widest * per_pixel <= step {
                return ticks;
            }
            step = nice(step * 1.01);
        }
    }
}

fn in_steps(from: f64, to: f64, step: f64) -> Vec<ValueTick> {
    let first = (from / step).ceil();
    let values = (0..64_u8).map(|index| (first + f64::from(index)) * step);
    let values = values.take_while(|value| *value <= to);
    values
        .map(|value| ValueTick {
            value,
            label: label(value, step),
        })
        .collect()
}

/// From this on, numbers are written with a power of ten.
const LARGE: f64 = 1e12;

/// A value among those that are `step` apart.
fn label(value: f64, step: f64) -> String {
    let decimals = decimals(step);
    if value.abs() >= LARGE {
        format!("{value:e}")
    } else {
        format!("{value:.decimals$}")
    }
}

/// The round number at or next above `rough`.
fn nice(rough: f64) -> f64 {
    let decade = 10_f64.powf(rough.log10().floor());
    let nice = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * decade);
    let step = nice.into_iter().find(|step| *step >= rough);
    step.unwrap_or(10.0 * decade)
}

/// Number of decimals in which steps of `step` differ.
fn decimals(step: f64) -> usize {
    (0..12_u8)
        .find(|&decimals| {
            let scaled = step * 10_f64.powi(i32::from(decimals));
            (scaled - scaled.round()).abs() < 1e-6 * scaled
        })
        .map_or(12, usize::from)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TimeTick {
    pub at: Timestamp,
    /// The time, or the date where ticks are days.
    pub label: String,
    /// The date, at the first tick and where a new day begins among ticks within days.
    pub date: Option<String>,
}

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Distances of ticks within a day, in seconds; each divides it.
const WITHIN_DAY: [i64; 16] = [
    1,
    5,
    15,
    30,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
];
/// Distances of ticks in days.
const DAYS: [i64; 9] = [1, 2, 7, 14, 30, 60, 120, 365, 3650];

/// At most this many ticks fit below a time axis.
const MOST: i64 = 12;

/// The ticks from `from` to `to`, by the clock of `zone`.
pub(super) fn times(from: Timestamp, to: Timestamp, zone: &TimeZone) -> Vec<TimeTick> {
    let span = to.duration_since(from).as_secs().max(1);
    let fits = |step: &&i64| span / **step <= MOST;
    let within = WITHIN_DAY.iter().find(fits).filter(|step| **step < DAY);
    let days = DAYS.iter().find(|days| span / (**days * DAY) <= MOST);
    let days = days.copied().unwrap_or(3650);
    let mut ticks = Vec::new();
    let first = from.to_zoned(zone.clone());
    let mut midnight = first.start_of_day().ok();
    while let Some(day) = midnight.filter(|day| day.timestamp() <= to) {
        let next = day.checked_add(1.day()).ok();
        if let Some(&step) = within {
            let end = next.as_ref().map_or(to, jiff::Zoned::timestamp);
            ticks.extend(of_day(day.timestamp(), end, step, zone));
            midnight = next;
        } else {
            let label = day.strftime("%-d %b").to_string();
            let at = day.timestamp();
            let date = None;
            ticks.push(TimeTick { at, label, date });
            midnight = day.checked_add(days.days()).ok();
        }
    }
    ticks.retain(|tick| from <= tick.at && tick.at <= to);
    // The reader has to learn the date somewhere.
    if let Some(tick) = ticks.first_mut() {
        let day = tick.at.to_zoned(zone.clone());
        let format = if within.is_some() { "%-d %b %Y" } else { "%Y" };
        tick.date = Some(day.strftime(format).to_string());
    }
    ticks
}

fn of_day(midnight: Timestamp, end: Timestamp, step: i64, zone: &TimeZone) -> Vec<TimeTick> {
    let format = if step < MINUTE { "%H:%M:%S" } else { "%H:%M" };
    let step = SignedDuration::from_secs(step);
    // A day of 25 hours would end with a tick right before the next midnight.
    let has_room = |at: &Timestamp| at.checked_add(step).is_ok_and(|next| next <= end);
    let mut ticks = Vec::new();
    let mut at = midnight;
    loop {
        let local = at.to_zoned(zone.clone());
        let date = (at == midnight).then(|| local.strftime("%-d %b %Y").to_string());
        let label = local.strftime(format).to_string();
        ticks.push(TimeTick { at, label, date });
        match at.checked_add(step).ok().filter(has_room) {
            Some(next) => at = next,
            None => break,
        }
    }
    ticks
}

/// Name of the clock of `zone` with its offset at `at`.
pub(super) fn clock(zone: &TimeZone, at: Timestamp) -> String {
    let offset = zone.to_offset(at);
    match zone.iana_name() {
        Some("UTC" | "Etc/UTC") => "UTC".to_owned(),
        None if offset.seconds() == 0 => "UTC".to_owned(),
        Some(name) => format!("{name}, UTC{offset}"),
        None => format!("local, UTC{offset}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_round_ticks_and_room_above() {
        for (highest, whole, labels) in [
            (4.1, false, vec!["0", "1", "2", "3", "4"]),
            (0.0, false, vec!["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
            (0.0, true, vec!["0", "1"]),
            (3.0, true, vec!["0", "1", "2", "3"]),
            (990.0, false, vec!["0", "500", "1000"]),
            (152.0, false, vec!["0", "50", "100", "150"]),
        ] {
            let axis = ValueAxis::up_to(highest, whole);
            let found: Vec<_> = axis.ticks.iter().map(|tick| tick.label.as_str()).collect();
            assert_eq!(found, labels, "{highest}");
            assert!(axis.top > highest, "{highest}");
        }
    }

    fn labels(from: &str, hours: i64, zone: &str) -> Vec<String> {
        let from: Timestamp = from.parse().unwrap();
        let to = from + SignedDuration::from_hours(hours);
        let zone = TimeZone::get(zone).unwrap();
        let ticks = times(from, to, &zone).into_iter();
        let text = |tick: TimeTick| [Some(tick.label), tick.date].into_iter().flatten();
        ticks
            .map(|tick| text(tick).collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn times_are_round_on_the_readers_clock() {
        let utc = labels("2026-03-01T22:10:00Z", 4, "UTC");
        assert_eq!(utc[..2], ["22:30 1 Mar 2026", "23:00"]);
        assert_eq!(utc[3], "00:00 2 Mar 2026");
        let kolkata = labels("2026-03-01T22:10:00Z", 4, "Asia/Kolkata");
        assert_eq!(kolkata[0], "04:00 2 Mar 2026");
        let week = labels("2026-03-01T00:00:00Z", 7 * 24, "UTC");
        assert_eq!(week[..2], ["1 Mar 2026", "2 Mar"]);
    }

    #[test]
    fn a_day_of_another_length_has_its_ticks_at_the_clocks_hours() {
        // The clocks go forward at 02:00.
        let autumn = labels("2026-10-23T22:00:00Z", 84, "Europe/Berlin");
        assert!(autumn.len() > 6, "{autumn:?}");
        assert!(
            !autumn.iter().any(|tick| tick.starts_with("23:00")),
            "{autumn:?}"
        );
        let ticks = labels("2026-03-28T23:00:00Z", 11, "Europe/Berlin");
        assert_eq!(ticks[..4], ["00:00 29 Mar 2026", "01:00", "03:00", "04:00"]);
    }

    #[test]
    fn the_clock_is_named() {
        let at = Timestamp::UNIX_EPOCH;
        assert_eq!(clock(&TimeZone::UTC, at), "UTC");
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        assert_eq!(clock(&berlin, at), "Europe/Berlin, UTC+01");
        let fixed = TimeZone::fixed(jiff::tz::offset(-5));
        assert_eq!(clock(&fixed, at), "local, UTC-05");
    }
}
