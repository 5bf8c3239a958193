//! One request, as the verbs see it.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::ApiError;
use crate::patch::apply::Applier;
use crate::resources::resource::{Resource, Subresource};
use crate::state::Api;
use crate::store::{ObjectKey, StoredObject};
use crate::wire::query::{FieldValidation, QueryParameters};
use crate::wire::response_form::ResponseForm;

/// Manager of a client without a name.
const UNKNOWN: &str = "unknown";

/// Every user may do everything; webhooks receive the name.
#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) groups: Vec<String>,
}

impl User {
    pub(crate) fn administrator() -> Self {
        Self {
            name: "kubernetes-admin".to_owned(),
            groups: vec![
                "system:masters".to_owned(),
                "system:authenticated".to_owned(),
            ],
        }
    }
}

#[derive(Debug)]
pub(crate) struct ApiRequest {
    pub(crate) api: Arc<Api>,
    pub(crate) resource: Arc<Resource>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<Subresource>,
    pub(crate) query: QueryParameters,
    pub(crate) form: ResponseForm,
    pub(crate) user: User,
    pub(crate) dry_run: bool,
    pub(crate) validation: FieldValidation,
    /// The client set the version in the new object; a patch did not carry it over.
    pub(crate) pins_version: bool,
    pub(crate) is_patch: bool,
    /// Server-side apply, which keeps its own `managedFields`.
    pub(crate) is_apply: bool,
    /// The client program, for `managedFields`.
    pub(crate) agent: String,
    warnings: Mutex<Vec<String>>,
}

impl ApiRequest {
    /// A request of an administrator, without parameters.
    pub(crate) fn new(api: Arc<Api>, resource: Arc<Resource>) -> Self {
        Self {
            api,
            resource,
            namespace: None,
            name: None,
            subresource: None,
            query: QueryParameters::default(),
            form: ResponseForm::Object,
            user: User::administrator(),
            dry_run: false,
            validation: FieldValidation::Ignore,
            pins_version: false,
            is_patch: false,
            is_apply: false,
            agent: "kube-apiserver".to_owned(),
            warnings: Mutex::new(Vec::new()),
        }
    }

    /// Without warnings, for a request that differs in more than the client's words.
    pub(crate) fn derived(&self) -> Self {
        Self {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            subresource: self.subresource,
            query: self.query.clone(),
            form: self.form,
            user: self.user.clone(),
            dry_run: self.dry_run,
            validation: self.validation,
            agent: self.agent.clone(),
            ..Self::new(Arc::clone(&self.api), Arc::clone(&self.resource))
        }
    }

    pub(crate) fn about(mut self, key: &ObjectKey) -> Self {
        self.namespace = (!key.namespace.is_empty()).then(|| key.namespace.clone());
        self.name = Some(key.name.clone());
        self
    }

    /// From the path, empty if absent.
    pub(crate) fn key(&self) -> ObjectKey {
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        ObjectKey::new(text(&self.namespace), text(&self.name))
    }

    pub(crate) fn current(&self) -> Result<Arc<StoredObject>, ApiError> {
        let key = self.key();
        let found = self.api.store.get(&self.resource.collection, &key);
        found.ok_or_else(|| self.resource.not_found(&key.name))
    }

    /// The writing manager, for `managedFields`.
    pub(crate) fn applier<'a>(&'a self, subresource: &'a str) -> Applier<'a> {
        let names = [self.query.text("fieldManager"), &self.agent, UNKNOWN];
        let mut names = names.into_iter().filter(|name| !name.is_empty());
        Applier {
            manager: names.next().unwrap_or(UNKNOWN),
            force: self.query.flag("force"),
            api_version: self.stored_as().api_version(),
            builtin: self.resource.is_builtin(),
            now: self.api.stamp(),
            subresource,
        }
    }

    /// In the stored version, which also distinguishes fields.
    pub(crate) fn stored_as(&self) -> Arc<Resource> {
        let stored = match self.resource.conversion {
            Some(_) => self.api.registry.of_collection(&self.resource.collection),
            None => None,
        };
        stored.unwrap_or_else(|| Arc::clone(&self.resource))
    }

    /// Adds a header to the answer.
    pub(crate) fn warn(&self, warning: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.push(warning);
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *warnings)
    }
}
