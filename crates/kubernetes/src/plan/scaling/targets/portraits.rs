//! The target of an IHPA: its portraits, and the signals that those need which are made of loads.
//!
//! What keeps one provider from its loads is a problem of that provider: the others decide without it. So only
//! what concerns the workload as a whole refuses the target.

use std::sync::Arc;

use super::Rules;
use crate::ihpa::{CheckRule, CheckedIhpa, Criterion, IhpaRules, Provider, ScaleMode, Source};
use crate::plan::scaling::capacity::{TargetMetrics, scaled_signals, target_metrics};
use crate::plan::scaling::hpa_input;
use crate::plan::scaling::portraits::{Subject, TargetCheck, TargetPortraits};
use crate::plan::scaling::problem::Problem;
use crate::plan::scaling::query;
use crate::plan::scaling::target::{Target, TargetReaction};
use crate::plan::scaling::traffic;
use evenkeel_core::scaling::hpa::MetricSpec;
use evenkeel_core::scaling::signal::Signal;
use evenkeel_core::scaling::stages::{Park, StagedBehavior};
use evenkeel_core::scaling::{Mode, ReplicaCounts, Speaker};

impl Rules<'_> {
    /// The target of an IHPA, with the problems that do not stop it.
    pub(super) fn target_of_ihpa(
        &self,
        ihpa: &CheckedIhpa,
        mode: Mode,
        conflict: bool,
    ) -> Result<(Target, Vec<Problem>), Problem> {
        if let Some(refused) = self.refused(conflict) {
            return Err(refused);
        }
        let rules = ihpa.rules();
        let rules = rules.map_err(|error| Problem::InvalidSpec(error.to_string().into()))?;
        if rules.paused {
            return Err(Problem::Paused);
        }
        let observed = self.observed;
        let current = self
            .current()
            .ok_or_else(|| Problem::NoWorkload(Box::new(observed.target.clone())))?;
        let mut problems: Vec<_> = self
            .requested
            .held_back(self.settings)
            .filter(|_| rules.mode == ScaleMode::Auto)
            .map(Problem::ScaleModeLimited)
            .into_iter()
            .collect();
        let metrics = target_metrics(observed, self.requested, self.settings.queries);
        let signals = scaled_signals(observed, self.requested, &metrics, &mut problems);
        let signals = signals.unwrap_or_else(|problem| {
            problems.push(problem);
            Vec::new()
        });
        let (mut signals, questions): (Vec<_>, Vec<_>) = signals.into_iter().unzip();
        let traffic = traffic::of(
            self.requested,
            observed,
            self.settings,
            &mut signals,
            &mut problems,
        );
        let portraits = self.portraits(ihpa, rules, current, &mut problems);
        let target = Target {
            namespace: Arc::clone(&observed.namespace),
            policy: self.policy(mode, rules.bounds),
            models: self.requested.predict(self.settings).models(),
            signals,
            questions,
            traffic,
            reaction: self.reacting(rules, &metrics),
            current,
            ready: self.ready(),
            floor: None,
            portraits: Some(Box::new(portraits)),
        };
        Ok((target, problems))
    }

    /// The portraits as the object and its status have them.
    fn portraits(
        &self,
        ihpa: &CheckedIhpa,
        rules: &IhpaRules,
        current: i32,
        problems: &mut Vec<Problem>,
    ) -> TargetPortraits {
        let resume = ihpa.object.resume().unwrap_or_else(|invalid| {
            problems.push(Problem::InvalidSpec(invalid.to_string().into()));
            None
        });
        let status = ihpa.object.status.as_ref();
        let gray = status.and_then(|status| status.gray.as_ref());
        let stability = status.and_then(|status| status.stability.as_ref());
        let hold = stability.and_then(|stability| stability.hold.as_ref());
        let desired = status.and_then(|status| status.desired);
        let workload = self.observed.workload.as_ref();
        let by = |is: fn(&Source) -> bool| {
            let mut providers = rules.providers.iter();
            let found = providers.find(|provider| is(&provider.source));
            found.map(speaker)
        };
        TargetPortraits {
            given: Vec::new(),
            reactive: by(|source| matches!(source, Source::Reactive(_))),
            predictive: by(|source| matches!(source, Source::Predictive(_))),
            behavior: deleting(rules.behavior, problems),
            counts: ReplicaCounts::all_online(current),
            change: gray.map(crate::ihpa::GrayStatus::change),
            hold: hold.and_then(crate::ihpa::HoldStatus::hold),
            resume,
            checks: rules.checks.iter().map(|check| self.check(check)).collect(),
            told: desired.map(|desired| desired.online_replicas),
            generation: workload.and_then(|workload| workload.metadata.generation),
            rests_at_zero: false,
        }
    }

    /// Who reacts to the load, where a portrait does.
    fn reacting(&self, rules: &IhpaRules, metrics: &TargetMetrics) -> TargetReaction {
        if rules.reactive().is_none() {
            return TargetReaction::Nobody;
        }
        let (target, bounds) = (&self.observed.target, rules.bounds);
        let spec = hpa_input::spec(target, self.requested, &metrics.accepted, bounds);
        TargetReaction::Reconciled(Box::new(spec))
    }

    fn check(&self, rule: &CheckRule) -> TargetCheck {
        let criteria = rule.criteria.iter();
        TargetCheck {
            checker: rule.checker.clone(),
            subjects: criteria.map(|criterion| self.subject(criterion)).collect(),
        }
    }

    fn subject(&self, criterion: &Criterion) -> Subject {
        let question = |signal: &Signal| {
            let accepted = query::accepted(signal, self.observed, self.settings.queries);
            accepted.map_err(|why| format!("{}: {why}", signal.label()))
        };
        match criterion {
            Criterion::Metric {
                signal,
                target,
                bound,
            } => match question(signal) {
                Ok(question) => Subject::Metric {
                    metric: Box::new(MetricSpec::new(signal.clone(), *target)),
                    bound: bound.clone(),
                    question,
                },
                Err(why) => Subject::Refused(why.into()),
            },
            Criterion::ErrorRate {
                errors,
                requests,
                rule,
            } => match (question(errors), question(requests)) {
                (Ok(of_errors), Ok(of_requests)) => Subject::Errors {
                    rate: *rule,
                    errors: Box::new(errors.clone()),
                    requests: Box::new(requests.clone()),
                    questions: [of_errors, of_requests],
                },
                (Err(why), _) | (_, Err(why)) => Subject::Refused(why.into()),
            },
            Criterion::PodsReady(ready) => Subject::Ready(*ready),
            Criterion::External(check) => Subject::Refused(
                format!(
                    "{}: external checks are not asked by this version",
                    check.name
                )
                .into(),
            ),
        }
    }
}

/// The rules for changes, with Pods that are deleted where they would have to wait without traffic: nothing here keeps
/// them from it.
fn deleting(mut behavior: StagedBehavior, problems: &mut Vec<Problem>) -> StagedBehavior {
    if let Some(stages) = &mut behavior.down.stages
        && stages.park != Park::Deleted
    {
        let word = if stages.park == Park::Cutoff {
            "Cutoff"
        } else {
            "Standby"
        };
        problems.push(Problem::GrayStateUnsupported(word));
        stages.park = Park::Deleted;
    }
    behavior
}

fn speaker(provider: &Provider) -> Speaker {
    Speaker {
        name: Arc::clone(&provider.name),
        priority: provider.priority,
    }
}
