//! The level of a node for a shape, 0 to 4, by the extender's own score and headroom rule. A node
//! without headroom has 0. The others have 1 to 4 by rank and distance from the best, and never more
//! than the number of Pods of the shape that they have headroom for: kube-scheduler places many Pods
//! before the next levels.

use std::sync::Arc;

use evenkeel_units::{Amount, Resource, Resources, count_as_f64};

use crate::balance::{BEST, BalanceScores};
use crate::candidate_loads::scored_loads;
use crate::node_load::NodeLoad;
use crate::node_table::{Freshness, NodeSet, NodeState};
use crate::profile::Weights;
use crate::{SchedulingPolicy, balance, headroom};

use super::shape::Shape;

/// A level stays while the exact value is closer to it than this: one level, where rounding alone
/// would change it after a half.
const HYSTERESIS: f64 = 1.0;

/// Scores that differ by less are equal.
const EQUAL: f64 = 1e-9;

/// The exact value of the best node by rank, before it is cut to 4: each level has an equal share of
/// the ranks.
const BEST_VALUE: f64 = 4.5;

/// The value of a score label, 0 to 4; 4 is best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScoreLevel(u8);

impl ScoreLevel {
    /// A node without the label counts as this.
    pub const BEST: Self = Self(4);
    /// The level of a node without headroom.
    pub const WORST: Self = Self(0);
    /// All levels, from the worst, as label values.
    pub const VALUES: [&'static str; 5] = ["0", "1", "2", "3", "4"];

    /// The level with this label value.
    pub fn of_value(value: &str) -> Option<Self> {
        let at = Self::VALUES.iter().position(|one| *one == value)?;
        u8::try_from(at).ok().map(Self)
    }

    pub fn value(self) -> &'static str {
        Self::VALUES
            .get(usize::from(self.0))
            .copied()
            .unwrap_or("4")
    }

    pub const fn get(self) -> u8 {
        self.0
    }

    /// The highest level of a node beside Pods that warm up. Their peak alone brings no node to level
    /// 0, because it passes in minutes, and all nodes may have such Pods.
    fn most_beside(
        demand: &Resources<Amount>,
        node: &NodeState,
        policy: &SchedulingPolicy,
    ) -> Self {
        let lasting = Self::most_for(demand, &node.load, policy);
        let at_start = Self::most_for(demand, &node.load_at_start(), policy);
        at_start.max(lasting.min(Self(1)))
    }

    /// The Pods with this demand that a node with this load has headroom for, up to 4.
    fn most_for(demand: &Resources<Amount>, load: &NodeLoad, policy: &SchedulingPolicy) -> Self {
        let holds = |pods: &u8| {
            let all = demand.map(|one| one.saturating_mul(u64::from(*pods)));
            headroom::fits(&all, load, policy.headroom)
        };
        Self((1..=Self::BEST.0).take_while(holds).last().unwrap_or(0))
    }

    /// The level for an exact value of 0 to 4, given the level until now.
    pub fn next(before: Option<Self>, exact: f64) -> Self {
        match before {
            Some(before) if (f64::from(before.0) - exact).abs() < HYSTERESIS => before,
            _ => Self(balance::to_wire(exact).min(Self::BEST.0)),
        }
    }
}

/// The level of a node before it is rounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExactLevel {
    /// From 0 to 4, not rounded; 4 is best.
    pub value: f64,
    /// True if all resources that other nodes have were measured recently. Otherwise the value is only
    /// the number of Pods for which the node has headroom.
    pub is_measured: bool,
}

/// The schedulable nodes that are compared with each other. Those with a taint are a pool of their
/// own: an idle control plane would otherwise leave all workers alike. Nodes without a fresh
/// measurement do not change the levels of the others.
#[derive(Debug)]
pub struct ScorePools<'a>([ScorePool<'a>; 2]);

#[derive(Debug)]
struct ScorePool<'a> {
    /// The measured ones first.
    nodes: Vec<&'a NodeState>,
    /// The loads of the measured nodes, compared among themselves.
    measured: Vec<NodeLoad>,
}

impl<'a> ScorePools<'a> {
    pub fn of(nodes: &'a NodeSet) -> Self {
        Self([false, true].map(|tainted| {
            let is_in = |node: &&NodeState| node.schedulable && node.tainted == tainted;
            ScorePool::of(nodes.iter().filter(is_in))
        }))
    }

