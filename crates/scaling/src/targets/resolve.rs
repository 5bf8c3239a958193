//! The targets among the observed objects: the policy and the signals of each, or the reason why it is refused.
//!
//! Nothing is a target in a namespace that has not opted in. A refusal is shown, and the predicted floor is withdrawn,
//! unless it lapses by its own end. Other contributions stay, unless the user wants no scaling at all.

mod ignored_options;
mod portraits;

use std::sync::Arc;

use evenkeel_hpa::autoscaler::{Autoscaler, ObservedMetric};
use evenkeel_hpa::{Controller, SelectPolicy, Tolerances};
use evenkeel_objects::bounds::{ObjectBounds, ReplicaBounds};
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::scaling_mode::{ScaleDown, ScalingMode};
use evenkeel_objects::workload::Workload;
use jiff::Timestamp;

use super::bounds::ObservedBounds;
use super::capacity::{scaled_signals, target_metrics};
use super::owner::Owner;
use super::portraits::ProfileRole;
use super::problem::TargetProblem;
use super::reference::TargetRef;
use super::requested_policy::RequestedPolicy;
use super::scaling_target::{ScalingTarget, TargetReaction};
use super::settings::Settings;
use super::target_objects::{KnownPods, TargetObjects};
use super::{hpa_input, traffic};
use crate::bounds_record::annotation::BoundsAnnotation;
use crate::load::horizon::Lead;
use crate::merge::recommendation::Recommendation;
use crate::recommend::policy::TargetPolicy;

/// Everything that follows from the observed objects of one target.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedTarget {
    /// The mode in effect; off where the objects make no target.
    pub mode: ScalingMode,
    /// True where the user wants no scaling of it: then no contribution to its bounds stands.
    pub is_declined: bool,
    /// The target; `None` where there is none or it is refused.
    pub target: Option<ScalingTarget>,
    /// The reasons for a refusal, and problems that do not stop the target.
    pub problems: Vec<TargetProblem>,
    /// True where the floor that stands is neither renewed nor withdrawn, and lapses by its own end.
    pub keeps_floor: bool,
    /// The bounds of the object with their record; `None` where it has none.
    pub bounds: Option<ObservedBounds>,
}

impl ResolvedTarget {
    /// True where a floor is wanted and the field is left to another writer. Bounds that are put
    /// back anyway are not contested.
    pub(crate) fn is_contested(&self) -> bool {
        let wanted = self.mode == ScalingMode::Floor && self.target.is_some();
        let bounds = self.bounds.as_ref();
        wanted && bounds.is_some_and(ObservedBounds::is_contested)
    }

    /// The bounds of an autoscaler; `None` where there is a count alone.
    pub(crate) fn autoscaler_bounds(&self) -> Option<&ObservedBounds> {
        let bounds = self.bounds.as_ref();
        bounds.filter(|bounds| !bounds.found().is_count())
    }

    /// True where the count of the workload is decided here at every tick.
    pub fn is_direct(&self) -> bool {
        self.mode == ScalingMode::Direct && self.target.is_some()
    }

    /// True where a ReplicaProfile sets the count of the workload.
    pub fn is_profiled(&self) -> bool {
        let target = self.target.as_ref().filter(|_| self.is_direct());
        let portraits = target.and_then(|target| target.portraits.as_deref());
        portraits.is_some_and(|portraits| portraits.profile == ProfileRole::SetsCount)
    }

    /// Takes what CronHPAs ask for, and forgets what any asked for that is gone: in mode direct the bounds
    /// of the target move, else those of the object that has them.
    pub(crate) fn take_crons(&mut self, wanted: Vec<Recommendation>, now: Timestamp) {
        let is_direct = self.is_direct();
        if let Some(target) = self.target.as_mut().filter(|_| is_direct) {
            target.take_crons(&wanted, now);
        } else {
            let bounds = self.bounds.take();
            self.bounds = bounds.map(|bounds| bounds.with_crons(wanted, now));
        }
    }

    /// Refuses the target for a reason that shows only over several looks.
    pub fn refuse(&mut self, problem: TargetProblem) {
        if self.target.take().is_some() {
            self.problems.push(problem);
        }
    }

    /// True where the record of the bounds is damaged, so that the bounds to put back are not known.
    pub(crate) fn has_damaged_record(&self) -> bool {
        let bounds = self.bounds.as_ref();
        bounds.is_some_and(ObservedBounds::is_damaged)
    }
}

/// For each of the targets, true where it shares its workload with another HPA or IHPA.
pub fn conflicts(targets: &[TargetObjects]) -> Vec<bool> {
    let mut scaled: Vec<&TargetRef> = scaled_by_others(targets).collect();
    scaled.sort_unstable_by(|a, b| a.workload_order(b));
    let mut shared = scaled
        .windows(2)
        .filter(|pair| pair[0].is_same_workload(pair[1]))
        .map(|pair| pair[0])
        .collect::<Vec<_>>();
    shared.dedup_by(|a, b| a.is_same_workload(b));
    let conflict = targets.iter().map(|observed| {
        let found = shared.binary_search_by(|one| one.workload_order(&observed.target));
        Owner::scaler(observed).is_some() && found.is_ok()
    });
    conflict.collect()
}

