//! The one table of kinds: the API names of each kind that is read, written or granted, and the
//! fields of some that hold bounds. A custom resource that an operator wants scaled joins the table
//! once it is found ([`CustomKind`]).

use crate::bounds::NO_MOST;
use kube_core::{ApiResource, GroupVersionKind};

use crate::custom_kind::CustomKind;

/// The fields of `spec` that hold bounds: those of an autoscaler, or a workload's count, which is a
/// minimum without a maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundsFields {
    pub min: &'static str,
    /// The field of the most replicas; `None` where there is none.
    pub max: Option<&'static str>,
    /// The most replicas where that field is absent; `None` where it is required.
    pub default_max: Option<i32>,
}

const HPA: BoundsFields = BoundsFields {
    min: "minReplicas",
    max: Some("maxReplicas"),
    default_max: None,
};

/// The most replicas that KEDA takes where a ScaledObject does not say.
pub const KEDA_MAX_REPLICAS: i32 = 100;

const KEDA: BoundsFields = BoundsFields {
    min: "minReplicaCount",
    max: Some("maxReplicaCount"),
    default_max: Some(KEDA_MAX_REPLICAS),
};

const COUNT: BoundsFields = BoundsFields {
    min: "replicas",
    max: None,
    default_max: Some(NO_MOST),
};

#[derive(Debug, Clone, Copy)]
struct KindDefinition {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    bounds: Option<BoundsFields>,
}

impl KindDefinition {
    const fn bounded(mut self, fields: BoundsFields) -> Self {
        self.bounds = Some(fields);
        self
    }
}

/// A row: group, version, kind and plural, between the kind's own name and other facts.
macro_rules! kinds {
    ($($name:ident = $group:literal $version:literal $kind:literal $plural:literal
        $(. $more:ident ($value:expr))*;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $(
                #[doc = concat!("`", $kind, "`, version `", $version, "` of the API group `", $group, "`.")]
                $name,
            )*
            Custom(CustomKind),
        }

        impl Kind {
            /// Every kind in the table, without custom ones.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            const fn row(self) -> KindDefinition {
                match self {
                    $(Self::$name => KindDefinition {
                        group: $group,
                        version: $version,
                        kind: $kind,
                        plural: $plural,
                        bounds: None,
                    }$(.$more($value))*,)*
                    Self::Custom(custom) => KindDefinition {
                        group: custom.group(),
                        version: custom.version(),
                        kind: custom.kind(),
                        plural: custom.plural(),
                        bounds: None,
                    },
                }
            }
        }
    };
}

