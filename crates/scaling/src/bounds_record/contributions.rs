//! The contributions to the bounds of an object, as its record keeps them.
//!
//! Each contribution expires, so none outlives the provider that could withdraw it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::merge::recommendation::{Provider, Recommendation};

/// The longest time for which a contribution stands without being renewed.
///
/// A provider that needs more time renews its contribution. Without renewal the provider is
/// gone, such as a later version before a rollback. Six hours leave a shift of work to upgrade
/// again without a change of bounds, and end every request by the next morning.
const LONGEST: SignedDuration = SignedDuration::from_hours(6);

/// The contributions to the bounds of one object, at most one by each provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contributions(BTreeMap<Provider, Recommendation>);

impl Contributions {
    /// All contributions, ended ones among them until [`Self::expire`], in the order of their
    /// providers.
    pub fn iter(&self) -> impl Iterator<Item = &Recommendation> {
        self.0.values()
    }

    /// True if there is no contribution.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The contribution of one provider, ended or not.
    pub fn of(&self, who: &Provider) -> Option<&Recommendation> {
        self.0.get(who)
    }

    /// Replaces the provider's former contribution. A repeated one moves the end only once half
    /// of the time to the new end is over. So a request at every tick does not cause a write at
    /// every tick.
    pub fn contribute(&mut self, mut new: Recommendation, now: Timestamp) {
        new.until = Some(new.end().min(latest_end(now)));
        let old = self.0.get(&new.by);
        if !old.is_some_and(|old| old.stands_for(&new, now)) {
            self.0.insert(new.by.clone(), new);
        }
    }

    /// Removes the contribution of one provider; without one nothing changes.
    pub fn withdraw(&mut self, who: &Provider) {
        self.0.remove(who);
    }

    /// Removes the contributions that have ended at `now`, and shortens ends that are too far away:
    /// a live provider renews them.
    pub(crate) fn expire(&mut self, now: Timestamp) {
        self.0.retain(|_, contribution| contribution.counts(now));
        for contribution in self.0.values_mut() {
            contribution.until = Some(contribution.end().min(latest_end(now)));
        }
    }

    /// True where both ask for the same and differ at most in their ends.
    pub(crate) fn ask_as(&self, other: &Self) -> bool {
        let pairs = self.iter().zip(other.iter());
        self.0.len() == other.0.len() && pairs.into_iter().all(|(a, b)| a.asks_as(b))
    }
}

/// The latest end that a contribution may have at `now`.
fn latest_end(now: Timestamp) -> Timestamp {
    now.checked_add(LONGEST).unwrap_or(Timestamp::MAX)
}

impl FromIterator<Recommendation> for Contributions {
    /// Of several by one provider, the last.
    fn from_iter<I: IntoIterator<Item = Recommendation>>(all: I) -> Self {
        let named = all.into_iter().map(|one| (one.by.clone(), one));
        Self(named.collect())
    }
}

#[cfg(test)]
mod tests;
