//! The shape of a Pod, by the same demand and profile as the extender's.

use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::pod::Pod;
use evenkeel_units::{Amount, Resources};

use super::shape::Shape;
use crate::demand::{Demand, DemandSource, demand};
use crate::node_table::NodeSet;
use crate::{SchedulingPolicy, profile};

/// The nodes and the policies by which a Pod is classified.
#[derive(Debug, Clone, Copy)]
pub struct ShapeContext<'a> {
    pub nodes: &'a NodeSet,
    pub namespace: &'a NamespacePolicy,
    pub policy: &'a SchedulingPolicy,
}

/// The shape of a Pod by its own demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemandedShape {
    pub shape: Shape,
    /// The resources of which the demand is declared, or known from other Pods of the workload. A
    /// replica that has just started does not know the others yet.
    pub known: Resources<bool>,
}

impl ShapeContext<'_> {
    /// The shape of a Pod, with the usage of its workload in the annotation that
    /// [`with_history`](crate::demand::with_history) writes. `profile` is the name of its profile, if
    /// it has one already.
    pub fn shape_of(&self, pod: &Pod, profile: Option<&str>) -> DemandedShape {
        let demand = demand(pod, self.policy.caps_as_demand);
        self.shape_for(&demand, profile, || self.nodes.median().free())
    }

    /// The same for the demand of a Pod, with `free`, the free capacity of the median node.
    pub fn shape_for(
        &self,
        demand: &Demand,
        profile: Option<&str>,
        free: impl FnOnce() -> Resources<Option<Amount>>,
    ) -> DemandedShape {
        let choice = self.policy.profiles.choose(profile, || {
            let threshold = self.policy.profile_threshold_in(self.namespace);
            profile::classify(&demand.amounts, &free(), threshold)
        });
        let is_known = |source| !matches!(source, DemandSource::Caps | DemandSource::Unknown);
        DemandedShape {
            shape: Shape::of(choice.name, &demand.assumed),
            known: demand.sources.map(is_known),
        }
    }
}

/// The shape of a new Pod, given the one that other Pods of its controller carry: that one, while no
/// class of it is too small, or more than one class too large. So all Pods of a controller mostly
/// carry the same terms, although their usage varies. A class of a resource without a known demand is
/// never too large.
pub fn steady_shape(
    wanted: DemandedShape,
    carried: Option<&Shape>,
    declared: Option<&str>,
) -> Shape {
    let DemandedShape { shape, known } = wanted;
    let is_right = |carried: &&Shape| {
        carried.covers(&shape)
            && carried.largest_difference(&shape, known) <= 1
            && declared.is_none_or(|profile| profile == carried.profile())
    };
    carried.filter(is_right).cloned().unwrap_or(shape)
}

#[cfg(test)]
mod tests {
    use evenkeel_units::Resource;

    use super::*;

    #[test]
    fn pods_of_a_controller_keep_their_shape_while_it_is_about_right() {
        for (wanted, carried, declared, expected) in [
            ("normal-n2-c2", None, None, "normal-n2-c2"),
            ("normal-n2-c2", Some("normal-n3-c2"), None, "normal-n3-c2"),
            // Another profile by the free capacity alone.
            ("network-n2-c2", Some("normal-n2-c2"), None, "normal-n2-c2"),
            (
                "network-n2-c2",
                Some("normal-n2-c2"),
                Some("network"),
                "network-n2-c2",
            ),
            // Too small, and too large.
            ("normal-n4-c2", Some("normal-n3-c2"), None, "normal-n4-c2"),
            ("normal-n2-c2", Some("normal-n4-c2"), None, "normal-n2-c2"),
            ("normal-c2", Some("normal-c2-m1"), None, "normal-c2-m1"),
        ] {
            let found = steady(wanted, Resources::from_fn(|_| true), carried, declared);
            assert_eq!(
                found,
                Shape::named(expected).unwrap(),
                "{wanted} {carried:?}"
            );
        }
    }

    #[test]
    fn without_history_the_carried_shape_counts() {
        let unknown = Resources::from_fn(|resource| resource != Resource::NetworkIo);
        for (wanted, carried, expected) in [
            ("normal-c2", "normal-n4-c2", "normal-n4-c2"),
            ("normal-c2", "network-n4-c3", "network-n4-c3"),
            // The demand of CPU is known.
            ("normal-c2", "normal-n4-c4", "normal-c2"),
            ("normal-c2", "normal-n4-c1", "normal-c2"),
        ] {
            let found = steady(wanted, unknown, Some(carried), None);
            assert_eq!(found, Shape::named(expected).unwrap(), "{wanted} {carried}");
        }
    }

    fn steady(
        wanted: &str,
        known: Resources<bool>,
        carried: Option<&str>,
        declared: Option<&str>,
    ) -> Shape {
        let shape = |name: &str| Shape::named(name).unwrap();
        let wanted = DemandedShape {
            shape: shape(wanted),
            known,
        };
        steady_shape(wanted, carried.map(shape).as_ref(), declared)
    }
}
