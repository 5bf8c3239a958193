//! A source of the past, and what is asked of it.

use std::fmt;

use async_trait::async_trait;
use evenkeel_metrics::signal::Signal;
use evenkeel_scaling::targets::history_backfill::Points;
use evenkeel_scaling::tick::resource_of;
use evenkeel_scaling::tracker::backfill_pace::{BackfillOutcome, Slots};
use jiff::SignedDuration;

use crate::metrics::MetricsError;
use crate::metrics::prometheus::{Grid, PrometheusSource, WorkloadSums, Workloads};

#[async_trait]
pub trait HistorySource: Send + Sync {
    /// How long after a time its load is known: that of a rate is the mean of a window around it.
    fn lag(&self, signal: &Signal) -> SignedDuration;

    /// The load of some workloads at each time of `grid`; `None` where this signal is not measured.
    async fn sums(
        &self,
        signal: &Signal,
        workloads: Workloads<'_>,
        grid: Grid,
    ) -> Option<Result<WorkloadSums, MetricsError>>;

    /// The measured Pods of some workloads, at the times at which all of them have been measured
    /// for long; `None` if none are.
    async fn pods(
        &self,
        workloads: Workloads<'_>,
        grid: Grid,
    ) -> Option<Result<WorkloadSums, MetricsError>>;

    /// The value of a target's own query at each time of `grid`.
    async fn series(&self, promql: &str, grid: Grid) -> Result<Points, MetricsError>;
}

#[async_trait]
impl HistorySource for PrometheusSource {
    fn lag(&self, signal: &Signal) -> SignedDuration {
        let resource = resource_of(signal);
        resource.map_or(SignedDuration::ZERO, |resource| Self::lag(self, resource))
    }

    async fn sums(
        &self,
        signal: &Signal,
        workloads: Workloads<'_>,
        grid: Grid,
    ) -> Option<Result<WorkloadSums, MetricsError>> {
        let resource = resource_of(signal)?;
        self.workload_sums(resource, workloads, grid).await
    }

    async fn pods(
        &self,
        workloads: Workloads<'_>,
        grid: Grid,
    ) -> Option<Result<WorkloadSums, MetricsError>> {
        self.workload_pods(workloads, grid).await
    }

    async fn series(&self, promql: &str, grid: Grid) -> Result<Points, MetricsError> {
        self.past_of(promql, grid).await
    }
}

/// A question for a part of the past.
#[derive(Debug, Clone, Copy)]
pub enum HistoryRequest<'a> {
    Sums(&'a Signal, Workloads<'a>),
    Pods(Workloads<'a>),
    Query(&'a str),
}

pub enum HistoryResponse {
    Sums(WorkloadSums),
    Points(Points),
}

impl HistoryRequest<'_> {
    pub async fn ask(
        self,
        past: &dyn HistorySource,
        slots: Slots,
    ) -> Option<Result<HistoryResponse, MetricsError>> {
        let grid = grid(slots);
        match self {
            Self::Sums(signal, workloads) => {
                let answer = past.sums(signal, workloads, grid).await?;
                Some(answer.map(HistoryResponse::Sums))
            }
            Self::Pods(workloads) => {
                Some(past.pods(workloads, grid).await?.map(HistoryResponse::Sums))
            }
            Self::Query(promql) => {
                Some(past.series(promql, grid).await.map(HistoryResponse::Points))
            }
        }
    }

    /// The effect of an error on the backfill's pace. A query too slow at a single point is at
    /// fault itself, so Evenkeel does not retry it without end, as it does for a server.
    pub fn outcome(self, error: &MetricsError, slots: Slots) -> BackfillOutcome {
        match (self, outcome(error)) {
            (Self::Query(_), BackfillOutcome::TooSlow) if slots.points <= 1 => {
                BackfillOutcome::Refused
            }
            (_, outcome) => outcome,
        }
    }
}

impl fmt::Display for HistoryRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sums(signal, _) => signal.fmt(f),
            Self::Pods(_) => f.write_str("Pods"),
            Self::Query(_) => f.write_str("a target's own query"),
        }
    }
}

impl HistoryResponse {
    /// The number of series, which says how much more can be asked at once.
    pub const fn series(&self) -> usize {
        match self {
            Self::Sums(sums) => sums.series,
            Self::Points(_) => 1,
        }
    }
}

/// The meaning of an error for the pace of the refill.
const fn outcome(error: &MetricsError) -> BackfillOutcome {
    match error {
        MetricsError::Timeout => BackfillOutcome::TooSlow,
        MetricsError::TooLarge { .. } | MetricsError::Refused { .. } => BackfillOutcome::TooMuch,
        MetricsError::Connect(_) | MetricsError::Transport(_) | MetricsError::Status { .. } => {
            BackfillOutcome::Down
        }
        _ => BackfillOutcome::Refused,
    }
}

/// The middle of each slot: a rate there speaks of the whole slot best.
fn grid(slots: Slots) -> Grid {
    Grid {
        first: slots.first_middle(),
        step: slots.step,
        points: slots.points,
    }
}
