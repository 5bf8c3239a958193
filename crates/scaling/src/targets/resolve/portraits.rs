//! The target of an IHPA: its portraits, and the signals for the portraits that are made of loads.
//!
//! If a provider cannot have its loads, that is a problem of this provider: the others decide without it. Only a
//! problem of the workload as a whole refuses the target.

use std::sync::Arc;

use evenkeel_api::replica_counts::ReplicaCounts;
use evenkeel_api::replica_profile::ReplicaProfileStatus;
use evenkeel_hpa::MetricSpec;
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::scaling_mode::ScalingMode;

use super::TargetResolver;
use crate::external_checks::CheckQuestion;
use crate::recommend::merged_portraits::ProviderRef;
use crate::specs::ihpa::{
    CheckRule, CheckedIhpa, Criterion, IhpaRules, PortraitSource, Provider, ScaleMode,
};
use crate::staged_change::{ReplicaProgress, ScaleDownTarget, StagedBehavior};
use crate::targets::capacity::{TargetMetrics, scaled_signals, target_metrics};
use crate::targets::observed_profiles::is_about;
use crate::targets::portraits::{CheckSubject, ProfileRole, TargetCheck, TargetPortraits};
use crate::targets::problem::{NoProfile, TargetProblem};
use crate::targets::scaling_target::{ScalingTarget, TargetReaction};
use crate::targets::{hpa_input, signal_query, traffic};

/// Why external checks are not asked.
const CHECKS_OFF: &str =
    "external checks are not called: scaling.checks.external is off in Evenkeel's configuration";

