//! The state of a Pod under a replica profile, as its label says.

use evenkeel_units::words;

words! {
    /// The state of a Pod. One changes into its neighbours alone: online, cut off, standby.
    #[derive(Default)]
    pub enum PodState {
        /// It takes traffic once it is ready.
        #[default]
        Online = "Online",
        /// It runs and takes no traffic.
        Cutoff = "Cutoff",
        /// It takes no traffic, and holds less than it asks for.
        Standby = "Standby",
    }
}

impl PodState {
    /// True for a state in which a Pod takes no traffic.
    pub const fn is_off(self) -> bool {
        !matches!(self, Self::Online)
    }
}
