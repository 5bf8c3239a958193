//! Questions that wait for places, namespace by namespace.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::metrics::target_queries::question::TargetQuery;

/// The questions of a lane.
#[derive(Debug)]
pub(super) struct TargetQueryLane<Q> {
    places: usize,
    /// The namespaces with questions that wait, in the order of their turns.
    order: VecDeque<Arc<str>>,
    waiting: HashMap<Arc<str>, VecDeque<Q>>,
    under_way: HashMap<Arc<str>, usize>,
}

impl<Q: TargetQuery> TargetQueryLane<Q> {
    pub(super) fn new(places: usize) -> Self {
        Self {
            places,
            order: VecDeque::new(),
            waiting: HashMap::new(),
            under_way: HashMap::new(),
        }
    }

    pub(super) fn wait(&mut self, question: Q) {
        let namespace = Arc::clone(question.namespace());
        let waiting = self.waiting.entry(Arc::clone(&namespace)).or_default();
        if waiting.is_empty() {
            self.order.push_back(namespace);
        }
        waiting.push_back(question);
    }

    /// Takes a place for the next question.
    pub(super) fn take(&mut self) -> Option<Q> {
        let taken: usize = self.under_way.values().sum();
        if taken >= self.places {
            return None;
        }
        let share = self.places / 2;
        let has_room = |namespace: &Arc<str>| {
            let own = self.under_way.get(namespace).copied().unwrap_or(0);
            own < share
        };
        let place = self.order.iter().position(has_room)?;
        let namespace = self.order.remove(place)?;
        let waiting = self.waiting.get_mut(&namespace)?;
        let question = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&namespace);
        } else {
            self.order.push_back(Arc::clone(&namespace));
        }
        *self.under_way.entry(namespace).or_default() += 1;
        question
    }

    /// Gives a place of a namespace back.
    pub(super) fn end(&mut self, namespace: &Arc<str>) {
        if let Some(count) = self.under_way.get_mut(namespace) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.under_way.remove(namespace);
            }
        }
    }
}
