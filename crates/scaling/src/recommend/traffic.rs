//! The replicas that traffic needs: the model `traffic` turned around.
//!
//! The model gives the utilisation of a count of replicas; needed is the smallest count at or below
//! the target. The residual model may rise and fall with the count, so a count may seem good while
//! a larger one does not. The result is the count from which on *no* count up to the maximum is
//! above the target.

use evenkeel_forecast::{CalendarInputs, LinearResidual};
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_units::words;

/// The largest count that is looked at: as many Pods as a cluster may have.
const LARGEST: i32 = 150_000;
/// The most replicas, in times of what the linear model asks for.
const MOST_BY_HOUR: i32 = 3;

/// Traffic to be served at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand<'a> {
    /// The traffic of each kind, of all replicas together, at least 0.
    pub traffic: &'a [f64],
    pub moment: CalendarInputs,
}

/// The replicas that traffic needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrafficReplicas {
    pub replicas: i32,
    /// The utilisation that they are told to have; `None` where there are none.
    pub utilisation: Option<f64>,
    pub limit: Option<NeedLimit>,
}

words! {
    /// The bound that keeps a count from what traffic needs.
    pub enum NeedLimit {
        /// Fewer would do.
        Least = "min",
        /// The most are not enough.
        Most = "max",
        /// Three times of what the traffic needs without what the hour adds to each replica are not
        /// enough.
        Hour = "hour",
    }
}

