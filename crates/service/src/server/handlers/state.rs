//! State that the handlers share.

use std::sync::Arc;

use evenkeel_objects::pod::Pod;
use evenkeel_placement::SchedulingPolicy;
use evenkeel_placement::admission::ScoreTermInputs;
use evenkeel_placement::extender::VerdictCache;

use super::bind_wait::Choices;
use super::fail_open::FailOpen;
use super::metrics::HandlerMetrics;
use super::recent_decisions::Decisions;
use crate::cluster::ClusterState;
use crate::controller::{WriteSwitch, Writes};
use crate::telemetry::SpanRecorder;

#[derive(Debug, Clone)]
pub struct Handlers {
    pub(crate) cluster: ClusterState,
    pub(crate) policy: Arc<SchedulingPolicy>,
    pub(crate) decisions: Decisions,
    pub(super) verdicts: VerdictCache,
    pub(super) choices: Arc<Choices>,
    pub(super) fail_open: Arc<FailOpen>,
    pub(super) metrics: HandlerMetrics,
    /// The kill switch: while it stops writes, new Pods get no score terms.
    switch: WriteSwitch,
    pub(super) recorder: SpanRecorder,
}

impl Handlers {
    /// Handlers that decide on `cluster` by `policy`.
    pub fn new(
        cluster: ClusterState,
        policy: Arc<SchedulingPolicy>,
        metrics: HandlerMetrics,
        switch: WriteSwitch,
    ) -> Self {
        Self {
            cluster,
            policy,
            decisions: Decisions::default(),
            verdicts: VerdictCache::default(),
            choices: Arc::default(),
            fail_open: Arc::default(),
            metrics,
            switch,
            recorder: SpanRecorder::default(),
        }
    }

    /// The same handlers, with a span for each call.
    pub fn with_spans(self, recorder: SpanRecorder) -> Self {
        Self { recorder, ..self }
    }

    /// The position of the kill switch.
    pub(crate) fn writes(&self) -> Writes {
        self.switch.get()
    }

    /// The state of the score labels for a new Pod of a namespace.
    pub(crate) fn score_term_inputs(&self, namespace: &str, pod: &Pod) -> ScoreTermInputs {
        if self.switch.get() != Writes::Enabled {
            return ScoreTermInputs {
                writes_disabled: true,
                ..ScoreTermInputs::default()
            };
        }
        self.cluster.score_term_inputs(namespace, pod)
    }
}
