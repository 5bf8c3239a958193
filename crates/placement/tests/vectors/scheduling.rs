//! AHP and the placement rules against an independent implementation.

use std::collections::HashMap;

use evenkeel_placement::ahp::{JudgementMatrix, RandomIndex};
use evenkeel_placement::balance::{NodeScore, Normalization, ScoringStrategy, detail, scores};
use evenkeel_placement::profile::Weights;
use evenkeel_placement::{NodeLoad, headroom};
use evenkeel_units::{Amount, Ratio, Resource, Resources};
use serde::Deserialize;

use super::files;

const TOLERANCE: f64 = 1e-9;

#[derive(Deserialize)]
struct AhpCase {
    name: String,
    n: usize,
    matrix: Vec<Vec<f64>>,
    weights: Vec<f64>,
    lambda_max: f64,
    ci: f64,
    cr: HashMap<String, f64>,
    consistent_below_0_1: HashMap<String, bool>,
}

fn assert_relative(found: f64, expected: f64, what: &str) {
    // A matrix that agrees with itself has a consistency index of rounding alone.
    let bound = TOLERANCE * expected.abs() + 1e-12;
    assert!(
        (found - expected).abs() <= bound,
        "{what}: {found}, expected {expected}"
    );
}

#[test]
fn judgements_give_the_weights_and_consistency_expected() {
    for case in files::cases::<AhpCase>("scheduling/ahp") {
        let name = &case.name;
        let matrix = JudgementMatrix::new(case.matrix).expect(name);
        for (index, ratio) in &case.cr {
            let table = RandomIndex::saaty();
            let index_value: f64 = index.parse().expect(name);
            let table = if case.n > 2 {
                table.with(case.n, index_value).expect(name)
            } else {
                table
            };
            let analysis = matrix.analyse(&table);
            assert_eq!(analysis.weights.len(), case.weights.len(), "{name}");
            for (found, expected) in analysis.weights.iter().zip(&case.weights) {
                assert_relative(*found, *expected, name);
            }
            assert_relative(analysis.lambda_max, case.lambda_max, name);
            assert_relative(analysis.consistency_index, case.ci, name);
            assert_relative(analysis.consistency_ratio, *ratio, name);
            let consistent = case.consistent_below_0_1[index];
            assert_eq!(analysis.accept().is_ok(), consistent, "{name} with {index}");
        }
    }
}

#[derive(Deserialize)]
struct PlacementCase {
    name: String,
    resources: Vec<Resource5>,
    weights: Vec<f64>,
    nodes: Vec<Node>,
    request: Vec<f64>,
    expect: Expected,
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Resource5(Resource);

impl TryFrom<String> for Resource5 {
    type Error = evenkeel_units::UnknownResource;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse().map(Self)
    }
}

#[derive(Deserialize)]
struct Node {
    total: Vec<f64>,
    used: Vec<f64>,
}

#[derive(Deserialize)]
struct Expected {
    candidates: Vec<usize>,
    d: HashMap<usize, Vec<f64>>,
    s: HashMap<usize, Vec<f64>>,
    total: HashMap<usize, f64>,
    joint: HashMap<usize, f64>,
    best: Vec<usize>,
    best_joint: Vec<usize>,
}

impl PlacementCase {
    /// Amounts of the case, which are whole numbers, by resource; the others are not there.
    fn amounts(&self, values: &[f64]) -> Resources<Option<Amount>> {
        let mut amounts = Resources::default();
        for (resource, &value) in self.resources.iter().zip(values) {
            assert!(value.fract() == 0.0, "{value} is no whole number");
            amounts[resource.0] = Some(Amount::from_f64(value));
        }
        amounts
    }

    fn load(&self, node: &Node) -> NodeLoad {
        NodeLoad {
            capacity: self.amounts(&node.total),
            load: self.amounts(&node.used).map(Option::unwrap_or_default),
            io_pressed: false,
        }
    }

    fn check_details(&self, node: usize, found: &NodeScore) {
        for (at, resource) in self.resources.iter().enumerate() {
            let what = format!("{}, node {node}, {}", self.name, resource.0);
            let deviation = found.deviation[resource.0].expect(&what);
            assert_close(deviation, self.expect.d[&node][at], &what);
            let score = found.score[resource.0].expect(&what);
            assert_close(score, self.expect.s[&node][at], &what);
        }
    }
}

fn assert_close(found: f64, expected: f64, what: &str) {
    let close = (found - expected).abs() <= TOLERANCE;
    assert!(close, "{what}: {found}, expected {expected}");
}

/// The candidates within the tolerance of the largest score.
fn best(candidates: &[usize], scores: &[f64]) -> Vec<usize> {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let best = candidates
        .iter()
        .zip(scores)
        .filter(|&(_, score)| most - score <= TOLERANCE);
    best.map(|(node, _)| *node).collect()
}

#[test]
fn nodes_pass_and_score_as_expected() {
    let headroom_ratio = Ratio::share(0.8).expect("a share");
    for case in files::cases::<PlacementCase>("scheduling/clbp") {
        let name = &case.name;
        let demand = case.amounts(&case.request).map(Option::unwrap_or_default);
        let nodes: Vec<NodeLoad> = case.nodes.iter().map(|node| case.load(node)).collect();
        let fitting = nodes.iter().enumerate();
        let fitting = fitting.filter(|(_, node)| headroom::fits(&demand, node, headroom_ratio));
        let (candidates, nodes): (Vec<usize>, Vec<NodeLoad>) = fitting.unzip();
        assert_eq!(candidates, case.expect.candidates, "{name}");

        let mut weights = Resources::default();
        for (resource, &weight) in case.resources.iter().zip(&case.weights) {
            weights[resource.0] = weight;
        }
        let weights = Weights::new(weights).expect(name);
        for (normalization, totals, best_nodes) in [
            (
                Normalization::PerResource,
                &case.expect.total,
                &case.expect.best,
            ),
            (
                Normalization::Joint,
                &case.expect.joint,
                &case.expect.best_joint,
            ),
        ] {
            let scores = scores(
                &nodes,
                &demand,
                &weights,
                ScoringStrategy::pure(normalization),
            );
            for (node, score) in candidates.iter().zip(&scores) {
                assert_close(*score, totals[node], name);
            }
            assert_eq!(&best(&candidates, &scores), best_nodes, "{name}");
            let details = detail(
                &nodes,
                &demand,
                &weights,
                ScoringStrategy::pure(normalization),
            );
            for ((&node, found), score) in candidates.iter().zip(&details).zip(&scores) {
                case.check_details(node, found);
                assert_close(found.total, *score, name);
            }
        }
    }
}