/// The smallest count within `bounds` with which the traffic keeps to `target`, in the unit of the
/// utilisation. At least one is needed, whatever the traffic; `bounds` may allow none all the same.
///
/// The load that the hour adds comes to each replica, so the count grows without end as that load
/// nears the target. It is at most three times the count of the linear model.
pub fn needed(
    function: &LinearResidual,
    demand: &Demand<'_>,
    target: f64,
    bounds: ReplicaBounds,
) -> TrafficReplicas {
    let &Demand { traffic, moment } = demand;
    let most = bounds.max().min(LARGEST);
    let linear = function.least_linear_count(traffic, target, most);
    let of_hour = linear.map_or(most, |count| count.saturating_mul(MOST_BY_HOUR).min(most));
    let too_few = || {
        let limit = if of_hour < most {
            NeedLimit::Hour
        } else {
            NeedLimit::Most
        };
        (of_hour, Some(limit))
    };
    let (count, above) = function
        .least_count(traffic, target, of_hour, moment)
        .map_or_else(too_few, |count| (count, None));
    let replicas = bounds.clamp(count);
    let utilisation = |count: i32| function.utilisation(traffic, f64::from(count), moment);
    TrafficReplicas {
        replicas,
        utilisation: (replicas > 0).then(|| utilisation(replicas)),
        limit: above.or_else(|| (count < replicas).then_some(NeedLimit::Least)),
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_forecast::{Calendar, LinearFunction, TreeNode, Trees, tree_input};
    use jiff::Timestamp;

    use super::*;

    const SCALE: f64 = 50.0;

    /// 10 + 2 × traffic per replica, and what `residual` adds to it.
    fn function(residual: &[Vec<TreeNode>], seen: (f64, f64)) -> LinearResidual {
        let linear = LinearFunction {
            coefficients: vec![2.0],
            intercept: 10.0,
        };
        let residual = Trees::new(0.0, residual).unwrap();
        LinearResidual::new(linear, SCALE, seen, residual)
    }

    fn counted(
        function: &LinearResidual,
        traffic: f64,
        target: f64,
        (min, max): (i32, i32),
    ) -> (i32, Option<NeedLimit>) {
        let demand = Demand {
            traffic: &[traffic],
            moment: CalendarInputs::of(Timestamp::UNIX_EPOCH, &Calendar::default()),
        };
        let bounds = ReplicaBounds::new(min, max).unwrap();
        let TrafficReplicas {
            replicas,
            utilisation,
            limit,
        } = needed(function, &demand, target, bounds);
        assert_eq!(utilisation.is_some(), replicas > 0);
        let is_more = utilisation.is_some_and(|utilisation| utilisation > target);
        let is_told = matches!(limit, Some(NeedLimit::Most | NeedLimit::Hour));
        assert_eq!(is_more, is_told, "{utilisation:?}");
        (replicas, limit)
    }

    #[test]
    fn the_smallest_count_at_or_below_the_target_within_the_bounds() {
        let plain = function(&[], (0.0, 0.0));
        let (least, most) = (Some(NeedLimit::Least), Some(NeedLimit::Most));
        for (traffic, target, bounds, expected) in [
            (100.0, 60.0, (1, 100), (4, None)),
            (100.1, 60.0, (1, 100), (5, None)),
            (100.0, 60.0, (6, 100), (6, least)),
            (100.0, 60.0, (4, 100), (4, None)),
            (100.0, 60.0, (1, 3), (3, most)),
            (100.0, 60.0, (1, 4), (4, None)),
            (0.0, 60.0, (1, 100), (1, None)),
            (0.0, 60.0, (0, 100), (1, None)),
            (1e12, 60.0, (1, i32::MAX), (LARGEST, most)),
            (100.0, 60.0, (1, i32::MAX), (4, None)),
            // The load that no replica takes away is above it.
            (100.0, 9.0, (1, 50), (50, most)),
            (100.0, 10.0, (1, 50), (50, most)),
        ] {
            let found = counted(&plain, traffic, target, bounds);
            assert_eq!(found, expected, "{traffic} {target} {bounds:?}");
        }
    }

    /// From a utilisation on, less is told than below it: 3 replicas seem good, 4 do not.
    #[test]
    fn a_count_is_taken_from_which_on_all_are_good() {
        let threshold = |utilisation: f64| f32::from(tree_input(utilisation / SCALE));
        let step = |below: f32, from: f32, at: f64| {
            let split = TreeNode::Split {
                feature: 0,
                threshold: threshold(at),
                missing_left: true,
                left: 1,
                right: 2,
            };
            vec![split, TreeNode::Leaf(below), TreeNode::Leaf(from)]
        };
        // Linear: 76.7 % with 3, 60 % with 4, 50 % with 5.
        let dips = function(&[step(0.2, -0.5, 70.0)], (-25.0, 10.0));
        let moment = CalendarInputs::of(Timestamp::UNIX_EPOCH, &Calendar::default());
        assert!(dips.utilisation(&[100.0], 3.0, moment) < 60.0);
        assert!(dips.utilisation(&[100.0], 4.0, moment) > 60.0);
        assert_eq!(counted(&dips, 100.0, 60.0, (1, 100)), (5, None));
        assert_eq!(counted(&dips, 100.0, 60.0, (1, 3)), (3, None));
    }

    /// 10 + 2 × traffic per replica, and at each hour so many fiftieths on each replica.
    fn hour(added: f32) -> LinearResidual {
        let always = TreeNode::Split {
            feature: 1,
            threshold: 0.0,
            missing_left: true,
            left: 1,
            right: 2,
        };
        let tree = vec![always, TreeNode::Leaf(added), TreeNode::Leaf(added)];
        function(&[tree], (0.0, 100.0))
    }

    /// The harm: as what the hour adds came near what the target left room for, the count went to the most, and
    /// beyond it down to that of the linear model.
    #[test]
    fn the_more_the_hour_adds_the_more_is_asked_for_up_to_three_times() {
        let counts = (0..200_u8).map(|step| {
            let added = 0.01 * f32::from(step);
            counted(&hour(added), 100.0, 60.0, (1, 1000)).0
        });
        let counts: Vec<i32> = counts.collect();
        assert!(counts.is_sorted(), "{counts:?}");
        assert_eq!((counts[0], counts[199]), (4, 12));
    }

    #[test]
    fn what_no_count_takes_away_asks_for_three_times_what_the_traffic_does() {
        // 10 + 20 + 200 / n <= 60 from 7 on; with 60 more on each there is no such n.
        assert_eq!(counted(&hour(0.4), 100.0, 60.0, (1, 100)), (7, None));
        let hours = Some(NeedLimit::Hour);
        assert_eq!(counted(&hour(1.2), 100.0, 60.0, (1, 100)), (12, hours));
        assert_eq!(counted(&hour(1.2), 100.0, 60.0, (20, 100)), (20, hours));
        assert_eq!(counted(&hour(1.2), 100.0, 60.0, (1, i32::MAX)), (12, hours));
        // More would help, and may not be.
        let most = Some(NeedLimit::Most);
        assert_eq!(counted(&hour(0.4), 100.0, 60.0, (1, 5)), (5, most));
        assert_eq!(counted(&hour(1.2), 100.0, 60.0, (1, 3)), (3, most));
    }

    #[test]
    fn more_traffic_or_a_lower_target_never_needs_less_of_the_linear_model() {
        let plain = function(&[], (0.0, 0.0));
        let count = |traffic, target| counted(&plain, traffic, target, (1, 1000)).0;
        let traffics: Vec<i32> = (0..200)
            .map(|step| count(f64::from(step) * 7.3, 60.0))
            .collect();
        assert!(traffics.is_sorted(), "{traffics:?}");
        let targets: Vec<i32> = (11..90)
            .rev()
            .map(|one| count(500.0, f64::from(one)))
            .collect();
        assert!(targets.is_sorted(), "{targets:?}");
    }
}
