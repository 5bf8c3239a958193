//! The replicas that the traffic of a target asks for at one tick.

use evenkeel_metrics::signal::Signal;

use super::expected_load::{ExpectedLoad, LoadBasis};
use super::traffic::NeedLimit;

/// The state of the traffic of a target that names some.
#[derive(Debug, Clone, PartialEq)]
pub enum TrafficStanding {
    /// There is no model that turns it into replicas.
    Without {
        lack: TrafficLack,
        /// The same in words.
        why: String,
    },
    /// Some of it is not known as it is now.
    Unknown,
    /// It needs replicas.
    Needs(TrafficNeed),
}

/// Why no model turns the traffic into replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficLack {
    /// The past has not been looked at yet.
    Awaited,
    /// The past gave no model, for this kind of reason.
    Refused(&'static str),
    /// Pods are above the target without any traffic.
    TargetTooLow,
    /// Pods carry much less than the model tells.
    Contradicted,
    /// Its queries have not been answered for hours.
    Unanswered,
}

impl TrafficLack {
    /// The reason for conditions and metrics.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Awaited => "Awaited",
            Self::Refused(reason) => reason,
            Self::TargetTooLow => "TargetTooLow",
            Self::Contradicted => "Contradicted",
            Self::Unanswered => "Unanswered",
        }
    }
}

/// The replicas that traffic needs.
#[derive(Debug, Clone, PartialEq)]
pub struct TrafficNeed {
    pub replicas: i32,
    /// The predicted load of each replica, in the base unit of `of`; at most `target` unless the
    /// most replicas are not enough.
    pub utilisation: f64,
    /// The most that each is to carry.
    pub target: f64,
    /// The load that replicas carry.
    pub of: Signal,
    /// The bound that keeps the count from what is needed.
    pub limit: Option<NeedLimit>,
    /// Each kind of traffic, in the order of the model.
    pub kinds: Vec<TrafficOfKind>,
}

/// One kind of traffic, of all replicas together.
#[derive(Debug, Clone, PartialEq)]
pub struct TrafficOfKind {
    pub signal: Signal,
    pub now: f64,
    /// The traffic that replicas have to be ready for: its trusted forecast, or its current value.
    pub expected: ExpectedLoad,
}

impl TrafficStanding {
    /// True where the traffic is not known, although it is known what it would need.
    pub(crate) const fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }

    /// The need, if it is known.
    pub const fn need(&self) -> Option<&TrafficNeed> {
        match self {
            Self::Needs(need) => Some(need),
            Self::Without { .. } | Self::Unknown => None,
        }
    }
}

impl TrafficNeed {
    /// True where more than the traffic of now is expected.
    pub fn is_forecast(&self) -> bool {
        let mut kinds = self.kinds.iter();
        kinds.any(|kind| kind.expected.basis == LoadBasis::Forecast)
    }
}
