//! The cost of recorded counts of ready Pods under the recorded load, by the same rules as that of a
//! replay.

use evenkeel_scaling::counterfactual::pareto_frontier::{Cost, is_under_provisioned};
use evenkeel_units::{Amount, Resource};
use jiff::SignedDuration;

use crate::load;
use crate::recording::{RecordSpan, RecordedCounts};
use crate::scenario::{ScaleBy, Scenario, ScenarioWorkload};
use crate::target_replay::GRID;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RecordedCost {
    pub cost: Cost,
    /// Changes of counts.
    pub changes: usize,
}

/// The sums over the workloads that a replay scales by cpu. A time without a count has the one
/// before.
pub fn recorded_cost(
    scenario: &Scenario,
    counts: &RecordedCounts,
    span: RecordSpan,
) -> RecordedCost {
    let mut sum = RecordedCost::default();
    for workload in &scenario.workloads {
        let name = format!("{}/{}", workload.namespace, workload.name);
        if let Some(counts) = counts.get(&name) {
            sum.add(scenario, workload, &|at| count(counts, span, at));
        }
    }
    sum
}

/// The newest count at a time of the scenario.
fn count(counts: &[Option<f64>], span: RecordSpan, at: SignedDuration) -> Option<i32> {
    let in_record = at.saturating_add(span.learn);
    let place = in_record.as_secs() / span.step.as_secs().max(1);
    let until = usize::try_from(place).ok()?.saturating_add(1);
    let known = counts.iter().take(until).rev().flatten().next()?;
    i32::try_from(Amount::from_f64(*known).get()).ok()
}

impl RecordedCost {
    fn add(
        &mut self,
        scenario: &Scenario,
        workload: &ScenarioWorkload,
        count: &dyn Fn(SignedDuration) -> Option<i32>,
    ) {
        let (Some(traffic), Some((ScaleBy::Cpu(_), capacity))) =
            (&workload.traffic, workload.capacity())
        else {
            return;
        };
        let per_request = workload.usage.per_request[Resource::Cpu].as_f64();
        let (mut at, mut last) = (workload.arrival, None);
        while at <= scenario.simulation.duration {
            let in_trace = at.saturating_add(scenario.trace_offset);
            let offered = load::serve(traffic, in_trace, u32::MAX).offered * per_request;
            if let Some(ready) = count(at) {
                self.changes += usize::from(last.replace(ready).is_some_and(|last| last != ready));
                let passed = GRID.as_secs_f64();
                if is_under_provisioned(offered, ready, capacity) {
                    self.cost.under_provisioned_seconds += passed;
                }
                if offered > f64::from(ready) * capacity.request() {
                    self.cost.overloaded_seconds += passed;
                }
                self.cost.replica_hours += f64::from(ready) * passed / 3600.0;
            }
            at = at.saturating_add(GRID);
        }
    }
}
