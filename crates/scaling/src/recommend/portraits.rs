//! The count of a target that several providers have a say in: what the reaction and the forecast come to,
//! which provider holds, and the step towards its count.
//!
//! A provider that has nothing to say because it knows nothing fails, and the others go on without it. What
//! prediction asks for goes down by a window of its own, as a floor does: forecasts differ from tick to tick,
//! and Pods are not to follow each of them.

use std::borrow::Cow;

use evenkeel_objects::bounds::ObjectBounds;
use evenkeel_objects::scaling_mode::ScalingMode;
use jiff::Timestamp;

use super::decision::ScalingDecision;
use super::decision_basis::DecisionBasis;
use super::ds_hpa::PredictiveProposal;
use super::input::DecisionInput;
use super::merged_portraits::{MergedPortraits, PodsNow, PortraitInput, ProviderRef};
use super::policy::{Strategy, TargetPolicy};
use super::reason::{DecisionChange, PredictionClause};
use super::{CountSeen, DecisionContext, DecisionState, ds_hpa, scale_down};
use crate::limits::LimitedBy;
use crate::merge::recommendation::{Ask, Recommendation, Unavailable};
use crate::merge::{MergedRecommendations, merge};
use crate::stability::{CheckDecision, CheckResult, Checks, Freshness};
use crate::staged_change::{
    ScaleDownWay, ScaleUpBehavior, StagedBehavior, Staging, StepCommand, StepResult,
};
use crate::{stability, staged_change};

/// Why the reaction to the load has no count.
const METRICS_MISSING: &str = "MetricsMissing";
/// Why prediction has none.
const FORECAST_UNTRUSTED: &str = "ForecastUntrusted";

/// The outcomes of all providers of a target, and the step that follows from them.
pub(crate) fn portray(
    policy: &TargetPolicy,
    state: &mut DecisionState,
    input: &DecisionInput<'_>,
    portraits: &PortraitInput<'_>,
) -> MergedPortraits {
    let now = input.now;
    let seen = CountSeen {
        current: input.current,
        told: portraits.told,
        generation: portraits.generation,
    };
    state.observe(policy, seen, now);
    let mut tick = DecisionContext {
        policy,
        input,
        state,
    };
    let (provided, words) = tick.provided(portraits);
    let user = ObjectBounds {
        min: Some(policy.bounds.min()),
        max: policy.bounds.max(),
    };
    let merged = merge(user, &provided, now);
    let target = merged.target(input.current, policy.bounds);
    tick.state.note_asked(target.replicas);
    let wanted = if portraits.rests_at_zero {
        0
    } else {
        target.replicas
    };
    let course = tick.staged(portraits, wanted);
    let (grounds, because) = words.of(&merged, portraits);
    MergedPortraits {
        provided,
        merged,
        target,
        staged: course.staged,
        checked: course.checked,
        decided: course.decided,
        grounds,
        because,
        rests_at_zero: portraits.rests_at_zero,
    }
}

/// The step towards a count, and the words of the checks on it.
struct Course {
    staged: StepResult,
    checked: Vec<CheckResult>,
    decided: CheckDecision,
}

/// The reasons of the providers that know the loads.
#[derive(Default)]
struct PortraitReasons {
    reactive: String,
    predictive: String,
    grounds: Option<DecisionBasis>,
}

impl PortraitReasons {
    /// Those of the provider that holds, with the extent of what it knows.
    fn of(
        self,
        merged: &MergedRecommendations,
        portraits: &PortraitInput<'_>,
    ) -> (DecisionBasis, String) {
        let Some(asked) = &merged.asked else {
            return (DecisionBasis::LastKnown, String::new());
        };
        let is = |speaker: &ProviderRef| speaker.by == asked.by;
        if portraits.reactive.is_some_and(is) {
            (DecisionBasis::Reaction, self.reactive)
        } else if portraits.predictive.is_some_and(is) {
            let grounds = self.grounds.unwrap_or(DecisionBasis::Reaction);
            (grounds, self.predictive)
        } else {
            (DecisionBasis::Portrait, String::new())
        }
    }
}

/// The same switches without stages: what is only shown makes no steps.
const fn at_once(behavior: &StagedBehavior) -> StagedBehavior {
    StagedBehavior {
        up: ScaleUpBehavior {
            disabled: behavior.up.disabled,
            stages: None,
        },
        down: ScaleDownWay {
            disabled: behavior.down.disabled,
            stages: None,
        },
    }
}

