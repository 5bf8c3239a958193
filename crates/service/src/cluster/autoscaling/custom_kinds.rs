//! The kinds of custom resources to scale: those that the cluster serves, and those not looked up
//! yet.

use std::collections::HashSet;

use evenkeel_objects::kinds::Kind;

#[derive(Debug, Default)]
pub(crate) struct CustomKinds {
    /// The names of the kinds that discovery has not looked for yet.
    awaited: HashSet<String>,
    served: Vec<Kind>,
}

impl CustomKinds {
    /// One will be looked for.
    pub(crate) fn expect(&mut self, name: &str) {
        self.awaited.insert(name.to_owned());
    }

    /// It has been, whatever was found.
    pub(crate) fn looked_for(&mut self, name: &str) {
        self.awaited.remove(name);
    }

    pub(crate) fn serve(&mut self, kind: Kind, served: bool) {
        self.served.retain(|&one| one != kind);
        if served {
            self.served.push(kind);
        }
    }

    pub(super) fn of(&self, api_version: &str, kind: &str) -> Option<Kind> {
        let mut served = self.served.iter().copied();
        served.find(|one| one.is(api_version, kind))
    }

    /// True once all have been looked for, and those that there are listed.
    pub(super) fn are_known(&self, listed: impl Fn(&Kind) -> bool) -> bool {
        self.awaited.is_empty() && self.served.iter().all(listed)
    }
}
