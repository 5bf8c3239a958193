//! The way in which a run moves the bounds and the replicas of a workload that an HPA scales.

use evenkeel_objects::bounds::ObjectBounds;

/// Bounds and replicas after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CronAdjustment {
    /// The bounds that the HPA is to have.
    pub bounds: ObjectBounds,
    /// The replicas that the workload is to have.
    pub replicas: i32,
}

/// The bounds and the replicas after a run for `target` replicas, where there are `current` ones.
///
/// More replicas than there are raise the least to the target, and with it the most where that is
/// smaller: the HPA goes to its least at once. A target below the least lowers the least alone, and
/// the HPA takes away what the load does not need. Anything else changes nothing
/// (`[CronHPA]` compatibility rules).
pub fn adjust(bounds: ObjectBounds, target: i32, current: i32) -> CronAdjustment {
    // An HPA without a least has 1.
    let least = bounds.min.unwrap_or(1);
    let (min, replicas) = if target > current {
        (Some(target), target)
    } else if target < least {
        (Some(target), current)
    } else {
        (bounds.min, current)
    };
    let max = if target > current {
        bounds.max.max(target)
    } else {
        bounds.max
    };
    CronAdjustment {
        bounds: ObjectBounds { min, max },
        replicas,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HPA min and max, target, current -> min and max, replicas.
    fn row((min, max): (i32, i32), target: i32, current: i32) -> ((i32, i32), i32) {
        let bounds = ObjectBounds {
            min: Some(min),
            max,
        };
        let CronAdjustment { bounds, replicas } = adjust(bounds, target, current);
        ((bounds.min.unwrap(), bounds.max), replicas)
    }

    #[test]
    fn compatibility_1_a_target_that_is_met_changes_nothing() {
        assert_eq!(row((1, 10), 5, 5), ((1, 10), 5));
    }

    #[test]
    fn compatibility_2_a_target_below_the_count_and_within_the_bounds_changes_nothing() {
        assert_eq!(row((1, 10), 4, 5), ((1, 10), 5));
    }

    #[test]
    fn compatibility_3_a_target_above_the_count_raises_the_least() {
        assert_eq!(row((1, 10), 6, 5), ((6, 10), 6));
    }

    #[test]
    fn compatibility_4_a_target_below_the_least_lowers_the_least_alone() {
        assert_eq!(row((5, 10), 4, 5), ((4, 10), 5));
    }

    #[test]
    fn compatibility_5_a_target_above_the_most_raises_both() {
        assert_eq!(row((5, 10), 11, 5), ((11, 11), 11));
    }

    #[test]
    fn a_least_that_is_not_said_is_one() {
        let bounds = ObjectBounds { min: None, max: 3 };
        assert_eq!(adjust(bounds, 1, 2).bounds, bounds);
        assert_eq!(adjust(bounds, 0, 2).bounds.min, Some(0));
        assert_eq!(adjust(bounds, 3, 2).bounds.min, Some(3));
    }
}
