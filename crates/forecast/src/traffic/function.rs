//! The function from traffic, replicas and time to utilisation.

use evenkeel_units::i64_as_f64;
use jiff::Timestamp;

use crate::calendar::Calendar;
use crate::elastic_net::LinearFunction;
use crate::trees::{TreeInput, Trees, tree_input};

pub const RESIDUAL_INPUTS: usize = 4;

const DAY: i64 = 86_400;
const WEEK: i64 = 7 * DAY;
/// End of the range of a tree input.
const WHOLE: f64 = 8.0;
/// The input that changes with the count of replicas.
const LINEAR: usize = 0;

/// A moment as the residual model reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalendarInputs {
    /// Time of day, day of the week, and time of the week.
    inputs: [TreeInput; RESIDUAL_INPUTS - 1],
}

/// The linear model and its correction.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearResidual {
    pub(super) linear: LinearFunction,
    /// Utilisation by which inputs and answers of the trees are divided, above 0.
    pub(super) scale: f64,
    /// Least and largest correction in the training data.
    pub(super) seen: (f64, f64),
    pub(super) residual: Trees,
    /// Linear answers at which the trees' answer may change.
    bends: Box<[TreeInput]>,
}

impl CalendarInputs {
    /// By the clocks and weeks of `calendar`.
    pub fn of(at: Timestamp, calendar: &Calendar) -> Self {
        let second = calendar.second_of_week(at).clamp(0, WEEK - 1);
        let part = |part: i64, whole: i64| tree_input(WHOLE * i64_as_f64(part) / i64_as_f64(whole));
        Self {
            inputs: [
                part(second % DAY, DAY),
                part(second / DAY, 7),
                part(second, WEEK),
            ],
        }
    }
}

impl LinearResidual {
    /// `residual` takes [`Self::inputs`]. Its answer times `scale`, clamped to the range `seen`, is
    /// added to the linear answer.
    pub fn new(linear: LinearFunction, scale: f64, seen: (f64, f64), residual: Trees) -> Self {
        Self {
            bends: residual.thresholds(LINEAR).into(),
            linear,
            scale,
            seen,
            residual,
        }
    }

    pub fn inputs(linear: f64, scale: f64, moment: CalendarInputs) -> [TreeInput; RESIDUAL_INPUTS] {
        let [time, day, week] = moment.inputs;
        [tree_input(linear / scale), time, day, week]
    }

    pub const fn linear(&self) -> &LinearFunction {
        &self.linear
    }

    pub const fn trees(&self) -> usize {
        self.residual.len()
    }

    /// Utilisation by the linear model alone; `traffic` is that of all `replicas`.
    pub fn linear_utilisation(&self, traffic: &[f64], replicas: f64) -> f64 {
        self.linear.intercept + self.driven(traffic) / replicas
    }

    /// Utilisation of each replica, at least 0; `traffic` is that of all `replicas`.
    pub fn utilisation(&self, traffic: &[f64], replicas: f64, moment: CalendarInputs) -> f64 {
        let linear = self.linear_utilisation(traffic, replicas);
        (linear + self.added(linear, moment)).max(0.0)
    }

    /// Correction by the trees, in the unit of the utilisation.
    fn added(&self, linear: f64, moment: CalendarInputs) -> f64 {
        let inputs = Self::inputs(linear, self.scale, moment);
        let (least, most) = self.seen;
        let added = f64::from(self.residual.score(&inputs)) * self.scale;
        added.clamp(least, most)
    }

    /// The least count from which on no count up to `most` has more than `target`; `None` where
    /// `most` has.
    ///
    /// Between two thresholds of the trees their correction is constant, and utilisation only falls
    /// with the count. So the trees are evaluated once per such part.
    pub fn least_count(
        &self,
        traffic: &[f64],
        target: f64,
        most: i32,
        moment: CalendarInputs,
    ) -> Option<i32> {
        let linear = |count: i32| self.linear_utilisation(traffic, f64::from(count));
        let part = |count: i32| {
            let input = tree_input(linear(count) / self.scale);
            self.bends.partition_point(|bend| *bend <= input)
        };
        let (mut found, mut left) = (None, most);
        while left >= 1 {
            let here = part(left);
            let begin = first(1, left, |count| part(count) == here);
            let added = self.added(linear(left), moment);
            let is_good = |count: i32| (linear(count) + added).max(0.0) <= target;
            if !is_good(left) {
                break;
            }
            let good = first(begin, left, is_good);
            found = Some(good);
            if good > begin {
                break;
            }
            left = begin - 1;
        }
        found
    }

    /// The least count at which the linear model has no more than `target`; `None` if there is
    /// none.
    pub fn least_linear_count(&self, traffic: &[f64], target: f64, most: i32) -> Option<i32> {
        let is_good = |count: i32| self.linear_utilisation(traffic, f64::from(count)) <= target;
        is_good(most).then(|| first(1, most, is_good))
    }

    /// The linear answer to the traffic of all replicas together, without the intercept.
    fn driven(&self, traffic: &[f64]) -> f64 {
        let terms = self.linear.coefficients.iter().zip(traffic);
        terms.map(|(coefficient, value)| coefficient * value).sum()
    }
}

