//! A cron schedule in its time zone, and its moments through changes of the clocks.
//!
//! An expression is read by `croner`, and walked here, on bitmaps: `croner` keeps 5,000 years with
//! each, and knows one fixed time of a day alone. Times that an expression names, in lists and ranges
//! too, are those that clocks show: what they skip is made at the change, what they repeat at the first
//! of its two moments. What repeats by `*` or steps goes on by the time that passes.

use jiff::civil::{Date, DateTime};
use jiff::{Timestamp, Zoned};

use super::day_set::DaySet;
use super::days::ExcludedDays;
use super::dst::{LocalTimeMatch, comes, repeating, second_after, second_before};
use super::expression::{ScheduleError, parse_expression};
use super::times::Times;
use super::walk::Walk;
use super::zone::Zone;

/// The moments that a cron expression names in a time zone.
#[derive(Debug, Clone)]
pub struct Schedule {
    text: Box<str>,
    days: Box<DaySet>,
    times: Times,
    zone: Zone,
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, &self.zone) == (&other.text, &other.zone)
    }
}

impl Eq for Schedule {}

impl Schedule {
    /// The schedule in `text`, which may begin with its own zone, as in `CRON_TZ=Asia/Shanghai 0 8 * *
    /// *` or `TZ=…`. Its zone is otherwise `given`, which stands beside it, or the `default`.
    ///
    /// # Errors
    /// Text that is no schedule or never comes, a zone that is none, or two zones.
    pub fn parse(text: &str, given: Option<&Zone>, default: &Zone) -> Result<Self, ScheduleError> {
        let (own, expression) = split_zone(text);
        let zone = match (own, given) {
            (Some(_), Some(_)) => return Err(ScheduleError::TwoZones(text.to_owned())),
            (Some(own), None) => Zone::parse(own)?,
            (None, given) => given.unwrap_or(default).clone(),
        };
        let cron = parse_expression(expression)?;
        let days = DaySet::of(&cron);
        let times = Times::of(&cron);
        if days.is_empty() || times.first().is_none() {
            return Err(ScheduleError::Never(expression.to_owned()));
        }
        Ok(Self {
            text: expression.into(),
            days: Box::new(days),
            times,
            zone,
        })
    }

    /// The expression, without its zone.
    pub fn expression(&self) -> &str {
        &self.text
    }

    /// The zone in which the expression is read.
    pub const fn zone(&self) -> &Zone {
        &self.zone
    }

    /// A moment in the schedule's zone.
    pub fn local(&self, at: Timestamp) -> Zoned {
        at.to_zoned(self.zone.rules().clone())
    }

    /// The first moment of the schedule after `at`; `None` beyond the years that are looked through.
    pub fn next_after(&self, at: Timestamp) -> Option<Zoned> {
        self.next_but(at, &ExcludedDays::default())
    }

    /// The last moment of the schedule that is not after `at`; `None` where there was none.
    pub fn latest_until(&self, at: Timestamp) -> Option<Zoned> {
        self.latest_but(at, &ExcludedDays::default())
    }

    /// As [`Self::next_after`], without the moments on excluded days.
    pub(crate) fn next_but(&self, at: Timestamp, excluded: &ExcludedDays) -> Option<Zoned> {
        let moments = Moments::around(self, whole_seconds(at), excluded);
        moments.next().map(|at| self.local(at))
    }

    /// As [`Self::latest_until`], without the moments on excluded days.
    pub(crate) fn latest_but(&self, at: Timestamp, excluded: &ExcludedDays) -> Option<Zoned> {
        let moments = Moments::around(self, whole_seconds(at), excluded);
        moments.latest().map(|at| self.local(at))
    }

    /// The local time that the schedule names for its moment `at`: an earlier one than clocks show where they
    /// skip it.
    pub(crate) fn named_at(&self, at: Timestamp, excluded: &ExcludedDays) -> Option<DateTime> {
        let moments = Moments::around(self, whole_seconds(at), excluded);
        moments.last_until(self.zone.rules().to_datetime(moments.at))
    }

    /// The moment at which a window closes that `opens` had open at `at`, its local time `named`.
    ///
    /// The first moment of the schedule does not do: it is a day or a week away where clocks have skipped,
    /// or repeat, the local time that was next on the clock on the wall. So the window closes when that
    /// local time is first shown or skipped, or at a moment of the schedule before. Windows that open in
    /// both passes of an hour that comes twice also close in both.
    pub(crate) fn close_of(&self, opens: &Self, at: Timestamp, named: DateTime) -> Option<Zoned> {
        let excluded = ExcludedDays::default();
        let mut moments = Moments::around(self, whole_seconds(at), &excluded);
        moments.is_fixed &= opens.times.are_fixed();
        let by_clock = match comes(self.zone.rules(), moments.next_from(second_after(named)?)?)? {
            LocalTimeMatch::Once(end) => end,
            LocalTimeMatch::Twice(first, second) if first <= at => second,
            LocalTimeMatch::Twice(first, _) => first,
            LocalTimeMatch::Never(change) => change.at,
        };
        let end = moments.next().map_or(by_clock, |next| next.min(by_clock));
        Some(self.local(end.max(at)))
    }

