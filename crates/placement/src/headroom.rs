//! The headroom rule (`[CLBP]` (4.1)): a node takes a Pod only if afterwards every resource stays
//! below the headroom ratio of its capacity, also those of which the Pod demands nothing. A
//! resource of unknown capacity takes no part, except disk I/O under so much pressure that it is
//! over the line by itself. A resource of capacity 0 takes part only for Pods that demand it, as in
//! kube-scheduler: else a node without ephemeral storage would take no Pod. Floats are compared
//! exactly as in (4.1), so that `explain` shows the deciding figures.

use evenkeel_units::{Amount, Ratio, ResourceSet, Resources};

use crate::node_load::NodeLoad;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeadroomTerm {
    /// R of the Pod.
    pub demand: Amount,
    /// N of the node.
    pub load: Amount,
    /// T of the node.
    pub capacity: Option<Amount>,
    /// h T: R + N must stay below it.
    pub limit: Option<f64>,
    /// T is unknown, and tasks wait for the resource too much.
    pub pressed: bool,
    /// The rule holds, or takes no part.
    pub fits: bool,
}

impl HeadroomTerm {
    fn new(
        demand: Amount,
        load: Amount,
        capacity: Option<Amount>,
        headroom: Ratio,
        pressed: bool,
    ) -> Self {
        let limit = capacity.map(|capacity| headroom.get() * capacity.as_f64());
        Self {
            demand,
            load,
            capacity,
            limit,
            pressed,
            fits: !pressed
                && (is_unconcerned(demand, capacity)
                    || limit.is_none_or(|limit| demand.as_f64() + load.as_f64() < limit)),
        }
    }

    /// The largest integer that stays below the limit together with the load.
    fn left(self) -> Option<Amount> {
        if self.pressed {
            return Some(Amount::ZERO);
        }
        let line = Amount::from_f64(self.limit?.ceil());
        let below = line.saturating_sub(Amount::new(1));
        Some(below.saturating_sub(self.load))
    }
}

/// The node has none of a resource and the Pod demands none.
fn is_unconcerned(demand: Amount, capacity: Option<Amount>) -> bool {
    demand == Amount::ZERO && capacity == Some(Amount::ZERO)
}

/// `R + N < h T` for every resource of known capacity (`[CLBP]` (4.1)).
pub fn fits(demand: &Resources<Amount>, node: &NodeLoad, headroom: Ratio) -> bool {
    refusing(demand, node, headroom).is_empty()
}

/// The resources for which `R + N < h T` does not hold.
pub fn refusing(demand: &Resources<Amount>, node: &NodeLoad, headroom: Ratio) -> ResourceSet {
    let mut refused = ResourceSet::NONE;
    for (resource, &demand) in demand.iter() {
        let (load, capacity) = (node.load[resource], node.capacity[resource]);
        let pressed = node.is_pressed(resource);
        let fits = HeadroomTerm::new(demand, load, capacity, headroom, pressed).fits;
        refused = refused.with(resource, !fits);
    }
    refused
}

/// For explanations; [`fits`] is their conjunction.
pub fn terms(
    demand: &Resources<Amount>,
    node: &NodeLoad,
    headroom: Ratio,
) -> Resources<HeadroomTerm> {
    Resources::from_fn(|resource| {
        HeadroomTerm::new(
            demand[resource],
            node.load[resource],
            node.capacity[resource],
            headroom,
            node.is_pressed(resource),
        )
    })
}

/// The most that can be demanded while `[CLBP]` (4.1) stays true; 0 if it is false already. `None`
/// if the resource takes no part.
pub fn left(node: &NodeLoad, headroom: Ratio) -> Resources<Option<Amount>> {
    terms(&Resources::default(), node, headroom).map(HeadroomTerm::left)
}

