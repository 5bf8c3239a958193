//! The times of day of a cron expression, as a bit for each second, minute and hour.

use croner::Cron;
use croner::CronComponent;
use jiff::civil::Time;

/// Times of day: each hour with each minute with each second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Times {
    hours: u64,
    minutes: u64,
    seconds: u64,
    is_fixed: bool,
}

impl Times {
    pub(crate) fn of(cron: &Cron) -> Self {
        let pattern = &cron.pattern;
        let fields = [&pattern.hours, &pattern.minutes, &pattern.seconds];
        let [hours, minutes, seconds] = fields.map(bits);
        // The text has two or three fields of times, and three of days after them.
        let written: Vec<&str> = pattern.as_str().split_whitespace().collect();
        let of_times = written.len().saturating_sub(3);
        let repeats = |field: &&str| field.contains(['*', '/']);
        Self {
            hours,
            minutes,
            seconds,
            is_fixed: !written.iter().take(of_times).any(repeats),
        }
    }

    /// True where all of them are named, by themselves, in lists or in ranges. With `*` or steps they
    /// repeat, and go by the time that passes rather than by what clocks show.
    pub(crate) const fn are_fixed(&self) -> bool {
        self.is_fixed
    }

    /// True where each time of the other is one of these.
    pub(crate) const fn includes(&self, other: &Self) -> bool {
        other.hours & !self.hours == 0
            && other.minutes & !self.minutes == 0
            && other.seconds & !self.seconds == 0
    }

    /// The first of a day.
    pub(crate) fn first(&self) -> Option<Time> {
        time((
            lowest(self.hours)?,
            lowest(self.minutes)?,
            lowest(self.seconds)?,
        ))
    }

    /// The last of a day.
    pub(crate) fn last(&self) -> Option<Time> {
        time((
            highest(self.hours)?,
            highest(self.minutes)?,
            highest(self.seconds)?,
        ))
    }

    /// The first that is not before `from`.
    pub(crate) fn next_from(&self, from: Time) -> Option<Time> {
        let Self {
            hours,
            minutes,
            seconds,
            ..
        } = *self;
        let (hour, minute, second) = parts(from);
        let in_hour = has(hours, hour);
        let in_minute = in_hour && has(minutes, minute);
        let same_minute = || Some((hour, minute, lowest(seconds & at_least(second))?));
        let same_hour = || Some((hour, lowest(minutes & above(minute))?, lowest(seconds)?));
        let later = || {
            let hour = lowest(hours & above(hour))?;
            Some((hour, lowest(minutes)?, lowest(seconds)?))
        };
        let found = in_minute.then(same_minute).flatten();
        let found = found.or_else(|| in_hour.then(same_hour).flatten());
        time(found.or_else(later)?)
    }

    /// The last that is not after `until`.
    pub(crate) fn last_until(&self, until: Time) -> Option<Time> {
        let Self {
            hours,
            minutes,
            seconds,
            ..
        } = *self;
        let (hour, minute, second) = parts(until);
        let in_hour = has(hours, hour);
        let in_minute = in_hour && has(minutes, minute);
        let same_minute = || Some((hour, minute, highest(seconds & !above(second))?));
        let same_hour = || {
            let minute = highest(minutes & !at_least(minute))?;
            Some((hour, minute, highest(seconds)?))
        };
        let earlier = || {
            let hour = highest(hours & !at_least(hour))?;
            Some((hour, highest(minutes)?, highest(seconds)?))
        };
        let found = in_minute.then(same_minute).flatten();
        let found = found.or_else(|| in_hour.then(same_hour).flatten());
        time(found.or_else(earlier)?)
    }
}

fn bits(field: &CronComponent) -> u64 {
    let values = field.values().into_iter();
    values.fold(0, |bits, value| bits | 1 << value)
}

/// Hour, minute and second; a fraction of a second is none of a schedule's business.
fn parts(time: Time) -> (u32, u32, u32) {
    let part = |part: i8| u32::from(part.unsigned_abs());
    (part(time.hour()), part(time.minute()), part(time.second()))
}

fn time((hour, minute, second): (u32, u32, u32)) -> Option<Time> {
    let part = |part: u32| i8::try_from(part).ok();
    Time::new(part(hour)?, part(minute)?, part(second)?, 0).ok()
}

const fn has(bits: u64, number: u32) -> bool {
    bits >> number & 1 == 1
}

/// The bits of a number and of all above.
const fn at_least(number: u32) -> u64 {
    u64::MAX << number
}

/// The bits above a number.
const fn above(number: u32) -> u64 {
    at_least(number + 1)
}

const fn lowest(bits: u64) -> Option<u32> {
    if bits == 0 {
        None
    } else {
        Some(bits.trailing_zeros())
    }
}

const fn highest(bits: u64) -> Option<u32> {
    bits.checked_ilog2()
}

#[cfg(test)]
mod tests {
    use croner::parser::CronParser;
    use jiff::ToSpan as _;

    use super::*;

    fn times(text: &str) -> Times {
        Times::of(&CronParser::new().parse(&format!("{text} * * *")).unwrap())
    }

    #[test]
    fn times_are_found_from_every_second_of_a_day_as_the_expression_means_them() {
        for text in [
            "30 2,14",
            "5 */20 9-11",
            "0,59 0,59 0,23",
            "*/25 7 *",
            "15 30 6",
        ] {
            let cron = CronParser::new().parse(&format!("{text} * * *")).unwrap();
            let times = times(text);
            let day = jiff::civil::date(2026, 11, 22);
            let all: Vec<Time> = (0..86_400)
                .map(|second| Time::midnight() + second.seconds())
                .filter(|time| cron.is_time_matching(&day.to_datetime(*time)).unwrap())
                .collect();
            assert_eq!(
                (times.first(), times.last()),
                (all.first().copied(), all.last().copied())
            );
            for second in 0..86_400 {
                let from = Time::midnight() + second.seconds();
                let place = all.partition_point(|time| *time < from);
                assert_eq!(
                    times.next_from(from),
                    all.get(place).copied(),
                    "{text} {from}"
                );
                let place = all.partition_point(|time| *time <= from);
                let last = place.checked_sub(1).map(|place| all[place]);
                assert_eq!(times.last_until(from), last, "{text} {from}");
            }
        }
    }

    #[test]
    fn lists_and_ranges_are_fixed_and_what_repeats_is_not() {
        for (text, fixed) in [
            ("30 2", true),
            ("30 2,14", true),
            ("0-45 1-3", true),
            ("10 30 2,14", true),
            ("* 2", false),
            ("*/15 2", false),
            ("0-30/10 2", false),
            ("30 *", false),
            ("30 */2", false),
            ("* 30 2", false),
        ] {
            assert_eq!(times(text).are_fixed(), fixed, "{text}");
        }
    }
}
