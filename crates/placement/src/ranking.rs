//! Turns exact scores into the integers of kube-scheduler, and predicts the node that it will pick.
//! kube-scheduler adds sums of its own and breaks ties by chance, which other programs do not see.
//! If a Pod counts on the wrong one of two equals, the next Pod goes to the node that just got one.
//! So ties are broken here: the best node stands one point above all others. The caller gives the
//! order of equals: that of kube-scheduler's own plugins, so that both agree.

use super::balance;

/// Smaller differences are rounding errors.
const EQUAL: f64 = 1e-9;

/// The share of the significant difference within which nodes are alike to a Pod known only by its
/// requests: the one of ten points by which the best node is raised anyway. Smaller differences of
/// measurements say less about where such Pods have gone than requests do.
pub const ALIKE: f64 = 0.1;

/// In the order of the nodes asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranking {
    /// 0 to 10; no other node has the best one's.
    pub scores: Vec<u8>,
    /// Where the Pod will most likely go.
    pub best: Option<usize>,
    /// The others within one point of the best, where it may go as well.
    pub near: Vec<usize>,
}

/// Ranks nodes by exact scores, 0 to 10; an unknown node has none, and gets 0.
///
/// Among nodes at most `alike` below the best score, the least `order` is the best; it should
/// differ for all. The best node's wire score is at least one, so that it stands above the others.
/// others.
pub fn rank<K: Ord>(exact: &[Option<f64>], alike: f64, order: impl Fn(usize) -> K) -> Ranking {
    let known = || {
        exact
            .iter()
            .enumerate()
            .filter_map(|(at, score)| Some((at, (*score)?)))
    };
    let Some(most) = known().map(|(_, score)| score).max_by(f64::total_cmp) else {
        return Ranking {
            scores: vec![0; exact.len()],
            ..Ranking::default()
        };
    };
    let alike = alike.max(EQUAL);
    let equals = known().filter(|(_, score)| most - score <= alike);
    let best = equals.map(|(at, _)| at).min_by_key(|&at| order(at));
    let top = balance::to_wire(most).max(1);
    let scores: Vec<u8> = exact
        .iter()
        .enumerate()
        .map(|(at, score)| match score {
            Some(_) if Some(at) == best => top,
            Some(score) => balance::to_wire(*score).min(top - 1),
            None => 0,
        })
        .collect();
    let near = known().map(|(at, _)| at);
    let near = near.filter(|&at| Some(at) != best && scores.get(at) == Some(&(top - 1)));
    Ranking {
        near: near.collect(),
        scores,
        best,
    }
}

/// For a Pod without any known demand: equals stay equal, and the in-tree plugins decide.
pub fn without_lead(exact: &[Option<f64>]) -> Ranking {
    let scores = exact.iter().map(|score| score.map_or(0, balance::to_wire));
    Ranking {
        scores: scores.collect(),
        ..Ranking::default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use evenkeel_units::fnv::fnv1a;
    use proptest::prelude::*;

    use super::*;

    const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

    fn ranked(exact: &[Option<f64>], uid: &str) -> Ranking {
        rank(exact, 0.0, |at| by_chance(uid, NAMES[at]))
    }

    fn by_chance(uid: &str, name: &str) -> u64 {
        fnv1a(format!("{uid}/{name}").as_bytes())
    }

    #[test]
    fn the_best_stands_one_point_above_the_others_and_those_within_it_are_near() {
        for (exact, scores, best, near) in [
            (
                vec![Some(9.6), Some(10.0), Some(9.4), Some(8.4)],
                vec![9, 10, 9, 8],
                Some(1),
                vec![0, 2],
            ),
            (
                vec![None, Some(4.0), Some(10.0)],
                vec![0, 4, 10],
                Some(2),
                vec![],
            ),
            (vec![Some(7.3), Some(6.8)], vec![7, 6], Some(0), vec![1]),
            (vec![Some(0.2), Some(0.1)], vec![1, 0], Some(0), vec![1]),
            (vec![Some(10.0)], vec![10], Some(0), vec![]),
            (vec![None, None], vec![0, 0], None, vec![]),
            (vec![], vec![], None, vec![]),
        ] {
            let expected = Ranking { scores, best, near };
            assert_eq!(ranked(&exact, "1"), expected, "{exact:?}");
        }
    }

    #[test]
    fn of_equals_each_is_the_best_for_some_pods_and_the_same_one_for_the_same_pod() {
        let exact = [Some(10.0), Some(10.0), Some(10.0)];
        let best = |pod: usize| ranked(&exact, &pod.to_string()).best;
        let found: BTreeSet<_> = (0..40).filter_map(best).collect();
        assert_eq!(found, BTreeSet::from([0, 1, 2]));
        for pod in 0..40 {
            assert_eq!(best(pod), best(pod));
        }
        let turned = rank(&exact, 0.0, |at| by_chance("7", ["c", "a", "b"][at]));
        let turned = turned.best.unwrap();
        let there = ranked(&exact, "7").best.unwrap();
        assert_eq!(["c", "a", "b"][turned], NAMES[there], "whatever the order");
    }

    #[test]
    fn of_equals_the_first_in_order_is_the_best() {
        let exact = [Some(10.0), Some(10.0), Some(9.9), Some(10.0)];
        for (order, best) in [([1, 2, 0, 3], 0), ([3, 1, 0, 2], 1), ([3, 2, 0, 1], 3)] {
            assert_eq!(rank(&exact, 0.0, |at| order[at]).best, Some(best));
        }
    }

    #[test]
    fn of_those_that_are_alike_the_first_in_order_is_the_best_and_stands_above_them() {
        let exact = [Some(10.0), Some(9.8), Some(8.9), Some(7.0)];
        for (alike, best, scores) in [
            (0.0, 0, [10, 9, 9, 7]),
            (0.5, 1, [9, 10, 9, 7]),
            (1.5, 2, [9, 9, 10, 7]),
            (10.0, 3, [9, 9, 9, 10]),
        ] {
            let found = rank(&exact, alike, |at| 4 - at);
            assert_eq!(
                (found.best, &*found.scores),
                (Some(best), &scores[..]),
                "{alike}"
            );
        }
    }

    #[test]
    fn a_pod_without_a_demand_leaves_equals_equal() {
        let found = without_lead(&[Some(10.0), None, Some(10.0)]);
        assert_eq!((found.scores, found.best), (vec![10, 0, 10], None));
        assert!(found.near.is_empty());
    }

    proptest! {
        #[test]
        fn the_highest_score_is_given_once_and_the_order_is_kept(
            exact in prop::collection::vec(prop::option::of(0.0..=10.0), 1..5), pod in any::<u64>(),
        ) {
            let found = ranked(&exact, &pod.to_string());
            if let Some(best) = found.best {
                let top = found.scores[best];
                for (at, score) in exact.iter().enumerate() {
                    prop_assert!(at == best || found.scores[at] < top);
                    prop_assert!(score.is_some() || found.scores[at] == 0);
                    let is_below = score.is_none_or(|score| score <= exact[best].unwrap() + EQUAL);
                    prop_assert!(is_below);
                }
            } else {
                prop_assert!(exact.iter().all(Option::is_none));
            }
        }
    }
}
