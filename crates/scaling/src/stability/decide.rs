//! From the verdicts of all checks to the command for the next step.

use jiff::Timestamp;

use super::hold::PausedChange;
use super::verdict::{CheckResult, CheckVerdict};
use crate::staged_change::{ChangeDirection, StepCommand};

/// The input of a decision on checks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checks<'a> {
    /// All checks with their verdicts.
    pub checked: &'a [CheckResult],
    /// Where the target is going; `None` where nothing is under way.
    pub heading: Option<ChangeDirection>,
    /// The moment that stands in the request to go on, where there is one.
    pub resume: Option<Timestamp>,
    pub now: Timestamp,
}

/// The command for the next step, and the state to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckDecision {
    pub command: StepCommand,
    /// The holds: of the direction of the change, and of the other one until that has cooled down.
    pub holds: Vec<PausedChange>,
    pub happened: Option<CheckTransition>,
    /// The reason in words; empty where the change goes on.
    pub reason: String,
}

/// Something that a decision has to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckTransition {
    /// A check has failed, and holds the change from here on.
    Held,
    /// The checks have passed for the cool-down.
    Passed,
    /// A user has resumed the change.
    Resumed,
}

impl CheckDecision {
    fn going_on(command: StepCommand, happened: Option<CheckTransition>) -> Self {
        Self {
            command,
            holds: Vec::new(),
            happened,
            reason: String::new(),
        }
    }

    fn held(hold: PausedChange, happened: Option<CheckTransition>, reason: String) -> Self {
        Self {
            command: hold.action.command(),
            holds: vec![hold],
            happened,
            reason,
        }
    }
}

/// The moment after which something has to be measured to say anything: the last step, or, where a change
/// is held, the begin of that.
pub(crate) fn measured_after(
    heading: Option<&ChangeDirection>,
    holds: &[PausedChange],
) -> Option<Timestamp> {
    let heading = heading?;
    let mut holds = holds.iter();
    let hold = holds.find(|hold| hold.direction == heading.direction);
    heading.stepped.max(hold.map(|hold| hold.since))
}

/// The command that follows from the checks, where `before` holds changes, or nothing does.
///
/// The first step of a change is made whatever they say: they are about what steps do. A request to go on counts from the
/// hold on, and where nothing is held but a check does not know, from the last step on: it lets one step be made.
pub(crate) fn decide(checks: &Checks<'_>, before: &[PausedChange]) -> CheckDecision {
    let direction = checks.heading.map(|heading| heading.direction);
    let is_own = |hold: &&PausedChange| Some(hold.direction) == direction;
    let mut decided = match checks.heading {
        Some(heading) => checks.decide(heading, before.iter().find(is_own)),
        None => CheckDecision::going_on(StepCommand::Proceed, None),
    };
    // A target that comes and goes, or turns and comes back, gets round no cool-down.
    let others = before.iter().filter(|hold| !is_own(hold));
    let others = others.filter(|hold| checks.now < hold.idles_until());
    decided.holds.extend(others.cloned());
    if !decided.reason.is_empty() && checks.resume.is_some_and(|at| at > checks.now) {
        decided
            .reason
            .push_str("; evenkeel.dev/resume is in the future");
    }
    decided
}

impl<'a> Checks<'a> {
    /// The command for a change that is under way, and what holds it.
    fn decide(&self, heading: ChangeDirection, before: Option<&PausedChange>) -> CheckDecision {
        if before.is_some_and(|hold| self.is_resumed(hold.since)) {
            return CheckDecision::going_on(StepCommand::Resume, Some(CheckTransition::Resumed));
        }
        let failed = self.named(|verdict| matches!(verdict, CheckVerdict::Fail(_)));
        let unknown = self.named(|verdict| matches!(verdict, CheckVerdict::Unknown(_)));
        match before {
            _ if !failed.is_empty() && (before.is_some() || heading.stepped.is_some()) => {
                self.hold(&failed, before, heading)
            }
            Some(hold) => self.cool_down(hold, &unknown),
            None if !unknown.is_empty() => self.wait(&unknown, heading),
            None => CheckDecision::going_on(StepCommand::Proceed, None),
        }
    }

    /// True if a user has asked since a moment that the change go on.
    fn is_resumed(&self, since: Timestamp) -> bool {
        self.resume.is_some_and(|at| since <= at && at <= self.now)
    }

    /// The change while checks do not know.
    fn wait(&self, unknown: &[&CheckResult], heading: ChangeDirection) -> CheckDecision {
        let is_resumed = heading.stepped.is_some_and(|at| self.is_resumed(at));
        let (command, happened) = if is_resumed {
            let happened = heading.can_step.then_some(CheckTransition::Resumed);
            (StepCommand::Resume, happened)
        } else {
            (StepCommand::Wait, None)
        };
        CheckDecision {
            reason: words(unknown),
            ..CheckDecision::going_on(command, happened)
        }
    }

    fn named(&self, is: impl Fn(&CheckVerdict) -> bool) -> Vec<&'a CheckResult> {
        let checked = self.checked.iter();
        checked.filter(|one| is(&one.verdict)).collect()
    }

    /// The hold by checks that have failed.
    fn hold(
        &self,
        failed: &[&CheckResult],
        before: Option<&PausedChange>,
        heading: ChangeDirection,
    ) -> CheckDecision {
        let checkers = failed.iter().map(|one| &one.checker);
        let action = checkers.clone().map(|one| one.action).max();
        let cool_down = checkers.clone().map(|one| one.cool_down).max();
        let action = action.max(before.map(|hold| hold.action));
        let cool_down = cool_down.max(before.map(|hold| hold.cool_down));
        let (Some(action), Some(cool_down)) = (action, cool_down) else {
            return CheckDecision::going_on(StepCommand::Proceed, None);
        };
        let is_new = before.is_none_or(|hold| hold.action != action);
        let hold = PausedChange {
            action,
            direction: heading.direction,
            since: before.map_or(self.now, |hold| hold.since),
            checks: checkers.map(|one| one.name.clone()).collect(),
            cool_down,
            passes_since: None,
        };
        CheckDecision::held(hold, is_new.then_some(CheckTransition::Held), words(failed))
    }

    /// The hold while nothing fails: until all checks have passed for the cool-down.
    fn cool_down(&self, hold: &PausedChange, unknown: &[&CheckResult]) -> CheckDecision {
        if !unknown.is_empty() {
            let hold = PausedChange {
                passes_since: None,
                ..hold.clone()
            };
            return CheckDecision::held(hold, None, words(unknown));
        }
        let hold = PausedChange {
            passes_since: hold.passes_since.or(Some(self.now)),
            ..hold.clone()
        };
        match hold.ends() {
            Some(ends) if self.now < ends => {
                let reason = format!("cool-down until {ends:.0} after {}", hold.checks.join(", "));
                CheckDecision::held(hold, None, reason)
            }
            _ => CheckDecision::going_on(StepCommand::Proceed, Some(CheckTransition::Passed)),
        }
    }
}

/// The checks by name, with their words.
fn words(checked: &[&CheckResult]) -> String {
    let words = checked
        .iter()
        .map(|one| format!("{}: {}", one.checker.name, one.verdict.message()));
    words.collect::<Vec<_>>().join("; ")
}
