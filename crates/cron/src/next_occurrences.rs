//! The next runs and windows of rules, as they are shown.

use jiff::{Timestamp, Zoned};

use super::rule::{Rule, RuleTiming};
use super::spec::CronSpec;
use super::state::CronState;

/// A moment in the zone of a rule as people read it: `Mon 2026-11-23 08:00:00 CET`.
pub fn local_time(at: &Zoned) -> String {
    at.strftime("%a %Y-%m-%d %H:%M:%S %Z").to_string()
}

/// The kind of an occurrence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CronOccasion {
    /// A run.
    Run,
    /// A window, which closes at this moment.
    Window {
        /// The moment at which it closes.
        end: Zoned,
    },
}

/// A run or a window to come.
#[derive(Debug, Clone)]
pub struct UpcomingOccurrence<'a> {
    pub rule: &'a Rule,
    /// Its moment, or that of the window's start, in the zone of the rule.
    pub at: Zoned,
    pub occasion: CronOccasion,
}

impl<'a> UpcomingOccurrence<'a> {
    /// The run or window that a rule begins at this moment; `None` for a window that never closes.
    pub(crate) fn of(rule: &'a Rule, at: Zoned) -> Option<Self> {
        let occasion = match &rule.when {
            RuleTiming::Run(_) => CronOccasion::Run,
            RuleTiming::Window { .. } => CronOccasion::Window {
                end: rule.window(at.clone())?.end,
            },
        };
        Some(Self { rule, at, occasion })
    }
}

/// The end of the window that opens at `at`, or the moment itself for a run.
fn ends(rule: &Rule, at: &Zoned) -> Timestamp {
    let window = rule.window(at.clone());
    window.map_or(at.timestamp(), |window| window.end.timestamp())
}

/// The next `most` runs and windows of each rule after `now`, in the order of their moments. A rule that is
/// suspended, or has applied once, has none. A run-once rule with an open window has that one.
pub fn upcoming<'a>(
    spec: &'a CronSpec,
    state: &CronState,
    now: Timestamp,
    most: usize,
) -> Vec<UpcomingOccurrence<'a>> {
    let of_rule = |rule: &'a Rule| {
        let since = state.since(rule).unwrap_or(now);
        let first = if rule.run_once {
            rule.only(since).filter(|at| now < ends(rule, at))
        } else {
            rule.next_after(now)
        };
        let again = |at: &Zoned| {
            let at = Some(at.timestamp()).filter(|_| !rule.run_once)?;
            rule.next_after(at)
        };
        let moments = std::iter::successors(first, again).take(most);
        moments.map_while(|at| UpcomingOccurrence::of(rule, at))
    };
    let mut all: Vec<_> = spec.active().flat_map(of_rule).collect();
    all.sort_by_key(|one| one.at.timestamp());
    all
}
