//! The events that a replay passes to an observer: all inputs of its floors, and the floors.
//!
//! A test of the service feeds its own state of a target with these inputs and compares floors.

use std::sync::Arc;

use jiff::Timestamp;

use evenkeel_core::forecast::Resolution;
use evenkeel_core::scaling::horizon::StartTime;
use evenkeel_core::scaling::pod::PodFacts;
use evenkeel_core::scaling::sample::Measurement;

/// An event of a replay, in the order of their times.
#[derive(Debug, Clone, Copy)]
pub enum ReplayEvent<'a> {
    /// The forecaster takes a part of the past, before the first tick.
    Past {
        resolution: Resolution,
        points: &'a [(Timestamp, f64)],
        /// The time of the first tick.
        now: Timestamp,
    },
    Tick(ObservedTick<'a>),
}

/// One tick of a target below an HPA: what HPA and forecaster see, and the floor that is decided on it.
#[derive(Debug, Clone, Copy)]
pub struct ObservedTick<'a> {
    pub now: Timestamp,
    /// The Pods that have not ended.
    pub pods: &'a [Arc<PodFacts>],
    /// The newest measurement of each of them, in their order.
    pub measured: &'a [Option<Measurement>],
    /// The starts of Pods that are known.
    pub starts: &'a [StartTime],
    /// The replicas of the workload.
    pub replicas: i32,
    /// The replicas that the HPA asks for; `None` without metrics.
    pub reactive: Option<i32>,
    /// The `minReplicas` that the HPA has.
    pub floor: i32,
    /// The floor that is decided, which the HPA has from the next tick on.
    pub decided: i32,
}
