//! The custom resources that an operator wants scaled: which are accepted, and whether the cluster
//! serves them.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;
use serde::Deserialize;

use crate::custom_kind::{DiscoveredKind, ScalePaths};
use crate::group_version::GroupVersion;
use crate::kinds::Kind;

/// The most kinds that are taken: each is a watch of all its objects.
pub const MOST: usize = 16;

pub const ACCEPTED: &str =
    "the apiVersion and kind of a custom resource, such as argoproj.io/v1alpha1 and Rollout";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaledKind {
    group: String,
    version: String,
    kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScaledKindError {
    #[error("{0:?} is not a group and version")]
    NoGroupVersion(String),
    #[error("{0:?} is not the name of a kind")]
    NoKind(String),
    #[error(
        "{0} is a kind of Kubernetes itself; Evenkeel scales Deployments, StatefulSets and \
         ReplicaSets without this entry"
    )]
    Own(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnscalableKind {
    #[error("its objects have no namespace")]
    OfTheCluster,
    #[error("it has no subresource scale")]
    NoScale,
    #[error(
        "it has no CustomResourceDefinition: another API server serves it, which does not describe \
         its Scale"
    )]
    NoDefinition,
}

impl UnscalableKind {
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::OfTheCluster => "ClusterScoped",
            Self::NoScale => "NoScale",
            Self::NoDefinition => "NoDefinition",
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Definition {
    spec: DefinitionSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DefinitionSpec {
    versions: Vec<Version>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Version {
    name: String,
    subresources: Subresources,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Subresources {
    scale: Option<ScalePaths>,
}

impl ScaledKind {
    /// The kind by the `apiVersion` and `kind` that an operator wrote.
    ///
    /// # Errors
    /// One that is no kind, or that is not a custom resource's.
    pub fn new(api_version: &str, kind: &str) -> Result<Self, ScaledKindError> {
        let group_version = GroupVersion::parse(api_version)
            .ok_or_else(|| ScaledKindError::NoGroupVersion(api_version.to_owned()))?;
        let is_name = kind.starts_with(|first: char| first.is_ascii_alphabetic())
            && kind.len() <= 63
            && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_name {
            return Err(ScaledKindError::NoKind(kind.to_owned()));
        }
        let group = group_version.group();
        if is_own(group) || Kind::of(api_version, kind).is_some() {
            return Err(ScaledKindError::Own(format!("{kind} of {group_version}")));
        }
        Ok(Self {
            group: group.to_owned(),
            version: group_version.version().to_owned(),
            kind: kind.to_owned(),
        })
    }

    pub fn group(&self) -> &str {
        &self.group
    }

    /// The same kind in another version of its group, as the API server names it.
    pub fn in_version(&self, version: &str) -> Self {
        Self {
            version: version.to_owned(),
            ..self.clone()
        }
    }

    /// Group and version as objects name them.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }

    /// True for the same kind in whichever version of its group.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.group, &self.kind) == (&other.group, &other.kind)
    }

    /// The name in metrics and logs, for example `rollout.argoproj.io`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.kind.to_ascii_lowercase(), self.group)
    }

    /// The resource that serves it, among all of its group and version; `None` where none does.
    ///
    /// # Errors
    /// One that cannot be scaled.
    pub fn plural<'a>(
        &self,
        resources: &'a [APIResource],
    ) -> Result<Option<&'a str>, UnscalableKind> {
        let mut own = resources
            .iter()
            .filter(|one| one.kind == self.kind && !one.name.contains('/'));
        let Some(resource) = own.next() else {
            return Ok(None);
        };
        if !resource.namespaced {
            return Err(UnscalableKind::OfTheCluster);
        }
        let scale = format!("{}/scale", resource.name);
        if !resources.iter().any(|one| one.name == scale) {
            return Err(UnscalableKind::NoScale);
        }
        Ok(Some(&resource.name))
    }

    pub fn definition(&self, plural: &str) -> String {
        format!("{plural}.{}", self.group)
    }

    /// The kind as it is served under that resource, by its definition; `None` where there is none.
    ///
    /// # Errors
    /// One that cannot be scaled.
    pub fn found(
        &self,
        plural: &str,
        definition: Option<Definition>,
    ) -> Result<DiscoveredKind, UnscalableKind> {
        let definition = definition.ok_or(UnscalableKind::NoDefinition)?;
        let mut versions = definition.spec.versions.into_iter();
        let version = versions.find(|version| version.name == self.version);
        let paths = version.and_then(|version| version.subresources.scale);
        Ok(DiscoveredKind {
            group: self.group.clone(),
            version: self.version.clone(),
            kind: self.kind.clone(),
            plural: plural.to_owned(),
            paths: paths.ok_or(UnscalableKind::NoScale)?,
        })
    }
}

