//! The components that a part of an object depends on.

use std::collections::{BTreeMap, BTreeSet};

/// Required states of components.
pub(crate) type ComponentTerm = BTreeMap<&'static str, bool>;

/// One of several terms has to hold. A term without components always does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ComponentCondition(Vec<ComponentTerm>);

impl ComponentCondition {
    /// Holds while the component is on; without a component, always.
    pub(crate) fn caused_by(component: Option<&'static str>) -> Self {
        let term = component.into_iter().map(|name| (name, true));
        Self(vec![term.collect()])
    }

    pub(crate) fn is_always(&self) -> bool {
        self.0.iter().any(ComponentTerm::is_empty)
    }

    /// Requires a component to be on or off as well.
    pub(crate) fn require(&mut self, component: &'static str, is_on: bool) {
        for term in &mut self.0 {
            term.insert(component, is_on);
        }
    }

    /// Also holds while the component is on.
    pub(crate) fn or(&mut self, component: Option<&'static str>) {
        self.0.extend(Self::caused_by(component).0);
    }

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

    /// It can hold only while the component is on.
    pub(crate) fn needs(&self, component: &str) -> bool {
        self.0.iter().all(|term| term.get(component) == Some(&true))
    }

    /// With these components on and all others off.
    pub(crate) fn holds(&self, on: &BTreeSet<&'static str>) -> bool {
        let holds =
            |term: &ComponentTerm| term.iter().all(|(name, is_on)| on.contains(name) == *is_on);
        self.0.iter().any(holds)
    }

    pub(crate) fn terms(&self) -> &[ComponentTerm] {
        &self.0
    }
}
