//! The full name of an object: group, version, resource, namespace, name and subresource. Kinds of
//! the table need no allocation; objects of any other kind can be named as well.

use std::borrow::Cow;
use std::fmt;

use kube_core::ApiResource;

use crate::kinds::Kind;

/// The subresource through which replicas are read and set whatever the kind.
const SCALE: &str = "scale";

/// The subresource through which the resources of a running Pod are changed.
const RESIZE: &str = "resize";
/// The subresource through which a status is written.
const STATUS: &str = "status";

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// The API group; empty for the core group.
    pub group: Cow<'static, str>,
    pub version: Cow<'static, str>,
    pub resource: Cow<'static, str>,
    /// The namespace; `None` for objects of the cluster.
    pub namespace: Option<String>,
    pub name: String,
    /// The subresource, for example `scale`; `None` for the object itself.
    pub subresource: Option<Cow<'static, str>>,
}

impl ObjectRef {
    pub fn of_cluster(kind: Kind, name: impl Into<String>) -> Self {
        Self::new(kind, None, name.into())
    }

    pub fn in_namespace(kind: Kind, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self::new(kind, Some(namespace.into()), name.into())
    }

    fn new(kind: Kind, namespace: Option<String>, name: String) -> Self {
        Self {
            group: kind.group().into(),
            version: kind.version().into(),
            resource: kind.plural().into(),
            namespace,
            name,
            subresource: None,
        }
    }

    pub fn scale(mut self) -> Self {
        self.subresource = Some(SCALE.into());
        self
    }

    pub fn status(mut self) -> Self {
        self.subresource = Some(STATUS.into());
        self
    }

    pub fn resize(mut self) -> Self {
        self.subresource = Some(RESIZE.into());
        self
    }

    /// The kind in the table; `None` for kinds that are not in it.
    pub fn kind(&self) -> Option<Kind> {
        let mut all = Kind::ALL.iter().copied();
        all.find(|&kind| self.is(kind))
    }

    pub fn is(&self, kind: Kind) -> bool {
        self.resource == kind.plural() && self.group == kind.group()
    }

    /// The resource in the form in which a client takes it.
    pub fn api_resource(&self) -> ApiResource {
        let (group, version) = (&*self.group, &*self.version);
        let api_version = if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        };
        let kind = self.kind().map_or("", Kind::as_str);
        ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version,
            kind: kind.to_owned(),
            plural: self.resource.to_string(),
        }
    }
}

impl fmt::Display for ObjectRef {
    /// `deployments.apps/scale shop/web`, in the terms of `kubectl`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if let Some(subresource) = &self.subresource {
            write!(f, "/{subresource}")?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " {namespace}/{}", self.name),
            None => write!(f, " {}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_named_as_kubectl_names_them() {
        let web = ObjectRef::in_namespace(Kind::Deployment, "shop", "web");
        assert_eq!(web.to_string(), "deployments.apps shop/web");
        assert_eq!(web.scale().to_string(), "deployments.apps/scale shop/web");
        let node = ObjectRef::of_cluster(Kind::Node, "a");
        assert_eq!(node.to_string(), "nodes a");
    }

    #[test]
    fn kinds_that_are_not_in_the_table_can_be_named() {
        let rollout = ObjectRef {
            group: "argoproj.io".into(),
            version: "v1alpha1".into(),
            resource: "rollouts".into(),
            ..ObjectRef::in_namespace(Kind::Deployment, "shop", "web")
        };
        assert_eq!(rollout.kind(), None);
        assert!(!rollout.is(Kind::Deployment));
        let resource = rollout.api_resource();
        assert_eq!(resource.api_version, "argoproj.io/v1alpha1");
        assert_eq!(resource.plural, "rollouts");
    }

    #[test]
    fn a_client_takes_kinds_of_the_table_by_all_their_names() {
        for &kind in Kind::ALL {
            let object = ObjectRef::of_cluster(kind, "a");
            assert_eq!(object.kind(), Some(kind));
            assert_eq!(object.api_resource(), kind.api_resource());
        }
    }
}
