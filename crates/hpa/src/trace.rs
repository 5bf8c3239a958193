//! A record of how a count was decided, for explanations. The controllers ask for none, and then
//! nothing is recorded.

use super::basis::ProposalBasis;
use super::normalize::NormalizedReplicas;
use super::replicas::MetricProposal;

/// How one reconciliation came to its count.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DecisionTrace {
    /// One for each metric of the spec, in order; empty if the metrics were not read.
    pub metrics: Vec<MetricTrace>,
    /// Position of the metric with the highest proposal; `None` if no proposal may be acted on.
    pub deciding: Option<usize>,
    /// The count that the metrics ask for, before windows, policies and bounds.
    pub desired: Option<i32>,
    /// After windows, policies and bounds.
    pub normalized: Option<NormalizedReplicas>,
    /// The decision; `None` if the count stays because none could be computed.
    pub replicas: Option<i32>,
    /// In the words of the Event; empty if only a bound or a window decides.
    pub reason: String,
}

/// How one metric came to its proposal.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricTrace {
    pub basis: ProposalBasis,
    /// The message of the condition if there is no proposal.
    pub proposal: Result<MetricProposal, String>,
}