    /// The exact level of each node for a shape with this mean demand; without one, for the bound of
    /// its classes. Empty if its profile is no longer configured.
    pub fn exact_levels(
        &self,
        shape: &Shape,
        demand: Option<Resources<Amount>>,
        policy: &SchedulingPolicy,
    ) -> Vec<(Arc<str>, ExactLevel)> {
        let Some(weights) = policy.profiles.get(shape.profile()) else {
            return Vec::new();
        };
        let demand = demand.unwrap_or_else(|| shape.demand());
        let pools = self.0.iter();
        pools
            .flat_map(|pool| pool.exact_levels(&demand, weights, policy))
            .collect()
    }
}

impl<'a> ScorePool<'a> {
    fn of(nodes: impl Iterator<Item = &'a NodeState>) -> Self {
        let nodes: Vec<&NodeState> = nodes.collect();
        // A resource that no node has fresh is missing for all alike, and disk may be measured apart.
        let compared = Resources::from_fn(|resource| {
            let is_fresh = |node: &&NodeState| node.freshness[resource] == Freshness::Fresh;
            resource != Resource::Disk && nodes.iter().any(is_fresh)
        });
        let (mut nodes, unmeasured): (Vec<_>, Vec<_>) = nodes
            .into_iter()
            .partition(|node| node.has_fresh_measurement() && !node.has_lost_measurement(compared));
        let measured = scored_loads(&nodes);
        nodes.extend(unmeasured);
        Self { nodes, measured }
    }

    fn exact_levels(
        &self,
        demand: &Resources<Amount>,
        weights: &Weights,
        policy: &SchedulingPolicy,
    ) -> Vec<(Arc<str>, ExactLevel)> {
        let measured = self.measured.len();
        // The labels of unmeasured nodes only fall, so what passes in minutes must not count there.
        let room = |(at, node): (usize, &&NodeState)| {
            if at < measured {
                ScoreLevel::most_beside(demand, node, policy)
            } else {
                ScoreLevel::most_for(demand, &node.load, policy)
            }
        };
        let most: Vec<ScoreLevel> = self.nodes.iter().enumerate().map(room).collect();
        let scores = balance::scored(&self.measured, demand, weights, policy.scoring);
        let mut exact = exact_values(&scores, &most);
        let unmeasured = most.iter().skip(measured);
        exact.extend(unmeasured.map(|most| f64::from(most.0)));
        let nodes = self.nodes.iter().zip(exact).enumerate();
        let level = |(at, (node, value)): (usize, (&&NodeState, f64))| {
            let is_measured = at < measured;
            (Arc::clone(&node.name), ExactLevel { value, is_measured })
        };
        nodes.map(level).collect()
    }
}

