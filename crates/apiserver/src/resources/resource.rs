//! The description of one resource: names, decoding, subresources and kubectl's columns. Everything
//! else is the same for all resources.

use std::any::TypeId;
use std::sync::Arc;

use k8s_openapi::ClusterResourceScope;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::rules::KindRules;
use crate::schema::Schema;
use crate::table::builtin::NAME_AND_AGE;
use crate::table::column::TableColumns;

/// How objects are read and made uniform.
#[derive(Debug, Clone)]
pub(crate) enum Decoder {
    /// Through the Rust type of the kind: drops fields that it lacks, checks types.
    Typed(fn(&Value) -> Result<Value, String>),
    Schema(Arc<Schema>),
}

/// JSON pointers to the numbers of a scalable resource.
#[derive(Debug, Clone)]
pub(crate) struct ScalePaths {
    pub(crate) spec: String,
    pub(crate) status: String,
    /// As an object or as text.
    pub(crate) selector: Option<String>,
}

/// Subresources with behaviour of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subresource {
    Status,
    Scale,
    Binding,
    Eviction,
    Token,
    Resize,
    Finalize,
    /// Served by the kubelet in a real cluster: answered as unsupported.
    Refused(&'static str),
}

impl Subresource {
    /// Last segment of its path.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Binding => "binding",
            Self::Eviction => "eviction",
            Self::Token => "token",
            Self::Resize => "resize",
            Self::Finalize => "finalize",
            Self::Refused(name) => name,
        }
    }
}

/// Changes that `metadata.generation` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    None,
    /// Everything but metadata and status.
    Desired,
    /// Also annotations, which a Deployment passes on to its ReplicaSets.
    DesiredAndAnnotations,
}

/// Between two versions of a kind that share a storage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conversion {
    /// The fields at the top with other names; left: this version, right: as stored.
    pub(crate) renamed: &'static [(&'static str, &'static str)],
    pub(crate) to_storage: fn(Value) -> Value,
    pub(crate) from_storage: fn(Value) -> Value,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ResourceNames<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) plural: &'a str,
}

#[derive(Debug, Clone)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) generation: Generation,
    pub(crate) decoder: Decoder,
    /// Status of a new object, if clients may not set it at creation.
    pub(crate) initial_status: Option<Value>,
    pub(crate) scale: Option<ScalePaths>,
    pub(crate) subresources: Vec<Subresource>,
    pub(crate) columns: TableColumns,
    /// For selectors, beside name and namespace.
    pub(crate) selectable: Vec<String>,
    pub(crate) rules: KindRules,
    pub(crate) conversion: Option<Conversion>,
    pub(crate) collection: Arc<str>,
}

impl Resource {
    /// A resource of a Rust type, without subresources.
    pub(crate) fn typed<T>() -> Self
    where
        T: k8s_openapi::Resource<Scope: 'static> + DeserializeOwned + Serialize,
    {
        let names = ResourceNames {
            group: T::GROUP,
            version: T::VERSION,
            kind: T::KIND,
            plural: T::URL_PATH_SEGMENT,
        };
        Self {
            namespaced: TypeId::of::<T::Scope>() != TypeId::of::<ClusterResourceScope>(),
            ..Self::new(&names, Decoder::Typed(through::<T>))
        }
    }

    /// Namespaced, without subresources.
    pub(crate) fn new(names: &ResourceNames<'_>, decoder: Decoder) -> Self {
        let ResourceNames {
            group,
            version,
            kind,
            plural,
        } = *names;
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            singular: kind.to_lowercase(),
            short_names: Vec::new(),
            categories: Vec::new(),
            namespaced: true,
            generation: Generation::None,
            decoder,
            initial_status: None,
            scale: None,
            subresources: Vec::new(),
            columns: NAME_AND_AGE,
            selectable: Vec::new(),
            rules: KindRules::NONE,
            conversion: None,
            collection: qualify(plural, group).into(),
        }
    }

    pub(crate) fn short(mut self, names: &[&str]) -> Self {
        self.short_names = names.iter().map(|&name| name.to_owned()).collect();
        self
    }

    /// Shown by `kubectl get all`.
    pub(crate) fn in_all(mut self) -> Self {
        self.categories.push("all".to_owned());
        self
    }

    pub(crate) fn counted(mut self) -> Self {
        self.generation = Generation::Desired;
        self
    }

    pub(crate) fn counted_with_annotations(mut self) -> Self {
        self.generation = Generation::DesiredAndAnnotations;
        self
    }

    /// With a status subresource and this initial status.
    pub(crate) fn status(mut self, initial: Value) -> Self {
        self.initial_status = Some(initial);
        self.with(Subresource::Status)
    }

    /// With a status subresource, and keeps the status of its creation.
    pub(crate) fn status_kept(self) -> Self {
        self.with(Subresource::Status)
    }

    pub(crate) fn scaled(mut self, paths: ScalePaths) -> Self {
        self.scale = Some(paths);
        self.with(Subresource::Scale)
    }

    pub(crate) fn with(mut self, subresource: Subresource) -> Self {
        self.subresources.push(subresource);
        self
    }

    pub(crate) fn columns(mut self, columns: TableColumns) -> Self {
        self.columns = columns;
        self
    }

    pub(crate) fn selectable(mut self, fields: &[&str]) -> Self {
        self.selectable = fields.iter().map(|&field| field.to_owned()).collect();
        self
    }

    pub(crate) fn rules(mut self, rules: KindRules) -> Self {
        self.rules = rules;
        self
    }

    pub(crate) fn stored_as(mut self, collection: &str, conversion: Conversion) -> Self {
        self.collection = collection.into();
        self.conversion = Some(conversion);
        self
    }

    /// Plural with group, such as `pods` or `deployments.apps`.
    pub(crate) fn qualified(&self) -> String {
        qualify(&self.plural, &self.group)
    }

    /// For example `v1` or `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    pub(crate) fn subresource(&self, name: &str) -> Option<Subresource> {
        let mut all = self.subresources.iter().copied();
        all.find(|subresource| subresource.name() == name)
    }

    /// The status has a path of its own.
    pub(crate) fn has_status(&self) -> bool {
        self.subresources.contains(&Subresource::Status)
    }

    /// Has a Rust type, and takes strategic merge patches.
    pub(crate) const fn is_builtin(&self) -> bool {
        matches!(self.decoder, Decoder::Typed(_))
    }

    /// As clients of this version see it.
    pub(crate) fn to_served_version(&self, stored: &Value) -> Value {
        match self.conversion {
            Some(conversion) => {
                let mut object = (conversion.from_storage)(stored.clone());
                object["apiVersion"] = self.api_version().into();
                object
            }
            None => stored.clone(),
        }
    }
}

fn through<T: DeserializeOwned + Serialize>(value: &Value) -> Result<Value, String> {
    let object = T::deserialize(value).map_err(|error| error.to_string())?;
    serde_json::to_value(object).map_err(|error| error.to_string())
}

/// Plural with group, as in messages.
pub(crate) fn qualify(plural: &str, group: &str) -> String {
    if group.is_empty() {
        plural.to_owned()
    } else {
        format!("{plural}.{group}")
    }
}

pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}