/// The workloads of the targets that have an HPA or an IHPA.
fn scaled_by_others(targets: &[TargetObjects]) -> impl Iterator<Item = &TargetRef> {
    let scaled = targets.iter();
    let scaled = scaled.filter(|observed| Owner::scaler(observed).is_some());
    scaled.map(|observed| &observed.target)
}

/// The target of the observed objects. `conflict` is the answer of [`conflicts`] for it, `remembered`
/// the record that its object had a moment ago.
pub fn resolve(
    observed: &TargetObjects,
    conflict: bool,
    settings: &Settings,
    remembered: Option<&BoundsAnnotation>,
    now: Timestamp,
) -> ResolvedTarget {
    let owner = Owner::of(observed);
    let requested = RequestedPolicy::of(observed);
    let mode = requested.mode(observed, settings, owner.is_some());
    let bounds = owner.and_then(|owner| {
        let bounds = ObservedBounds::read(&owner, remembered, now)?;
        // Where nothing but a status is written, the fields are the user's.
        Some(match mode {
            ScalingMode::Floor => bounds.with_annotated(&owner),
            ScalingMode::Off | ScalingMode::Recommend | ScalingMode::Direct => bounds,
        })
    });
    let mut resolved = ResolvedTarget {
        mode,
        is_declined: requested.declines(observed, settings),
        target: None,
        problems: Vec::new(),
        keeps_floor: false,
        bounds,
    };
    if mode == ScalingMode::Off {
        return resolved;
    }
    // If nothing scales a workload, its bounds stand in its annotations.
    let bounds = resolved.autoscaler_bounds();
    let user = bounds.map(|bounds| bounds.predicted_within(now));
    let rules = TargetResolver {
        observed,
        requested: &requested,
        settings,
    };
    match rules.target(mode, conflict, user) {
        Ok((mut target, mut problems)) => {
            let bounds = resolved.bounds.as_ref();
            let is_early = target.policy.scale_down == ScaleDown::Early;
            let overlooks = is_early && rules.overlooks(&target);
            problems.extend(rules.ignored_options(mode, bounds, &target, overlooks));
            if overlooks {
                target.policy.scale_down = ScaleDown::Reactive;
            }
            target.floor = bounds.and_then(|bounds| bounds.floor(now));
            resolved.mode = target.policy.mode;
            (resolved.target, resolved.problems) = (Some(target), problems);
        }
        // An opt-in to placement does not ask for recommendations on a target without metrics.
        Err(TargetProblem::NoMetric) if !requested.by_anybody(observed) => {
            resolved.mode = ScalingMode::Off;
        }
        Err(problem) => resolved.problems.push(problem),
    }
    resolved
}

struct TargetResolver<'a> {
    observed: &'a TargetObjects,
    requested: &'a RequestedPolicy,
    settings: &'a Settings,
}

