//! The preferred node terms of a Pod, by which kube-scheduler follows the score labels. NodeAffinity
//! adds the weights of the terms that match a node. Each term excludes the levels up to one of them,
//! so the sum grows with the level, and a node without the label gets the full sum.

use evenkeel_objects::pod::PreferredNodeTerm;
use serde_json::{Value, json};

use super::level::ScoreLevel;
use super::shape::Shape;

/// The weight of each term, unless the Pod has terms of its own.
const WEIGHT: i32 = 25;

/// The terms in the order in which they are given up, the last one first, by the highest level that
/// each excludes. Level 0 is that of nodes without headroom, and 1 and 2 those with little
/// headroom or a low score.
const BY_IMPORTANCE: [u8; 4] = [0, 2, 3, 1];

/// A preference for nodes above a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreTerm {
    pub weight: i32,
    /// The key of the node label that the term reads.
    pub key: String,
    /// The highest level that does not match.
    above: u8,
}

impl ScoreTerm {
    /// The label values that do not match.
    pub fn excluded(&self) -> &'static [&'static str] {
        let most = usize::from(self.above) + 1;
        ScoreLevel::VALUES
            .get(..most)
            .unwrap_or(&ScoreLevel::VALUES)
    }

    /// As an element of `preferredDuringSchedulingIgnoredDuringExecution`.
    pub fn to_value(&self) -> Value {
        json!({
            "weight": self.weight,
            "preference": {"matchExpressions": [
                {"key": self.key, "operator": "NotIn", "values": self.excluded()},
            ]},
        })
    }

    fn matches(&self, label: Option<&str>) -> bool {
        label.is_none_or(|value| !self.excluded().contains(&value))
    }
}

/// The terms for a Pod of this shape. Their sum is at most half of the least weight of the Pod's
/// `own` preferred node terms; empty if that leaves no weight. NodeAffinity scales the largest sum of
/// a node to 100, so a larger share would take most of the effect of the Pod's own terms.
pub fn score_terms(shape: &Shape, own: &[PreferredNodeTerm]) -> Vec<ScoreTerm> {
    let least = own.iter().map(|term| term.weight).min();
    let most = least.map_or(WEIGHT * 4, |least| (least / 2).max(0));
    let weight = (most / 4).clamp(1, WEIGHT);
    let terms = usize::try_from(most / weight).unwrap_or_default();
    let mut terms: Vec<ScoreTerm> = BY_IMPORTANCE
        .iter()
        .take(terms)
        .map(|above| ScoreTerm {
            weight,
            key: shape.label(),
            above: *above,
        })
        .collect();
    terms.sort_by_key(|term| term.above);
    terms
}

/// The sum that kube-scheduler's NodeAffinity makes of the score terms for a node whose label has
/// this value.
pub fn node_affinity_sum(terms: &[ScoreTerm], label: Option<&str>) -> i32 {
    let matching = terms.iter().filter(|term| term.matches(label));
    matching.map(|term| term.weight).sum()
}

/// The shape in the score terms that a Pod already has.
pub fn carried_shape(terms: &[PreferredNodeTerm]) -> Option<Shape> {
    let mut keys = terms.iter().flat_map(|term| &term.keys);
    keys.find_map(|key| Shape::of_label(key))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::score_term_rules::is_score_term;

    fn shape() -> Shape {
        Shape::named("network-n3-c1").unwrap()
    }

    fn own(weights: &[i32]) -> Vec<PreferredNodeTerm> {
        let term = |weight: &i32| PreferredNodeTerm {
            weight: *weight,
            keys: vec!["zone".to_owned()],
        };
        weights.iter().map(term).collect()
    }

    fn sums(terms: &[ScoreTerm]) -> [i32; 5] {
        ScoreLevel::VALUES.map(|value| node_affinity_sum(terms, Some(value)))
    }

    #[test]
    fn the_four_terms_are_those_that_were_measured() {
        let terms = score_terms(&shape(), &[]);
        let key = "score.evenkeel.dev/network-n3-c1";
        let expected = [
            json!(["0"]),
            json!(["0", "1"]),
            json!(["0", "1", "2"]),
            json!(["0", "1", "2", "3"]),
        ];
        let expected = expected.map(|values| {
            json!({"weight": 25, "preference": {"matchExpressions": [
                {"key": key, "operator": "NotIn", "values": values}]}})
        });
        let found: Vec<Value> = terms.iter().map(ScoreTerm::to_value).collect();
        assert_eq!(found, expected);
        assert_eq!(sums(&terms), [0, 25, 50, 75, 100]);
        assert_eq!(node_affinity_sum(&terms, None), 100, "an unlabelled node");
    }

    #[test]
    fn terms_stay_below_those_of_the_pod_itself() {
        for (weights, expected) in [
            (&[100][..], [0, 12, 24, 36, 48]),
            (&[50, 100], [0, 6, 12, 18, 24]),
            (&[8], [0, 1, 2, 3, 4]),
            (&[6], [0, 1, 1, 2, 3]),
            (&[5], [0, 1, 1, 2, 2]),
            (&[3], [0, 1, 1, 1, 1]),
            (&[2], [0, 1, 1, 1, 1]),
            (&[80, 1], [0; 5]),
            (&[0], [0; 5]),
            (&[i32::MIN], [0; 5]),
        ] {
            assert_eq!(
                sums(&score_terms(&shape(), &own(weights))),
                expected,
                "{weights:?}"
            );
        }
    }

    #[test]
    fn given_terms_are_recognised() {
        let mut terms = own(&[5]);
        assert_eq!(
            (carried_shape(&terms), terms.iter().any(is_score_term)),
            (None, false)
        );
        terms.extend(own(&[25]));
        terms[1].keys = vec!["score.evenkeel.dev/network-n3-c1".to_owned()];
        assert_eq!(
            (carried_shape(&terms), terms.iter().any(is_score_term)),
            (Some(shape()), true)
        );
        terms[1].keys = vec!["score.evenkeel.dev/-x0".to_owned()];
        assert!(terms.iter().any(is_score_term));
    }

    proptest! {
        #[test]
        fn no_sum_reaches_a_weight_of_the_pod(weights in prop::collection::vec(1_i32..=100, 1..5)) {
            let least = weights.iter().copied().min().unwrap();
            let found = sums(&score_terms(&shape(), &own(&weights)));
            prop_assert!(found.is_sorted());
            prop_assert!(found[4] * 2 <= least);
            prop_assert_eq!(found[4] == 0, least == 1);
        }
    }
}
