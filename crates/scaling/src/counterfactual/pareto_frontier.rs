//! The cost of a way of scaling, and its worth beside its fair rival: the plain HPA with a lower
//! target, which buys safety with replicas too.
//!
//! The costs of the plain HPA at several targets are its [`ParetoFrontier`]. Any other way of
//! scaling is compared with the point that has as many replica-hours. Between two targets, the
//! logarithm of the seconds plus [`TICK_SECONDS`] is linear in the logarithm of the replica-hours:
//! violations fall by about the same share with each further share of replicas.

use evenkeel_hpa::Settings;

use crate::load::hpa_aware::PodCapacity;

/// The seconds that are added on both sides of a ratio, so that no second against none is 1, and a few
/// against none are no infinity: one sync of an HPA, below which a difference says nothing.
pub(crate) const TICK_SECONDS: f64 = 15.0;

/// The load over the target from which on ready Pods are under-provisioned: the default tolerance of HPAs, within
/// which an HPA adds no Pod.
const TOLERATED: f64 = 1.0 + Settings::DEFAULT.tolerance;

/// True if a load is more than target and default tolerance of an HPA allow for so many ready Pods. This is the one
/// definition of under-provisioned: costs of runs, the gate of floors, their risk and `dev` all count by it.
pub fn is_under_provisioned(load: f64, ready: i32, capacity: PodCapacity) -> bool {
    load > f64::from(ready) * (capacity.request() * capacity.target()) * TOLERATED
}

/// The same where more Pods were allowed, so that a floor could have brought them.
pub(crate) fn is_avoidably_under_provisioned(
    load: f64,
    ready: i32,
    capacity: PodCapacity,
    most: i32,
) -> bool {
    ready < most && is_under_provisioned(load, ready, capacity)
}

/// The costs of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Seconds in which the ready Pods were under-provisioned ([`is_under_provisioned`]).
    pub under_provisioned_seconds: f64,
    /// Seconds in which they carried more than they request.
    pub overloaded_seconds: f64,
    /// Replicas added over time, those that start included.
    pub replica_hours: f64,
}

impl Cost {
    /// The part of it that came after it was `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            under_provisioned_seconds: self.under_provisioned_seconds
                - before.under_provisioned_seconds,
            overloaded_seconds: self.overloaded_seconds - before.overloaded_seconds,
            replica_hours: self.replica_hours - before.replica_hours,
        }
    }
}

/// The costs of the plain HPA at several targets.
#[derive(Debug, Clone, PartialEq)]
pub struct ParetoFrontier {
    /// In the order of replica-hours, each of which there is once.
    points: Vec<Cost>,
}

/// Where replica-hours lie on a frontier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontierPosition {
    /// Fewer than the plain HPA has at any of the targets: it is held against the one with the fewest,
    /// which had more to spend.
    Below,
    /// Among those of the plain HPA.
    Inside,
    /// More than the plain HPA has at any of the targets: there is nothing to hold it against.
    Above,
}

/// Seconds as shares of those of the plain HPA at as many replica-hours; below 1 is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostRatios {
    pub under_provisioned: f64,
    pub overloaded: f64,
}

/// One run beside the frontier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrontierComparison {
    pub place: FrontierPosition,
    /// `None` [`FrontierPosition::Above`] the frontier.
    pub ratios: Option<CostRatios>,
}

impl ParetoFrontier {
    /// The frontier through the costs of the plain HPA at several targets; `None` without any. Of
    /// several with the same replica-hours the fewest seconds count.
    pub fn new(mut points: Vec<Cost>) -> Option<Self> {
        points.sort_by(|a, b| a.replica_hours.total_cmp(&b.replica_hours));
        points.dedup_by(|next, kept| {
            let same = next.replica_hours.total_cmp(&kept.replica_hours).is_eq();
            if same {
                let fewer = |a: f64, b: f64| a.min(b);
                kept.under_provisioned_seconds = fewer(
                    kept.under_provisioned_seconds,
                    next.under_provisioned_seconds,
                );
                kept.overloaded_seconds = fewer(kept.overloaded_seconds, next.overloaded_seconds);
            }
            same
        });
        (!points.is_empty()).then_some(Self { points })
    }

