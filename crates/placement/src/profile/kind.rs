//! The built-in profiles and their names.

use std::fmt;
use std::str::FromStr;

/// A built-in profile: the resource that a Pod leans on most.
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

    pub(super) const fn index(self) -> usize {
        match self {
            Self::Compute => 0,
            Self::Memory => 1,
            Self::Io => 2,
            Self::Network => 3,
            Self::Normal => 4,
        }
    }

    /// The name in annotations and configuration.
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
#[error("unknown profile {0:?}; accepted: compute, memory, io, network and normal")]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for profile in Profile::ALL {
            assert_eq!(profile.as_str().parse(), Ok(profile));
        }
        assert!("Compute".parse::<Profile>().is_err());
    }
}
