//! The key of a controller of Pods: its namespace and its UID. The author of a Pod can write any
//! UID into an owner reference. A controller is in the namespace of its Pods, so a UID from another
//! namespace matches none.

use std::fmt;
use std::sync::Arc;

use crate::meta::{Meta, OwnerReference};

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControllerKey(Arc<str>);

impl ControllerKey {
    pub fn new(namespace: &str, uid: &str) -> Self {
        Self(format!("{namespace}/{uid}").into())
    }

    /// The key of the controller that a reference names; `None` for a reference without a UID.
    pub fn of_reference(namespace: &str, controller: &OwnerReference) -> Option<Self> {
        (!controller.uid.is_empty()).then(|| Self::new(namespace, &controller.uid))
    }

    pub fn of_object(metadata: &Meta) -> Self {
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        Self::new(namespace, metadata.uid.as_deref().unwrap_or_default())
    }

    /// The UID, which may be any text.
    pub fn uid(&self) -> &str {
        // No name of a namespace has a slash.
        self.0.split_once('/').map_or("", |(_, uid)| uid)
    }
}

impl fmt::Display for ControllerKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_of_another_namespace_is_another_controller() {
        let key = ControllerKey::new("bank", "u");
        assert_ne!(key, ControllerKey::new("evil", "u"));
        for forged in ["", "/u", "bank/u", "u/", "../bank/u"] {
            let other = ControllerKey::new("evil", forged);
            assert_ne!(other, key);
            assert_eq!(other.uid(), forged);
        }
    }
}
