//! State that the handlers share.

use std::sync::Arc;

use super::choices::Choices;
use super::decisions::Decisions;
use super::fail_open::FailOpen;
use super::metrics::Metrics;
use crate::cluster::ClusterState;
use evenkeel_core::placement::Policy;
use evenkeel_kubernetes::extender::VerdictCache;

/// The handlers of one replica; clones share their state.
#[derive(Debug, Clone)]
pub struct Handlers {
    pub(crate) cluster: ClusterState,
    pub(crate) policy: Arc<Policy>,
    pub(crate) decisions: Decisions,
    pub(super) verdicts: VerdictCache,
    pub(super) choices: Arc<Choices>,
    pub(super) fail_open: Arc<FailOpen>,
    pub(super) metrics: Metrics,
}

impl Handlers {
    /// Handlers that decide on `cluster` by `policy`.
    #[must_use]
    pub fn new(cluster: ClusterState, policy: Arc<Policy>, metrics: Metrics) -> Self {
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
