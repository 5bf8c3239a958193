//! Whether a measurement may be decided on: fresh, stale, or absent.
//!
//! Three states and no fourth: decisions use fresh values, say of stale ones how old they are,
//! and estimate where nothing was ever measured.

use jiff::{SignedDuration, Timestamp};

use crate::placement::usage::UsageSample;
use crate::units::Resources;

/// How far a value can be believed at a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// Measured no longer ago than allowed.
    Fresh {
        /// The time since it was measured.
        age: SignedDuration,
    },
    /// Measured, but too long ago.
    Stale {
        /// The time since it was measured.
        age: SignedDuration,
    },
    /// Never measured.
    Absent,
}

impl Freshness {
    /// The state at `now` of a value measured at `at`. A value from the future, which a skewed
    /// clock gives, is of age zero.
    #[must_use]
    pub fn of(at: Option<Timestamp>, now: Timestamp, max_age: SignedDuration) -> Self {
        let Some(at) = at else {
            return Self::Absent;
        };
        let age = now.duration_since(at).max(SignedDuration::ZERO);
        if age <= max_age {
            Self::Fresh { age }
        } else {
            Self::Stale { age }
        }
    }

    /// Whether decisions may use the value.
    #[must_use]
    pub const fn is_fresh(self) -> bool {
        matches!(self, Self::Fresh { .. })
    }

    /// The time since the value was measured.
    #[must_use]
    pub const fn age(self) -> Option<SignedDuration> {
        match self {
            Self::Fresh { age } | Self::Stale { age } => Some(age),
            Self::Absent => None,
        }
    }

    /// The state as one word of a closed set.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fresh { .. } => "fresh",
            Self::Stale { .. } => "stale",
            Self::Absent => "absent",
        }
    }
}

/// How many nodes are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeCounts {
    /// Nodes with a fresh value.
    pub fresh: u32,
    /// Nodes whose value is too old.
    pub stale: u32,
    /// Nodes that were not measured.
    pub absent: u32,
}

/// Counts the states of the named nodes, for each resource.
#[must_use]
pub fn count_nodes<'n>(
    nodes: impl Iterator<Item = &'n str>,
    usage: &UsageSample,
    now: Timestamp,
    max_age: SignedDuration,
) -> Resources<NodeCounts> {
    let mut counts = Resources::from_fn(|_| NodeCounts::default());
    for node in nodes {
        let measured = usage.nodes.get(node).copied().unwrap_or_default();
        for (resource, measurement) in measured.iter() {
            let counts = &mut counts[resource];
            match Freshness::of(measurement.map(|m| m.at), now, max_age) {
                Freshness::Fresh { .. } => counts.fresh += 1,
                Freshness::Stale { .. } => counts.stale += 1,
                Freshness::Absent => counts.absent += 1,
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::usage::Measurement;
    use crate::units::{Amount, Resource};

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_value_is_fresh_up_to_and_including_the_age_allowed() {
        let allowed = SignedDuration::from_secs(180);
        for (at, state, age) in [
            (Some(1000), "fresh", Some(0)),
            (Some(820), "fresh", Some(180)),
            (Some(819), "stale", Some(181)),
            (Some(1005), "fresh", Some(0)),
            (None, "absent", None),
        ] {
            let freshness = Freshness::of(at.map(second), second(1000), allowed);
            assert_eq!(freshness.as_str(), state, "{at:?}");
            assert_eq!(freshness.age(), age.map(SignedDuration::from_secs));
            assert_eq!(freshness.is_fresh(), state == "fresh");
        }
    }

    #[test]
    fn nodes_are_counted_for_each_resource() {
        let measured = |at| Measurement {
            value: Amount::ZERO,
            at: second(at),
            window: SignedDuration::ZERO,
        };
        let mut usage = UsageSample::default();
        for (node, at) in [("a", 1000), ("b", 100)] {
            let mut row = Resources::default();
            row[Resource::Cpu] = Some(measured(at));
            usage.nodes.insert(node.into(), row);
        }
        let counts = count_nodes(
            ["a", "b", "c"].into_iter(),
            &usage,
            second(1000),
            SignedDuration::from_secs(180),
        );
        let one_each = NodeCounts {
            fresh: 1,
            stale: 1,
            absent: 1,
        };
        assert_eq!(counts[Resource::Cpu], one_each);
        assert_eq!(counts[Resource::Disk].absent, 3);
    }
}
