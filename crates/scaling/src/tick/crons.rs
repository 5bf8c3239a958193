//! The CronHPAs of one tick: those of a target are followed before it is decided, since in mode direct
//! they move the bounds of the decision itself, and those that scale nothing are told why.
//!
//! Only the leader follows them; what it remembers begins anew from their statuses when it takes over.

use std::collections::{HashMap, HashSet};

use evenkeel_objects::plan::context::PlanContext;
use evenkeel_units::panic_error::{PanicError, caught};

use super::input_output::{PanickedWork, Plans, ScalingTickInput, ScalingTickOutput, WorkPanic};
use super::key::WatchedTarget;
use crate::crons;
use crate::crons::{CronMemory, CronProblem, CronScaleTarget, CronTarget};
use crate::merge::recommendation::Recommendation;
use crate::specs::cron_hpa::CheckedCronHpa;
use crate::targets::resolve::ResolvedTarget;
use crate::targets::target_objects::TargetObjects;

/// The memories of all CronHPAs, by namespace and name.
pub(super) type CronMemories = HashMap<(String, String), CronMemory>;

/// A target that CronHPAs may scale.
pub(super) struct ScaledTarget<'a> {
    pub(super) seen: WatchedTarget<'a>,
    pub(super) resolved: &'a ResolvedTarget,
    /// True where its count is left to another writer.
    pub(super) is_contested: bool,
}

impl ScaledTarget<'_> {
    fn scaled(
        &self,
        cron: &CheckedCronHpa,
        all: &[&CheckedCronHpa],
    ) -> Result<CronScaleTarget, CronProblem> {
        let mut scaled = crons::scaled(self.seen.observed, self.resolved, cron, all)?;
        scaled.is_contested |= self.is_contested;
        Ok(scaled)
    }

    /// The last request of a CronHPA: from the record, or from its own status if there is no record.
    fn asked_last(
        &self,
        cron: &CheckedCronHpa,
        scaled: &CronScaleTarget,
    ) -> Option<Recommendation> {
        let bounds = self.resolved.bounds.as_ref();
        let recorded = bounds.and_then(|bounds| bounds.contribution(&cron.contributor()));
        let told = || crons::asked_last(cron, scaled);
        recorded.cloned().or_else(told)
    }
}

/// The CronHPAs of one tick.
pub(super) struct Crons<'a> {
    by_target: HashMap<usize, Vec<&'a CheckedCronHpa>>,
    refused: Vec<(&'a CheckedCronHpa, CronProblem)>,
    memories: &'a mut CronMemories,
}

impl<'a> Crons<'a> {
    /// Finds what each CronHPA scales. Where nothing is planned, none is followed or remembered.
    pub(super) fn new(
        targets: &[TargetObjects],
        conflicts: &[bool],
        tick: &ScalingTickInput<'a>,
        memories: &'a mut CronMemories,
    ) -> Self {
        let mut found = Self {
            by_target: HashMap::new(),
            refused: Vec::new(),
            memories,
        };
        if !matches!(tick.plans, Plans::Decisions(_)) {
            found.memories.clear();
            return found;
        }
        if !tick.decides {
            return found;
        }
        let there: HashSet<_> = tick.crons.iter().map(|cron| key_of(cron)).collect();
        found.memories.retain(|key, _| there.contains(key));
        let assigned = crons::assign(targets, conflicts, tick.crons);
        for (cron, target) in tick.crons.iter().zip(assigned) {
            match target {
                CronTarget::Target(place) => {
                    found.by_target.entry(place).or_default().push(cron);
                }
                CronTarget::Refused(problem) => found.refused.push((cron, problem)),
            }
        }
        found
    }

    /// The names of the CronHPAs of the target at a place; empty where there are none.
    pub(super) fn named(&self, place: usize) -> String {
        let crons = self.by_target.get(&place).into_iter().flatten();
        let names = crons.filter_map(|cron| cron.object.metadata.name.as_deref());
        names.collect::<Vec<_>>().join(" and ")
    }

    /// One tick of the CronHPAs of a target: what they ask for. `None` where none is followed.
    pub(super) fn follow_all(
        &mut self,
        target: &ScaledTarget<'_>,
        tick: &ScalingTickInput<'_>,
        ticked: &mut ScalingTickOutput,
    ) -> Option<Vec<Recommendation>> {
        let Plans::Decisions(reporter) = tick.plans else {
            return None;
        };
        let context = PlanContext {
            now: tick.now,
            reporter,
        };
        let crons = self
            .by_target
            .remove(&target.seen.place)
            .unwrap_or_default();
        let mut asked: Vec<Recommendation> = Vec::new();
        for cron in &crons {
            let scaled = target.scaled(cron, &crons);
            let followed = self.follow(cron, scaled.clone(), &context, ticked);
            // Where the work on it broke off, it asks for what it asked for.
            asked.extend(
                followed.unwrap_or_else(|_| target.asked_last(cron, scaled.as_ref().ok()?)),
            );
        }
        Some(asked)
    }

    /// Tells those that scale nothing why.
    pub(super) fn refuse_the_others(
        mut self,
        tick: &ScalingTickInput<'_>,
        ticked: &mut ScalingTickOutput,
    ) {
        let Plans::Decisions(reporter) = tick.plans else {
            return;
        };
        let context = PlanContext {
            now: tick.now,
            reporter,
        };
        for (cron, problem) in std::mem::take(&mut self.refused) {
            // A refused CronHPA contributes nothing.
            let _ = self.follow(cron, Err(problem), &context, ticked);
        }
    }

    /// One tick of a CronHPA, and what it contributes.
    fn follow(
        &mut self,
        cron: &CheckedCronHpa,
        scaled: Result<CronScaleTarget, CronProblem>,
        context: &PlanContext<'_>,
        ticked: &mut ScalingTickOutput,
    ) -> Result<Option<Recommendation>, PanicError> {
        let key = key_of(cron);
        let mut memory = self.memories.remove(&key).unwrap_or_default();
        let planned = caught(|| {
            let plan = crons::plan_cron(cron, scaled, &mut memory, context);
            (plan, memory)
        });
        match planned {
            Ok((plan, memory)) => {
                self.memories.insert(key, memory);
                ticked.crons.count(&plan);
                ticked.writes.extend(plan.writes);
                Ok(plan.contribution)
            }
            Err(error) => {
                let (namespace, cron_hpa) = key;
                ticked.panics.push(WorkPanic {
                    work: PanickedWork::CronHpa,
                    namespace: namespace.into(),
                    object: cron_hpa.into(),
                    error: error.clone(),
                });
                Err(error)
            }
        }
    }
}

fn key_of(cron: &CheckedCronHpa) -> (String, String) {
    let metadata = &cron.object.metadata;
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    (text(&metadata.namespace), text(&metadata.name))
}
