//! Queries that wait for places, tenant by tenant.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::key::QueueKey;

/// `None` for Evenkeel itself.
type Tenant = Option<Arc<str>>;

/// The places of a lane, and the queries that wait for one.
#[derive(Debug)]
pub(super) struct FairLane<K> {
    places: usize,
    /// The tenants with queries that wait, in the order of their turns.
    order: VecDeque<Tenant>,
    waiting: HashMap<Tenant, VecDeque<K>>,
    taken: HashMap<Tenant, usize>,
}

impl<K: QueueKey> FairLane<K> {
    pub(super) fn new(places: usize) -> Self {
        Self {
            places,
            order: VecDeque::new(),
            waiting: HashMap::new(),
            taken: HashMap::new(),
        }
    }

    pub(super) fn wait(&mut self, key: K) {
        let tenant = key.tenant().cloned();
        let waiting = self.waiting.entry(tenant.clone()).or_default();
        if waiting.is_empty() {
            self.order.push_back(tenant);
        }
        waiting.push_back(key);
    }

    /// Takes a place for the next query; its tenant goes to the end of the line.
    pub(super) fn take(&mut self) -> Option<K> {
        if self.taken.values().sum::<usize>() >= self.places {
            return None;
        }
        let has_room = |tenant: &Tenant| {
            let share = if tenant.is_some() {
                (self.places / 2).max(1)
            } else {
                self.places
            };
            self.taken.get(tenant).is_none_or(|own| *own < share)
        };
        let turn = self.order.iter().position(has_room)?;
        let tenant = self.order.remove(turn)?;
        let waiting = self.waiting.get_mut(&tenant)?;
        let next = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&tenant);
        } else {
            self.order.push_back(tenant.clone());
        }
        *self.taken.entry(tenant).or_default() += 1;
        next
    }

    pub(super) fn give_back(&mut self, key: &K) {
        let tenant = key.tenant().cloned();
        if let Some(count) = self.taken.get_mut(&tenant) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.taken.remove(&tenant);
            }
        }
    }

    /// Drops queries that wait, and are not to be kept.
    pub(super) fn retain(&mut self, keep: impl Fn(&K) -> bool) {
        for waiting in self.waiting.values_mut() {
            waiting.retain(&keep);
        }
        self.waiting.retain(|_, waiting| !waiting.is_empty());
        let waiting = &self.waiting;
        self.order.retain(|tenant| waiting.contains_key(tenant));
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }

    /// The queries that wait of the tenant of one.
    pub(super) fn waiting_of(&self, key: &K) -> usize {
        let waiting = self.waiting.get(&key.tenant().cloned());
        waiting.map_or(0, VecDeque::len)
    }
}
