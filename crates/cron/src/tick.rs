//! One tick of cron scaling: the runs that are due, the windows that are open, and the least replicas
//! that follow.

use evenkeel_objects::bounds::ObjectBounds;
use jiff::Timestamp;

use super::adjust::adjust;
use super::rule::{Rule, RuleTiming};
use super::schedule_cache::{OpenWindow, ScheduleCache};
use super::spec::CronSpec;
use super::state::{ActiveRun, CronState, RuleState};

/// Everything that a tick reads beside rules and state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CronObservation {
    pub now: Timestamp,
    /// When the object with the rules was made.
    pub created: Timestamp,
    /// The replicas that the workload has; while they are not known, no run is made.
    pub current: Option<i32>,
    /// The user's own bounds, or his own count.
    pub user: ObjectBounds,
    /// The effect of a run.
    pub saying: CronEffect,
    /// The minimum that the object has, from any contributor.
    pub effective: Option<i32>,
    /// The least that the record of the bounds says these rules ask for.
    pub recorded: Option<i32>,
}

/// The effect of the replicas of a run or window on the scaled object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CronEffect {
    /// Bounds, within which another scales: they move as [`adjust`] says.
    Bounds,
    /// The count itself.
    Count,
}

impl CronObservation {
    /// The user's own least.
    fn own(&self) -> i32 {
        // An HPA without a least has 1.
        self.user.min.unwrap_or(1)
    }

    /// True if the load may not need so many replicas, because a contributed minimum holds them and
    /// may end at any time.
    fn is_held_up(&self, current: i32) -> bool {
        let effective = self.effective.filter(|least| *least > self.own());
        effective.is_some_and(|least| current <= least)
    }
}

/// The least replicas that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestedMinimum {
    pub min: i32,
    /// The end of the window that asks for them; `None` where they stand until the next run.
    pub until: Option<Timestamp>,
    /// True where they raise the user's least: an edit of it that passes them holds. False where they
    /// stand in for it.
    pub raises: bool,
}

/// Something that a tick has to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CronEvent {
    /// A run was made, perhaps late.
    Ran {
        rule: String,
        at: Timestamp,
        target: i32,
        /// The replicas that there were.
        current: i32,
        /// The least replicas that it leaves, where it asks for any.
        min: Option<i32>,
        /// True where that is another than before.
        changes: bool,
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
pub struct CronTickResult {
    pub state: CronState,
    /// The least replicas that are asked for; `None` leaves the bounds to others.
    pub wanted: Option<RequestedMinimum>,
    pub happened: Vec<CronEvent>,
}

/// One tick at the time of the `observation`, with the `agenda` of these rules.
pub fn tick(
    spec: &CronSpec,
    before: &CronState,
    observation: &CronObservation,
    agenda: &mut ScheduleCache,
) -> CronTickResult {
    let mut ticking = CronTickContext {
        spec,
        observation,
        agenda,
        state: carried_over(spec, before, observation),
        happened: Vec::new(),
    };
    if observation.current.is_some() {
        ticking.make_runs();
    }
    let mut asked = ticking.open_windows();
    asked.extend(ticking.held());
    let CronTickContext {
        state, happened, ..
    } = ticking;
    CronTickResult {
        state,
        wanted: largest(&asked),
        happened,
    }
}

/// The state of the rules that there are. Rules that were there when the object was made count from
/// then on; those that came later, or were changed, from now on.
fn carried_over(spec: &CronSpec, before: &CronState, observation: &CronObservation) -> CronState {
    let CronObservation { now, created, .. } = *observation;
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
            least: None,
        });
        (rule.name.clone(), state)
    });
    let is_there = |held: &ActiveRun| spec.active().any(|rule| rule.name == held.rule);
    CronState {
        rules: rules.collect(),
        held: before.held.clone().filter(is_there),
    }
}

struct CronTickContext<'a> {
    spec: &'a CronSpec,
    observation: &'a CronObservation,
    agenda: &'a mut ScheduleCache,
    state: CronState,
    happened: Vec<CronEvent>,
}

/// A run that is due.
struct DueRun<'a> {
    rule: &'a Rule,
    at: Timestamp,
}

impl<'a> CronTickContext<'a> {
    /// Makes the newest run that is due, of several at one moment that for the most replicas, and lets
    /// those before it go.
    fn make_runs(&mut self) {
        let mut due = self.due();
        due.sort_by_key(|due| (due.at, due.rule.replicas));
        let Some(newest) = due.last() else { return };
        let late = self.observation.now.duration_since(newest.at);
        if late <= self.spec.starting_deadline() {
            self.run(newest);
        } else if self.was_made(newest) {
            self.state.held = self.holding(newest, newest.rule.replicas);
        } else {
            self.miss(&due);
        }
        for DueRun { rule, at } in due {
            if let Some(state) = self.state.rules.get_mut(&rule.name) {
                state.last = Some(at);
            }
        }
    }