kinds! {
    Node = "" "v1" "Node" "nodes";
    Namespace = "" "v1" "Namespace" "namespaces";
    Pod = "" "v1" "Pod" "pods";
    Service = "" "v1" "Service" "services";
    ConfigMap = "" "v1" "ConfigMap" "configmaps";
    Secret = "" "v1" "Secret" "secrets";
    ServiceAccount = "" "v1" "ServiceAccount" "serviceaccounts";
    Deployment = "apps" "v1" "Deployment" "deployments".bounded(COUNT);
    StatefulSet = "apps" "v1" "StatefulSet" "statefulsets".bounded(COUNT);
    ReplicaSet = "apps" "v1" "ReplicaSet" "replicasets".bounded(COUNT);
    DaemonSet = "apps" "v1" "DaemonSet" "daemonsets";
    Job = "batch" "v1" "Job" "jobs";
    CronJob = "batch" "v1" "CronJob" "cronjobs";
    HorizontalPodAutoscaler = "autoscaling" "v2" "HorizontalPodAutoscaler" "horizontalpodautoscalers".bounded(HPA);
    ScaledObject = "keda.sh" "v1alpha1" "ScaledObject" "scaledobjects".bounded(KEDA);
    CronHpa = "autoscaling.evenkeel.dev" "v1alpha1" "CronHPA" "cronhpas";
    ReplicaProfile = "autoscaling.evenkeel.dev" "v1alpha1" "ReplicaProfile" "replicaprofiles";
    Ihpa = "autoscaling.evenkeel.dev" "v1alpha1" "IntelligentHorizontalPodAutoscaler" "intelligenthorizontalpodautoscalers";
    HorizontalPortrait = "autoscaling.evenkeel.dev" "v1alpha1" "HorizontalPortrait" "horizontalportraits";
    CustomResourceDefinition = "apiextensions.k8s.io" "v1" "CustomResourceDefinition" "customresourcedefinitions";
    NodeMetrics = "metrics.k8s.io" "v1beta1" "NodeMetrics" "nodes";
    PodMetrics = "metrics.k8s.io" "v1beta1" "PodMetrics" "pods";
    CustomMetrics = "custom.metrics.k8s.io" "v1beta2" "MetricValueList" "*";
    ExternalMetrics = "external.metrics.k8s.io" "v1beta1" "ExternalMetricValueList" "*";
    MetricSeries = "metrics.evenkeel.dev" "v1alpha1" "SeriesList" "series";
    Event = "events.k8s.io" "v1" "Event" "events";
    Lease = "coordination.k8s.io" "v1" "Lease" "leases";
    LimitRange = "" "v1" "LimitRange" "limitranges";
    ResourceQuota = "" "v1" "ResourceQuota" "resourcequotas";
    VerticalPodAutoscaler = "autoscaling.k8s.io" "v1" "VerticalPodAutoscaler" "verticalpodautoscalers";
    PodDisruptionBudget = "policy" "v1" "PodDisruptionBudget" "poddisruptionbudgets";
    NetworkPolicy = "networking.k8s.io" "v1" "NetworkPolicy" "networkpolicies";
    Role = "rbac.authorization.k8s.io" "v1" "Role" "roles";
    RoleBinding = "rbac.authorization.k8s.io" "v1" "RoleBinding" "rolebindings";
    ClusterRole = "rbac.authorization.k8s.io" "v1" "ClusterRole" "clusterroles";
    ClusterRoleBinding = "rbac.authorization.k8s.io" "v1" "ClusterRoleBinding" "clusterrolebindings";
    TokenReview = "authentication.k8s.io" "v1" "TokenReview" "tokenreviews";
    SubjectAccessReview = "authorization.k8s.io" "v1" "SubjectAccessReview" "subjectaccessreviews";
    MutatingWebhookConfiguration = "admissionregistration.k8s.io" "v1" "MutatingWebhookConfiguration" "mutatingwebhookconfigurations";
    ValidatingAdmissionPolicy = "admissionregistration.k8s.io" "v1" "ValidatingAdmissionPolicy" "validatingadmissionpolicies";
    ValidatingAdmissionPolicyBinding = "admissionregistration.k8s.io" "v1" "ValidatingAdmissionPolicyBinding" "validatingadmissionpolicybindings";
    ApiService = "apiregistration.k8s.io" "v1" "APIService" "apiservices";
    ServiceMonitor = "monitoring.coreos.com" "v1" "ServiceMonitor" "servicemonitors";
    PodMonitor = "monitoring.coreos.com" "v1" "PodMonitor" "podmonitors";
    Certificate = "cert-manager.io" "v1" "Certificate" "certificates";
    Issuer = "cert-manager.io" "v1" "Issuer" "issuers";
}

impl Kind {
    /// The watched workloads. All but DaemonSets have the subresource `scale`.
    pub const WORKLOADS: [Self; 4] = [
        Self::Deployment,
        Self::StatefulSet,
        Self::ReplicaSet,
        Self::DaemonSet,
    ];

    /// The workloads that Evenkeel tunes and a ReplicaProfile may name: those with a count of Pods
    /// in their spec. The number of nodes decides the count of a DaemonSet.
    pub const REPLICATED: [Self; 3] = [Self::Deployment, Self::StatefulSet, Self::ReplicaSet];

