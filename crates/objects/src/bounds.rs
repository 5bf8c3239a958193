//! The fewest and the most replicas that a target may have.

/// `minReplicas` and `maxReplicas`: 0 <= min <= max, and max at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaBounds {
    min: i32,
    max: i32,
}

/// `minReplicas` and `maxReplicas` as an object has them, unchecked; the first may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectBounds {
    /// `minReplicas`, where the object has it.
    pub min: Option<i32>,
    /// `maxReplicas`, which every object has.
    pub max: i32,
}

/// The maximum of an object without one, such as a workload with nothing but a count of replicas.
pub const NO_MOST: i32 = i32::MAX;

impl ObjectBounds {
    /// The bounds of a workload that nothing scales: its count as the minimum, and no maximum.
    pub const fn of_count(replicas: i32) -> Self {
        Self {
            min: Some(replicas),
            max: NO_MOST,
        }
    }

    /// True where there is a least alone, as of a count.
    pub const fn is_count(self) -> bool {
        self.max == NO_MOST
    }

    /// The bounds with a least that does not pass the most.
    pub fn with_min_within_max(self) -> Self {
        let Self { min, max } = self;
        Self {
            min: min.map(|min| min.min(max)),
            max,
        }
    }
}

/// Bounds that no target can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{min} to {max} replicas are not accepted: at least 0 to at least 1, in this order")]
pub struct BoundsError {
    /// The `minReplicas` that was refused.
    pub min: i32,
    /// The `maxReplicas` that was refused.
    pub max: i32,
}

impl BoundsError {
    /// The kind of error, for conditions, Events and metrics.
    pub const fn reason(&self) -> &'static str {
        "Bounds"
    }
}

impl ReplicaBounds {
    /// The bounds `min` and `max`, both included.
    ///
    /// # Errors
    /// A negative `min`, a `max` below 1, and a `max` below `min` are refused.
    pub const fn new(min: i32, max: i32) -> Result<Self, BoundsError> {
        if min < 0 || max < 1 || min > max {
            return Err(BoundsError { min, max });
        }
        Ok(Self { min, max })
    }

    /// `minReplicas`, at least 0.
    pub const fn min(self) -> i32 {
        self.min
    }

    /// `maxReplicas`, at least 1.
    pub const fn max(self) -> i32 {
        self.max
    }

    /// The count inside the bounds that is nearest to `replicas`.
    pub fn clamp(self, replicas: i32) -> i32 {
        replicas.clamp(self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_in_order_and_leave_room() {
        for (min, max, good) in [(0, 1, true), (2, 2, true), (0, 0, false), (3, 2, false)] {
            assert_eq!(ReplicaBounds::new(min, max).is_ok(), good, "{min} to {max}");
        }
        assert!(ReplicaBounds::new(-1, 2).is_err());
    }
}
