//! The balance score (`[CLBP]` (4.4) to (4.11)): the evenness of the cluster with the Pod on each
//! candidate node. Scores are relative to the variance without the Pod, in closed form: placing it
//! on node j moves n Var by `d (2 q + d (1 - 1/n))`, where q is the node's distance from the mean
//! and d what the Pod adds to it. So one pass suffices, and near-equal candidates differ without a
//! subtraction of near-equal numbers.

mod departures;
mod spread;

use evenkeel_units::{Amount, Resource, Resources, words};
use serde::{Deserialize, Serialize};

use crate::node_load::NodeLoad;
use crate::profile::Weights;
pub(super) use departures::Departures;
pub(crate) use spread::BEST;
use spread::{EQUAL, Spread, extreme, normalised};

words! {
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Normalization {
        /// One normalisation of the weighted sum of variances.
        #[default]
        Joint = "joint",
        /// Each resource normalised by itself, as `[CLBP]` (4.10).
        PerResource = "per-resource",
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoringStrategy {
    pub normalization: Normalization,
    /// The difference in utilisation that counts as one. In the joint form, smaller differences get
    /// scores that differ by less than the full range, and kube-scheduler's own plugins decide. 0
    /// stretches any difference to the full range.
    pub significance: f64,
}

impl ScoringStrategy {
    /// The form of the sources: any difference counts in full.
    pub const fn pure(normalization: Normalization) -> Self {
        Self {
            normalization,
            significance: 0.0,
        }
    }
}

/// A score with the figures behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeScore {
    /// D (`[CLBP]` (4.9)): deviation of the candidates' usage with the Pod here; `None` if the
    /// node's capacity is unknown.
    pub deviation: Resources<Option<f64>>,
    /// S (`[CLBP]` (4.10)): D normalised to 0 to 10 over the candidates, 10 the most even.
    pub score: Resources<Option<f64>>,
    /// 0 to 10.
    pub total: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct BalanceScores {
    /// 0 to 10, in the order given.
    pub exact: Vec<f64>,
    /// The score difference for [`ScoringStrategy::significance`]; 0 if any difference counts.
    pub significant: f64,
}

/// [`scores`], with the score difference below which nodes are alike.
pub fn scored(
    nodes: &[NodeLoad],
    demand: &Resources<Amount>,
    weights: &Weights,
    scoring: ScoringStrategy,
) -> BalanceScores {
    match scoring.normalization {
        Normalization::Joint => joint(nodes, demand, weights, scoring.significance),
        Normalization::PerResource => BalanceScores {
            exact: per_resource(nodes, demand, weights),
            significant: 0.0,
        },
    }
}

/// The score of each node, 0 to 10, in the order given: 10 leaves the nodes most evenly used.
///
/// A resource of unknown capacity, or none, on a node keeps its spread when the Pod goes there. In
/// the per-resource form weights are renormalised over the known resources, and a node without any
/// gets 0.
pub fn scores(
    nodes: &[NodeLoad],
    demand: &Resources<Amount>,
    weights: &Weights,
    scoring: ScoringStrategy,
) -> Vec<f64> {
    scored(nodes, demand, weights, scoring).exact
}

/// [`scores`] with deviation and score per resource.
pub fn detail(
    nodes: &[NodeLoad],
    demand: &Resources<Amount>,
    weights: &Weights,
    scoring: ScoringStrategy,
) -> Vec<NodeScore> {
    let totals = scores(nodes, demand, weights, scoring);
    let blank = |total| NodeScore {
        deviation: Resources::default(),
        score: Resources::default(),
        total,
    };
    let mut details: Vec<_> = totals.into_iter().map(blank).collect();
    let mut spread = Spread::default();
    for resource in Resource::ALL {
        spread.measure(nodes, resource, demand[resource]);
        let deviations = spread.deviations();
        let scores = spread.scores(&deviations);
        let known = spread.known().zip(deviations).zip(scores);
        for (detail, ((known, deviation), score)) in details.iter_mut().zip(known) {
            detail.deviation[resource] = known.then_some(deviation);
            detail.score[resource] = known.then_some(score);
        }
    }
    details
}

/// 10 - 10 (V - Vmin) / max(Vmax - Vmin, Vref) with V = Σ w D²; common terms of all V drop out, so
/// only changes of the variances are summed.
///
/// Vref is the effect of a difference of `significance` in utilisation: placing a Pod that adds d
/// to a node q above the mean moves n D² by d (2 q + d (1 - 1/n)), so between two nodes that far
/// apart it is Σ w 2 d / n times the significance, with the mean d of the candidates.
fn joint(
    nodes: &[NodeLoad],
    demand: &Resources<Amount>,
    weights: &Weights,
    significance: f64,
) -> BalanceScores {
    let mut totals = vec![0.0; nodes.len()];
    let mut reference = 0.0;
    let mut spread = Spread::default();
    for (resource, &weight) in weights.get().iter() {
        if weight > 0.0 && demand[resource] > Amount::ZERO {
            spread.measure(nodes, resource, demand[resource]);
            reference += weight * spread.slope() * significance;
            for (total, change) in totals.iter_mut().zip(spread.changes()) {
                *total += weight * change;
            }
        }
    }
    let least = extreme(&totals, f64::INFINITY, f64::min);
    let range = extreme(&totals, f64::NEG_INFINITY, f64::max) - least;
    let range = range.max(reference);
    for total in &mut totals {
        *total = if range > EQUAL {
            normalised((*total - least) / range)
        } else {
            BEST
        };
    }
    BalanceScores {
        exact: totals,
        significant: if range > EQUAL {
            BEST * reference / range
        } else {
            0.0
        },
    }
}

/// Σ w S (`[CLBP]` (4.11)), the weights renormalised over the known resources.
fn per_resource(nodes: &[NodeLoad], demand: &Resources<Amount>, weights: &Weights) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); nodes.len()];
    let mut spread = Spread::default();
    for (resource, &weight) in weights.get().iter() {
        spread.measure(nodes, resource, demand[resource]);
        let scores = spread.scores(&spread.deviations());
        for ((sum, known), score) in sums.iter_mut().zip(spread.known()).zip(scores) {
            if known {
                sum.0 += weight * score;
                sum.1 += weight;
            }
        }
    }
    let total = |(sum, weight)| if weight > 0.0 { sum / weight } else { 0.0 };
    sums.into_iter().map(total).collect()
}

