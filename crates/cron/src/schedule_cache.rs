//! The last and the next moment of each rule, looked up once and kept until the next has come.
//!
//! A rule without a last or next moment is cached too. So a tick walks the calendar only after a
//! moment, whatever the rules and however many days they exclude.

use jiff::{Timestamp, Zoned};

use super::next_occurrences::{CronOccasion, UpcomingOccurrence};
use super::rule::Rule;
use super::spec::CronSpec;
use super::state::CronState;

/// The last and the next moment of each rule in one set of rules. If the rules change, the cache
/// begins anew.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScheduleCache {
    /// That of each rule, in their order; `None` where it has not been looked up.
    rules: Vec<Option<RuleOccurrences>>,
    shown: Option<NextOccurrences>,
}

/// The moments of one rule around one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RuleOccurrences {
    /// When the rule was first seen; `None` where it was not yet.
    since: Option<Timestamp>,
    looked_up: Timestamp,
    /// The last run, or the last window, that has begun.
    pub(crate) last: Option<StartedOccurrence>,
    next: Option<Zoned>,
}

/// A run or a window that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StartedOccurrence {
    pub(crate) at: Timestamp,
    /// The end of the window; `None` for a run, and for a window that never closes.
    pub(crate) end: Option<Timestamp>,
}

/// A window that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenWindow {
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
}

/// The next runs and windows.
#[derive(Debug, Clone, PartialEq)]
struct NextOccurrences {
    /// The first moment of all, until which they stand; `None` where none comes.
    first: Option<Timestamp>,
    moments: Vec<ScheduledOccurrence>,
}

/// A run or a window to come, of the rule at a place.
#[derive(Debug, Clone, PartialEq)]
struct ScheduledOccurrence {
    place: usize,
    at: Zoned,
    occasion: CronOccasion,
}

impl RuleOccurrences {
    fn of(rule: &Rule, since: Option<Timestamp>, now: Timestamp) -> Self {
        let (last, next) = if rule.run_once {
            let only = rule.only(since.unwrap_or(now));
            let is_over = only.as_ref().is_some_and(|at| at.timestamp() <= now);
            if is_over { (only, None) } else { (None, only) }
        } else {
            (rule.latest_until(now), rule.next_after(now))
        };
        let last = last.map(|at| StartedOccurrence {
            at: at.timestamp(),
            end: rule.window(at).map(|window| window.end.timestamp()),
        });
        Self {
            since,
            looked_up: now,
            last,
            next,
        }
    }

    /// True where it is as it was, of a rule that was first seen `since` then.
    fn stands(&self, since: Option<Timestamp>, now: Timestamp) -> bool {
        let Self {
            since: known,
            looked_up,
            last: _,
            next,
        } = self;
        let has_come = next.as_ref().is_some_and(|next| next.timestamp() <= now);
        *known == since && *looked_up <= now && !has_come
    }
}

impl ScheduleCache {
    /// The moments around `now` of the rule at a place, which was first seen `since` then.
    pub(crate) fn around(
        &mut self,
        spec: &CronSpec,
        place: usize,
        since: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<&RuleOccurrences> {
        let rule = spec.rules().get(place)?;
        self.rules.resize(spec.rules().len(), None);
        let known = &mut self.rules[place];
        let around = known.take().filter(|around| around.stands(since, now));
        Some(known.insert(around.unwrap_or_else(|| RuleOccurrences::of(rule, since, now))))
    }

    /// The window of the rule at a place that is open at `now`, of a rule that was first seen `since` then.
    pub(crate) fn open_window(
        &mut self,
        spec: &CronSpec,
        place: usize,
        since: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<OpenWindow> {
        let begun = self.around(spec, place, since, now)?.last?;
        let end = begun.end?;
        (now < end).then_some(OpenWindow {
            start: begun.at,
            end,
        })
    }

    /// The next `most` runs and windows of all rules after `now`, in the order of their moments.
    pub fn next<'a>(
        &mut self,
        spec: &'a CronSpec,
        state: &CronState,
        now: Timestamp,
        most: usize,
    ) -> Vec<UpcomingOccurrence<'a>> {
        let mut nexts = Vec::new();
        for (place, rule) in spec.rules().iter().enumerate() {
            if !spec.is_active(rule) {
                continue;
            }
            let around = self.around(spec, place, state.since(rule), now);
            let next = around.and_then(|around| around.next.clone());
            nexts.extend(next.map(|at| (place, at)));
        }
        let first = nexts.iter().map(|(_, at)| at.timestamp()).min();
        let shown = self.shown.take().filter(|shown| shown.first == first);
        let shown = self.shown.insert(shown.unwrap_or_else(|| NextOccurrences {
            first,
            moments: soonest(spec, nexts, most),
        }));
        let moments = shown.moments.iter();
        let shown = moments.filter_map(|moment| {
            let ScheduledOccurrence {
                place,
                at,
                occasion,
            } = moment.clone();
            let rule = spec.rules().get(place)?;
            Some(UpcomingOccurrence { rule, at, occasion })
        });
        shown.collect()
    }
}

/// The `most` moments that come soonest, where the next of each rule are known: only rules that are among
/// them have more looked up.
fn soonest(
    spec: &CronSpec,
    mut nexts: Vec<(usize, Zoned)>,
    most: usize,
) -> Vec<ScheduledOccurrence> {
    let mut found = Vec::new();
    while found.len() < most {
        let each = nexts.iter().enumerate();
        let soonest = each.min_by_key(|(_, (place, at))| (at.timestamp(), *place));
        let Some((index, _)) = soonest else { break };
        let (place, at) = nexts.swap_remove(index);
        let rule = &spec.rules()[place];
        let Some(UpcomingOccurrence { at, occasion, .. }) = UpcomingOccurrence::of(rule, at) else {
            continue;
        };
        let again = Some(at.timestamp()).filter(|_| !rule.run_once);
        let later = again.and_then(|moment| rule.next_after(moment));
        nexts.extend(later.map(|later| (place, later)));
        found.push(ScheduledOccurrence {
            place,
            at,
            occasion,
        });
    }
    found
}