impl TargetResolver<'_> {
    /// The target, with the problems that do not stop it.
    fn target(
        &self,
        mode: ScalingMode,
        conflict: bool,
        user: Option<ObjectBounds>,
    ) -> Result<(ScalingTarget, Vec<TargetProblem>), TargetProblem> {
        if let Some(ihpa) = &self.observed.ihpa {
            return self.target_of_ihpa(ihpa, mode, conflict);
        }
        if let Some(refused) = self.refused(conflict) {
            return Err(refused);
        }
        let TargetObjects {
            autoscaler,
            target,
            profiles,
            ..
        } = self.observed;
        let profile = profiles.rival(None, target);
        let is_set = mode == ScalingMode::Direct && self.settings.follows_profiles;
        if let Some(other) = profile.filter(|_| is_set) {
            return Err(TargetProblem::ProfileConflict(other.into()));
        }
        let mut problems: Vec<_> = (mode == ScalingMode::Floor)
            .then(|| no_floor(autoscaler.as_deref()))
            .flatten()
            .into_iter()
            .collect();
        let mode = if problems.is_empty() {
            mode
        } else {
            ScalingMode::Recommend
        };
        let bounds = self.bounds(user)?;
        let current = self
            .current()
            .ok_or_else(|| TargetProblem::NoWorkload(Box::new(target.clone())))?;
        let metrics = target_metrics(self.observed, self.requested, self.settings.queries);
        let signals = scaled_signals(self.observed, self.requested, &metrics, &mut problems)?;
        let (mut signals, questions): (Vec<_>, Vec<_>) = signals.into_iter().unzip();
        let (requested, observed) = (self.requested, self.observed);
        let traffic = traffic::of(
            requested,
            observed,
            self.settings,
            &mut signals,
            &mut problems,
        );
        let target = ScalingTarget {
            namespace: Arc::clone(&self.observed.namespace),
            policy: self.policy(mode, bounds),
            models: self.requested.predict(self.settings).models(),
            signals,
            questions,
            traffic,
            reaction: self.reaction(mode, bounds, &metrics.accepted)?,
            current,
            ready: self.ready(),
            floor: None,
            portraits: None,
        };
        Ok((target, problems))
    }

    /// Why nothing is to be decided for it whatever it has.
    fn refused(&self, conflict: bool) -> Option<TargetProblem> {
        let TargetObjects {
            scaled_object,
            workload,
            target,
            ..
        } = self.observed;
        if conflict {
            return Some(TargetProblem::TargetConflict(Box::new(target.clone())));
        }
        if !target.is_named() {
            return Some(TargetProblem::InvalidTarget(Box::new(target.clone())));
        }
        if let Some(other) = self.requested.direct_conflict(self.observed) {
            return Some(TargetProblem::DirectConflict(other));
        }
        if let Some(refused) = workload.as_deref().and_then(|one| self.unscalable(one)) {
            return Some(refused);
        }
        let mut scaled_object = scaled_object.iter();
        let paused = scaled_object.any(|object| object.is_paused());
        paused.then_some(TargetProblem::Paused)
    }

    /// Why nothing could be decided for a workload.
    fn unscalable(&self, workload: &Workload) -> Option<TargetProblem> {
        let target = || Box::new(self.observed.target.clone());
        if !workload.kind.has_scale() {
            return Some(TargetProblem::NoScale(target()));
        }
        let (Kind::Custom(kind), Some(custom)) = (workload.kind, workload.custom) else {
            return None;
        };
        if !custom.has_count {
            return Some(TargetProblem::NoCount(target(), &kind.paths().replicas));
        }
        let unknown = KnownPods::of(self.observed) == KnownPods::None;
        unknown.then(|| TargetProblem::PodsUnknown(target()))
    }

    /// The part that reacts to the current load.
    fn reaction(
        &self,
        mode: ScalingMode,
        bounds: ReplicaBounds,
        metrics: &[ObservedMetric],
    ) -> Result<TargetReaction, TargetProblem> {
        if let Some(autoscaler) = self.observed.autoscaler.as_deref() {
            return Ok(TargetReaction::Autoscaler(asked_by(autoscaler)));
        }
        let spec = hpa_input::spec(&self.observed.target, self.requested, metrics, bounds);
        let sleeps = mode == ScalingMode::Direct && bounds.min() == 0;
        if sleeps && !spec.has_object_or_external_metric() {
            return Err(TargetProblem::NoWakingSignal);
        }
        Ok(TargetReaction::Reconciled(Box::new(spec)))
    }

    fn policy(&self, mode: ScalingMode, bounds: ReplicaBounds) -> TargetPolicy {
        let behavior = match &self.observed.autoscaler {
            Some(autoscaler) => autoscaler.spec.behavior.clone(),
            None => self.requested.policy.behavior.clone(),
        };
        let Controller {
            settings,
            feature_gates,
        } = Controller::default();
        TargetPolicy {
            mode,
            bounds,
            tolerances: Tolerances::new(behavior.as_ref(), &settings, feature_gates),
            behavior,
            scale_down: self.requested.policy.scale_down.unwrap_or_default(),
            lead: Lead::of(&self.observed.pods.starts, self.settings.interval),
            max_age: self.settings.max_age,
            risk: self.requested.risk(self.observed, self.settings),
        }
    }

    /// The user's bounds. Those of an HPA begin with 1: it never takes the last Pod, and KEDA takes
    /// it only from what has nothing to do.
    fn bounds(&self, user: Option<ObjectBounds>) -> Result<ReplicaBounds, TargetProblem> {
        let requested = &self.requested.policy;
        let (min, max) = match user {
            Some(ObjectBounds { min, max }) => (min.unwrap_or(1).max(1), max),
            None => requested
                .min_replicas
                .zip(requested.max_replicas)
                .ok_or_else(|| TargetProblem::without_bounds(self.observed))?,
        };
        ReplicaBounds::new(min, max).map_err(TargetProblem::InvalidBounds)
    }

    fn ready(&self) -> i32 {
        let members = self.observed.pods.members.iter();
        let ready = members.filter(|pod| pod.serves()).count();
        i32::try_from(ready).unwrap_or(i32::MAX)
    }

    fn current(&self) -> Option<i32> {
        let workload = self
            .observed
            .workload
            .as_ref()
            .map(|workload| workload.replicas);
        let status = self.observed.autoscaler.as_ref();
        workload.or(status.and_then(|autoscaler| autoscaler.status.current_replicas))
    }
}

/// The reason why nothing may be raised here, and a floor is recommended only.
fn no_floor(autoscaler: Option<&Autoscaler>) -> Option<TargetProblem> {
    let Some(autoscaler) = autoscaler else {
        return Some(TargetProblem::NoAutoscaler);
    };
    let rules = autoscaler.spec.behavior.as_ref()?;
    let disabled = rules.scale_down.select_policy == SelectPolicy::Disabled;
    disabled.then_some(TargetProblem::ScaleDownDisabled)
}

/// The replicas that the HPA asks for, unless it says that it has no metrics; before its first look
/// it says 0.
fn asked_by(autoscaler: &Autoscaler) -> Option<i32> {
    let status = &autoscaler.status;
    let active = status.scaling_active != Some(false);
    status
        .desired_replicas
        .filter(|&desired| active && desired > 0)
}
