//! Events of a replay for an observer: all inputs of its floors, and the floors. A test feeds the
//! service's own state with these inputs and compares floors.

use std::sync::Arc;

use evenkeel_forecast::Resolution;
use evenkeel_metrics::pod::PodFacts;
use evenkeel_metrics::sample::Measurement;
use evenkeel_objects::start_time::StartTime;
use jiff::Timestamp;

/// In the order of time.
#[derive(Debug, Clone, Copy)]
pub enum ReplayEvent<'a> {
    /// A part of the past, before the first tick.
    Past {
        resolution: Resolution,
        points: &'a [(Timestamp, f64)],
        /// Time of the first tick.
        now: Timestamp,
    },
    Tick(ObservedTick<'a>),
}

/// A tick of a target below an HPA: what HPA and forecaster see, and the decided floor.
#[derive(Debug, Clone, Copy)]
pub struct ObservedTick<'a> {
    pub now: Timestamp,
    pub pods: &'a [Arc<PodFacts>],
    /// Newest measurement by Pod, in their order.
    pub measured: &'a [Option<Measurement>],
    /// Known starts of Pods.
    pub starts: &'a [StartTime],
    pub replicas: i32,
    /// Proposed by the HPA; `None` without metrics.
    pub reactive: Option<i32>,
    /// The HPA's `minReplicas`.
    pub floor: i32,
    /// The HPA has it from the next tick on.
    pub decided: i32,
}
