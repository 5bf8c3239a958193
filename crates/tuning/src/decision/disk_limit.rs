//! The limit of a Pod's disk I/O in one direction, by `[CLBP] (4.18)` and `(4.19)` as for cpu. It never
//! exceeds the rate that the Pod's owner named, which is its original limit.

use evenkeel_units::Amount;

use super::bounds::{ABOVE_SAMPLE, KEPT, above};
use super::limit_step::LimitStepRange;
use super::samples::MinuteSamples;
use super::target::{Elasticity, Trend, is_held, target};

/// The bounds of a limit, in bytes a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskLimitBounds {
    /// The least rate that a Pod is limited to.
    pub least: Amount,
    /// The rate that its owner named.
    pub most: Amount,
}

/// The limit after `current`, by the rates of the last five minutes. One that held the Pod for all of them is
/// lifted to the owner's, because the need cannot be seen.
pub fn disk_limit(
    samples: &MinuteSamples,
    current: Amount,
    bounds: DiskLimitBounds,
    elasticity: Elasticity,
) -> Amount {
    let DiskLimitBounds { least, most } = bounds;
    if is_held(samples, current) {
        return most;
    }
    let Some(wanted) = target(samples, Trend::within(samples, current), elasticity) else {
        return current.min(most);
    };
    let used = above(samples.highest(), ABOVE_SAMPLE);
    let kept = Amount::new(most.get() / KEPT);
    let goal = wanted.max(used).max(kept).max(least).min(most);
    let mut step = LimitStepRange::around(current);
    step.reach(used);
    step.towards(goal).min(most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MI: u64 = 1 << 20;
    const BOUNDS: DiskLimitBounds = DiskLimitBounds {
        least: Amount::new(MI),
        most: Amount::new(100 * MI),
    };

    /// The limit in MiB/s after one of so many, by rates in MiB/s.
    fn after(current: u64, rates: [u64; 5]) -> u64 {
        let samples = MinuteSamples(rates.map(|rate| Amount::new(rate * MI)));
        let current = Amount::new(current * MI);
        disk_limit(&samples, current, BOUNDS, Elasticity::default()).get() / MI
    }

    #[test]
    fn a_limit_follows_the_use_within_its_bounds() {
        for (current, rates, expected) in [
            // (4.19) asks for 25, and one step goes to half.
            (100, [40, 35, 30, 25, 20], 50),
            (50, [40, 35, 30, 25, 20], 42),
            // (4.18): the mean of 30 times 1.2, and at least the highest and 5 %.
            (80, [20, 25, 30, 35, 40], 42),
            (30, [10, 12, 14, 16, 28], 29),
            (50, [30; 5], 50),
            // A tenth of the owner's stays.
            (12, [3, 2, 2, 1, 0], 10),
            // Held all the time.
            (20, [20, 20, 19, 20, 20], 100),
            (90, [60, 70, 80, 85, 88], 92),
            (99, [60, 70, 80, 90, 99], 100),
        ] {
            assert_eq!(after(current, rates), expected, "{current} {rates:?}");
        }
    }

    proptest! {
        #[test]
        fn it_is_never_above_the_owners_nor_below_the_use(
            current in 1..=100_u64, rates in prop::array::uniform5(0..=100_u64),
        ) {
            let limit = after(current, rates);
            prop_assert!(limit <= 100);
            let used = rates.into_iter().max().unwrap_or_default();
            let is_steady = limit == current;
            prop_assert!(limit >= used.min(99) || is_steady, "{limit}");
        }
    }
}
