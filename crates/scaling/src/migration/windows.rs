//! Windows of other products that a CronHPA opens at the same hours. KEDA and Kapacity have a
//! window open if its end comes next, before its start; if both come at once, KEDA has it open and
//! Kapacity does not. A CronHPA opens it at each start until the next end. All agree if starts and
//! ends alternate.

use evenkeel_cron::{ExcludedDays, Schedule, Zone};
use evenkeel_units::words;
use jiff::{SignedDuration, Timestamp, Zoned};

use super::conversion::MigrateError;
use super::document::ManifestFields;

/// The time over which starts and ends are looked at: a leap day comes in it.
const LOOKED_AT: SignedDuration = SignedDuration::from_hours(5 * 366 * 24);
const STARTS: usize = 20_000;

words! {
    pub(super) enum Product {
        Keda = "KEDA",
        Kapacity = "Kapacity",
    }
}

impl Product {
    /// The forms of schedules that it reads.
    const fn accepted(self) -> &'static str {
        match self {
            Self::Keda => "KEDA reads five fields",
            Self::Kapacity => "Kapacity reads five fields or a name such as @daily",
        }
    }

    /// True if the window is open while its next start is at `start` and its next end at `end`.
    fn is_open(self, start: &Zoned, end: &Zoned) -> bool {
        end < start || (self == Self::Keda && end == start)
    }

    fn reads(self, expression: &str) -> bool {
        let is_name = self == Self::Kapacity && expression.starts_with('@');
        is_name || expression.split_whitespace().count() == 5
    }
}

/// Refuses the window in `start` and `end` if the product reads other schedules, or opens it at
/// other hours.
pub(super) fn check(
    product: Product,
    of: &ManifestFields<'_>,
    (start, end): (&str, &str),
    now: Timestamp,
) -> Result<(), MigrateError> {
    let utc = Zone::utc();
    let mut schedules = Vec::new();
    for (field, text) in [("start", start), ("end", end)] {
        // The check of the whole spec refuses invalid schedules. Clock changes are left out,
        // because only the calendar is compared.
        let Ok(schedule) = Schedule::parse(text, None, &utc) else {
            return Ok(());
        };
        if !product.reads(schedule.expression()) {
            let message = format!("{text:?} is not a schedule there: {}", product.accepted());
            return Err(MigrateError::new(of.at(field), message));
        }
        schedules.extend(Schedule::parse(schedule.expression(), None, &utc));
    }
    let [start, end] = &schedules[..] else {
        return Ok(());
    };
    if start.includes(end, &ExcludedDays::default()) {
        return Ok(());
    }
    let refused = |message: String| MigrateError::new(of.at("start"), message);
    differs(product, start, end, now).map_or(Ok(()), |message| Err(refused(message)))
}

/// Where the product's window differs from a CronHPA's; `None` if starts and ends alternate.
fn differs(product: Product, start: &Schedule, end: &Schedule, now: Timestamp) -> Option<String> {
    let until = now + LOOKED_AT;
    // From an end on, the first start is the first of its window.
    let mut opens = start.next_after(end.next_after(now)?.timestamp())?;
    for _ in 0..STARTS {
        let closes = end.next_after(opens.timestamp())?;
        let again = start.next_after(opens.timestamp())?;
        if !product.is_open(&again, &closes) {
            return Some(starts_twice(product, start, [&opens, &again, &closes]));
        }
        let second = end.next_after(closes.timestamp())?;
        if closes < again && product.is_open(&again, &second) {
            return Some(ends_twice(product, [&opens, &closes, &second]));
        }
        opens = again;
        if until < opens.timestamp() {
            break;
        }
    }
    None
}

fn starts_twice(product: Product, start: &Schedule, moments: [&Zoned; 3]) -> String {
    let [opens, again, closes] = moments;
    let before = Timestamp::from_nanosecond(closes.timestamp().as_nanosecond() - 1);
    let last = before.ok().and_then(|at| start.latest_until(at));
    let last = last.unwrap_or_else(|| again.clone());
    let product = product.as_str();
    format!(
        "start is at {} and again at {}, and end at {}: {product} opens this window only while its \
         end comes next, from {} on ({}), and a CronHPA from the first start on ({}); accepted: \
         schedules in which starts and ends alternate",
        shown(opens),
        shown(again),
        shown(closes),
        shown(&last),
        length(&last, closes),
        length(opens, closes),
    )
}

fn ends_twice(product: Product, moments: [&Zoned; 3]) -> String {
    let [opens, closes, second] = moments;
    let product = product.as_str();
    format!(
        "end is at {} and again at {}, before another start: {product} keeps this window open \
         until the last end ({} and more), and a CronHPA from {} until the first end ({}); \
         accepted: schedules in which starts and ends alternate",
        shown(closes),
        shown(second),
        length(opens, second),
        shown(opens),
        length(opens, closes),
    )
}

/// A moment of the calendar, whatever the zone.
fn shown(at: &Zoned) -> String {
    at.strftime("%a %Y-%m-%d %H:%M").to_string()
}

fn length(from: &Zoned, until: &Zoned) -> String {
    format!("{:#}", until.timestamp().duration_since(from.timestamp()))
}
