//! The components that a part of an object depends on.

use std::collections::{BTreeMap, BTreeSet};

/// The positions that components have to have.
pub(crate) type ComponentTerm = BTreeMap<&'static str, bool>;

/// One of several terms has to hold. A term without components always does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ComponentCondition(Vec<ComponentTerm>);

impl ComponentCondition {
    /// The condition that a component is on; without one, the part is always there.
    pub(crate) fn caused_by(component: Option<&'static str>) -> Self {
        let term = component.into_iter().map(|name| (name, true));
        Self(vec![term.collect()])
    }

    pub(crate) fn is_always(&self) -> bool {
        self.0.iter().any(ComponentTerm::is_empty)
    }

    /// Adds a component that has to be on or off as well.
    pub(crate) fn require(&mut self, component: &'static str, is_on: bool) {
        for term in &mut self.0 {
            term.insert(component, is_on);
        }
    }

    /// Makes it hold where the component is on, too.
    pub(crate) fn or(&mut self, component: Option<&'static str>) {
        self.0.extend(Self::caused_by(component).0);
    }

    /// Both conditions at once.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let mut terms = Vec::new();
        for one in &self.0 {
            for other in &other.0 {
                let mut both = one.clone();
                both.extend(other);
                terms.push(both);
            }
        }
        Self(terms)
    }

    /// True where it can hold only while the component is on.
    pub(crate) fn needs(&self, component: &str) -> bool {
        self.0.iter().all(|term| term.get(component) == Some(&true))
    }

    /// True where it holds with these components on and all others off.
    pub(crate) fn holds(&self, on: &BTreeSet<&'static str>) -> bool {
        let holds =
            |term: &ComponentTerm| term.iter().all(|(name, is_on)| on.contains(name) == *is_on);
        self.0.iter().any(holds)
    }

    /// The terms, of which one has to hold.
    pub(crate) fn terms(&self) -> &[ComponentTerm] {
        &self.0
    }
}