    /// The API group; empty for the core group.
    pub const fn group(self) -> &'static str {
        self.row().group
    }

    pub const fn version(self) -> &'static str {
        self.row().version
    }

    /// The kind as objects name it, for example `Deployment`.
    pub const fn as_str(self) -> &'static str {
        self.row().kind
    }

    /// The resource as URLs and rights name it, for example `deployments`.
    pub const fn plural(self) -> &'static str {
        self.row().plural
    }

    /// The name in metrics and logs: singular, lower case, for example `deployment` or
    /// `rollout.argoproj.io`.
    pub fn singular(self) -> String {
        let singular = self.as_str().to_ascii_lowercase();
        match self {
            Self::Custom(custom) => format!("{singular}.{}", custom.group()),
            _ => singular,
        }
    }

    /// The fields of the bounds, for autoscalers and for workloads with a count.
    pub const fn bounds_fields(self) -> Option<BoundsFields> {
        self.row().bounds
    }

    /// True for a workload with a count of replicas that can be set.
    pub const fn has_scale(self) -> bool {
        matches!(
            self,
            Self::Deployment | Self::StatefulSet | Self::ReplicaSet | Self::Custom(_)
        )
    }

    /// The keys from a workload to its count.
    pub fn count_path(self) -> Vec<&'static str> {
        match self {
            Self::Custom(custom) => custom.count_path(),
            _ => vec!["spec", COUNT.min],
        }
    }

    /// Group and version as objects name them: `apps/v1`, or `v1` for the core group.
    pub fn api_version(self) -> String {
        let (group, version) = (self.group(), self.version());
        if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        }
    }

    /// The resource as `kubectl` names it: `deployments.apps`, or `pods` for the core group.
    pub fn qualified(self) -> String {
        let (group, plural) = (self.group(), self.plural());
        if group.is_empty() {
            plural.to_owned()
        } else {
            format!("{plural}.{group}")
        }
    }

    /// The kind that an object or a reference names, in whichever version of its group.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|one| one.is(api_version, kind))
    }

    /// True where an object or a reference names this kind, in whichever version of its group.
    pub fn is(self, api_version: &str, kind: &str) -> bool {
        self.as_str() == kind && self.group() == group_of(api_version)
    }

    /// The form in which a client takes the kind.
    pub fn api_resource(self) -> ApiResource {
        let kind = GroupVersionKind::gvk(self.group(), self.version(), self.as_str());
        ApiResource::from_gvk_with_plural(&kind, self.plural())
    }
}

/// The group of a kind that an object or a reference names, where the table has no such kind.
pub fn foreign_group<'a>(api_version: &'a str, kind: &str) -> Option<&'a str> {
    let group = group_of(api_version);
    (!group.is_empty() && Kind::of(api_version, kind).is_none()).then_some(group)
}

