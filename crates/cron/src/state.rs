//! The state that one tick of cron scaling leaves to the next.
//!
//! It is kept with the object, so a new leader or a restarted program makes up for missed runs and
//! repeats none.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::rule::Rule;

/// The state of all rules of one object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CronState {
    /// The state of each rule that has been seen, by its name.
    pub rules: BTreeMap<String, RuleState>,
    /// The change that the last run made and that stands.
    pub held: Option<ActiveRun>,
}

impl CronState {
    /// When a rule was first seen; `None` where it was not yet.
    pub(crate) fn since(&self, rule: &Rule) -> Option<Timestamp> {
        self.rules.get(&rule.name).map(|state| state.since)
    }
}

/// The state of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleState {
    /// The schedules that it had: with others it is another rule.
    pub when: String,
    /// When it was first seen; what lies before is none of its business.
    pub since: Timestamp,
    /// The last run, made or missed, or the start of the last window.
    pub last: Option<Timestamp>,
    /// True while its window is open.
    pub open: bool,
    /// The user's own least when its window opened, by which it raised or lowered; `None` while it is
    /// closed, or where that is not known.
    pub least: Option<i32>,
}

/// A change of the bounds by a run, which stands until the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveRun {
    /// The name of the rule that ran.
    pub rule: String,
    /// The moment of the run, by its schedule.
    pub at: Timestamp,
    /// The least replicas that it left; the most follows where it is smaller.
    pub min: i32,
    /// The user's own least at the run, by which it raised or lowered; `None` where that is not known.
    pub least: Option<i32>,
}