impl fmt::Display for ScaledKind {
    /// `Rollout of argoproj.io/v1alpha1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.kind, self.api_version())
    }
}

/// True for Kubernetes' own groups: those without a dot (the core group too), and those of its
/// domain that no definition may name without approval.
fn is_own(group: &str) -> bool {
    !group.contains('.')
        || [".k8s.io", ".kubernetes.io"]
            .iter()
            .any(|own| group.ends_with(own) && !group.contains(".x-k8s.io"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rollout() -> ScaledKind {
        ScaledKind::new("argoproj.io/v1alpha1", "Rollout").unwrap()
    }

    fn resource(name: &str, kind: &str, namespaced: bool) -> APIResource {
        APIResource {
            name: name.to_owned(),
            kind: kind.to_owned(),
            namespaced,
            ..APIResource::default()
        }
    }

    #[test]
    fn custom_resources_are_taken_and_nothing_else() {
        for (api_version, kind) in [
            ("argoproj.io/v1alpha1", "Rollout"),
            ("apps.kruise.io/v1alpha1", "CloneSet"),
            ("apps.kruise.io/v1beta1", "StatefulSet"),
            ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
        ] {
            let taken = ScaledKind::new(api_version, kind).unwrap();
            assert_eq!(taken.api_version(), api_version);
        }
        assert_eq!(rollout().name(), "rollout.argoproj.io");
        for (api_version, kind, why) in [
            ("apps/v1", "Deployment", "of Kubernetes itself"),
            ("v1", "ReplicationController", "of Kubernetes itself"),
            ("", "Pod", "of Kubernetes itself"),
            ("keda.sh/v1alpha1", "ScaledObject", "of Kubernetes itself"),
            ("policy.k8s.io/v1", "Web", "of Kubernetes itself"),
            ("argoproj.io%2Fv1", "Rollout", "group and version"),
            ("argoproj.io/v1/x", "Rollout", "group and version"),
            ("argoproj.io/v1", "", "name of a kind"),
            ("argoproj.io/v1", "Roll/out", "name of a kind"),
            ("argoproj.io/v1", "1Rollout", "name of a kind"),
        ] {
            let refused = ScaledKind::new(api_version, kind).unwrap_err().to_string();
            assert!(refused.contains(why), "{api_version} {kind}: {refused}");
        }
    }

    #[test]
    fn a_kind_is_scaled_where_it_is_served_with_scale_in_namespaces() {
        let scale = resource("rollouts/scale", "Scale", true);
        let status = resource("rollouts/status", "Rollout", true);
        let other = resource("analysisruns", "AnalysisRun", true);
        let own = |namespaced| resource("rollouts", "Rollout", namespaced);
        for (resources, found) in [
            (vec![], Ok(None)),
            (vec![other.clone(), status.clone()], Ok(None)),
            (vec![own(true)], Err(UnscalableKind::NoScale)),
            (
                vec![own(true), status.clone(), other],
                Err(UnscalableKind::NoScale),
            ),
            (
                vec![own(false), scale.clone()],
                Err(UnscalableKind::OfTheCluster),
            ),
            (vec![status, own(true), scale], Ok(Some("rollouts"))),
        ] {
            assert_eq!(rollout().plural(&resources), found, "{resources:?}");
        }
    }

    #[test]
    fn the_fields_of_its_scale_are_those_of_the_version_in_its_definition() {
        let scale = json!({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"});
        let definition = json!({"spec": {"versions": [
            {"name": "v1", "schema": {"deep": [1]}, "subresources": {"status": {}}},
            {"name": "v1alpha1", "subresources": {"scale": scale}}]}});
        let read = || Some(serde_json::from_value(definition.clone()).unwrap());
        let found = rollout().found("rollouts", read()).unwrap();
        assert_eq!(found.paths.replicas, ".spec.size");
        assert_eq!(found.paths.selector, None);
        assert_eq!(found.plural, "rollouts");
        let kind = ScaledKind::new("argoproj.io/v1", "Rollout").unwrap();
        assert_eq!(kind.found("rollouts", read()), Err(UnscalableKind::NoScale));
        assert_eq!(
            kind.found("rollouts", None),
            Err(UnscalableKind::NoDefinition)
        );
    }
}
