//! State that the handlers share.

use std::sync::Arc;

use evenkeel_placement::SchedulingPolicy;
use evenkeel_placement::extender::VerdictCache;

use super::bind_wait::Choices;
use super::fail_open::FailOpen;
use super::metrics::HandlerMetrics;
use super::recent_decisions::Decisions;
use crate::cluster::ClusterState;

#[derive(Debug, Clone)]
pub struct Handlers {
    pub(crate) cluster: ClusterState,
    pub(crate) policy: Arc<SchedulingPolicy>,
    pub(crate) decisions: Decisions,
    pub(super) verdicts: VerdictCache,
    pub(super) choices: Arc<Choices>,
    pub(super) fail_open: Arc<FailOpen>,
    pub(super) metrics: HandlerMetrics,
}

impl Handlers {
    /// Handlers that decide on `cluster` by `policy`.
    pub fn new(
        cluster: ClusterState,
        policy: Arc<SchedulingPolicy>,
        metrics: HandlerMetrics,
    ) -> Self {
        Self {
            cluster,
            policy,
            decisions: Decisions::default(),
            verdicts: VerdictCache::default(),
            choices: Arc::default(),
            fail_open: Arc::default(),
            metrics,
        }
    }
}
