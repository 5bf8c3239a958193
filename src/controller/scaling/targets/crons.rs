//! The CronHPAs of one tick: those of a target contribute to its bounds before these are planned, and
//! those that scale nothing are told why.
//!
//! Only the leader follows them; what it remembers begins anew from their statuses when it takes over.

use std::collections::{HashMap, HashSet};

use super::key::Seen;
use super::tick::{Tick, Ticked};
use crate::controller::scaling::plans::Plans;
use evenkeel_core::panicked::{Panicked, caught};
use evenkeel_core::scaling::contribution::Contribution;
use evenkeel_kubernetes::plan::scaling::crons::{
    self, CronMemory, CronProblem, CronTarget, ObservedCron, Scaled,
};
use evenkeel_kubernetes::plan::scaling::{Context, Observed, Resolved};

/// The memories of all CronHPAs, by namespace and name.
pub(super) type CronMemories = HashMap<(String, String), CronMemory>;

/// The CronHPAs of one tick.
pub(super) struct Crons<'a> {
    by_target: HashMap<usize, Vec<&'a ObservedCron>>,
    refused: Vec<(&'a ObservedCron, CronProblem)>,
    memories: &'a mut CronMemories,
}

impl<'a> Crons<'a> {
    /// Finds what each CronHPA scales. Where nothing is planned, none is followed or remembered.
    pub(super) fn new(
        targets: &[Observed],
        conflicts: &[bool],
        tick: &Tick<'a>,
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
        let there: HashSet<_> = tick.crons.iter().map(key_of).collect();
        found.memories.retain(|key, _| there.contains(key));
        let assigned = crons::assign(targets, conflicts, tick.crons);
        for (cron, target) in tick.crons.iter().zip(assigned) {
            match target {
                CronTarget::Autoscaler(place) => {
                    found.by_target.entry(place).or_default().push(cron);
                }
                CronTarget::Refused(problem) => found.refused.push((cron, problem)),
            }
        }
        found
    }

    /// Puts what the CronHPAs of a target ask for into its bounds, and takes away what those asked for
    /// that are gone.
    pub(super) fn contribute(
        &mut self,
        seen: Seen<'_>,
        resolved: &mut Resolved,
        tick: &Tick<'_>,
        ticked: &mut Ticked,
    ) {
        let Plans::Decisions(reporter) = tick.plans else {
            return;
        };
        let context = Context {
            now: tick.now,
            reporter,
        };
        // They stay those of the target: where the work on it breaks off, it is told of once more.
        let crons = self.by_target.get(&seen.place).cloned();
        let mut contributions: Vec<Contribution> = Vec::new();
        for cron in crons.unwrap_or_default() {
            let scaled = crons::scaled(seen.observed, resolved, cron);
            let followed = self.follow(cron, scaled, &context, ticked);
            contributions.extend(followed.unwrap_or_else(|_| {
                // Where the work on it broke off, it asks for what it asked for.
                let bounds = resolved.bounds.as_ref()?;
                bounds.contribution(&cron.contributor()).cloned()
            }));
        }
        // Where there are no bounds there is nothing to put into them.
        let bounds = resolved.bounds.take();
        resolved.bounds = bounds.map(|bounds| bounds.with_crons(contributions, tick.now));
    }

    /// Tells those that scale nothing why.
    pub(super) fn refuse_the_others(mut self, tick: &Tick<'_>, ticked: &mut Ticked) {
        let Plans::Decisions(reporter) = tick.plans else {
            return;
        };
        let context = Context {
            now: tick.now,
            reporter,
        };
        for (cron, problem) in std::mem::take(&mut self.refused) {
            // Who is refused contributes nothing.
            let _ = self.follow(cron, Err(problem), &context, ticked);
        }
    }

    /// One tick of a CronHPA, and what it contributes.
    fn follow(
        &mut self,
        observed: &ObservedCron,
        scaled: Result<Scaled, CronProblem>,
        context: &Context<'_>,
        ticked: &mut Ticked,
    ) -> Result<Option<Contribution>, Panicked> {
        let key = key_of(observed);
        let mut memory = self.memories.remove(&key).unwrap_or_default();
        let planned = caught(|| {
            let plan = crons::plan_cron(&observed.cron, scaled, &mut memory, context);
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
                tracing::error!(
                    namespace,
                    cron_hpa,
                    %error,
                    "the work on a CronHPA panicked; what it asks for stays as it is"
                );
                Err(error)
            }
        }
    }
}

fn key_of(observed: &ObservedCron) -> (String, String) {
    let metadata = &observed.cron.object.metadata;
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    (text(&metadata.namespace), text(&metadata.name))
}
