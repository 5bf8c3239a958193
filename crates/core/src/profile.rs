//! Resource profiles: what a Pod leans on most, seen against what the nodes have left
//! (thesis 4.2 and 4.3), and the weights by which nodes are compared for it.
//!
//! The thesis has weights for memory but no rule that finds it; here memory is taken when no other
//! resource is dominant and its own share reaches the threshold.

mod table;
mod weights;

use std::fmt;
use std::str::FromStr;

pub use table::ProfileTable;
pub use weights::{Weights, WeightsError, judgements};

use crate::placement::NodeLoad;
use crate::units::{Amount, Ratio, Resource, Resources};

/// The five built-in profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// Leans on the processor.
    Compute,
    /// Leans on memory.
    Memory,
    /// Leans on disk reads and writes.
    Io,
    /// Leans on the network.
    Network,
    /// Leans on nothing in particular.
    Normal,
}

impl Profile {
    /// All profiles, in the order in which they are listed.
    pub const ALL: [Self; 5] = [
        Self::Compute,
        Self::Memory,
        Self::Io,
        Self::Network,
        Self::Normal,
    ];

    const fn index(self) -> usize {
        match self {
            Self::Compute => 0,
            Self::Memory => 1,
            Self::Io => 2,
            Self::Network => 3,
            Self::Normal => 4,
        }
    }

    /// The name in annotations and configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Io => "io",
            Self::Network => "network",
            Self::Normal => "normal",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A name that is none of the five built-in profiles.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown profile {0:?}: accepted are compute, memory, io, network and normal")]
pub struct UnknownProfile(pub String);

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.as_str() == text)
            .ok_or_else(|| UnknownProfile(text.to_owned()))
    }
}

/// A profile with the figures that led to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Classification {
    /// The profile.
    pub profile: Profile,
    /// R / (T - N) of each resource of known capacity (4.2); infinite where nothing is left.
    pub shares: Resources<Option<f64>>,
}

/// The resources that can be dominant, with their profiles; of equal shares the first wins (4.3).
const DOMINANT: [(Resource, Profile); 3] = [
    (Resource::Cpu, Profile::Compute),
    (Resource::DiskIo, Profile::Io),
    (Resource::NetworkIo, Profile::Network),
];

/// The profile of a Pod by the nodes' mean capacity and load (thesis 4.2, 4.3).
///
/// A resource is dominant from a share of `threshold` of what is free; the largest share among
/// cpu, disk I/O and network I/O wins. Without one of them it is memory from the same threshold,
/// else normal.
#[must_use]
pub fn classify(demand: &Resources<Amount>, mean: &NodeLoad, threshold: Ratio) -> Classification {
    let shares = Resources::from_fn(|resource| {
        mean.capacity[resource]
            .map(|capacity| share(demand[resource], capacity, mean.load[resource]))
    });
    let dominant = |resource| shares[resource].filter(|&share| share >= threshold.get());
    let mut largest: Option<(f64, Profile)> = None;
    for (resource, profile) in DOMINANT {
        if let Some(share) = dominant(resource)
            && largest.is_none_or(|(most, _)| share > most)
        {
            largest = Some((share, profile));
        }
    }
    let profile = match (largest, dominant(Resource::Memory)) {
        (Some((_, profile)), _) => profile,
        (None, Some(_)) => Profile::Memory,
        (None, None) => Profile::Normal,
    };
    Classification { profile, shares }
}

/// R / (T - N) (4.2): demanding anything of a full node is an infinite share, demanding nothing 0.
fn share(demand: Amount, capacity: Amount, load: Amount) -> f64 {
    let free = capacity.saturating_sub(load);
    if demand == Amount::ZERO {
        0.0
    } else if free == Amount::ZERO {
        f64::INFINITY
    } else {
        demand.as_f64() / free.as_f64()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn amounts(values: [u64; 5]) -> Resources<Amount> {
        Resources::new(values).map(Amount::new)
    }

    fn classified(demand: [u64; 5], load: [u64; 5]) -> Profile {
        let mean = NodeLoad {
            capacity: amounts([1000; 5]).map(Some),
            load: amounts(load),
        };
        let threshold = Ratio::share(0.15).unwrap();
        classify(&amounts(demand), &mean, threshold).profile
    }

    #[test]
    fn the_largest_dominant_share_decides() {
        // In the order cpu, memory, networkIo, diskIo, disk.
        for (demand, load, profile) in [
            ([0, 0, 0, 0, 0], [0; 5], Profile::Normal),
            ([149, 149, 149, 149, 999], [0; 5], Profile::Normal),
            ([150, 900, 0, 0, 0], [0; 5], Profile::Compute),
            ([0, 150, 149, 0, 0], [0; 5], Profile::Memory),
            ([200, 0, 300, 250, 0], [0; 5], Profile::Network),
            ([200, 0, 200, 300, 0], [0; 5], Profile::Io),
            ([200, 0, 200, 200, 0], [0; 5], Profile::Compute),
            ([0, 0, 200, 200, 0], [0; 5], Profile::Io),
            ([75, 0, 0, 0, 0], [500, 0, 0, 0, 0], Profile::Compute),
            ([1, 0, 900, 0, 0], [1000, 0, 0, 0, 0], Profile::Compute),
            ([0, 0, 900, 0, 0], [1000, 0, 0, 0, 0], Profile::Network),
            ([1, 0, 0, 1, 0], [1000, 0, 0, 2000, 0], Profile::Compute),
            ([0, 1, 0, 0, 0], [0, 1500, 0, 0, 0], Profile::Memory),
        ] {
            assert_eq!(classified(demand, load), profile, "{demand:?} on {load:?}");
        }
    }

    #[test]
    fn unknown_capacity_takes_no_part() {
        let found = classify(
            &amounts([1000; 5]),
            &NodeLoad::default(),
            Ratio::share(0.15).unwrap(),
        );
        assert_eq!(found.profile, Profile::Normal);
        assert_eq!(found.shares, Resources::default());
    }

    #[test]
    fn names_parse_back() {
        for profile in Profile::ALL {
            assert_eq!(profile.as_str().parse(), Ok(profile));
        }
        assert!("Compute".parse::<Profile>().is_err());
    }

    proptest! {
        #[test]
        fn scaling_nodes_and_pod_alike_changes_nothing(
            demand in prop::array::uniform5(0_u64..1000),
            load in prop::array::uniform5(0_u64..1200),
            factor in 1_u64..1000,
        ) {
            let scaled = |values: [u64; 5]| amounts(values.map(|value| value * factor));
            let mean = NodeLoad { capacity: scaled([1000; 5]).map(Some), load: scaled(load) };
            let threshold = Ratio::share(0.15).unwrap();
            let found = classify(&scaled(demand), &mean, threshold).profile;
            prop_assert_eq!(found, classified(demand, load));
        }
    }
}
