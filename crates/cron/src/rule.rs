//! One rule: when it applies, and the replicas that it asks for.

use std::sync::Arc;

use jiff::{Timestamp, Zoned};

use super::days::ExcludedDays;
use super::schedule::Schedule;
use super::walk::MOST_YEARS;
use super::zone::Zone;

/// The moments at which a rule applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleTiming {
    /// At each moment of a schedule.
    Run(Schedule),
    /// From each moment of `start` until the clock on the wall shows the next local time of `end`.
    Window { start: Schedule, end: Schedule },
}

/// A window of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronWindow {
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
    pub when: RuleTiming,
    /// The replicas that it asks for.
    pub replicas: i32,
    /// True where it applies once, and never again.
    pub run_once: bool,
    /// True while it does not apply.
    pub suspended: bool,
    /// The days on which it begins nothing, of all rules that have the same.
    pub excluded: Arc<ExcludedDays>,
}

impl Rule {
    /// The schedules as one text, by which a changed rule is told from the one before.
    pub fn when_text(&self) -> String {
        match &self.when {
            RuleTiming::Run(at) => format!("{} {}", at.expression(), at.zone()),
            RuleTiming::Window { start, end } => {
                let zone = start.zone();
                format!("{} to {} {zone}", start.expression(), end.expression())
            }
        }
    }

    /// The zone in which the rule's days begin.
    pub const fn zone(&self) -> &Zone {
        self.begins().zone()
    }

    /// The schedule of its runs, or that of the starts of its windows.
    pub(crate) const fn begins(&self) -> &Schedule {
        match &self.when {
            RuleTiming::Run(at) => at,
            RuleTiming::Window { start, .. } => start,
        }
    }

    /// The first run, or start of a window, after `at` on a day that is not excluded; `None` where none
    /// comes.
    pub fn next_after(&self, at: Timestamp) -> Option<Zoned> {
        match self.when {
            RuleTiming::Run(_) => self.begins().next_but(at, &self.excluded),
            RuleTiming::Window { .. } => self.next_window(at).map(|window| window.start),
        }
    }

    /// The first window that opens after `at`. One that clocks skip as a whole is passed over.
    fn next_window(&self, mut at: Timestamp) -> Option<CronWindow> {
        let last_year = self.begins().local(at).year().saturating_add(MOST_YEARS);
        loop {
            let start = self.begins().next_but(at, &self.excluded)?;
            if start.year() > last_year {
                return None;
            }
            let window = self.window(start)?;
            if window.start < window.end {
                return Some(window);
            }
            at = window.start.timestamp();
        }
    }

    /// The last run or start that is not after `at`, on a day that is not excluded.
    pub(crate) fn latest_until(&self, at: Timestamp) -> Option<Zoned> {
        self.begins().latest_but(at, &self.excluded)
    }

    /// The run, or the start of the window, at which a rule applies that applies once and was first seen
    /// `since` then.
    pub(crate) fn only(&self, since: Timestamp) -> Option<Zoned> {
        match self.when {
            RuleTiming::Run(_) => self.next_after(since),
            RuleTiming::Window { .. } => self.only_window(since).map(|window| window.start),
        }
    }

    /// The one window of a rule that applies once: the one that is open when it is first seen, or the
    /// first thereafter.
    fn only_window(&self, since: Timestamp) -> Option<CronWindow> {
        let open = self
            .latest_until(since)
            .and_then(|start| self.window(start));
        open.filter(|window| since < window.end.timestamp())
            .or_else(|| self.next_window(since))
    }

    /// The window that opens at `start`, one of the moments of its starts; `None` for a rule without windows.
    pub(crate) fn window(&self, start: Zoned) -> Option<CronWindow> {
        let RuleTiming::Window {
            start: opens,
            end: closes,
        } = &self.when
        else {
            return None;
        };
        let at = start.timestamp();
        let named = opens.named_at(at, &self.excluded)?;
        let end = closes.close_of(opens, at, named)?;
        Some(CronWindow { start, end })
    }

    /// The bytes that it holds, but for the days that it excludes.
    pub(crate) fn bytes(&self) -> usize {
        let Self {
            name,
            when,
            replicas: _,
            run_once: _,
            suspended: _,
            excluded: _,
        } = self;
        let schedules = match when {
            RuleTiming::Run(at) => at.bytes(),
            RuleTiming::Window { start, end } => start.bytes() + end.bytes(),
        };
        size_of::<Self>() + name.len() + schedules
    }
}