/// For the extender protocol: rounded half up, within 0 to 10.
pub(crate) fn to_wire(score: f64) -> u8 {
    let rounded = Amount::from_f64(score.clamp(0.0, BEST)).get();
    u8::try_from(rounded).unwrap_or(10)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn amounts(values: [u64; 5]) -> Resources<Amount> {
        Resources::new(values).map(Amount::new)
    }

    fn node(capacity: [u64; 5], load: [u64; 5]) -> NodeLoad {
        NodeLoad {
            capacity: amounts(capacity).map(Some),
            load: amounts(load),
            io_pressed: false,
        }
    }

    fn weights(values: [f64; 5]) -> Weights {
        Weights::new(Resources::new(values)).unwrap()
    }

    fn even() -> Weights {
        weights([0.2; 5])
    }

    const BOTH: [Normalization; 2] = [Normalization::Joint, Normalization::PerResource];

    #[test]
    fn the_protocol_takes_whole_numbers_rounded_half_up() {
        for (score, wire) in [
            (0.0, 0),
            (0.49, 0),
            (0.5, 1),
            (9.5, 10),
            (10.0, 10),
            (11.0, 10),
            (-1.0, 0),
            (f64::NAN, 0),
        ] {
            assert_eq!(to_wire(score), wire, "{score}");
        }
    }

    #[test]
    fn without_nodes_there_are_no_scores() {
        for scoring in BOTH.map(ScoringStrategy::pure) {
            assert!(scores(&[], &amounts([1; 5]), &even(), scoring).is_empty());
        }
    }

    #[test]
    fn a_perfect_fill_is_found_although_all_of_the_variance_cancels() {
        let full = node([1_000_000; 5], [700_000; 5]);
        let hole = node([1_000_000; 5], [699_993; 5]);
        let nodes = [full, hole, full];
        for scoring in BOTH.map(ScoringStrategy::pure) {
            let found = detail(&nodes, &amounts([7; 5]), &even(), scoring);
            for resource in Resource::ALL {
                assert!(found[1].deviation[resource].unwrap() < 1e-12);
            }
        }
    }

    #[test]
    fn an_unknown_capacity_leaves_the_spread_of_the_others_as_it_is() {
        let mut nodes = [
            node([100; 5], [10; 5]),
            node([100; 5], [30; 5]),
            node([100; 5], [50; 5]),
        ];
        nodes[1].capacity[Resource::Cpu] = None;
        let found = detail(
            &nodes,
            &amounts([10; 5]),
            &even(),
            ScoringStrategy::pure(Normalization::PerResource),
        );
        assert_eq!(found[1].deviation[Resource::Cpu], None);
        assert_eq!(found[1].score[Resource::Cpu], None);
        // Of cpu only 0.1 and 0.5 count, with the Pod on the first 0.2 and 0.5.
        let deviation = found[0].deviation[Resource::Cpu].unwrap();
        assert!((deviation - 0.15).abs() < 1e-12, "{deviation}");
        // The other four resources alone make the score of the node.
        let others = found[1].score[Resource::Memory].unwrap();
        assert!((found[1].total - others).abs() < 1e-9);
    }

    #[test]
    fn a_node_of_which_nothing_is_known_gets_nothing_per_resource() {
        let nodes = [node([100; 5], [10; 5]), NodeLoad::default()];
        let found = scores(
            &nodes,
            &amounts([1; 5]),
            &even(),
            ScoringStrategy::pure(Normalization::PerResource),
        );
        assert_eq!(found, [10.0, 0.0]);
    }

    #[test]
    fn nodes_that_differ_by_the_significance_differ_by_what_is_significant() {
        for (significance, used) in [
            (0.05, [10, 15, 60]),
            (0.05, [10, 15, 15]),
            (0.2, [10, 30, 60]),
        ] {
            let nodes = used.map(|used| node([100; 5], [used; 5]));
            let scoring = ScoringStrategy {
                normalization: Normalization::Joint,
                significance,
            };
            let found = scored(&nodes, &amounts([3; 5]), &even(), scoring);
            let difference = found.exact[0] - found.exact[1];
            assert!((difference - found.significant).abs() < 1e-9, "{found:?}");
            assert!(found.significant > 0.0);
        }
        let nodes = [node([100; 5], [10; 5]), node([100; 5], [60; 5])];
        for scoring in BOTH.map(ScoringStrategy::pure) {
            let found = scored(&nodes, &amounts([3; 5]), &even(), scoring);
            assert!(found.significant.abs() < 1e-12, "any difference counts");
        }
    }

    #[test]
    fn no_capacity_at_all_is_no_ratio() {
        let nodes = [node([0; 5], [10; 5]), node([100; 5], [10; 5])];
        for scoring in BOTH.map(ScoringStrategy::pure) {
            let found = scores(&nodes, &amounts([1; 5]), &even(), scoring);
            assert!(found.iter().all(|score| (0.0..=10.0).contains(score)));
        }
    }

    fn some_node() -> impl Strategy<Value = NodeLoad> {
        let capacity = prop::array::uniform5(prop::option::weighted(0.9, 100_u64..100_000));
        let load = prop::array::uniform5(0_u64..100_000);
        (capacity, load).prop_map(|(capacity, load)| NodeLoad {
            capacity: Resources::new(capacity).map(|t| t.map(Amount::new)),
            load: amounts(load),
            io_pressed: false,
        })
    }

    fn some_nodes() -> impl Strategy<Value = Vec<NodeLoad>> {
        prop::collection::vec(some_node(), 1..60)
    }

    /// `[CLBP]` (4.4) to (4.9) literally, for one resource of known capacity.
    fn deviation_as_written(nodes: &[NodeLoad], demand: f64, placed: usize) -> f64 {
        let usage = nodes.iter().enumerate().map(|(at, node)| {
            let capacity = node.capacity[Resource::Cpu].unwrap().as_f64();
            let more = if at == placed { demand } else { 0.0 };
            (node.load[Resource::Cpu].as_f64() + more) / capacity
        });
        let usage: Vec<f64> = usage.collect();
        let count: f64 = usage.iter().map(|_| 1.0).sum();
        let mean = usage.iter().sum::<f64>() / count;
        let squares: f64 = usage.iter().map(|p| (p - mean).powi(2)).sum();
        (squares / count).sqrt()
    }

    proptest! {
        #[test]
        fn scores_stay_within_bounds(
            nodes in some_nodes(), demand in prop::array::uniform5(0_u64..50_000)
        ) {
            for scoring in BOTH.map(ScoringStrategy::pure) {
                let found = scores(&nodes, &amounts(demand), &even(), scoring);
                prop_assert_eq!(found.len(), nodes.len());
                prop_assert!(found.iter().all(|score| (0.0..=10.0).contains(score)));
            }
        }

        #[test]
        fn the_order_of_nodes_does_not_matter(
            nodes in some_nodes(), demand in prop::array::uniform5(0_u64..50_000), turn: usize
        ) {
            let turn = turn % nodes.len();
            let mut turned = nodes.clone();
            turned.rotate_left(turn);
            for scoring in BOTH.map(ScoringStrategy::pure) {
                let mut expected = scores(&nodes, &amounts(demand), &even(), scoring);
                expected.rotate_left(turn);
                let found = scores(&turned, &amounts(demand), &even(), scoring);
                for (found, expected) in found.iter().zip(&expected) {
                    prop_assert!((found - expected).abs() < 1e-9, "{} {}", found, expected);
                }
            }
        }

        #[test]
        fn with_one_resource_both_normalisations_order_nodes_alike(
            nodes in some_nodes(), demand in 1_u64..50_000
        ) {
            let nodes: Vec<_> = nodes.into_iter()
                .filter(|node| node.capacity[Resource::Cpu].is_some())
                .collect();
            let cpu = weights([1.0, 0.0, 0.0, 0.0, 0.0]);
            let demand = amounts([demand, 0, 0, 0, 0]);
            let joint = scores(&nodes, &demand, &cpu, ScoringStrategy::pure(Normalization::Joint));
            let single = scores(&nodes, &demand, &cpu, ScoringStrategy::pure(Normalization::PerResource));
            for a in 0..nodes.len() {
                for b in 0..nodes.len() {
                    prop_assert!(joint[a] <= joint[b] + 1e-9 || single[a] >= single[b] - 1e-9);
                }
            }
        }

        #[test]
        fn deviations_are_those_of_the_formulas(
            loads in prop::collection::vec((100_u64..100_000, 0_u64..100_000), 1..40),
            demand in 0_u64..50_000,
        ) {
            let nodes = loads.into_iter().map(|(t, n)| node([t; 5], [n; 5]));
            let nodes: Vec<_> = nodes.collect();
            let found = detail(&nodes, &amounts([demand; 5]), &even(), ScoringStrategy::pure(Normalization::Joint));
            for (at, found) in found.iter().enumerate() {
                let demand = Amount::new(demand).as_f64();
                let expected = deviation_as_written(&nodes, demand, at);
                let deviation = found.deviation[Resource::Cpu].unwrap();
                let close = (deviation - expected).abs() <= 1e-9 * expected.max(1.0);
                prop_assert!(close, "{} {}", deviation, expected);
            }
        }
    }
}
