//! Capacity and load of one node.

use evenkeel_units::{Amount, Resource, Resources};

/// Values of one node, or the means of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeLoad {
    /// T; a resource with `None` takes no part in any rule.
    pub capacity: Resources<Option<Amount>>,
    /// N: the present usage, including Pods that are still starting.
    pub load: Resources<Amount>,
    /// The node's tasks wait for I/O so much that its disks are over the line, whatever their
    /// capacity.
    pub io_pressed: bool,
}

impl NodeLoad {
    /// A resource of unknown capacity is over the line.
    pub fn is_pressed(&self, resource: Resource) -> bool {
        resource == Resource::DiskIo && self.io_pressed && self.capacity[resource].is_none()
    }

    /// Takes away a Pod's usage, at most the load.
    pub(crate) fn take(&mut self, usage: &Resources<Amount>) {
        for resource in Resource::ALL {
            self.load[resource] = self.load[resource].saturating_sub(usage[resource]);
        }
    }

    /// T - N, at least 0.
    pub fn free(&self) -> Resources<Option<Amount>> {
        Resources::from_fn(|resource| {
            let capacity = self.capacity[resource]?;
            Some(capacity.saturating_sub(self.load[resource]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_of_unknown_capacity_has_no_free_amount_and_an_overfull_one_none_left() {
        let amounts = |values: [u64; 5]| Resources::new(values).map(Amount::new);
        let mut node = NodeLoad {
            capacity: amounts([1000; 5]).map(Some),
            load: amounts([0, 400, 1000, 1500, 0]),
            io_pressed: false,
        };
        node.capacity[Resource::Disk] = None;
        let free = [Some(1000), Some(600), Some(0), Some(0), None];
        assert_eq!(
            node.free(),
            Resources::new(free).map(|free| free.map(Amount::new))
        );
    }

    #[test]
    fn pressure_speaks_for_disk_io_of_unknown_capacity_alone() {
        let mut node = NodeLoad {
            io_pressed: true,
            ..NodeLoad::default()
        };
        let pressed = |node: &NodeLoad| Resource::ALL.map(|resource| node.is_pressed(resource));
        assert_eq!(pressed(&node), [false, false, false, true, false]);
        node.capacity[Resource::DiskIo] = Some(Amount::new(1));
        assert_eq!(pressed(&node), [false; 5]);
        node.capacity = Resources::default();
        node.io_pressed = false;
        assert_eq!(pressed(&node), [false; 5]);
    }
}