impl DecisionContext<'_> {
    /// The count that was decided by portraits, with its reason.
    pub(super) fn by_portraits(&self, portrayed: &MergedPortraits) -> ScalingDecision {
        let MergedPortraits {
            merged,
            target,
            staged,
            grounds,
            because,
            ..
        } = portrayed;
        let limited_by = staged.limited_by.or(target.limited_by);
        let change = DecisionChange {
            name: "replicas",
            from: self.input.current,
            to: staged.counts.online,
        };
        let mut reason = change.to_string();
        if staged.counts.online != target.replicas {
            reason = format!("{reason} of {}", target.replicas);
        }
        match limited_by {
            Some(LimitedBy::MissingData) | None => {}
            Some(limit) => reason = format!("{reason}, limited by {limit}"),
        }
        reason = match &merged.asked {
            None => format!("{reason}: no portrait has a value"),
            Some(asked) => format!("{reason}: {} asks for {}", asked.by, asked.replicas),
        };
        if !because.is_empty() {
            reason = format!("{reason} ({because})");
        }
        ScalingDecision {
            replicas: staged.counts.online,
            reason,
            limited_by,
            grounds: *grounds,
        }
    }

    /// The outcomes of all providers, with the reasons of those that know the loads.
    fn provided(
        &mut self,
        portraits: &PortraitInput<'_>,
    ) -> (Vec<Recommendation>, PortraitReasons) {
        let mut provided = portraits.given.to_vec();
        let mut words = PortraitReasons::default();
        let mut reacted = portraits
            .reactive
            .map(|speaker| speaker.recommend(self.reacted()));
        let mut predicted = None;
        if let Some(speaker) = portraits.predictive {
            let active = &mut self.state.active_forecast;
            let proposal = ds_hpa::propose(self.policy, self.input, active);
            let mut found = speaker.recommend(self.predicted(proposal.as_ref()));
            self.scale_in_early(proposal.as_ref(), reacted.as_mut(), &mut found);
            words.predictive = self.foreseen(proposal.as_ref()).to_string();
            words.grounds = Some(DecisionBasis::of(proposal.as_ref()));
            predicted = Some(found);
        }
        if reacted.is_some() {
            self.input.reaction.clone_into(&mut words.reactive);
        }
        provided.extend(reacted.into_iter().chain(predicted));
        (provided, words)
    }

    /// Lowers what the reaction and the forecast come to, ahead of a falling load. Both remember what they asked
    /// for a while ago; the other providers say what they say.
    fn scale_in_early(
        &mut self,
        proposal: Option<&PredictiveProposal>,
        reacted: Option<&mut Recommendation>,
        predicted: &mut Recommendation,
    ) {
        let mut counts: Vec<&mut i32> = Vec::new();
        match reacted.map(|one| &mut one.ask) {
            Some(Ask::Exactly(replicas)) => counts.push(replicas),
            // Without metrics nothing is taken away.
            Some(_) => return,
            None => {}
        }
        if let Ask::Exactly(replicas) = &mut predicted.ask {
            counts.push(replicas);
        }
        let Some(wanted) = counts.iter().map(|count| **count).max() else {
            return;
        };
        let Some(early) = self.early(wanted, proposal) else {
            return;
        };
        for count in counts {
            *count = (*count).min(early.replicas);
        }
        let before = &mut self.state.speaking.predicted;
        *before = before.map(|before| before.min(early.replicas));
    }

    /// The step towards the count that is wanted, as far as the stability checks let it be made.
    fn staged(&self, portraits: &PortraitInput<'_>, wanted: i32) -> Course {
        let DecisionInput { now, ready, .. } = *self.input;
        let staging = Staging {
            current: portraits.counts,
            wanted,
            command: StepCommand::Proceed,
            reached: portraits.reached,
            now,
        };
        if self.policy.mode != ScalingMode::Direct {
            let at_once = at_once(portraits.behavior);
            let checks = Checks {
                checked: &[],
                heading: None,
                resume: None,
                now,
            };
            return Course {
                staged: staged_change::step(&at_once, None, &staging),
                checked: Vec::new(),
                decided: stability::decide(&checks, &[]),
            };
        }
        let heading = staged_change::heading(portraits.behavior, portraits.change, &staging);
        let freshness = Freshness {
            now,
            oldest: self.policy.max_age,
            after: stability::measured_after(heading.as_ref(), portraits.holds),
        };
        let stepped = heading.and_then(|heading| heading.stepped);
        let pods = PodsNow {
            ready,
            online: portraits.counts.online,
        };
        let checks = portraits.checks.iter().filter(|_| heading.is_some());
        let checked: Vec<_> = checks
            .map(|check| check.judge(pods, stepped, &freshness))
            .collect();
        let checks = Checks {
            checked: &checked,
            heading,
            resume: portraits.resume,
            now,
        };
        let decided = stability::decide(&checks, portraits.holds);
        let staging = Staging {
            command: decided.command,
            ..staging
        };
        let staged = staged_change::step(portraits.behavior, portraits.change, &staging);
        Course {
            staged,
            checked,
            decided,
        }
    }

    /// The outcome of the reaction to the current load. Without a Pod there is nothing to measure,
    /// so it asks for one replica.
    fn reacted(&mut self) -> (Ask, Option<Timestamp>) {
        let DecisionInput {
            now,
            current,
            reactive,
            missing,
            is_switched_off,
            ..
        } = *self.input;
        let found = match reactive {
            Some(replicas) => Ok((replicas, None)),
            None if is_switched_off && current == 0 => Ok((1, None)),
            None => Err(Cow::Owned(missing.to_owned())),
        };
        let since = &mut self.state.speaking.reactive_fails;
        outcome(found, METRICS_MISSING, since, now)
    }

    /// The outcome of prediction: the trusted forecast, but at least the replicas that the current loads need.
    fn predicted(&mut self, proposal: Option<&PredictiveProposal>) -> (Ask, Option<Timestamp>) {
        let DecisionInput { now, strategy, .. } = *self.input;
        let until = self.state.active_forecast.as_ref().map(|one| one.until);
        let proposal = proposal.filter(|one| self.knows(one) && !self.input.has_unknown_traffic());
        let asked = match (proposal, self.needed_now()) {
            (Some(proposal), needed) => Some(proposal.replicas.max(needed.unwrap_or(0))),
            // D-HPA says nothing where it agrees with the reaction.
            (None, needed) if strategy == Strategy::DsHpa => needed,
            (None, _) => None,
        };
        let Some(asked) = asked else {
            self.state.speaking.predicted = None;
            let why = self.foreseen(None).to_string();
            let since = &mut self.state.speaking.predictive_fails;
            return outcome(Err(why.into()), FORECAST_UNTRUSTED, since, now);
        };
        let before = self.state.speaking.predicted.unwrap_or(asked);
        let way_down = &mut self.state.way_down;
        let step = scale_down::step(self.policy, before, asked, way_down, now);
        self.state.speaking.predicted = Some(step.replicas);
        let until = until.filter(|until| step.replicas == asked && now < *until);
        let since = &mut self.state.speaking.predictive_fails;
        outcome(Ok((step.replicas, until)), FORECAST_UNTRUSTED, since, now)
    }

    /// The replicas for the current values of the forecast loads, by the HPA's rule; `None` if one is unknown.
    fn needed_now(&self) -> Option<i32> {
        let DecisionInput {
            now,
            current,
            loads,
            ..
        } = *self.input;
        let forecast = loads.iter().filter(|load| load.is_forecast);
        let needed = forecast.map(|load| {
            let used = load.fresh(now, self.policy.max_age)?;
            Some(
                load.capacity
                    .reactive(current, used, self.policy.tolerances),
            )
        });
        needed.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// The reason of prediction, in words.
    fn foreseen<'a>(
        &'a self,
        proposal: Option<&'a PredictiveProposal>,
    ) -> impl std::fmt::Display + 'a {
        PredictionClause {
            policy: self.policy,
            input: self.input,
            proposal,
            reaction: "",
        }
    }
}

/// The request of a provider that has found a count with its end, or none for a reason; `since` remembers when that
/// began.
fn outcome(
    found: Result<(i32, Option<Timestamp>), Cow<'static, str>>,
    reason: &'static str,
    since: &mut Option<Timestamp>,
    now: Timestamp,
) -> (Ask, Option<Timestamp>) {
    match found {
        Ok((replicas, until)) => {
            *since = None;
            (Ask::Exactly(replicas), until)
        }
        Err(message) => {
            // After the clock was set back it begins anew.
            let since = *since.insert(since.filter(|began| *began <= now).unwrap_or(now));
            let failed = Unavailable::Failed {
                reason,
                message,
                since,
            };
            (Ask::Unavailable(failed), None)
        }
    }
}
