//! One rule: when it applies, and the replicas that it asks for.

use jiff::{Timestamp, Zoned};

use super::days::ExcludedDays;
use super::schedule::Schedule;
use super::zone::Zone;

/// The most excluded days that are looked past for a run: those of a year. Anybody may exclude all.
const MOST_SKIPPED: usize = 366;

/// The moments at which a rule applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum When {
    /// At each moment of a schedule.
    Run(Schedule),
    /// From each moment of `start` until the next of `end`.
    Window { start: Schedule, end: Schedule },
}

/// A window of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The moment at which it opens.
    pub start: Zoned,
    /// The moment at which it closes.
    pub end: Zoned,
}

/// One rule of cron scaling.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The name, unique among the rules of one object.
    pub name: String,
    pub when: When,
    /// The replicas that it asks for.
    pub replicas: i32,
    /// True where it applies once, and never again.
    pub run_once: bool,
    /// True while it does not apply.
    pub suspended: bool,
    /// The days on which it begins nothing.
    pub excluded: ExcludedDays,
}

impl Rule {
    /// The schedules as one text, by which a changed rule is told from the one before.
    #[must_use]
    pub fn when_text(&self) -> String {
        match &self.when {
            When::Run(at) => format!("{} {}", at.expression(), at.zone()),
            When::Window { start, end } => {
                let zone = start.zone();
                format!("{} to {} {zone}", start.expression(), end.expression())
            }
        }
    }

    /// The zone in which the rule's days begin.
    #[must_use]
    pub const fn zone(&self) -> &Zone {
        self.begins().zone()
    }

    /// The schedule of its runs, or that of the starts of its windows.
    pub(super) const fn begins(&self) -> &Schedule {
        match &self.when {
            When::Run(at) => at,
            When::Window { start, .. } => start,
        }
    }

    /// The first run or start after `at` on a day that is not excluded; `None` where none comes.
    #[must_use]
    pub fn next_after(&self, at: Timestamp) -> Option<Zoned> {
        let mut from = at;
        for _ in 0..MOST_SKIPPED {
            let found = self.begins().next_after(from)?;
            if !self.excluded.contain(found.date()) {
                return Some(found);
            }
            // The last moment of that day, which no moment of the next one is before.
            let next_day = found
                .start_of_day()
                .ok()?
                .tomorrow()
                .ok()?
                .start_of_day()
                .ok()?;
            let last = Timestamp::from_second(next_day.timestamp().as_second() - 1).ok()?;
            from = last.max(found.timestamp());
        }
        None
    }

    /// The last run or start that is not after `at`, on a day that is not excluded.
    pub(super) fn latest_until(&self, at: Timestamp) -> Option<Zoned> {
        let mut from = at;
        for _ in 0..MOST_SKIPPED {
            let found = self.begins().latest_until(from)?;
            if !self.excluded.contain(found.date()) {
                return Some(found);
            }
            let day = found.start_of_day().ok()?.timestamp();
            from = Timestamp::from_second(day.as_second() - 1).ok()?;
        }
        None
    }

    /// The run or the start, not after `at`, that counts for a rule which was first seen `since` then:
    /// of one that applies once only the first there is.
    pub(super) fn latest_since(&self, since: Timestamp, at: Timestamp) -> Option<Zoned> {
        let latest = if self.run_once {
            self.next_after(since)
        } else {
            self.latest_until(at)
        };
        latest.filter(|found| since < found.timestamp() && found.timestamp() <= at)
    }

    /// The window that is open at `at`, for a rule that was first seen `since` then.
    pub(super) fn open_window(&self, since: Timestamp, at: Timestamp) -> Option<Window> {
        let begin = if self.run_once {
            self.only_window(since)?.start
        } else {
            self.latest_until(at)?
        };
        let window = self.window(begin)?;
        let open = window.start.timestamp() <= at && at < window.end.timestamp();
        open.then_some(window)
    }

    /// The one window of a rule that applies once: the one that is open when it is first seen, or the
    /// first thereafter.
    pub(super) fn only_window(&self, since: Timestamp) -> Option<Window> {
        let open = self
            .latest_until(since)
            .and_then(|start| self.window(start));
        open.filter(|window| since < window.end.timestamp())
            .or_else(|| self.window(self.next_after(since)?))
    }

    /// The window that opens at `start`; `None` for a rule without windows.
    pub(super) fn window(&self, start: Zoned) -> Option<Window> {
        let When::Window { end, .. } = &self.when else {
            return None;
        };
        let end = end.next_after(start.timestamp())?;
        Some(Window { start, end })
    }
}
