//! One right at the Kubernetes API: its account, the installations that need it, and its scope.

use evenkeel_objects::kinds::Kind;
use evenkeel_units::words;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Cluster,
    OwnNamespace,
    /// `kube-system`, where the API server tells how it introduces callers.
    KubeSystem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    Always,
    /// Those that make their own certificates.
    SelfManagedCertificates,
    /// Those that serve metrics only to readers with a token.
    AuthenticatedMetrics,
    SecondScheduler,
    ExternalMetrics,
    /// Those that serve series.
    MetricsProvider,
    CustomKinds,
    /// Those that give Pods costs of deletion before a scale-in.
    ScaleInBalance,
    ReplicaProfiles,
    InPlaceTuning,
    ExternalAlgorithms,
    ExternalChecks,
}

words! {
    /// The process that has a right; each runs under its own ServiceAccount.
    pub enum Identity {
        /// The replicas that serve and decide.
        Service = "evenkeel",
        Signer = "evenkeel-signer",
        /// The clean-up, which restores bounds that no replica maintains any more.
        CleanUp = "evenkeel-restore",
        NodeAgent = "evenkeel-agent",
        /// The process that runs the jobs of external algorithms.
        Jobs = "evenkeel-jobs",
        /// The account for requests to kubelets; no Pod runs under it.
        Kubelets = "evenkeel-kubelets",
    }
}

/// One right: verbs on a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RbacRule<'a> {
    /// The process that needs the right.
    pub identity: Identity,
    pub kind: Kind,
    /// The part of the objects that the right is for; `None` for the objects themselves.
    pub subresource: Option<&'static str>,
    /// The verbs of the API, such as `patch`.
    pub verbs: &'static [&'static str],
    /// The names of the objects; empty for all.
    pub names: &'a [&'a str],
    pub scope: Scope,
    pub need: Need,
}

impl RbacRule<'_> {
    /// The resource as rights name it: `pods`, or `deployments/scale`.
    pub fn resource(&self) -> String {
        let plural = self.kind.plural();
        self.subresource
            .map_or_else(|| plural.to_owned(), |part| format!("{plural}/{part}"))
    }
}