impl TargetResolver<'_> {
    /// The target of an IHPA, with the problems that do not stop it.
    pub(super) fn target_of_ihpa(
        &self,
        ihpa: &CheckedIhpa,
        mode: ScalingMode,
        conflict: bool,
    ) -> Result<(ScalingTarget, Vec<TargetProblem>), TargetProblem> {
        if let Some(refused) = self.refused(conflict) {
            return Err(refused);
        }
        let rules = ihpa.rules();
        let rules = rules.map_err(|error| TargetProblem::InvalidSpec(error.to_string().into()))?;
        if rules.paused {
            return Err(TargetProblem::Paused);
        }
        let observed = self.observed;
        let workload = self
            .current()
            .ok_or_else(|| TargetProblem::NoWorkload(Box::new(observed.target.clone())))?;
        if let Some(other) = self
            .other_profile(ihpa, rules)
            .filter(|_| mode == ScalingMode::Direct)
        {
            return Err(TargetProblem::ProfileConflict(other.into()));
        }
        let mut problems: Vec<_> = self
            .requested
            .held_back(self.settings)
            .filter(|_| rules.mode == ScaleMode::Auto)
            .map(TargetProblem::ScaleModeLimited)
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
        let portraits = self.portraits(ihpa, rules, workload, &mut problems);
        // Those that wait out of traffic are none of the count that is decided.
        let current = portraits.counts.online;
        let target = ScalingTarget {
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

    /// The portraits as the spec has them: what is under way stands in the status, which `ihpa::portray` reads, or
    /// remembers where it was written a moment ago.
    fn portraits(
        &self,
        ihpa: &CheckedIhpa,
        rules: &IhpaRules,
        workload: i32,
        problems: &mut Vec<TargetProblem>,
    ) -> TargetPortraits {
        let (behavior, profile) = self.parking(rules.behavior, problems);
        let counts = self.profiled(ihpa, profile);
        let counts = counts.unwrap_or_else(|| ReplicaCounts::all_online(workload));
        let resume = ihpa.object.resume().unwrap_or_else(|invalid| {
            problems.push(TargetProblem::InvalidSpec(invalid.to_string().into()));
            None
        });
        let workload = self.observed.workload.as_ref();
        let by = |is: fn(&PortraitSource) -> bool| {
            let mut providers = rules.providers.iter();
            let found = providers.find(|provider| is(&provider.source));
            found.map(speaker)
        };
        TargetPortraits {
            given: Vec::new(),
            reactive: by(|source| matches!(source, PortraitSource::Reactive(_))),
            predictive: by(|source| matches!(source, PortraitSource::Predictive(_))),
            behavior,
            counts,
            reached: self.reached(ihpa, profile),
            profile,
            change: None,
            holds: Vec::new(),
            resume,
            checks: (rules.checks.iter())
                .map(|check| self.check(ihpa, check))
                .collect(),
            told: None,
            generation: workload.and_then(|workload| workload.metadata.generation),
            rests_at_zero: false,
        }
    }

    /// The rules for changes, and the part that a ReplicaProfile has in them. Where there can be none, Pods are
    /// deleted that would have to wait without traffic.
    fn parking(
        &self,
        mut behavior: StagedBehavior,
        problems: &mut Vec<TargetProblem>,
    ) -> (StagedBehavior, ProfileRole) {
        let why = if !self.settings.follows_profiles {
            Some(NoProfile::Off)
        } else if self.can_have_profile() {
            None
        } else {
            Some(NoProfile::Kind)
        };
        let state = match behavior.park() {
            ScaleDownTarget::Cutoff => Some("Cutoff"),
            ScaleDownTarget::Standby => Some("Standby"),
            ScaleDownTarget::Deleted => None,
        };
        if let Some((state, why)) = state.zip(why) {
            problems.push(TargetProblem::GrayStateUnsupported { state, why });
            if let Some(stages) = &mut behavior.down.stages {
                stages.park = ScaleDownTarget::Deleted;
            }
        }
        let role = match (state, why) {
            (_, Some(NoProfile::Off)) => ProfileRole::NotFollowed,
            (Some(_), None) => ProfileRole::SetsCount,
            (_, Some(NoProfile::Kind)) | (None, None) => ProfileRole::None,
        };
        (behavior, role)
    }

    /// True for a workload of a kind that a ReplicaProfile may name.
    fn can_have_profile(&self) -> bool {
        let workload = self.observed.workload.as_ref();
        workload.is_some_and(|workload| Kind::REPLICATED.contains(&workload.kind))
    }

    /// The counts that the IHPA's own ReplicaProfile has, where it sets that of this workload.
    fn profiled(&self, ihpa: &CheckedIhpa, role: ProfileRole) -> Option<ReplicaCounts> {
        let own = self.observed.profiles.own(ihpa);
        let own = own
            .filter(|own| role == ProfileRole::SetsCount && is_about(own, &self.observed.target));
        own?.rules().ok().map(|rules| rules.wanted)
    }

    /// The progress of that profile with its counts; empty if its status is missing or is about other counts.
    fn reached(&self, ihpa: &CheckedIhpa, role: ProfileRole) -> Option<ReplicaProgress> {
        if role != ProfileRole::SetsCount {
            return None;
        }
        let own = self.observed.profiles.own(ihpa);
        let object = own.map(|own| &own.object);
        let generation = object.and_then(|object| object.metadata.generation);
        let status = object.and_then(|object| object.status.as_ref());
        let status = status.filter(|status| status.observed_generation == generation);
        Some(ReplicaProgress {
            online: status.and_then(|status| status.ready_replicas),
            refused: status.and_then(ReplicaProfileStatus::staying),
        })
    }

    /// A ReplicaProfile of another author that is in the IHPA's way; `None` if profiles are not followed.
    fn other_profile(&self, ihpa: &CheckedIhpa, rules: &IhpaRules) -> Option<&str> {
        if !self.settings.follows_profiles {
            return None;
        }
        let profiles = &self.observed.profiles;
        let needs_own =
            rules.behavior.park() != ScaleDownTarget::Deleted && self.can_have_profile();
        let rival = profiles.rival(Some(ihpa), &self.observed.target);
        rival.or_else(|| profiles.namesake(ihpa).filter(|_| needs_own))
    }

    /// The part that reacts to the load, if a portrait does.
    fn reacting(&self, rules: &IhpaRules, metrics: &TargetMetrics) -> TargetReaction {
        if rules.reactive().is_none() {
            return TargetReaction::Nobody;
        }
        let (target, bounds) = (&self.observed.target, rules.bounds);
        let spec = hpa_input::spec(target, self.requested, &metrics.accepted, bounds);
        TargetReaction::Reconciled(Box::new(spec))
    }

    fn check(&self, ihpa: &CheckedIhpa, rule: &CheckRule) -> TargetCheck {
        let CheckRule { checker, criteria } = rule;
        let subject = |criterion: &Criterion| match criterion {
            Criterion::External(asked) if self.settings.asks_checks => {
                CheckSubject::External(CheckQuestion {
                    namespace: Arc::clone(&self.observed.namespace),
                    autoscaler: ihpa.object.metadata.name.as_deref().unwrap_or("").into(),
                    check: (*checker.name).into(),
                    asked: Arc::clone(asked),
                })
            }
            other => self.subject(other),
        };
        TargetCheck {
            checker: checker.clone(),
            subjects: criteria.iter().map(subject).collect(),
        }
    }

    fn subject(&self, criterion: &Criterion) -> CheckSubject {
        let question = |signal: &Signal| {
            let accepted = signal_query::accepted(signal, self.observed, self.settings.queries);
            accepted.map_err(|why| format!("{}: {why}", signal.label()))
        };
        match criterion {
            Criterion::Metric {
                signal,
                target,
                bound,
            } => match question(signal) {
                Ok(question) => CheckSubject::Metric {
                    metric: Box::new(MetricSpec::new(signal.clone(), *target)),
                    bound: bound.clone(),
                    question,
                },
                Err(why) => CheckSubject::Refused(why.into()),
            },
            Criterion::ErrorRate {
                errors,
                requests,
                rule,
            } => match (question(errors), question(requests)) {
                (Ok(of_errors), Ok(of_requests)) => CheckSubject::Errors {
                    rate: *rule,
                    errors: Box::new(errors.clone()),
                    requests: Box::new(requests.clone()),
                    questions: [of_errors, of_requests],
                },
                (Err(why), _) | (_, Err(why)) => CheckSubject::Refused(why.into()),
            },
            Criterion::PodsReady(ready) => CheckSubject::Ready(*ready),
            Criterion::External(check) => {
                CheckSubject::Refused(format!("{}: {CHECKS_OFF}", check.name).into())
            }
        }
    }
}

fn speaker(provider: &Provider) -> ProviderRef {
    ProviderRef::of_portrait(&provider.name, provider.priority)
}