/// The exact levels of nodes with these scores and highest levels. Among the nodes with headroom, the
/// best quarter has 4, and the others the better of two: their rank, and one level less for each
/// significant difference from the worst node of the best quarter. So almost equal nodes have almost
/// the same level, although their ranks change with each measurement.
fn exact_values(scores: &BalanceScores, most: &[ScoreLevel]) -> Vec<f64> {
    let nodes = || scores.exact.iter().zip(most);
    let with_headroom = nodes().filter(|(_, most)| **most > ScoreLevel::WORST);
    let mut ranked: Vec<f64> = with_headroom.map(|(score, _)| *score).collect();
    ranked.sort_by(f64::total_cmp);
    let others = ranked.len().saturating_sub(1);
    let good = ranked.get((3 * others).div_ceil(4)).copied();
    let good = good.unwrap_or(BEST);
    let value = |(score, most): (&f64, &ScoreLevel)| {
        if *most == ScoreLevel::WORST {
            return 0.0;
        }
        let below = ranked.partition_point(|other| *other < score - EQUAL);
        let up_to = ranked.partition_point(|other| *other <= score + EQUAL);
        let middle = count_as_f64(below + up_to.saturating_sub(1)) / 2.0;
        let by_rank = 0.5 + 4.0 * middle / count_as_f64(others.max(1));
        let by_distance = match good - score {
            short if short <= EQUAL => BEST_VALUE,
            short if scores.significant > 0.0 => BEST_VALUE - short / scores.significant,
            _ => by_rank,
        };
        let most = f64::from(most.0);
        by_rank
            .max(by_distance)
            .clamp(1.0, f64::from(ScoreLevel::BEST.0))
            .min(most)
    };
    nodes().map(value).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use evenkeel_metrics::usage::{NodeSample, UsageSample};
    use evenkeel_objects::bound_pod::BoundPod;
    use evenkeel_objects::node_facts::NodeFacts;
    use evenkeel_objects::pod_name::PodName;
    use evenkeel_units::{Amount, Resource, Resources};
    use jiff::{SignedDuration, Timestamp};
    use proptest::prelude::*;

    use super::*;
    use crate::node_table::{NodeTable, Settings};
    use crate::policy::shipped;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn exact_levels(
        shape: &Shape,
        nodes: &NodeSet,
        policy: &SchedulingPolicy,
    ) -> Vec<(Arc<str>, ExactLevel)> {
        ScorePools::of(nodes).exact_levels(shape, None, policy)
    }

    fn facts() -> NodeFacts {
        NodeFacts {
            capacity: Resources::new([Some(Amount::new(1000)); 5]),
            schedulable: true,
            ..NodeFacts::default()
        }
    }

    /// Nodes of 1000 millicores with so much of it in use; `None` if unmeasured.
    fn table(nodes: &[(&str, NodeFacts, Option<u64>)]) -> NodeTable {
        let mut table = NodeTable::new(Settings::default());
        let mut sample = UsageSample::default();
        for (name, facts, used) in nodes {
            table.apply_node(name, *facts, NOW);
            let mut row = Resources::default();
            row[Resource::Cpu] = used.map(|used| NodeSample {
                value: Amount::new(used),
                at: NOW,
                window: SignedDuration::ZERO,
            });
            sample.insert_node(*name, &row);
        }
        table.apply_sample(Arc::new(sample), NOW);
        table
    }

    fn levels(nodes: &[(&str, NodeFacts, Option<u64>)], shape: &str) -> Vec<(String, u8)> {
        let shape = Shape::named(shape).unwrap();
        let exact = exact_levels(&shape, table(nodes).nodes(), &shipped());
        let measured = exact.iter().filter(|(_, exact)| exact.is_measured);
        let mut found: Vec<(String, u8)> = measured
            .map(|(name, exact)| (name.to_string(), ScoreLevel::next(None, exact.value).get()))
            .collect();
        found.sort();
        found
    }

    #[test]
    fn score_and_headroom_make_the_level() {
        let nodes = [
            ("cool", facts(), Some(100)),
            ("full", facts(), Some(790)),
            ("hot", facts(), Some(700)),
            ("warm", facts(), Some(400)),
        ];
        let expected = [("cool", 4), ("full", 0), ("hot", 1), ("warm", 3)];
        let expected = expected.map(|(name, level)| (name.to_owned(), level));
        assert_eq!(levels(&nodes, "compute-c2"), expected);
        assert_eq!(levels(&nodes, "gone-c2"), [], "the profile is unknown");
    }

    #[test]
    fn equal_nodes_have_the_best_level_that_their_headroom_allows() {
        // A Pod of compute-c2 demands up to 64 millicores, and 800 are the line.
        for (used, level) in [(0, 4), (543, 4), (544, 3), (608, 2), (672, 1), (736, 0)] {
            let nodes = ["a", "b", "c"].map(|name| (name, facts(), Some(used)));
            let expected = ["a", "b", "c"].map(|name| (name.to_owned(), level));
            assert_eq!(levels(&nodes, "compute-c2"), expected, "{used}");
        }
    }

    #[test]
    fn pods_that_warm_up_take_room() {
        let shape = Shape::named("compute-c2").unwrap();
        let name = PodName::new("shop", "new");
        let mut new = BoundPod::on(&name, Some("a"), Resources::default());
        // The last peak is more than the room below the line.
        for (start_up, expected) in [(500, 1.0), (470, 2.0), (900, 1.0)] {
            let mut table = table(&[("a", facts(), Some(200)), ("b", facts(), Some(200))]);
            new.start_up[Resource::Cpu] = Amount::new(start_up);
            table.apply_pod("new", &new, NOW);
            let exact = exact_levels(&shape, table.nodes(), &shipped());
            let found = exact.iter().map(|(name, exact)| (&**name, exact.value));
            let expected = [("a", expected), ("b", 4.0)];
            assert_eq!(found.collect::<Vec<_>>(), expected, "{start_up}");
        }
    }

    #[test]
    fn the_label_of_an_unmeasured_node_does_not_fall_for_a_pod_that_warms_up() {
        let mut table = table(&[("a", facts(), None), ("b", facts(), Some(200))]);
        let name = PodName::new("shop", "new");
        let mut new = BoundPod::on(&name, Some("a"), Resources::default());
        new.start_up[Resource::Cpu] = Amount::new(900);
        table.apply_pod("new", &new, NOW);
        let shape = Shape::named("compute-c2").unwrap();
        let exact = exact_levels(&shape, table.nodes(), &shipped());
        let unmeasured = exact.iter().find(|(_, exact)| !exact.is_measured);
        assert_eq!(
            unmeasured.map(|(name, exact)| (&**name, exact.value)),
            Some(("a", 4.0))
        );
    }

    #[test]
    fn a_smaller_demand_leaves_room_for_more_pods() {
        let nodes = [("a", facts(), Some(700))];
        let shape = Shape::named("compute-c2").unwrap();
        let demand = Resources::new([20, 0, 0, 0, 0].map(Amount::new));
        for (demand, expected) in [(None, 1), (Some(demand), 4)] {
            let table = table(&nodes);
            let exact = ScorePools::of(table.nodes()).exact_levels(&shape, demand, &shipped());
            let level = ScoreLevel::next(None, exact[0].1.value);
            assert_eq!(level.get(), expected);
        }
    }

    #[test]
    fn levels_follow_the_rank_and_the_distance_from_the_best_quarter() {
        let most = |levels: &[u8]| {
            levels
                .iter()
                .map(|level| ScoreLevel(*level))
                .collect::<Vec<_>>()
        };
        for (exact, significant, levels, expected) in [
            (
                &[1.0, 2.0, 3.0, 4.0, 9.0][..],
                0.0,
                &[4; 5][..],
                &[1.0, 1.5, 2.5, 4.0, 4.0][..],
            ),
            // Equal nodes below the best quarter share the middle of their ranks.
            (
                &[1.0, 3.0, 3.0, 3.0, 9.0, 9.0],
                0.0,
                &[4; 6],
                &[1.0, 2.1, 2.1, 2.1, 4.0, 4.0],
            ),
            // A level less for each significant difference.
            (
                &[9.0, 9.4, 10.0],
                0.6,
                &[4; 3],
                &[4.5 - 1.0 / 0.6, 3.5, 4.0],
            ),
            (
                &[9.0, 9.4, 10.0],
                0.6,
                &[4, 2, 0],
                &[4.5 - 0.4 / 0.6, 2.0, 0.0],
            ),
            (
                &[9.99, 9.98, 10.0, 9.97, 0.0],
                0.6,
                &[4; 5],
                &[4.0, 4.0, 4.0, 4.0, 1.0],
            ),
            (&[3.0], 0.0, &[4], &[4.0]),
            (&[3.0, 3.0], 0.0, &[0, 0], &[0.0, 0.0]),
            (&[], 0.0, &[], &[]),
        ] {
            let scores = BalanceScores {
                exact: exact.to_vec(),
                significant,
            };
            let found = exact_values(&scores, &most(levels));
            let is_same = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
            assert!(
                found.len() == expected.len() && found.iter().zip(expected).all(is_same),
                "{exact:?}: {found:?}"
            );
        }
    }

    #[test]
    fn unmeasured_nodes_are_marked_and_cordoned_ones_have_no_level() {
        let cordoned = NodeFacts {
            schedulable: false,
            ..facts()
        };
        let nodes = [
            ("a", facts(), Some(500)),
            ("b", facts(), Some(600)),
            ("c", facts(), None),
            ("d", cordoned, Some(0)),
        ];
        let expected = [("a", 4), ("b", 1)];
        let expected = expected.map(|(name, level)| (name.to_owned(), level));
        assert_eq!(levels(&nodes, "compute-c1"), expected, "c does not count");
        let shape = Shape::named("compute-c1").unwrap();
        let exact = exact_levels(&shape, table(&nodes).nodes(), &shipped());
        let unmeasured: Vec<&str> = exact
            .iter()
            .filter(|(_, exact)| !exact.is_measured)
            .map(|(name, _)| &**name)
            .collect();
        assert_eq!(unmeasured, ["c"]);
    }

    /// The harm: a node that was full by network counted as idle once its network was not measured any more.
    #[test]
    fn a_node_without_a_resource_that_others_have_is_not_measured() {
        const BOTH: &[Resource] = &[Resource::Cpu, Resource::NetworkIo];
        const CPU: &[Resource] = &[Resource::Cpu];
        let sample = |nodes: &[(&str, &[Resource])], at: Timestamp| {
            let mut sample = UsageSample::default();
            for (name, resources) in nodes {
                let mut row = Resources::default();
                for resource in *resources {
                    row[*resource] = Some(NodeSample {
                        value: Amount::new(100),
                        at,
                        window: SignedDuration::ZERO,
                    });
                }
                sample.insert_node(*name, &row);
            }
            Arc::new(sample)
        };
        let later = NOW + SignedDuration::from_mins(10);
        for (after, expected) in [
            ([("a", BOTH), ("b", CPU)], &["a"][..]),
            // The source has no network of any node.
            ([("a", CPU), ("b", CPU)], &["a", "b"]),
            ([("a", BOTH), ("b", &[Resource::NetworkIo])], &["a"]),
        ] {
            let mut table = table(&[("a", facts(), None), ("b", facts(), None)]);
            table.apply_sample(sample(&[("a", BOTH), ("b", BOTH)], NOW), NOW);
            table.apply_sample(sample(&after, later), later);
            let shape = Shape::named("network-n2").unwrap();
            let exact = exact_levels(&shape, table.nodes(), &shipped());
            let measured = exact.iter().filter(|(_, exact)| exact.is_measured);
            let mut measured: Vec<&str> = measured.map(|(name, _)| &**name).collect();
            measured.sort_unstable();
            assert_eq!(measured, expected, "{after:?}");
        }
    }

    #[test]
    fn tainted_nodes_are_compared_with_each_other() {
        let tainted = NodeFacts {
            tainted: true,
            ..facts()
        };
        let nodes = [
            ("a", facts(), Some(500)),
            ("b", facts(), Some(600)),
            ("control-1", tainted, Some(10)),
            ("control-2", tainted, Some(60)),
        ];
        let expected = [("a", 4), ("b", 1), ("control-1", 4), ("control-2", 1)];
        let expected = expected.map(|(name, level)| (name.to_owned(), level));
        assert_eq!(levels(&nodes, "compute-c1"), expected);
    }

    #[test]
    fn a_level_stays_within_one_of_the_exact_value() {
        let level = |value: &str| ScoreLevel::of_value(value);
        for (before, exact, expected) in [
            (None, 2.49, "2"),
            (None, 2.5, "3"),
            (None, 4.0, "4"),
            (level("2"), 2.99, "2"),
            (level("2"), 3.0, "3"),
            (level("2"), 1.01, "2"),
            (level("2"), 1.0, "1"),
            (level("4"), 0.4, "0"),
            (level("x"), 1.2, "1"),
        ] {
            let next = ScoreLevel::next(before, exact);
            assert_eq!(next.value(), expected, "{before:?} {exact}");
        }
    }

    proptest! {
        #[test]
        fn a_node_with_less_in_use_is_never_below(used in prop::collection::vec(0_u64..1500, 1..40)) {
            let names: Vec<String> = (0..used.len()).map(|at| at.to_string()).collect();
            let nodes = names.iter().zip(&used).map(|(name, used)| (name.as_str(), facts(), Some(*used)));
            let nodes: Vec<_> = nodes.collect();
            let table = table(&nodes);
            let shape = Shape::named("compute-c3").unwrap();
            let exact = exact_levels(&shape, table.nodes(), &shipped());
            let exact: BTreeMap<Arc<str>, f64> =
                exact.into_iter().map(|(name, exact)| (name, exact.value)).collect();
            prop_assert_eq!(exact.len(), used.len());
            for (name, level) in &exact {
                prop_assert!((0.0..=4.0).contains(level));
                for (other, higher) in &exact {
                    let used = |name: &Arc<str>| used[name.parse::<usize>().unwrap()];
                    prop_assert!(used(name) > used(other) || *level >= higher - 1e-9);
                }
            }
        }

        #[test]
        fn the_next_level_is_within_one_and_settles(before in 0_usize..5, exact in 0.0..=4.0) {
            let before = ScoreLevel::of_value(ScoreLevel::VALUES[before]);
            let next = ScoreLevel::next(before, exact);
            prop_assert!((f64::from(next.get()) - exact).abs() < 1.0);
            prop_assert_eq!(ScoreLevel::next(Some(next), exact), next);
        }
    }
}
