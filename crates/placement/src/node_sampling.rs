//! The check that kube-scheduler shows all nodes that pass its own filters. With many nodes it
//! stops at a number of passing nodes by `percentageOfNodesToScore`. If it shows fewer, a hidden
//! node is no place for the Pod, however idle. The shipped configuration sets 100, so it shows all.

/// kube-scheduler looks at all of fewer nodes, and never stops before it has found as many.
const FEWEST: usize = 100;
/// The least percentage that kube-scheduler chooses by itself.
const LEAST_PERCENT: usize = 5;

/// The passing nodes at which kube-scheduler stops; by default kube-scheduler chooses the
/// percentage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodesToScore {
    percent: u8,
}

impl NodesToScore {
    pub const ALL: Self = Self { percent: 100 };

    /// Percent of the cluster's nodes; 0 leaves the choice to kube-scheduler. `None` above 100.
    pub fn new(percent: u32) -> Option<Self> {
        let percent = u8::try_from(percent).ok()?;
        (percent <= 100).then_some(Self { percent })
    }

    /// There may be more suitable nodes than the `shown` ones of `all`.
    pub fn hides(self, shown: usize, all: usize) -> bool {
        shown < all && shown >= self.stops_at(all)
    }

    /// Passing nodes that are enough among `all`.
    pub fn stops_at(self, all: usize) -> usize {
        let percent = match self.percent {
            0 => 50_usize.saturating_sub(all / 125).max(LEAST_PERCENT),
            given => usize::from(given),
        };
        if all < FEWEST {
            all
        } else {
            (all.saturating_mul(percent) / 100).max(FEWEST)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_as_large_as_kube_scheduler_makes_it() {
        for (percent, all, stops_at) in [
            (100, 5000, 5000),
            (100, 99, 99),
            (50, 99, 99),
            (50, 100, 100),
            (50, 150, 100),
            (50, 1000, 500),
            (5, 1000, 100),
            (0, 500, 230),
            (0, 5000, 500),
            (0, 10_000, 500),
        ] {
            let nodes = NodesToScore::new(percent).unwrap();
            assert_eq!(nodes.stops_at(all), stops_at, "{percent} {all}");
            assert!(!nodes.hides(stops_at - 1, all), "all that there are");
            assert_eq!(
                nodes.hides(stops_at, all),
                stops_at < all,
                "{percent} {all}"
            );
        }
        assert_eq!(NodesToScore::new(101), None);
        assert_eq!(NodesToScore::new(100), Some(NodesToScore::ALL));
    }
}
