//! What the scaling loop wants to know of single targets.

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_core::scaling::pod::PodFacts;
use evenkeel_kubernetes::metric_query::MetricQuery;

/// A question of one target.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub query: MetricQuery,
    /// The Pods whose values the target reads; none where the answer is not one by Pods.
    pub pods: Vec<Arc<PodFacts>>,
}

impl Wanted {
    /// A question of a target with these Pods.
    #[must_use]
    pub fn new(query: &MetricQuery, pods: &[Arc<PodFacts>]) -> Self {
        Self {
            query: query.clone(),
            pods: if query.is_by_pod() {
                pods.to_vec()
            } else {
                Vec::new()
            },
        }
    }
}

/// The Pods whose values are kept of each answer by Pods: those of all targets that share the question.
/// A selector may select any number of others.
#[derive(Debug, Default)]
pub(super) struct KeptPods(HashMap<MetricQuery, Vec<Arc<PodFacts>>>);

impl KeptPods {
    pub(super) fn of(wanted: &[Wanted]) -> Self {
        let mut kept: HashMap<MetricQuery, Vec<_>> = HashMap::new();
        for Wanted { query, pods } in wanted.iter().filter(|one| one.query.is_by_pod()) {
            let known = kept.entry(query.clone()).or_default();
            known.extend(pods.iter().map(Arc::clone));
        }
        Self(kept)
    }

    /// The Pods whose values are kept of the answer to a question.
    pub(super) fn get(&self, query: &MetricQuery) -> Vec<Arc<PodFacts>> {
        self.0.get(query).cloned().unwrap_or_default()
    }
}