    /// The last run of each rule, where it has not been made or missed yet.
    fn due(&mut self) -> Vec<DueRun<'a>> {
        let (spec, now) = (self.spec, self.observation.now);
        let mut all = Vec::new();
        for (place, rule) in spec.rules().iter().enumerate() {
            if !spec.is_active(rule) || !matches!(rule.when, RuleTiming::Run(_)) {
                continue;
            }
            let Some(state) = self.state.rules.get(&rule.name) else {
                continue;
            };
            let around = self.agenda.around(spec, place, Some(state.since), now);
            let last = around.and_then(|around| around.last);
            let known = state.last.max(Some(state.since));
            let due = last.filter(|last| known < Some(last.at));
            all.extend(due.map(|last| DueRun { rule, at: last.at }));
        }
        all
    }

    /// True for a run that an earlier instance made and could not report: nothing else explains the
    /// minimum that the record holds for these rules.
    fn was_made(&self, due: &DueRun<'_>) -> bool {
        let target = due.rule.replicas;
        let by_window = self.spec.rules().iter().any(|rule| {
            let state = self.state.rules.get(&rule.name);
            rule.replicas == target && state.is_some_and(|state| state.open)
        });
        let is_recorded = self.observation.recorded == Some(target);
        is_recorded && self.state.held.is_none() && !by_window
    }

    /// Makes one run. What the run before raised is still there; what it lowered is put back first.
    fn run(&mut self, due: &DueRun<'_>) {
        let CronObservation {
            current,
            user,
            saying,
            ..
        } = *self.observation;
        let Some(current) = current else { return };
        let own = self.observation.own();
        let (name, target) = (&due.rule.name, due.rule.replicas);
        let lost = Some(target).filter(|_| self.was_made(due));
        let before = self.state.held.as_ref().map(|held| held.min).or(lost);
        let min = before.filter(|min| *min > own).map_or(user.min, Some);
        let bounds = ObjectBounds {
            min,
            max: user.max.max(min.unwrap_or(0)),
        };
        let is_held = target > own && self.observation.is_held_up(current);
        let min = if is_held || saying == CronEffect::Count {
            target
        } else {
            adjust(bounds, target, current).bounds.min.unwrap_or(own)
        };
        self.state.held = self.holding(due, min);
        let after = self.state.held.as_ref().map(|held| held.min);
        self.happened.push(CronEvent::Ran {
            rule: name.clone(),
            at: due.at,
            target,
            current,
            min: after,
            changes: before != after,
        });
    }

    /// The state after a run that leaves this minimum; `None` if that is the user's own.
    fn holding(&self, due: &DueRun<'_>, min: i32) -> Option<ActiveRun> {
        let own = self.observation.own();
        (min != own).then(|| ActiveRun {
            rule: due.rule.name.clone(),
            at: due.at,
            min,
            least: Some(own),
        })
    }

    /// Tells of runs that were missed. What the run before them raised stands, which is safe; what it
    /// lowered was only for the time until then.
    fn miss(&mut self, due: &[DueRun<'_>]) {
        let own = self.observation.own();
        let newest = due.iter().map(|due| due.at).max();
        let stays = |held: &ActiveRun| held.min >= own || newest <= Some(held.at);
        self.state.held = self.state.held.take().filter(stays);
        let missed = due.iter().map(|DueRun { rule, at }| CronEvent::Missed {
            rule: rule.name.clone(),
            at: *at,
        });
        self.happened.extend(missed);
    }

    /// The minimum that the last run left.
    fn held(&mut self) -> Option<RequestedMinimum> {
        let own = self.observation.own();
        let held = self.state.held.as_mut()?;
        // A version that did not keep it had made the run on what the user has.
        let least = *held.least.get_or_insert(own);
        Some(RequestedMinimum {
            min: held.min,
            until: None,
            raises: least < held.min,
        })
    }

    /// The minimums that open windows ask for.
    fn open_windows(&mut self) -> Vec<RequestedMinimum> {
        let (spec, now) = (self.spec, self.observation.now);
        let own = self.observation.own();
        let mut open = Vec::new();
        for (place, rule) in spec.rules().iter().enumerate() {
            let Some(state) = self.state.rules.get_mut(&rule.name) else {
                continue;
            };
            let window = if spec.is_active(rule) && matches!(rule.when, RuleTiming::Window { .. }) {
                self.agenda.open_window(spec, place, Some(state.since), now)
            } else {
                None
            };
            let was_open = std::mem::replace(&mut state.open, window.is_some());
            let Some(OpenWindow { start, end: until }) = window else {
                state.least = None;
                if was_open {
                    self.happened.push(CronEvent::Closed {
                        rule: rule.name.clone(),
                    });
                }
                continue;
            };
            let is_new = state.last.replace(start) != Some(start);
            if is_new || !was_open {
                state.least = Some(own);
                self.happened.push(CronEvent::Opened {
                    rule: rule.name.clone(),
                    replicas: rule.replicas,
                    until,
                });
            }
            open.push(RequestedMinimum {
                min: rule.replicas,
                until: Some(until),
                raises: *state.least.get_or_insert(own) < rule.replicas,
            });
        }
        open
    }
}

/// The largest requested minimum, until the last request for it ends.
fn largest(asked: &[RequestedMinimum]) -> Option<RequestedMinimum> {
    let min = asked.iter().map(|one| one.min).max()?;
    let same = || asked.iter().filter(|one| one.min == min);
    let stands = same().any(|one| one.until.is_none());
    let end = same().filter_map(|one| one.until).max();
    Some(RequestedMinimum {
        min,
        until: end.filter(|_| !stands),
        raises: same().any(|one| one.raises),
    })
}
