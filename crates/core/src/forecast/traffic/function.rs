//! The function from traffic, replicas and time to utilisation.

use jiff::Timestamp;

use crate::forecast::calendar::Calendar;
use crate::forecast::elastic_net::Linear;
use crate::forecast::trees::{TreeInput, Trees, tree_input};
use crate::units::i64_as_f64;

/// The number of inputs of the residual model.
pub const RESIDUAL_INPUTS: usize = 4;

const DAY: i64 = 86_400;
const WEEK: i64 = 7 * DAY;
/// The end of what an input of trees holds.
const WHOLE: f64 = 8.0;
/// The least utilisation, as a share of what is usual, that is still taken for room.
const LEAST_LEFT: f64 = 1e-9;

/// A moment as the residual model reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The time of day, the day of the week, and the time of the week.
    inputs: [TreeInput; RESIDUAL_INPUTS - 1],
}

/// The linear model and what is added to its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearResidual {
    pub(super) linear: Linear,
    /// The utilisation by which inputs and answers of the trees are divided, above 0.
    pub(super) scale: f64,
    /// The least and the largest that was ever to be added.
    pub(super) seen: (f64, f64),
    pub(super) residual: Trees,
}

impl Moment {
    /// A moment by the clocks and weeks of a calendar.
    #[must_use]
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
    /// A linear model, and trees whose inputs are those of [`Self::inputs`]. Their answers are times `scale` what is
    /// to be added, and held to what was `seen` of it.
    #[must_use]
    pub const fn new(linear: Linear, scale: f64, seen: (f64, f64), residual: Trees) -> Self {
        Self {
            linear,
            scale,
            seen,
            residual,
        }
    }

    /// The inputs of the residual model.
    #[must_use]
    pub fn inputs(linear: f64, scale: f64, moment: Moment) -> [TreeInput; RESIDUAL_INPUTS] {
        let [time, day, week] = moment.inputs;
        [tree_input(linear / scale), time, day, week]
    }

    /// The linear model.
    #[must_use]
    pub const fn linear(&self) -> &Linear {
        &self.linear
    }

    /// The number of trees.
    #[must_use]
    pub const fn trees(&self) -> usize {
        self.residual.len()
    }

    /// The utilisation by the linear model alone, where `traffic` of all kinds comes to so many replicas.
    #[must_use]
    pub fn linear_utilisation(&self, traffic: &[f64], replicas: f64) -> f64 {
        self.linear.intercept + self.driven(traffic) / replicas
    }

    /// The utilisation of each of so many replicas, at least 0, where `traffic` of all kinds comes to them.
    #[must_use]
    pub fn utilisation(&self, traffic: &[f64], replicas: f64, moment: Moment) -> f64 {
        let linear = self.linear_utilisation(traffic, replicas);
        let inputs = Self::inputs(linear, self.scale, moment);
        let (least, most) = self.seen;
        let added = f64::from(self.residual.score(&inputs)) * self.scale;
        (linear + added.clamp(least, most)).max(0.0)
    }

    /// A count from which on no count can have more than `target`, whatever the time; `None` where the utilisation that
    /// no replica takes away may be more.
    #[must_use]
    pub fn surely_enough(&self, traffic: &[f64], target: f64) -> Option<f64> {
        let left = target - self.linear.intercept - self.seen.1;
        // One more, since the sum that is compared with the target is rounded.
        (left > self.scale * LEAST_LEFT).then(|| (self.driven(traffic) / left).floor() + 1.0)
    }

    /// What the traffic asks of all replicas together.
    fn driven(&self, traffic: &[f64]) -> f64 {
        let terms = self.linear.coefficients.iter().zip(traffic);
        terms.map(|(coefficient, value)| coefficient * value).sum()
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::forecast::trees::Node;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn function(residual: Trees) -> LinearResidual {
        let linear = Linear {
            coefficients: vec![0.5, 2.0],
            intercept: 6.0,
        };
        LinearResidual::new(linear, 50.0, (-4.0, 40.0), residual)
    }

    /// `added` once the input is at or above the threshold.
    fn from(feature: usize, threshold: TreeInput, added: f32) -> Trees {
        let root = Node::Split {
            feature,
            threshold: f32::from(threshold),
            missing_left: true,
            left: 1,
            right: 2,
        };
        let tree = vec![root, Node::Leaf(0.0), Node::Leaf(added)];
        Trees::new(0.0, &[tree]).unwrap()
    }

    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 0.01, "{found}, not {expected}");
    }

    #[test]
    fn traffic_per_replica_is_weighed_and_the_time_adds_to_it() {
        let sunday = Moment::of(time("2024-01-07T03:00:00Z"), &Calendar::default());
        let monday = Moment::of(time("2024-01-08T03:00:00Z"), &Calendar::default());
        let function = function(from(2, tree_input(8.0 * 6.0 / 7.0), 0.5));
        assert_close(function.linear_utilisation(&[100.0, 10.0], 4.0), 23.5);
        assert_close(function.utilisation(&[100.0, 10.0], 4.0, monday), 23.5);
        assert_close(function.utilisation(&[100.0, 10.0], 4.0, sunday), 48.5);
    }

    #[test]
    fn what_is_added_keeps_to_what_was_seen_and_nothing_is_below_0() {
        let now = Moment::of(time("2024-01-07T03:00:00Z"), &Calendar::default());
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
        let [_, sunday, _] = Moment::of(late, &Calendar::default()).inputs;
        let [clock, monday, week] = Moment::of(late, &berlin).inputs;
        assert_eq!((sunday, monday), (tree_input(8.0 * 6.0 / 7.0), 0));
        assert_eq!(clock, tree_input(8.0 * 0.5 / 24.0));
        assert_eq!(week, tree_input(8.0 * 0.5 / 168.0));
        // A week of summer.
        let summer = time("2024-07-07T22:30:00Z");
        assert_eq!(Moment::of(summer, &berlin), Moment::of(late, &berlin));
    }

    #[test]
    fn a_count_is_surely_enough_where_the_most_ever_added_still_fits() {
        let function = function(from(0, 0, 0.5));
        let enough = function.surely_enough(&[100.0, 10.0], 60.0).unwrap();
        assert_close(enough, 6.0);
        let now = Moment::of(time("2024-01-07T03:00:00Z"), &Calendar::default());
        assert!(function.utilisation(&[100.0, 10.0], enough, now) <= 60.0);
        assert_eq!(function.surely_enough(&[100.0, 10.0], 46.0), None);
    }
}
