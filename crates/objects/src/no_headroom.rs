//! The treatment of a Pod for which no node has headroom.

use evenkeel_units::words;
use serde::{Deserialize, Serialize};

words! {
    /// The treatment of a Pod for which no node has headroom.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum NoHeadroom {
        /// It waits until a node has headroom.
        #[default]
        Reject = "reject",
        /// The least loaded nodes take it.
        Relax = "relax",
    }
    accepted: "reject or relax"
}