/// (R + N) / T of the fullest resource, which finds the least loaded node when none has headroom; a
/// resource under pressure is full. `None` if no resource has either.
pub fn fullest(demand: &Resources<Amount>, node: &NodeLoad) -> Option<f64> {
    let ratios = node.capacity.iter().filter_map(|(resource, capacity)| {
        if node.is_pressed(resource) {
            return Some(1.0);
        }
        let used = demand[resource].as_f64() + node.load[resource].as_f64();
        let known = capacity.filter(|known| !is_unconcerned(demand[resource], Some(*known)));
        let capacity = known?.as_f64();
        Some(if capacity > 0.0 {
            used / capacity
        } else {
            f64::INFINITY
        })
    });
    ratios.max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use evenkeel_units::Resource;
    use proptest::prelude::*;

    use super::*;

    const H: fn() -> Ratio = || Ratio::share(0.8).unwrap();

    fn all(value: u64) -> Resources<Amount> {
        Resources::new([Amount::new(value); 5])
    }

    fn node(capacity: u64, load: u64) -> NodeLoad {
        NodeLoad {
            capacity: all(capacity).map(Some),
            load: all(load),
            io_pressed: false,
        }
    }

    #[test]
    fn the_limit_itself_is_too_much() {
        for (demand, load, fit) in [
            (99, 700, true),
            (100, 700, false),
            (101, 700, false),
            (0, 800, false),
            (0, 799, true),
        ] {
            let found = fits(&all(demand), &node(1000, load), H());
            assert_eq!(found, fit, "{demand} + {load}");
        }
    }

    #[test]
    fn a_resource_that_the_node_has_none_of_concerns_only_pods_that_demand_it() {
        for resource in Resource::ALL {
            let mut without = node(1000, 100);
            without.capacity[resource] = Some(Amount::ZERO);
            // The node's own writes there do not concern the Pod either.
            for load in [0, 7] {
                without.load[resource] = Amount::new(load);
                assert!(fits(&all(0), &without, H()), "{resource}");
                assert_eq!(fullest(&all(0), &without), Some(0.1), "{resource}");
                let mut demand = all(0);
                demand[resource] = Amount::new(1);
                let refused = [resource].into_iter().collect();
                assert_eq!(refusing(&demand, &without, H()), refused);
                assert_eq!(fullest(&demand, &without), Some(f64::INFINITY));
                assert_eq!(left(&without, H())[resource], Some(Amount::ZERO));
            }
        }
    }

    #[test]
    fn what_is_left_ends_below_the_limit() {
        for (capacity, load, least) in [
            (1000, 700, 99),
            (1000, 799, 0),
            (1000, 800, 0),
            (1000, 900, 0),
            // Four fifths of 1001 are 800.8.
            (1001, 700, 100),
            (0, 0, 0),
        ] {
            let found = left(&node(capacity, load), H());
            assert_eq!(found, all(least).map(Some), "{load} of {capacity}");
        }
        assert_eq!(left(&NodeLoad::default(), H()), Resources::default());
    }

    #[test]
    fn only_known_capacities_take_part_and_one_is_enough_to_refuse() {
        for resource in Resource::ALL {
            let mut crowded = node(1000, 100);
            crowded.load[resource] = Amount::new(800);
            assert!(!fits(&all(0), &crowded, H()), "{resource}");
            let refused = terms(&all(0), &crowded, H());
            assert!(refused.iter().all(|(r, term)| term.fits == (r != resource)));
            crowded.capacity[resource] = None;
            assert!(fits(&all(0), &crowded, H()), "{resource}");
            assert_eq!(terms(&all(0), &crowded, H())[resource].limit, None);
        }
    }

    #[test]
    fn a_node_whose_tasks_wait_for_disks_of_unknown_capacity_takes_nothing() {
        let mut pressed = node(1000, 100);
        pressed.io_pressed = true;
        assert!(fits(&all(0), &pressed, H()), "its capacity is known");
        pressed.capacity[Resource::DiskIo] = None;
        let refused = [Resource::DiskIo].into_iter().collect();
        assert_eq!(refusing(&all(0), &pressed, H()), refused);
        let term = terms(&all(0), &pressed, H())[Resource::DiskIo];
        assert!(term.pressed && !term.fits && term.limit.is_none());
        let left = left(&pressed, H());
        assert_eq!(left[Resource::DiskIo], Some(Amount::ZERO));
        assert_eq!(left[Resource::Cpu], Some(Amount::new(699)));
        assert_eq!(fullest(&all(0), &pressed), Some(1.0));
    }

    #[test]
    fn the_fullest_resource_is_found() {
        let mut crowded = node(1000, 100);
        crowded.load[Resource::DiskIo] = Amount::new(700);
        assert_eq!(fullest(&all(50), &crowded), Some(0.75));
        crowded.capacity[Resource::DiskIo] = None;
        assert_eq!(fullest(&all(50), &crowded), Some(0.15));
        assert_eq!(fullest(&all(50), &NodeLoad::default()), None);
        assert_eq!(fullest(&all(1), &node(0, 0)), Some(f64::INFINITY));
        assert_eq!(fullest(&all(0), &node(0, 0)), None);
    }

    fn arbitrary() -> impl Strategy<Value = (Resources<Amount>, NodeLoad, Ratio)> {
        let five =
            || prop::array::uniform5(0_u64..2000).prop_map(|v| Resources::new(v).map(Amount::new));
        let some = prop::array::uniform5(prop::option::of(0_u64..3000));
        let capacity = some.prop_map(|v| Resources::new(v).map(|t| t.map(Amount::new)));
        let capacity = (capacity, any::<bool>());
        let headroom = (1_u8..=100).prop_map(|h| Ratio::share(f64::from(h) / 100.0).unwrap());
        (five(), capacity, five(), headroom).prop_map(
            |(demand, (capacity, io_pressed), load, h)| {
                let node = NodeLoad {
                    capacity,
                    load,
                    io_pressed,
                };
                (demand, node, h)
            },
        )
    }

    proptest! {
        #[test]
        fn an_overloaded_node_never_passes(
            (demand, mut node, h) in arbitrary(), at in 0_usize..5, over in 0_u64..100
        ) {
            let resource = Resource::ALL[at];
            let load = node.load[resource];
            node.capacity[resource] = Some(Amount::new(load.get().saturating_sub(over)));
            prop_assume!(!is_unconcerned(demand[resource], node.capacity[resource]));
            prop_assert!(!fits(&demand, &node, h));
        }

        #[test]
        fn more_load_never_makes_a_node_pass(
            (demand, node, h) in arbitrary(), at in 0_usize..5, more in 0_u64..100
        ) {
            let mut fuller = node;
            let resource = Resource::ALL[at];
            fuller.load[resource] = node.load[resource].saturating_add(Amount::new(more));
            prop_assert!(fits(&demand, &node, h) || !fits(&demand, &fuller, h));
        }

        #[test]
        fn what_is_left_fits_and_one_more_does_not((_, node, h) in arbitrary(), at in 0_usize..5) {
            let resource = Resource::ALL[at];
            let fits = |demand: Amount| {
                let mut demands = all(0);
                demands[resource] = demand;
                terms(&demands, &node, h)[resource].fits
            };
            match left(&node, h)[resource] {
                Some(left) => {
                    prop_assert!(fits(left) || left == Amount::ZERO);
                    prop_assert!(!fits(left.saturating_add(Amount::new(1))));
                }
                None => prop_assert!(fits(Amount::new(u64::MAX))),
            }
        }

        #[test]
        fn the_rule_is_the_conjunction_of_its_terms((demand, node, h) in arbitrary()) {
            let every = terms(&demand, &node, h).values().iter().all(|term| term.fits);
            prop_assert_eq!(fits(&demand, &node, h), every);
        }
    }
}
