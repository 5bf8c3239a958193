//! The resources that are served now: built-in ones and those of stored definitions.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::resources::resource::Resource;
use crate::resources::{catalog, definition};
use crate::store::StoredObject;

/// Group, version and plural.
type RegistryKey = (String, String, String);

#[derive(Debug)]
pub(crate) struct Registry {
    builtin: Vec<Arc<Resource>>,
    served: RwLock<BTreeMap<RegistryKey, Arc<Resource>>>,
}

impl Registry {
    pub(crate) fn new() -> Self {
        let registry = Self {
            builtin: catalog::builtin().into_iter().map(Arc::new).collect(),
            served: RwLock::default(),
        };
        registry.refresh(&[]);
        registry
    }

    pub(crate) fn refresh(&self, definitions: &[Arc<StoredObject>]) {
        let custom = definitions
            .iter()
            .flat_map(|stored| definition::resources(&stored.value));
        let custom = custom.map(Arc::new);
        let served = self
            .builtin
            .iter()
            .cloned()
            .chain(custom)
            .map(|resource| (name(&resource), resource))
            .collect();
        *self.served.write().unwrap_or_else(PoisonError::into_inner) = served;
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        let key = (group.to_owned(), version.to_owned(), plural.to_owned());
        let served = self.served.read().unwrap_or_else(PoisonError::into_inner);
        served.get(&key).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Resource>> {
        let served = self.served.read().unwrap_or_else(PoisonError::into_inner);
        served.values().cloned().collect()
    }

    /// As owner references name it.
    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Resource>> {
        let all = self.all();
        let mut found = all
            .into_iter()
            .filter(|resource| resource.kind == kind && resource.api_version() == api_version);
        found.next()
    }

    pub(crate) fn versions(&self, collection: &str) -> Vec<Arc<Resource>> {
        let mut all = self.all();
        all.retain(|resource| &*resource.collection == collection);
        all
    }

    /// In its stored form.
    pub(crate) fn of_collection(&self, collection: &str) -> Option<Arc<Resource>> {
        let all = self.all();
        let mut found = all.into_iter().filter(|resource| {
            &*resource.collection == collection && resource.conversion.is_none()
        });
        found.next()
    }
}

fn name(resource: &Resource) -> RegistryKey {
    (
        resource.group.clone(),
        resource.version.clone(),
        resource.plural.clone(),
    )
}
