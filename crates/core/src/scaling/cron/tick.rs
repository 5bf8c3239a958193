//! One tick of cron scaling: the runs that are due, the windows that are open, and the least replicas
//! that follow.

use jiff::Timestamp;

use super::adjust::adjust;
use super::rule::{Rule, When, Window};
use super::spec::CronSpec;
use super::state::{CronState, Held, RuleState};
use crate::scaling::bounds::ObjectBounds;

/// Everything that a tick reads beside rules and state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    pub now: Timestamp,
    /// When the object with the rules was made.
    pub created: Timestamp,
    /// The replicas that the workload has; while they are not known, no run is made.
    pub current: Option<i32>,
    /// The user's own bounds, or his own count.
    pub user: ObjectBounds,
    /// What a run says.
    pub saying: Saying,
}

/// What the replicas of a run or of a window are to what is scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saying {
    /// Bounds, within which another scales: they move as [`adjust`] says.
    Bounds,
    /// The count itself.
    Count,
}

/// The least replicas that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    pub min: i32,
    /// The end of the window that asks for them; `None` where they stand until the next run.
    pub until: Option<Timestamp>,
}

/// Something that a tick has to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// A run was made, perhaps late.
    Ran {
        rule: String,
        at: Timestamp,
        target: i32,
        /// The replicas that there were.
        current: i32,
        /// The least replicas that it leaves, where it asks for any.
        min: Option<i32>,
    },
    /// A run was missed, and is too old to be made up for.
    Missed { rule: String, at: Timestamp },
    /// A window has opened, or was found open.
    Opened {
        rule: String,
        replicas: i32,
        until: Timestamp,
    },
    /// A window has closed.
    Closed { rule: String },
}

/// The outcome of a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticked {
    pub state: CronState,
    /// The least replicas that are asked for; `None` leaves the bounds to others.
    pub wanted: Option<Wanted>,
    pub happened: Vec<Happening>,
}

/// One tick at the time of the `observation`.
#[must_use]
pub fn tick(spec: &CronSpec, before: &CronState, observation: &Observation) -> Ticked {
    let mut ticking = Ticking {
        spec,
        observation,
        state: carried_over(spec, before, observation),
        happened: Vec::new(),
    };
    if observation.current.is_some() {
        ticking.make_runs();
    }
    let windows = ticking.open_windows();
    let wanted = wanted(ticking.state.held.as_ref(), &windows);
    let Ticking {
        state, happened, ..
    } = ticking;
    Ticked {
        state,
        wanted,
        happened,
    }
}

/// The state of the rules that there are. Rules that were there when the object was made count from
/// then on; those that came later, or were changed, from now on.
fn carried_over(spec: &CronSpec, before: &CronState, observation: &Observation) -> CronState {
    let Observation { now, created, .. } = *observation;
    let since = if before.rules.is_empty() {
        created
    } else {
        now
    };
    let rules = spec.rules().iter().map(|rule| {
        let when = rule.when_text();
        let known = before.rules.get(&rule.name);
        let state = known.filter(|state| state.when == when).cloned();
        let state = state.unwrap_or(RuleState {
            when,
            since: since.min(now),
            last: None,
            open: false,
        });
        (rule.name.clone(), state)
    });
    let is_there = |held: &Held| spec.active().any(|rule| rule.name == held.rule);
    CronState {
        rules: rules.collect(),
        held: before.held.clone().filter(is_there),
    }
}

struct Ticking<'a> {
    spec: &'a CronSpec,
    observation: &'a Observation,
    state: CronState,
    happened: Vec<Happening>,
}

/// A run whose time has come.
struct Due<'a> {
    rule: &'a Rule,
    at: Timestamp,
}

