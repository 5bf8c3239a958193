//! The full name of the workload that a target scales.

use std::cmp::Ordering;
use std::fmt;

use evenkeel_objects::group_version::GroupVersion;
use evenkeel_objects::kinds::{Kind, guessed_plural};
use evenkeel_objects::object_ref::ObjectRef;

/// A workload by group, version, resource, namespace, name and the subresource `scale`, with the
/// kind by which people know it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TargetRef {
    object: ObjectRef,
    kind: Box<str>,
}

impl TargetRef {
    /// The workload that a reference of an object in `namespace` names. The resource of a kind that
    /// is not in the table of kinds is the plural that Kubernetes' own tools guess. What is no group and
    /// version is left out of its name ([`Self::is_named`]), since it would become part of a path.
    pub fn new(api_version: &str, kind: &str, namespace: &str, name: &str) -> Self {
        let object = Kind::of(api_version, kind).map_or_else(
            || {
                let known = GroupVersion::parse(api_version);
                let (group, version) = known
                    .as_ref()
                    .map_or(("", ""), |known| (known.group(), known.version()));
                ObjectRef {
                    group: group.to_owned().into(),
                    version: version.to_owned().into(),
                    resource: guessed_plural(kind).into(),
                    namespace: Some(namespace.to_owned()),
                    name: name.to_owned(),
                    subresource: None,
                }
            },
            |kind| ObjectRef::in_namespace(kind, namespace, name),
        );
        Self {
            object: object.scale(),
            kind: kind.into(),
        }
    }

    /// The workload of a kind in the table of kinds, or of a custom resource that was found.
    pub fn of_kind(kind: Kind, namespace: &str, name: &str) -> Self {
        Self {
            object: ObjectRef::in_namespace(kind, namespace, name).scale(),
            kind: kind.as_str().into(),
        }
    }

    /// The group of a workload with a kind that the table of kinds does not have.
    pub fn foreign_group(&self) -> Option<&str> {
        let group = &*self.object.group;
        (!group.is_empty() && self.object.kind().is_none()).then_some(group)
    }

    /// True where the reference names a group and version, so that a workload can be meant at all.
    pub fn is_named(&self) -> bool {
        !self.object.version.is_empty()
    }

    /// The subresource through which the workload is scaled.
    pub const fn object(&self) -> &ObjectRef {
        &self.object
    }

    /// The kind, for example `Deployment`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The name of the workload.
    pub fn name(&self) -> &str {
        &self.object.name
    }

    /// The namespace of the workload.
    pub fn namespace(&self) -> &str {
        self.object.namespace.as_deref().unwrap_or_default()
    }

    /// An order in which two names of one workload, in whichever versions of its group, are equal.
    pub(crate) fn workload_order(&self, other: &Self) -> Ordering {
        let (a, b) = (&self.object, &other.object);
        a.namespace
            .cmp(&b.namespace)
            .then_with(|| a.name.cmp(&b.name))
            .then_with(|| self.kind.cmp(&other.kind))
            .then_with(|| a.group.cmp(&b.group))
    }

    /// True for two names of one workload, in whichever versions of its group.
    pub(crate) fn is_same_workload(&self, other: &Self) -> bool {
        self.workload_order(other).is_eq()
    }
}

impl fmt::Display for TargetRef {
    /// `Deployment web`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.object.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_named_in_full() {
        let web = TargetRef::new("apps/v1", "Deployment", "shop", "web");
        assert_eq!(web.object().to_string(), "deployments.apps/scale shop/web");
        assert_eq!(web, TargetRef::of_kind(Kind::Deployment, "shop", "web"));
        assert_eq!(
            (web.to_string().as_str(), web.namespace()),
            ("Deployment web", "shop")
        );
        let rollout = TargetRef::new("argoproj.io/v1alpha1", "Rollout", "shop", "web");
        let named = rollout.object().to_string();
        assert_eq!(named, "rollouts.argoproj.io/scale shop/web");
        assert!(rollout.is_named() && web.is_named());
    }

    #[test]
    fn what_is_no_group_and_version_becomes_no_part_of_a_path() {
        for text in [
            "apps/v1?limit=1",
            "argoproj.io/v1alpha1%2Fnamespaces%2Fother",
            "../v1",
            "a/b/c",
        ] {
            let target = TargetRef::new(text, "Rollout", "shop", "web");
            assert!(!target.is_named(), "{text}");
            assert_eq!(target.object().api_resource().api_version, "", "{text}");
        }
    }

    #[test]
    fn versions_name_the_same_workload_and_groups_another() {
        let rollout = |version| TargetRef::new(version, "Rollout", "shop", "web");
        let one = rollout("argoproj.io/v1alpha1");
        assert!(one.is_same_workload(&rollout("argoproj.io/v1")));
        assert!(!one.is_same_workload(&rollout("example.com/v1")));
    }
}