    /// A run beside the plain HPA with as many replica-hours.
    pub fn compare(&self, cost: &Cost) -> FrontierComparison {
        let (place, rival) = self.at(cost.replica_hours);
        let ratio = |own: f64, rival: f64| (own + TICK_SECONDS) / (rival + TICK_SECONDS);
        let ratios = rival.map(|rival| CostRatios {
            under_provisioned: ratio(
                cost.under_provisioned_seconds,
                rival.under_provisioned_seconds,
            ),
            overloaded: ratio(cost.overloaded_seconds, rival.overloaded_seconds),
        });
        FrontierComparison { place, ratios }
    }

    /// The plain HPA at so many replica-hours, as far as it can be told.
    fn at(&self, replica_hours: f64) -> (FrontierPosition, Option<Cost>) {
        let (first, last) = match &self.points[..] {
            [] => return (FrontierPosition::Above, None),
            [first, .., last] => (first, last),
            [only] => (only, only),
        };
        if replica_hours < first.replica_hours {
            return (FrontierPosition::Below, Some(*first));
        }
        if replica_hours > last.replica_hours {
            return (FrontierPosition::Above, None);
        }
        let mut pairs = self.points.windows(2);
        let between = pairs.find(|pair| replica_hours <= pair[1].replica_hours);
        let rival = between.map_or(*last, |pair| between_two(&pair[0], &pair[1], replica_hours));
        (FrontierPosition::Inside, Some(rival))
    }
}

/// The costs between those of two targets.
fn between_two(left: &Cost, right: &Cost, replica_hours: f64) -> Cost {
    let span = (right.replica_hours / left.replica_hours).ln();
    let share = (replica_hours / left.replica_hours).ln() / span;
    // Replica-hours of zero have no logarithm.
    let share = if share.is_finite() { share } else { 1.0 };
    let seconds = |left: f64, right: f64| {
        let (left, right) = ((left + TICK_SECONDS).ln(), (right + TICK_SECONDS).ln());
        (left + (right - left) * share).exp() - TICK_SECONDS
    };
    Cost {
        under_provisioned_seconds: seconds(
            left.under_provisioned_seconds,
            right.under_provisioned_seconds,
        ),
        overloaded_seconds: seconds(left.overloaded_seconds, right.overloaded_seconds),
        replica_hours,
    }
}

/// The geometric mean of ratios; `None` without any.
pub fn mean_ratios(ratios: &[CostRatios]) -> Option<CostRatios> {
    let mean = |of: fn(&CostRatios) -> f64| geometric_mean(ratios.iter().map(of));
    Some(CostRatios {
        under_provisioned: mean(|one| one.under_provisioned)?,
        overloaded: mean(|one| one.overloaded)?,
    })
}

/// The geometric mean of costs; `None` without any. To seconds, of which there may be none,
/// [`TICK_SECONDS`] are added before and taken away after.
pub fn mean_cost(costs: &[Cost]) -> Option<Cost> {
    let seconds = |of: fn(&Cost) -> f64| {
        let mean = geometric_mean(costs.iter().map(|cost| of(cost) + TICK_SECONDS))?;
        Some((mean - TICK_SECONDS).max(0.0))
    };
    Some(Cost {
        under_provisioned_seconds: seconds(|cost| cost.under_provisioned_seconds)?,
        overloaded_seconds: seconds(|cost| cost.overloaded_seconds)?,
        replica_hours: geometric_mean(costs.iter().map(|cost| cost.replica_hours))?,
    })
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| {
        (sum + value.ln(), count + 1.0)
    });
    (count > 0.0).then(|| (sum / count).exp())
}

#[cfg(test)]
mod tests {
    use evenkeel_units::Ratio;

    use super::*;

    #[test]
    fn pods_are_under_provisioned_above_the_target_and_its_tolerance() {
        let capacity = PodCapacity::new(500.0, Ratio::share(0.6).unwrap()).unwrap();
        for (load, ready, most, expected) in [
            (0.0, 0, 4, [false, false]),
            (1.0, 0, 4, [true, true]),
            (990.0, 3, 4, [false, false]),
            (991.0, 3, 4, [true, true]),
            // Every Pod that is allowed is there.
            (991.0, 3, 3, [true, false]),
            // Below what they request, and above the target all the same.
            (1499.0, 3, 4, [true, true]),
        ] {
            let found = [
                is_under_provisioned(load, ready, capacity),
                is_avoidably_under_provisioned(load, ready, capacity, most),
            ];
            assert_eq!(found, expected, "{load} {ready} {most}");
        }
    }

