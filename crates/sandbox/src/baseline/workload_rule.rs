//! A seasonal rule for the workloads of a scenario. Its past is the one that the scenario's Prometheus knows.

use evenkeel_hpa::{MetricSpec, Readings};
use evenkeel_units::{Resource, i64_ceil};
use jiff::SignedDuration;

use crate::prometheus::PreRunHistory;
use crate::scenario::{ScaleBy, ScenarioHpa, ScenarioWorkload};
use crate::target_replay::SeasonalRule;
use crate::{autoscaler, seasonal_metric};

/// The load of a workload changes little within it.
const STEP: SignedDuration = SignedDuration::from_mins(1);

pub(super) struct WorkloadRule {
    pub rule: SeasonalRule,
    pub past: PreRunHistory,
}

impl WorkloadRule {
    /// The second metric of a workload's HPA.
    pub(super) fn metric(workload: &ScenarioWorkload, scale: ScenarioHpa) -> MetricSpec {
        let of_pod = match scale.by {
            ScaleBy::Cpu(share) => workload.demand[Resource::Cpu].as_f64() * share.get(),
            ScaleBy::Requests(requests) => f64::from(requests) * 1000.0,
        };
        seasonal_metric::metric(i64_ceil(of_pod))
    }

    /// Sets the value of the metric at a time of the run.
    pub(super) fn set(
        &self,
        readings: &mut Readings,
        (workload, scale): (&ScenarioWorkload, ScenarioHpa),
        at: SignedDuration,
    ) {
        let load = |at| self.load(workload, scale.by, at);
        let expected = self.rule.highest(at, STEP, load);
        seasonal_metric::set(readings, autoscaler::date(at), i64_ceil(expected));
    }

    /// The load of all Pods at a time of the run or before it, in thousandths of cores or requests per second.
    fn load(&self, workload: &ScenarioWorkload, by: ScaleBy, at: SignedDuration) -> f64 {
        let (namespace, name) = (&workload.namespace, &workload.name);
        match by {
            ScaleBy::Requests(_) => self.past.requests(namespace, name, at) * 1000.0,
            ScaleBy::Cpu(_) => {
                let is_it =
                    |one: &ScenarioWorkload| one.namespace == *namespace && one.name == *name;
                let sums = self.past.sums(-at, is_it);
                sums.map(|(_, used, _)| used[Resource::Cpu]).sum()
            }
        }
    }
}