/// The first count that `is_so`, if all after it are and `last` is.
fn first(mut from: i32, mut last: i32, is_so: impl Fn(i32) -> bool) -> i32 {
    while from < last {
        let middle = from + (last - from) / 2;
        if is_so(middle) {
            last = middle;
        } else {
            from = middle + 1;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use proptest::prelude::*;

    use super::*;
    use crate::trees::TreeNode;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn function(residual: Trees) -> LinearResidual {
        let linear = LinearFunction {
            coefficients: vec![0.5, 2.0],
            intercept: 6.0,
        };
        LinearResidual::new(linear, 50.0, (-4.0, 40.0), residual)
    }

    fn from(feature: usize, threshold: TreeInput, added: f32) -> Trees {
        let root = TreeNode::Split {
            feature,
            threshold: f32::from(threshold),
            missing_left: true,
            left: 1,
            right: 2,
        };
        let tree = vec![root, TreeNode::Leaf(0.0), TreeNode::Leaf(added)];
        Trees::new(0.0, &[tree]).unwrap()
    }

    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 0.01, "{found}, not {expected}");
    }

    #[test]
    fn traffic_per_replica_is_weighed_and_the_time_adds_to_it() {
        let sunday = CalendarInputs::of(time("2024-01-07T03:00:00Z"), &Calendar::default());
        let monday = CalendarInputs::of(time("2024-01-08T03:00:00Z"), &Calendar::default());
        let function = function(from(2, tree_input(8.0 * 6.0 / 7.0), 0.5));
        assert_close(function.linear_utilisation(&[100.0, 10.0], 4.0), 23.5);
        assert_close(function.utilisation(&[100.0, 10.0], 4.0, monday), 23.5);
        assert_close(function.utilisation(&[100.0, 10.0], 4.0, sunday), 48.5);
    }

    #[test]
    fn what_is_added_keeps_to_what_was_seen_and_nothing_is_below_0() {
        let now = CalendarInputs::of(time("2024-01-07T03:00:00Z"), &Calendar::default());
        let more = function(from(0, 0, 7.0));
        assert_close(more.utilisation(&[0.0, 0.0], 1.0, now), 46.0);
        let less = function(from(0, 0, -7.0));
        assert_close(less.utilisation(&[0.0, 0.0], 1.0, now), 2.0);
        let mut below = less.clone();
        below.seen = (-20.0, 0.0);
        assert_close(below.utilisation(&[0.0, 0.0], 1.0, now), 0.0);
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        let berlin = Calendar::new(TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap());
        let late = time("2024-01-07T23:30:00Z");
        let [_, sunday, _] = CalendarInputs::of(late, &Calendar::default()).inputs;
        let [clock, monday, week] = CalendarInputs::of(late, &berlin).inputs;
        assert_eq!((sunday, monday), (tree_input(8.0 * 6.0 / 7.0), 0));
        assert_eq!(clock, tree_input(8.0 * 0.5 / 24.0));
        assert_eq!(week, tree_input(8.0 * 0.5 / 168.0));
        // A week of summer.
        let summer = time("2024-07-07T22:30:00Z");
        assert_eq!(
            CalendarInputs::of(summer, &berlin),
            CalendarInputs::of(late, &berlin)
        );
    }

    /// Each tree adds its number from a threshold of the linear answer on.
    fn bent(steps: &[(i16, f32)]) -> LinearResidual {
        let trees = steps.iter().map(|&(threshold, added)| {
            let root = TreeNode::Split {
                feature: 0,
                threshold: f32::from(threshold),
                missing_left: true,
                left: 1,
                right: 2,
            };
            vec![root, TreeNode::Leaf(0.0), TreeNode::Leaf(added)]
        });
        let linear = LinearFunction {
            coefficients: vec![2.0],
            intercept: 10.0,
        };
        let residual = Trees::new(0.0, &trees.collect::<Vec<_>>()).unwrap();
        LinearResidual::new(linear, 50.0, (-30.0, 60.0), residual)
    }

    proptest! {
        #[test]
        fn the_least_count_is_that_of_looking_at_each(
            steps in prop::collection::vec((0_i16..9000, -1.0_f32..1.0), 0..12),
            traffic in 0.0..3000.0_f64,
            target in 1.0..150.0_f64,
            most in 1..400_i32,
        ) {
            let function = bent(&steps);
            let now = CalendarInputs::of(time("2024-01-07T03:00:00Z"), &Calendar::default());
            let good = |count: &i32| function.utilisation(&[traffic], f64::from(*count), now) <= target;
            let each = (1..=most).rev().take_while(good).last();
            prop_assert_eq!(function.least_count(&[traffic], target, most, now), each);
            let is_good = |count: &i32| function.linear_utilisation(&[traffic], f64::from(*count)) <= target;
            let each = (1..=most).find(is_good);
            prop_assert_eq!(function.least_linear_count(&[traffic], target, most), each);
        }
    }
}
