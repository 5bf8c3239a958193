//! The weights by the name of the profile.

use std::collections::BTreeMap;

use super::kind::Profile;
use super::weights::Weights;

/// The weights of every profile: the five built in and those that configuration adds.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileTable {
    built_in: [Weights; Profile::ALL.len()],
    own: BTreeMap<String, Weights>,
}

impl ProfileTable {
    /// The weights of a built-in profile, as configured.
    #[must_use]
    pub const fn built_in(&self, profile: Profile) -> &Weights {
        &self.built_in[profile.index()]
    }

    /// The weights of the profile `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Weights> {
        name.parse().map_or_else(
            |_| self.own.get(name),
            |profile| Some(self.built_in(profile)),
        )
    }

    /// The names of all profiles: the built-in ones, then the others sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let own = self.own.keys().map(String::as_str);
        Profile::ALL
            .iter()
            .map(|profile| profile.as_str())
            .chain(own)
    }

    /// The same table with a profile added, or the weights of one replaced.
    #[must_use]
    pub fn with(mut self, name: &str, weights: Weights) -> Self {
        if let Ok(profile) = name.parse::<Profile>() {
            self.built_in[profile.index()] = weights;
        } else {
            self.own.insert(name.to_owned(), weights);
        }
        self
    }
}

impl Default for ProfileTable {
    /// The five built-in profiles.
    fn default() -> Self {
        Self {
            built_in: Profile::ALL.map(Weights::built_in),
            own: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Resources;

    #[test]
    fn profiles_are_added_and_replaced() {
        let even = Weights::new(Resources::new([0.2; 5])).unwrap();
        let table = ProfileTable::default()
            .with("gpu", even)
            .with("normal", even);
        assert_eq!(table.get("gpu"), Some(&even));
        assert_eq!(table.built_in(Profile::Normal), &even);
        assert_eq!(table.get("io"), Some(&Weights::built_in(Profile::Io)));
        assert_eq!(table.get("other"), None);
        let names: Vec<_> = table.names().collect();
        assert_eq!(
            names,
            ["compute", "memory", "io", "network", "normal", "gpu"]
        );
        assert!(names.iter().all(|name| table.get(name).is_some()));
    }
}
