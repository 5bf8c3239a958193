//! Readiness of the service: named conditions, each reported by the part that knows it. Readiness
//! is computed, never waited for. A part that ends before its condition was met leaves the service
//! unready with the condition's name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The conditions of readiness; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Readiness(Arc<Mutex<BTreeMap<&'static str, bool>>>);

/// One condition, held by the part that reports it.
#[derive(Debug)]
#[must_use = "a condition that nobody reports keeps the service unready"]
pub struct ReadinessCondition {
    name: &'static str,
    readiness: Readiness,
}

impl Readiness {
    /// Adds a condition, not met yet; the name says what is so when it is met.
    pub fn condition(&self, name: &'static str) -> ReadinessCondition {
        self.lock().insert(name, false);
        ReadinessCondition {
            name,
            readiness: self.clone(),
        }
    }

    /// The conditions that are not met, in alphabetical order; none when the service is ready.
    pub fn missing(&self) -> Vec<&'static str> {
        let conditions = self.lock();
        let unmet = conditions.iter().filter(|(_, met)| !**met);
        unmet.map(|(name, _)| *name).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadinessCondition {
    pub fn met(&self) {
        self.report(true);
    }

    /// Says that the condition is not met any more.
    pub fn lost(&self) {
        self.report(false);
    }

    fn report(&self, met: bool) {
        let before = self.readiness.lock().insert(self.name, met);
        if before != Some(met) {
            tracing::info!(condition = self.name, met, "readiness condition");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_is_ready_when_every_condition_is_met() {
        let readiness = Readiness::default();
        let stores = readiness.condition("stores synced");
        let certificate = readiness.condition("certificate loaded");
        assert_eq!(readiness.missing(), ["certificate loaded", "stores synced"]);
        stores.met();
        assert_eq!(readiness.missing(), ["certificate loaded"]);
        certificate.met();
        assert!(readiness.missing().is_empty());
        stores.lost();
        assert_eq!(readiness.missing(), ["stores synced"]);
    }

    #[test]
    fn a_part_that_ends_early_leaves_its_condition_unmet() {
        let readiness = Readiness::default();
        drop(readiness.condition("stores synced"));
        assert_eq!(readiness.missing(), ["stores synced"]);
    }
}
