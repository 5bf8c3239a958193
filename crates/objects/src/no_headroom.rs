//! The treatment of a Pod for which no node has headroom.

use evenkeel_units::words;

words! {
    /// The treatment of a Pod for which no node has headroom.
    pub enum NoHeadroom {
        /// It waits until a node has headroom.
        Reject = "reject",
        /// The least loaded nodes take it.
        Relax = "relax",
    }
    accepted: "reject or relax"
}