    /// True where each moment of the other schedule is one of this one, both in one zone, and none of them lies on a day
    /// that is `excluded` from this one in each year. Single dates are over some day.
    pub fn includes(&self, other: &Self, excluded: &ExcludedDays) -> bool {
        let is_part = self.days.includes(&other.days) && self.times.includes(&other.times);
        is_part && !excluded.recurring().meets(&other.days)
    }

    /// The bytes that it holds beside its own size.
    pub(crate) fn bytes(&self) -> usize {
        let Self {
            text,
            days,
            times: _,
            zone,
        } = self;
        text.len() + size_of_val(&**days) + zone.bytes()
    }
}

/// The moments of a schedule around one.
struct Moments<'a> {
    schedule: &'a Schedule,
    at: Timestamp,
    /// True where times that come twice count once, and times that are skipped count at the change.
    is_fixed: bool,
    walk: Walk<'a>,
}

impl<'a> Moments<'a> {
    fn around(schedule: &'a Schedule, at: Timestamp, excluded: &'a ExcludedDays) -> Self {
        let today = schedule.zone.rules().to_datetime(at).date();
        Self {
            schedule,
            at,
            is_fixed: schedule.times.are_fixed(),
            walk: Walk::around(today, &schedule.days, excluded),
        }
    }

    /// The first after the one in question.
    fn next(&self) -> Option<Timestamp> {
        let zone = self.schedule.zone.rules();
        let is_fixed = self.is_fixed;
        let mut from = second_after(zone.to_datetime(self.at))?;
        if let Some(back) = repeating(zone, self.at) {
            let within = |from| self.next_from(from).filter(|found| *found < back.before);
            if self.at >= back.at {
                // The second time round, in which what is fixed has been.
                if let Some(found) = within(from).filter(|_| !is_fixed) {
                    return self.second_of(found);
                }
                from = back.before;
            } else if !is_fixed && within(from).is_none() {
                if let Some(found) = within(back.after) {
                    return self.second_of(found);
                }
                from = back.before;
            }
        }
        loop {
            match comes(zone, self.next_from(from)?)? {
                LocalTimeMatch::Once(at) | LocalTimeMatch::Twice(at, _) => return Some(at),
                LocalTimeMatch::Never(change) if is_fixed => return Some(change.at),
                LocalTimeMatch::Never(change) => from = change.after,
            }
        }
    }

    /// The last that is not after the one in question.
    fn latest(&self) -> Option<Timestamp> {
        let zone = self.schedule.zone.rules();
        let is_fixed = self.is_fixed;
        let mut until = zone.to_datetime(self.at);
        if let Some(back) = repeating(zone, self.at)
            && self.at >= back.at
        {
            let found = self.last_until(until);
            if let Some(found) = found.filter(|found| !is_fixed && back.after <= *found) {
                return self.second_of(found);
            }
            // The first time round lies before.
            until = second_before(back.before)?;
        }
        loop {
            match comes(zone, self.last_until(until)?)? {
                LocalTimeMatch::Once(at) => return Some(at),
                LocalTimeMatch::Twice(first, second) => {
                    let is_over = !is_fixed && second <= self.at;
                    return Some(if is_over { second } else { first });
                }
                LocalTimeMatch::Never(change) if is_fixed => return Some(change.at),
                LocalTimeMatch::Never(change) => until = second_before(change.before)?,
            }
        }
    }

    /// The moment at which a local time that comes twice comes again.
    fn second_of(&self, local: DateTime) -> Option<Timestamp> {
        match comes(self.schedule.zone.rules(), local)? {
            LocalTimeMatch::Once(at) | LocalTimeMatch::Twice(_, at) => Some(at),
            LocalTimeMatch::Never(change) => Some(change.at),
        }
    }

    /// The first local time of the schedule that is not before `from`.
    fn next_from(&self, from: DateTime) -> Option<DateTime> {
        let times = &self.schedule.times;
        let today = self.walk.next_from(from.date())?;
        if today > from.date() {
            return Some(today.to_datetime(times.first()?));
        }
        if let Some(time) = times.next_from(from.time()) {
            return Some(today.to_datetime(time));
        }
        let day: Date = self.walk.next_from(today.tomorrow().ok()?)?;
        Some(day.to_datetime(times.first()?))
    }

    /// The last local time of the schedule that is not after `until`.
    fn last_until(&self, until: DateTime) -> Option<DateTime> {
        let times = &self.schedule.times;
        let today = self.walk.last_until(until.date())?;
        if today < until.date() {
            return Some(today.to_datetime(times.last()?));
        }
        if let Some(time) = times.last_until(until.time()) {
            return Some(today.to_datetime(time));
        }
        let day: Date = self.walk.last_until(today.yesterday().ok()?)?;
        Some(day.to_datetime(times.last()?))
    }
}

/// The moment without its fraction of a second, which no schedule has.
fn whole_seconds(at: Timestamp) -> Timestamp {
    // From the epoch on, seconds are counted downwards to the whole one.
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// The zone before an expression, and the expression.
fn split_zone(text: &str) -> (Option<&str>, &str) {
    let text = text.trim();
    let zoned = ["CRON_TZ=", "TZ="]
        .into_iter()
        .find_map(|prefix| text.strip_prefix(prefix));
    match zoned {
        None => (None, text),
        Some(zoned) => {
            let (zone, expression) = zoned.split_once(char::is_whitespace).unwrap_or((zoned, ""));
            (Some(zone), expression.trim_start())
        }
    }
}
