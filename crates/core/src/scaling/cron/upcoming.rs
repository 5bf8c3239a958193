//! The next runs and windows of rules, as they are shown.

use jiff::{Timestamp, Zoned};

use super::rule::{Rule, When};
use super::spec::CronSpec;
use super::state::CronState;

/// What comes at its moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occasion {
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
pub struct Upcoming<'a> {
    pub rule: &'a Rule,
    /// Its moment, or that of the window's start, in the zone of the rule.
    pub at: Zoned,
    pub occasion: Occasion,
}

/// The next `most` runs and windows of each rule after `now`, in the order of their moments. A rule that
/// is suspended, or has applied once, has none.
#[must_use]
pub fn upcoming<'a>(
    spec: &'a CronSpec,
    state: &CronState,
    now: Timestamp,
    most: usize,
) -> Vec<Upcoming<'a>> {
    let of_rule = |rule: &'a Rule| {
        let since = state.rules.get(&rule.name).map_or(now, |state| state.since);
        let most = if rule.run_once { most.min(1) } else { most };
        let mut from = now;
        let found = std::iter::from_fn(move || {
            let at = if rule.run_once {
                only(rule, since).filter(|at| now < at.timestamp())?
            } else {
                rule.next_after(from)?
            };
            from = at.timestamp();
            let occasion = match &rule.when {
                When::Run(_) => Occasion::Run,
                When::Window { .. } => Occasion::Window {
                    end: rule.window(at.clone())?.end,
                },
            };
            Some(Upcoming { rule, at, occasion })
        });
        found.take(most)
    };
    let mut all: Vec<_> = spec.active().flat_map(of_rule).collect();
    all.sort_by_key(|one| one.at.timestamp());
    all
}

/// The one moment of a rule that applies once.
fn only(rule: &Rule, since: Timestamp) -> Option<Zoned> {
    match rule.when {
        When::Run(_) => rule.next_after(since),
        When::Window { .. } => rule.only_window(since).map(|window| window.start),
    }
}
