//! The values and the rule behind the proposal of one metric, for explanations.

use evenkeel_metrics::pod::PodFacts;
use evenkeel_metrics::sample::Measurement;
use evenkeel_units::words;
use jiff::Timestamp;

use super::groups::{PodGroup, Startup};
use super::pod_values::ByPod;

/// The values and the rule behind a proposal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProposalBasis {
    /// The selected Pods, for a metric with a value per Pod.
    pub pods: Vec<PodTrace>,
    /// Usage over target, of measured values alone; `None` if it is infinite or no number.
    pub ratio: Option<f64>,
    /// The ratio with the assumed values of Pods that are not measured; `None` if none is assumed.
    pub adjusted: Option<f64>,
    /// The Pods that the ratio is multiplied with.
    pub multiplied: Option<usize>,
    pub rule: Option<ProposalRule>,
    /// The total in thousandths, if there is a target for each Pod but no Pod to divide it by.
    pub undivided_total: Option<i64>,
}

/// How one Pod counts for a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodTrace {
    pub pod: String,
    pub group: PodGroup,
    pub measured: Option<Measurement>,
    /// In thousandths, for a utilisation target.
    pub request: Option<i64>,
    /// The value that enters the sum, measured or assumed, in thousandths.
    pub counted: Option<i64>,
}

words! {
    /// The rule by which a ratio became a proposal.
    pub enum ProposalRule {
        /// The ratio is within the tolerance: the current count.
        Tolerance = "tolerance",
        /// The ratio times the Pods, rounded up.
        Ratio = "ratio",
        /// Assumed values turn the direction: the current count.
        Reversal = "reversal",
        /// The result contradicts the direction of the ratio: the current count.
        Contradiction = "contradiction",
        /// The total divided by the target for each Pod, rounded up.
        Share = "share",
        /// Without Pods, the total divided by the target, rounded up.
        FromZero = "from-zero",
    }
}

impl ProposalBasis {
    /// Records the selected Pods, each with its group.
    pub(crate) fn record_pods(
        &mut self,
        pods: &[PodFacts],
        measured: &ByPod<'_, Measurement>,
        startup: Option<Startup>,
        now: Timestamp,
    ) {
        let trace = |pod: &PodFacts| {
            let found = measured.get(&pod.name).copied();
            PodTrace {
                pod: pod.name.clone(),
                group: PodGroup::of(pod, found, startup, now),
                measured: found,
                request: None,
                counted: None,
            }
        };
        self.pods = pods.iter().map(trace).collect();
    }

    pub(crate) fn record_values(&mut self, requests: &ByPod<'_, i64>, counted: &ByPod<'_, i64>) {
        for pod in &mut self.pods {
            pod.request = requests.get(&pod.pod).copied();
            pod.counted = counted.get(&pod.pod).copied();
        }
    }
}
