//! Objects whose writes failed: they are left alone for a while, so that an object that refuses its
//! write is not asked every second.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use crate::object_ref::ObjectRef;

/// The time for which an object is left alone.
const REST: SignedDuration = SignedDuration::from_mins(1);

/// The objects that are left alone, each with the time of its failure.
#[derive(Debug, Default)]
pub struct FailedWrites(HashMap<ObjectRef, Timestamp>);

impl FailedWrites {
    /// Remembers objects whose writes failed, and forgets those that have rested.
    ///
    /// A failure that lies in the future, since the clock was set back, is forgotten as well.
    pub fn extend(&mut self, failed: impl IntoIterator<Item = ObjectRef>, now: Timestamp) {
        self.0
            .extend(failed.into_iter().map(|object| (object, now)));
        let rests =
            |since: Timestamp| (SignedDuration::ZERO..REST).contains(&now.duration_since(since));
        self.0.retain(|_, since| rests(*since));
    }

    /// True while the object is to be left alone.
    #[must_use]
    pub fn rests(&self, object: &ObjectRef) -> bool {
        self.0.contains_key(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kind;

    #[test]
    fn an_object_rests_for_a_minute_and_no_clock_makes_it_longer() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let (shop, api) = ("shop", "api");
        let namespace = |name| ObjectRef::of_cluster(Kind::Namespace, name);
        for (second, rests) in [(0, true), (59, true), (60, false), (-1, false)] {
            let mut failed = FailedWrites::default();
            failed.extend([namespace(shop)], at(0));
            failed.extend([], at(second));
            assert_eq!(failed.rests(&namespace(shop)), rests, "{second}");
            assert!(!failed.rests(&namespace(api)));
        }
    }
}
