//! A series of counts over time: a step function from its first point on.

use jiff::Timestamp;

/// From when on there are to be how many replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaPoint {
    pub at: Timestamp,
    pub replicas: i32,
}

/// Points in the order of time. Each holds until the next, the last until the portrait expires; of several at one time the last
/// holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeSeries(Box<[ReplicaPoint]>);

/// Points that make no series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeSeriesError {
    /// There are none.
    #[error("there is no point; accepted: at least one")]
    NoPoint,
    /// One is earlier than the one before.
    #[error("point {place} is earlier than the one before; accepted: points in the order of time")]
    Order {
        /// Its place, from 0.
        place: usize,
    },
    /// One asks for fewer than no replicas.
    #[error("point {place} asks for {replicas} replicas; accepted: 0 or more")]
    Replicas {
        /// Its place, from 0.
        place: usize,
        /// The replicas that it asks for.
        replicas: i32,
    },
}

impl TimeSeriesError {
    /// The kind of error, for conditions, Events and metrics.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NoPoint => "NoPoint",
            Self::Order { .. } => "Order",
            Self::Replicas { .. } => "Replicas",
        }
    }
}

impl TimeSeries {
    /// The series of these points.
    ///
    /// # Errors
    /// No point, points that are not in the order of time, and negative replicas.
    pub fn new(points: Vec<ReplicaPoint>) -> Result<Self, TimeSeriesError> {
        if points.is_empty() {
            return Err(TimeSeriesError::NoPoint);
        }
        if let Some((place, point)) = points.iter().enumerate().find(|(_, one)| one.replicas < 0) {
            let replicas = point.replicas;
            return Err(TimeSeriesError::Replicas { place, replicas });
        }
        let disorder = points.windows(2).position(|pair| pair[1].at < pair[0].at);
        match disorder {
            Some(place) => Err(TimeSeriesError::Order { place: place + 1 }),
            None => Ok(Self(points.into())),
        }
    }

    /// The points, in the order of time.
    pub fn points(&self) -> &[ReplicaPoint] {
        &self.0
    }

    /// The point that holds at `now`; `None` before the first.
    pub(super) fn at(&self, now: Timestamp) -> Option<ReplicaPoint> {
        let later = self.later(now);
        later.checked_sub(1).map(|place| self.0[place])
    }

    /// The first point after `now`.
    pub(super) fn next(&self, now: Timestamp) -> Option<ReplicaPoint> {
        self.0.get(self.later(now)).copied()
    }

    /// The place of the first point after `now`.
    fn later(&self, now: Timestamp) -> usize {
        self.0.partition_point(|point| point.at <= now)
    }
}