impl<'a> Ticking<'a> {
    /// Makes the newest run that is due, of several at one moment that for the most replicas, and lets
    /// those before it go.
    fn make_runs(&mut self) {
        let now = self.observation.now;
        let mut due = self.due();
        due.sort_by_key(|due| (due.at, due.rule.replicas));
        let Some(newest) = due.last() else { return };
        if now.duration_since(newest.at) <= self.spec.starting_deadline() {
            self.run(newest);
        } else {
            let missed = due.iter().map(|Due { rule, at }| Happening::Missed {
                rule: rule.name.clone(),
                at: *at,
            });
            self.happened.extend(missed);
        }
        for Due { rule, at } in due {
            if let Some(state) = self.state.rules.get_mut(&rule.name) {
                state.last = Some(at);
            }
        }
    }

    /// The last run of each rule, where it has not been made or missed yet.
    fn due(&self) -> Vec<Due<'a>> {
        let now = self.observation.now;
        let runs = self
            .spec
            .active()
            .filter(|rule| matches!(rule.when, When::Run(_)));
        let due = runs.filter_map(|rule| {
            let state = self.state.rules.get(&rule.name)?;
            let at = rule.latest_since(state.since, now)?.timestamp();
            let is_new = state.last.is_none_or(|last| last < at);
            is_new.then_some(Due { rule, at })
        });
        due.collect()
    }

    /// Makes one run. What the run before raised is still there; what it lowered is put back first.
    fn run(&mut self, due: &Due<'_>) {
        let Observation {
            current,
            user,
            saying,
            ..
        } = *self.observation;
        let Some(current) = current else { return };
        let before = self.state.held.take().map(|held| held.min);
        let own = user.min.unwrap_or(1);
        let min = before.filter(|min| *min > own).map_or(user.min, Some);
        let bounds = ObjectBounds {
            min,
            max: user.max.max(min.unwrap_or(0)),
        };
        let (name, target) = (&due.rule.name, due.rule.replicas);
        let min = match saying {
            Saying::Bounds => adjust(bounds, target, current).bounds.min,
            Saying::Count => Some(target),
        };
        let min = min.filter(|min| *min != own);
        self.state.held = min.map(|min| Held {
            rule: name.clone(),
            at: due.at,
            min,
        });
        self.happened.push(Happening::Ran {
            rule: name.clone(),
            at: due.at,
            target,
            current,
            min,
        });
    }

    /// The windows that are open, each with the replicas of its rule.
    fn open_windows(&mut self) -> Vec<(i32, Window)> {
        let now = self.observation.now;
        let mut open = Vec::new();
        for rule in self.spec.rules() {
            let Some(state) = self.state.rules.get_mut(&rule.name) else {
                continue;
            };
            let applies = self.spec.active().any(|active| active.name == rule.name);
            let window = applies
                .then(|| rule.open_window(state.since, now))
                .flatten();
            let was_open = std::mem::replace(&mut state.open, window.is_some());
            match &window {
                Some(window) => {
                    let start = Some(window.start.timestamp());
                    let is_new = std::mem::replace(&mut state.last, start) != start;
                    if is_new || !was_open {
                        self.happened.push(Happening::Opened {
                            rule: rule.name.clone(),
                            replicas: rule.replicas,
                            until: window.end.timestamp(),
                        });
                    }
                }
                None if was_open => self.happened.push(Happening::Closed {
                    rule: rule.name.clone(),
                }),
                None => {}
            }
            open.extend(window.map(|window| (rule.replicas, window)));
        }
        open
    }
}

/// The largest of what is asked for, and its end.
fn wanted(held: Option<&Held>, windows: &[(i32, Window)]) -> Option<Wanted> {
    let held = held.map(|held| held.min);
    let largest = windows.iter().map(|(replicas, _)| *replicas).max();
    let min = held.max(largest)?;
    let ends = windows.iter().filter(|(replicas, _)| *replicas == min);
    let end = ends.map(|(_, window)| window.end.timestamp()).max();
    Some(Wanted {
        min,
        until: end.filter(|_| held != Some(min)),
    })
}