    fn cost(replica_hours: f64, under: f64, over: f64) -> Cost {
        Cost {
            under_provisioned_seconds: under,
            overloaded_seconds: over,
            replica_hours,
        }
    }

    fn frontier() -> ParetoFrontier {
        // In no order, on a line in logarithms: a quarter of the seconds for twice the hours.
        let points = [
            cost(200.0, 400.0 - 15.0, 25.0 - 15.0),
            cost(100.0, 1600.0 - 15.0, 100.0 - 15.0),
            cost(400.0, 100.0 - 15.0, 25.0 - 15.0),
        ];
        ParetoFrontier::new(points.to_vec()).unwrap()
    }

    fn ratios(under_provisioned: f64, overloaded: f64) -> CostRatios {
        CostRatios {
            under_provisioned,
            overloaded,
        }
    }

    fn close(got: Option<CostRatios>, want: CostRatios) {
        let got = got.unwrap();
        let near = |got: f64, want: f64| (got - want).abs() < 1e-9;
        assert!(
            near(got.under_provisioned, want.under_provisioned)
                && near(got.overloaded, want.overloaded),
            "{got:?} {want:?}"
        );
    }

    #[test]
    fn a_run_is_held_against_as_many_replica_hours() {
        let between = 100.0 * 2_f64.sqrt();
        for (given, want) in [
            (cost(100.0, 1585.0, 85.0), ratios(1.0, 1.0)),
            (cost(100.0, 785.0, 10.0), ratios(0.5, 0.25)),
            (cost(between, 785.0, 35.0), ratios(1.0, 1.0)),
            (cost(between, 385.0, 85.0), ratios(0.5, 2.0)),
            (cost(400.0, 0.0, 0.0), ratios(0.15, 0.6)),
        ] {
            let compared = frontier().compare(&given);
            assert_eq!(compared.place, FrontierPosition::Inside, "{given:?}");
            close(compared.ratios, want);
        }
    }

    #[test]
    fn beyond_the_frontier_nothing_is_extrapolated() {
        let more = frontier().compare(&cost(400.1, 0.0, 0.0));
        assert_eq!((more.place, more.ratios), (FrontierPosition::Above, None));
        let fewer = frontier().compare(&cost(90.0, 785.0, 85.0));
        assert_eq!(fewer.place, FrontierPosition::Below);
        close(fewer.ratios, ratios(0.5, 1.0));
        assert_eq!(ParetoFrontier::new(Vec::new()), None);
    }

    #[test]
    fn of_equal_replica_hours_the_fewest_seconds_are_the_rival() {
        let flat = [cost(50.0, 30.0, 45.0), cost(50.0, 45.0, 30.0)];
        let flat = ParetoFrontier::new(flat.to_vec()).unwrap();
        close(
            flat.compare(&cost(50.0, 30.0, 75.0)).ratios,
            ratios(1.0, 2.0),
        );
        let none = [cost(0.0, 30.0, 30.0), cost(1.0, 0.0, 0.0)];
        let none = ParetoFrontier::new(none.to_vec()).unwrap();
        let compared = none.compare(&cost(0.5, 15.0, 0.0));
        close(compared.ratios, ratios(2.0, 1.0));
    }

    #[test]
    fn means_are_geometric_and_bear_zeros() {
        let mean = mean_ratios(&[ratios(0.5, 1.0), ratios(2.0, 0.25)]);
        close(mean, ratios(1.0, 0.5));
        assert_eq!(mean_ratios(&[]), None);
        let costs = [cost(10.0, 0.0, 0.0), cost(40.0, 225.0, 0.0)];
        let mean = mean_cost(&costs).unwrap();
        assert!((mean.replica_hours - 20.0).abs() < 1e-9);
        assert!((mean.under_provisioned_seconds - 45.0).abs() < 1e-9);
        assert!(mean.overloaded_seconds.abs() < 1e-9);
        assert_eq!(mean_cost(&[]), None);
    }
}
