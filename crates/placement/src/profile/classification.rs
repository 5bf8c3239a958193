//! The rule that finds the profile of a Pod.

use evenkeel_units::{Amount, Ratio, Resource, Resources};

use super::kind::Profile;

/// A profile with the figures that led to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Classification {
    pub profile: Profile,
    /// R / (T - N) of each resource of known capacity (`[CLBP]` (4.2)); infinite where nothing is
    /// left.
    pub shares: Resources<Option<f64>>,
}

/// The resources that can be dominant, with their profiles; of equal shares the first wins
/// (`[CLBP]` (4.3)).
const DOMINANT: [(Resource, Profile); 3] = [
    (Resource::Cpu, Profile::Compute),
    (Resource::DiskIo, Profile::Io),
    (Resource::NetworkIo, Profile::Network),
];

/// The profile of a Pod by what the median node has free, T - N (`[CLBP]` (4.2), (4.3)); `None` is
/// an unknown capacity.
///
/// A resource is dominant from a share of `threshold` of what is free; the largest share among
/// cpu, disk I/O and network I/O wins. Without one of them it is memory from the same threshold,
/// else normal.
pub fn classify(
    demand: &Resources<Amount>,
    free: &Resources<Option<Amount>>,
    threshold: Ratio,
) -> Classification {
    let shares =
        Resources::from_fn(|resource| free[resource].map(|free| share(demand[resource], free)));
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

/// R / (T - N) (`[CLBP]` (4.2)): any demand of a full node is an infinite share, no demand is 0.
fn share(demand: Amount, free: Amount) -> f64 {
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
        let free = load.map(|load: u64| 1000_u64.saturating_sub(load));
        let threshold = Ratio::share(0.15).unwrap();
        classify(&amounts(demand), &amounts(free).map(Some), threshold).profile
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
            &Resources::default(),
            Ratio::share(0.15).unwrap(),
        );
        assert_eq!(found.profile, Profile::Normal);
        assert_eq!(found.shares, Resources::default());
    }

    proptest! {
        #[test]
        fn scaling_nodes_and_pod_alike_changes_nothing(
            demand in prop::array::uniform5(0_u64..1000),
            load in prop::array::uniform5(0_u64..1200),
            factor in 1_u64..1000,
        ) {
            let scaled = |values: [u64; 5]| amounts(values.map(|value| value * factor));
            let free = scaled(load.map(|load| 1000_u64.saturating_sub(load))).map(Some);
            let threshold = Ratio::share(0.15).unwrap();
            let found = classify(&scaled(demand), &free, threshold).profile;
            prop_assert_eq!(found, classified(demand, load));
        }
    }
}
