//! The state of a Pod under a replica profile, as its label says.

/// The state of a Pod. One changes into its neighbours alone: online, cut off, standby.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PodState {
    /// It takes traffic once it is ready.
    #[default]
    Online,
    /// It runs and takes no traffic.
    Cutoff,
    /// It takes no traffic, and holds less than it asks for.
    Standby,
}

impl PodState {
    /// All states, in their order.
    pub const ALL: [Self; 3] = [Self::Online, Self::Cutoff, Self::Standby];

    /// The word in labels and Events.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Online => "Online",
            Self::Cutoff => "Cutoff",
            Self::Standby => "Standby",
        }
    }

    /// The state of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }

    /// True for a state in which a Pod takes no traffic.
    pub const fn is_off(self) -> bool {
        !matches!(self, Self::Online)
    }
}
