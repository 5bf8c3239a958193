//! What each CronHPA scales, among the targets that are observed.

use std::cmp::Ordering;

use super::ObservedCron;
use super::problem::CronProblem;
use crate::cron_hpa::{CronHpaSpec, ScaledRef};
use crate::plan::scaling::observed::Observed;
use crate::plan::scaling::target_ref::TargetRef;

/// What a CronHPA scales.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CronTarget {
    /// The HPA of the target at this place.
    Autoscaler(usize),
    /// Nothing.
    Refused(CronProblem),
}

/// What each of the CronHPAs scales; `conflicts` tells of each target whether it shares its workload with
/// another HPA.
#[must_use]
pub fn assign(targets: &[Observed], conflicts: &[bool], crons: &[ObservedCron]) -> Vec<CronTarget> {
    if crons.is_empty() {
        return Vec::new();
    }
    let with_hpa = || {
        let all = targets.iter().enumerate();
        all.filter(|(_, observed)| observed.autoscaler.is_some())
    };
    let mut by_name: Vec<_> = with_hpa().map(|(place, _)| place).collect();
    by_name.sort_unstable_by(|&a, &b| name_of(&targets[a]).cmp(&name_of(&targets[b])));
    let mut by_workload: Vec<_> = with_hpa().map(|(place, _)| place).collect();
    by_workload.sort_unstable_by(|&a, &b| workload_order(targets, a, &targets[b].target));
    let index = Index {
        targets,
        conflicts,
        by_name,
        by_workload,
    };
    crons.iter().map(|cron| index.target(cron)).collect()
}

/// The targets with an HPA, in two orders.
struct Index<'a> {
    targets: &'a [Observed],
    conflicts: &'a [bool],
    by_name: Vec<usize>,
    by_workload: Vec<usize>,
}

fn name_of(observed: &Observed) -> (&str, &str) {
    let autoscaler = observed.autoscaler.as_ref();
    let name = autoscaler.and_then(|autoscaler| autoscaler.metadata.name.as_deref());
    (&observed.namespace, name.unwrap_or_default())
}

fn workload_order(targets: &[Observed], place: usize, workload: &TargetRef) -> Ordering {
    targets[place].target.workload_order(workload)
}

impl Index<'_> {
    fn target(&self, observed: &ObservedCron) -> CronTarget {
        let object = &observed.cron.object;
        let CronHpaSpec {
            scale_target_ref: target,
            scale_workload_ref: workload,
            ..
        } = &object.spec;
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let found = if target.is_hpa() {
            self.autoscaler(namespace, target)
        } else {
            self.autoscaler_of(&target_ref(namespace, target), observed.workload.is_some())
        };
        match found {
            Ok(place) => match self.refusal(namespace, place, workload.as_ref()) {
                None => CronTarget::Autoscaler(place),
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

    /// The HPA of a workload.
    fn autoscaler_of(&self, workload: &TargetRef, is_there: bool) -> Result<usize, CronProblem> {
        let found = self
            .by_workload
            .binary_search_by(|&place| workload_order(self.targets, place, workload));
        let known = crate::kinds::Kind::WORKLOADS
            .iter()
            .any(|kind| workload.object().is(*kind));
        match found {
            Ok(place) => Ok(self.by_workload[place]),
            Err(_) if known && !is_there => Err(CronProblem::NotFound(workload.to_string())),
            Err(_) => Err(CronProblem::NoAutoscaler(workload.to_string())),
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
