//! What Evenkeel asks of the Kubernetes API, as data.
//!
//! The manifests grant exactly this, and a test compares the two: a call that is not listed here
//! is refused by the API server, and a right that no call needs is found. Reflectors list and
//! watch, the writer patches; what is read one by one is read by its name.

/// Where a right holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// In the whole cluster.
    Cluster,
    /// In Evenkeel's own namespace.
    OwnNamespace,
}

/// Which part of Evenkeel needs a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Every installation.
    Always,
    /// One that makes its own certificates.
    SelfManagedCertificates,
}

/// One right: verbs on a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The resource, in the plural as in URLs.
    pub resource: &'static str,
    /// What is done to it.
    pub verbs: &'static [&'static str],
    /// The only objects it is done to; empty for all.
    pub names: &'static [&'static str],
    /// Where.
    pub scope: Scope,
    /// For what.
    pub need: Need,
}

/// Everything that Evenkeel asks.
pub const ACCESS: &[Access] = &[
    // The reflectors.
    watched("", "nodes"),
    watched("", "pods"),
    watched("", "namespaces"),
    watched("apps", "replicasets"),
    watched("batch", "jobs"),
    watched("autoscaling", "horizontalpodautoscalers"),
    watched("apps", "deployments"),
    watched("apps", "statefulsets"),
    watched("keda.sh", "scaledobjects"),
    // The annotation that wakes refused Pods, and the label that mirrors an opt-in.
    everywhere("", "nodes", &["patch"]),
    everywhere("", "namespaces", &["patch"]),
    // Floors, and what is said of a target beside it; who else writes bounds is read when a floor
    // is undone.
    everywhere("autoscaling", "horizontalpodautoscalers", &["get", "patch"]),
    everywhere("keda.sh", "scaledobjects", &["get", "patch"]),
    everywhere("apps", "deployments", &["patch"]),
    everywhere("apps", "statefulsets", &["patch"]),
    // Usage from the metrics API.
    everywhere("metrics.k8s.io", "nodes", &["list"]),
    everywhere("metrics.k8s.io", "pods", &["list"]),
    // Warnings about annotations, and what was decided on a target.
    everywhere("events.k8s.io", "events", &["create"]),
    // Leadership. A create names no object yet, so it cannot be limited to one.
    Access {
        group: "coordination.k8s.io",
        resource: "leases",
        verbs: &["create"],
        names: &[],
        scope: Scope::OwnNamespace,
        need: Need::Always,
    },
    Access {
        group: "coordination.k8s.io",
        resource: "leases",
        verbs: &["get", "update"],
        names: &["evenkeel"],
        scope: Scope::OwnNamespace,
        need: Need::Always,
    },
    // Certificates: kept in a Secret, valid for the Services' addresses, trusted by the webhook.
    Access {
        group: "",
        resource: "secrets",
        verbs: &["create"],
        names: &[],
        scope: Scope::OwnNamespace,
        need: Need::SelfManagedCertificates,
    },
    Access {
        group: "",
        resource: "secrets",
        verbs: &["get", "patch"],
        names: &["evenkeel-certificates"],
        scope: Scope::OwnNamespace,
        need: Need::SelfManagedCertificates,
    },
    Access {
        group: "",
        resource: "services",
        verbs: &["get"],
        names: &["evenkeel", "evenkeel-extender"],
        scope: Scope::OwnNamespace,
        need: Need::SelfManagedCertificates,
    },
    Access {
        group: "admissionregistration.k8s.io",
        resource: "mutatingwebhookconfigurations",
        verbs: &["get", "patch"],
        names: &["evenkeel"],
        scope: Scope::Cluster,
        need: Need::SelfManagedCertificates,
    },
];

const fn watched(group: &'static str, resource: &'static str) -> Access {
    everywhere(group, resource, &["list", "watch"])
}

const fn everywhere(
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
) -> Access {
    Access {
        group,
        resource,
        verbs,
        names: &[],
        scope: Scope::Cluster,
        need: Need::Always,
    }
}
