//! The assignment of CronHPAs to the targets that are observed.

use std::cmp::Ordering;
use std::sync::Arc;

use evenkeel_api::cron_hpa::spec::{CronHpaSpec, ScaledRef};
use evenkeel_objects::kinds::Kind;

use super::problem::CronProblem;
use crate::specs::cron_hpa::CheckedCronHpa;
use crate::targets::owner::Owner;
use crate::targets::reference::TargetRef;
use crate::targets::target_objects::TargetObjects;

/// The target of a CronHPA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CronTarget {
    /// The target at this place: the bounds of its HPA, or its count.
    Target(usize),
    /// Nothing.
    Refused(CronProblem),
}

/// The target of each CronHPA, in their order. `conflicts` is true for a target that shares its workload with
/// another HPA.
pub(crate) fn assign(
    targets: &[TargetObjects],
    conflicts: &[bool],
    crons: &[Arc<CheckedCronHpa>],
) -> Vec<CronTarget> {
    if crons.is_empty() {
        return Vec::new();
    }
    let all = targets.iter().enumerate();
    let with_hpa = all.filter(|(_, observed)| observed.autoscaler.is_some());
    let mut by_name: Vec<_> = with_hpa.map(|(place, _)| place).collect();
    by_name.sort_unstable_by(|&a, &b| name_of(&targets[a]).cmp(&name_of(&targets[b])));
    // Of one workload the HPA or the IHPA first, then a ScaledObject that has lost its own.
    let mut by_workload: Vec<_> = (0..targets.len()).collect();
    by_workload.sort_unstable_by(|&a, &b| {
        let rank = |place: usize| {
            let scaler = Owner::scaler(&targets[place]);
            (scaler.is_none(), targets[place].scaled_object.is_none())
        };
        let order = workload_order(targets, a, &targets[b].target);
        order.then_with(|| rank(a).cmp(&rank(b)))
    });
    let index = Index {
        targets,
        conflicts,
        by_name,
        by_workload,
    };
    crons.iter().map(|cron| index.target(cron)).collect()
}

/// The targets in two orders: those with an HPA by its name, and all by the workload.
struct Index<'a> {
    targets: &'a [TargetObjects],
    conflicts: &'a [bool],
    by_name: Vec<usize>,
    by_workload: Vec<usize>,
}

fn name_of(observed: &TargetObjects) -> (&str, &str) {
    let autoscaler = observed.autoscaler.as_ref();
    let name = autoscaler.and_then(|autoscaler| autoscaler.metadata.name.as_deref());
    (&observed.namespace, name.unwrap_or_default())
}

fn workload_order(targets: &[TargetObjects], place: usize, workload: &TargetRef) -> Ordering {
    targets[place].target.workload_order(workload)
}

impl Index<'_> {
    fn target(&self, cron: &CheckedCronHpa) -> CronTarget {
        let object = &cron.object;
        let CronHpaSpec {
            scale_target_ref: target,
            scale_workload_ref: workload,
            ..
        } = &object.spec;
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let found = if target.is_hpa() {
            self.autoscaler(namespace, target)
        } else {
            self.scaler_of(&target_ref(namespace, target))
        };
        match found {
            Ok(place) => match self.refusal(namespace, place, workload.as_ref()) {
                None => CronTarget::Target(place),
                Some(problem) => CronTarget::Refused(problem),
            },
            Err(problem) => CronTarget::Refused(problem),
        }
    }

    /// The HPA of a name.
    fn autoscaler(&self, namespace: &str, target: &ScaledRef) -> Result<usize, CronProblem> {
        let wanted = (namespace, target.name.as_str());
        let found = self
            .by_name
            .binary_search_by(|&place| name_of(&self.targets[place]).cmp(&wanted));
        let place = found.map_err(|_| CronProblem::NotFound(target.to_string()))?;
        Ok(self.by_name[place])
    }

    /// The place of the target that scales a workload: its HPA, or its own count.
    fn scaler_of(&self, workload: &TargetRef) -> Result<usize, CronProblem> {
        let targets = self.targets;
        let order = |place: &usize| workload_order(targets, *place, workload);
        let first = self
            .by_workload
            .partition_point(|place| order(place).is_lt());
        let found = self
            .by_workload
            .get(first)
            .filter(|place| order(place).is_eq());
        let name = workload.to_string();
        let Some(&place) = found else {
            let mut known = Kind::WORKLOADS.iter();
            return Err(if known.any(|kind| workload.object().is(*kind)) {
                CronProblem::NotFound(name)
            } else {
                CronProblem::NoAutoscaler(name)
            });
        };
        match &targets[place] {
            TargetObjects {
                autoscaler: Some(_),
                ..
            } => Ok(place),
            TargetObjects {
                scaled_object: Some(_),
                ..
            } => Err(CronProblem::ScaledObjectAlone(name)),
            TargetObjects {
                workload: Some(workload),
                ..
            } if !workload.kind.has_scale() => Err(CronProblem::NoScale(name)),
            TargetObjects { .. } => Ok(place),
        }
    }

    /// Why a target is refused, though it is there.
    fn refusal(
        &self,
        namespace: &str,
        place: usize,
        named: Option<&ScaledRef>,
    ) -> Option<CronProblem> {
        let scaled = &self.targets[place].target;
        if self.conflicts[place] {
            return Some(CronProblem::SeveralAutoscalers(scaled.to_string()));
        }
        let named = named.map(|named| target_ref(namespace, named))?;
        (!named.is_same_workload(scaled)).then(|| CronProblem::OtherWorkload {
            named: named.to_string(),
            scaled: scaled.to_string(),
        })
    }
}

fn target_ref(namespace: &str, named: &ScaledRef) -> TargetRef {
    TargetRef::new(named.api_version(), &named.kind, namespace, &named.name)
}
