//! The built-in profiles and their names.

use std::str::FromStr;

use evenkeel_units::words;

words! {
    /// A built-in profile: the resource that a Pod leans on most.
    pub enum Profile {
        /// Leans on the processor.
        Compute = "compute",
        /// Leans on memory.
        Memory = "memory",
        /// Leans on disk reads and writes.
        Io = "io",
        /// Leans on the network.
        Network = "network",
        /// Leans on nothing in particular.
        Normal = "normal",
    }
}

impl Profile {
    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

/// A name that is none of the five built-in profiles.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown profile {0:?}; accepted: compute, memory, io, network and normal")]
pub struct UnknownProfile(pub String);

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::named(text).ok_or_else(|| UnknownProfile(text.to_owned()))
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