/// The API group in an `apiVersion`; empty for the core group.
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The resource of a kind that is not in the table, as Kubernetes' own tools guess it.
pub fn guessed_plural(kind: &str) -> String {
    let name = kind.to_ascii_lowercase();
    if name.ends_with('s') {
        return format!("{name}es");
    }
    match name.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{name}s"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use k8s_openapi::api::{
        admissionregistration::v1 as admission, apps, authentication, authorization, autoscaling,
        batch, coordination, core, events, networking, policy, rbac,
    };
    use k8s_openapi::kube_aggregator::pkg::apis::apiregistration;
    use kube_core::Resource;

    use super::*;

    fn is<K: Resource<DynamicType = ()>>(kind: Kind) {
        let resource = kind.api_resource();
        assert_eq!(resource, ApiResource::erase::<K>(&()), "{kind:?}");
        let path = K::url_path(&(), None);
        assert!(path.ends_with(kind.plural()), "{path}");
    }

    #[test]
    fn names_are_those_of_kubernetes() {
        is::<core::v1::Node>(Kind::Node);
        is::<core::v1::Namespace>(Kind::Namespace);
        is::<core::v1::Pod>(Kind::Pod);
        is::<core::v1::Service>(Kind::Service);
        is::<core::v1::ConfigMap>(Kind::ConfigMap);
        is::<core::v1::Secret>(Kind::Secret);
        is::<core::v1::ServiceAccount>(Kind::ServiceAccount);
        is::<apps::v1::Deployment>(Kind::Deployment);
        is::<apps::v1::StatefulSet>(Kind::StatefulSet);
        is::<apps::v1::ReplicaSet>(Kind::ReplicaSet);
        is::<apps::v1::DaemonSet>(Kind::DaemonSet);
        is::<batch::v1::Job>(Kind::Job);
        is::<autoscaling::v2::HorizontalPodAutoscaler>(Kind::HorizontalPodAutoscaler);
        is::<events::v1::Event>(Kind::Event);
        is::<coordination::v1::Lease>(Kind::Lease);
        is::<policy::v1::PodDisruptionBudget>(Kind::PodDisruptionBudget);
        is::<networking::v1::NetworkPolicy>(Kind::NetworkPolicy);
        is::<rbac::v1::Role>(Kind::Role);
        is::<rbac::v1::RoleBinding>(Kind::RoleBinding);
        is::<rbac::v1::ClusterRole>(Kind::ClusterRole);
        is::<rbac::v1::ClusterRoleBinding>(Kind::ClusterRoleBinding);
        is::<admission::MutatingWebhookConfiguration>(Kind::MutatingWebhookConfiguration);
        is::<admission::ValidatingAdmissionPolicy>(Kind::ValidatingAdmissionPolicy);
        is::<admission::ValidatingAdmissionPolicyBinding>(Kind::ValidatingAdmissionPolicyBinding);
        is::<authentication::v1::TokenReview>(Kind::TokenReview);
        is::<authorization::v1::SubjectAccessReview>(Kind::SubjectAccessReview);
        is::<apiregistration::v1::APIService>(Kind::ApiService);
    }

    #[test]
    fn every_kind_is_found_by_its_names() {
        let mut names = HashSet::new();
        for &kind in Kind::ALL {
            assert_eq!(Kind::of(&kind.api_version(), kind.as_str()), Some(kind));
            assert!(
                names.insert((kind.group(), kind.plural())),
                "{kind:?} twice"
            );
        }
        assert_eq!(Kind::of("apps/v2", "Deployment"), Some(Kind::Deployment));
        assert_eq!(Kind::of("v1", "Deployment"), None);
        assert_eq!(Kind::of("argoproj.io/v1alpha1", "Rollout"), None);
        assert_eq!(Kind::Namespace.api_version(), "v1");
        assert_eq!(Kind::Deployment.qualified(), "deployments.apps");
    }

    #[test]
    fn other_resources_are_guessed_as_kubernetes_does() {
        for (kind, plural) in [
            ("Rollout", "rollouts"),
            ("Ingress", "ingresses"),
            ("NetworkPolicy", "networkpolicies"),
            ("", "s"),
        ] {
            assert_eq!(guessed_plural(kind), plural);
        }
    }

    #[test]
    fn bounds_have_fields() {
        let bounded = |kind: &&Kind| kind.bounds_fields().is_some();
        let bounded: Vec<_> = Kind::ALL.iter().filter(bounded).collect();
        assert_eq!(
            bounded,
            [
                &Kind::Deployment,
                &Kind::StatefulSet,
                &Kind::ReplicaSet,
                &Kind::HorizontalPodAutoscaler,
                &Kind::ScaledObject
            ]
        );
        for workload in Kind::WORKLOADS {
            assert_eq!(workload.bounds_fields().is_some(), workload.has_scale());
        }
    }
}
