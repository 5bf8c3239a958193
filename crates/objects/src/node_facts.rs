//! A node as its object describes it to placement.

use evenkeel_units::{Amount, Resources};
use jiff::Timestamp;

/// The facts of a node that its object tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeFacts {
    /// T of what Pods ask for, where the object or the configuration tells it: what the node can
    /// allocate.
    pub capacity: Resources<Option<Amount>>,
    /// T of what is measured of the node as a whole, the system's daemons included, where that is
    /// another: all that the node has, less its pools of huge pages.
    pub whole: Resources<Option<Amount>>,
    /// When the object was made; what was measured before was another node of the same name.
    pub created: Option<Timestamp>,
    /// True where [`Self::capacity`] for the network is only the configured default, which a
    /// measured interface speed replaces.
    pub network_is_default: bool,
    /// Ready and not cordoned.
    pub schedulable: bool,
    /// Has a taint that keeps away Pods which do not tolerate it.
    pub tainted: bool,
}
