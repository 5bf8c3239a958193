//! The weights by the name of the profile.

use std::collections::BTreeMap;

use super::classification::Classification;
use super::kind::Profile;
use super::weights::Weights;

/// The weights of every profile: the five built in and those that configuration adds.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileTable {
    built_in: [Weights; Profile::ALL.len()],
    own: BTreeMap<String, Weights>,
}

/// The profile that a Pod counts as.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfileChoice<'a> {
    pub name: &'a str,
    pub weights: &'a Weights,
    /// The classification, if the rule chose the profile; `None` for a profile chosen by name.
    pub classification: Option<Classification>,
}

impl ProfileTable {
    /// The profile of a Pod: the one that is named for it where the table has it, else that which `classify`
    /// finds.
    pub fn choose<'a>(
        &'a self,
        named: Option<&'a str>,
        classify: impl FnOnce() -> Classification,
    ) -> ProfileChoice<'a> {
        if let Some(name) = named
            && let Some(weights) = self.get(name)
        {
            return ProfileChoice {
                name,
                weights,
                classification: None,
            };
        }
        let found = classify();
        ProfileChoice {
            name: found.profile.as_str(),
            weights: self.built_in(found.profile),
            classification: Some(found),
        }
    }

    /// The weights of a built-in profile, as configured.
    pub const fn built_in(&self, profile: Profile) -> &Weights {
        &self.built_in[profile.index()]
    }

    /// The weights of the profile `name`.
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
    use evenkeel_units::Resources;

    use super::*;

    #[test]
    fn a_pod_has_the_profile_that_is_named_for_it_where_there_is_one_and_else_what_is_found() {
        let own = Weights::built_in(Profile::Io);
        let table = ProfileTable::default().with("batch", own);
        let found = Classification {
            profile: Profile::Network,
            shares: Resources::default(),
        };
        for (named, name, weights, is_found) in [
            (Some("batch"), "batch", &own, false),
            (
                Some("memory"),
                "memory",
                table.built_in(Profile::Memory),
                false,
            ),
            (
                Some("nobody's"),
                "network",
                table.built_in(Profile::Network),
                true,
            ),
            (None, "network", table.built_in(Profile::Network), true),
        ] {
            let mut asked = false;
            let choice = table.choose(named, || {
                asked = true;
                found
            });
            assert_eq!((choice.name, choice.weights), (name, weights), "{named:?}");
            assert_eq!(choice.classification, is_found.then_some(found));
            assert_eq!(
                asked, is_found,
                "what is named is not looked for: {named:?}"
            );
        }
    }

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
