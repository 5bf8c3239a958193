//! The rights that Evenkeel needs at the Kubernetes API, as data. The manifests grant exactly
//! these, and a test compares the two: it finds unlisted calls and unneeded rights.

mod rbac_rule;

use evenkeel_certificates::api_service;
use evenkeel_objects::custom_kind::CustomKind;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::request_header;

use super::records::WATCHED;
use crate::uninstall_plan::BOUNDED;
pub use rbac_rule::{Identity, Need, RbacRule, Scope};

/// Everything that Evenkeel asks of the API server.
pub fn access() -> Vec<RbacRule<'static>> {
    let watched = WATCHED
        .into_iter()
        .map(|kind| everywhere(kind, &["list", "watch"]));
    watched.chain(FURTHER.iter().copied()).collect()
}

/// The rights of the clean-up, `evenkeel uninstall --expired`, which has its own account.
pub fn restoring() -> Vec<RbacRule<'static>> {
    let right = |kind| RbacRule {
        identity: Identity::CleanUp,
        ..everywhere(kind, &["list", "get", "patch"])
    };
    let lease = RbacRule {
        identity: Identity::CleanUp,
        ..own(Kind::Lease, &["get", "list"], &[], Need::Always)
    };
    // The nodes on which a leader that is gone left taints and labels; its Lease says that it is.
    let tainted = [right(Kind::Node), lease];
    let pods = |need| RbacRule {
        need,
        ..right(Kind::Pod)
    };
    // Costs of deletion, and Pods that are out of traffic with the condition that keeps them so.
    let condition = RbacRule {
        subresource: Some("status"),
        verbs: &["patch"],
        ..pods(Need::ReplicaProfiles)
    };
    let on_pods = [
        pods(Need::ScaleInBalance),
        pods(Need::ReplicaProfiles),
        condition,
    ];
    let resize = |need| RbacRule {
        identity: Identity::CleanUp,
        need,
        ..RESIZE
    };
    let resized = [
        pods(Need::InPlaceTuning),
        resize(Need::InPlaceTuning),
        resize(Need::ReplicaProfiles),
    ];
    let bounded = BOUNDED.map(right).into_iter();
    let further = tainted.into_iter().chain(on_pods).chain(resized);
    bounded.chain(further).collect()
}

/// The rights of a node's agent, `evenkeel agent`: Pods (not limitable to its node), namespaces,
/// and Events about limits.
pub const fn of_agents() -> [RbacRule<'static>; 3] {
    const fn right(kind: Kind, verbs: &'static [&'static str]) -> RbacRule<'static> {
        RbacRule {
            identity: Identity::NodeAgent,
            ..everywhere(kind, verbs)
        }
    }
    [
        right(Kind::Pod, &["list", "watch"]),
        right(Kind::Namespace, &["list", "watch"]),
        right(Kind::Event, &["create"]),
    ]
}

/// The rights for scaling a custom resource, in addition to [`access`]; `definition` names its
/// definition.
pub const fn scaling<'a>(kind: CustomKind, definition: &'a [&'a str]) -> [RbacRule<'a>; 3] {
    let kind = Kind::Custom(kind);
    let objects = RbacRule {
        need: Need::CustomKinds,
        ..everywhere(kind, &["list", "watch", "get", "patch"])
    };
    let scale = RbacRule {
        need: Need::CustomKinds,
        ..scale(kind)
    };
    let definition = RbacRule {
        need: Need::CustomKinds,
        names: definition,
        ..everywhere(Kind::CustomResourceDefinition, &["get"])
    };
    [objects, scale, definition]
}

/// The rights that are needed beside those of the watches.
const FURTHER: &[RbacRule<'static>] = &[
    // The annotation that wakes refused Pods, overload taints, score labels, and the opt-in mirror
    // label.
    everywhere(Kind::Node, &["patch"]),
    everywhere(Kind::Namespace, &["patch"]),
    // Objects that are read before an uninstall undoes their changes, and rights that last until
    // then.
    everywhere(Kind::Node, &["get"]),
    everywhere(Kind::Namespace, &["get"]),
    everywhere(Kind::DaemonSet, &["get"]),
    needed(Need::ScaleInBalance, READ_PODS),
    needed(Need::ReplicaProfiles, READ_PODS),
    needed(Need::InPlaceTuning, READ_PODS),
    held(Kind::ClusterRole, &["evenkeel-clean-up"]),
    held(Kind::ClusterRoleBinding, &["evenkeel-clean-up"]),
    held(Kind::ServiceAccount, &["evenkeel"]),
    owning(Kind::ClusterRole, &["evenkeel-clean-up"]),
    owning(Kind::ClusterRoleBinding, &["evenkeel-clean-up"]),
    // Floors and the target's status. If a floor is undone, Evenkeel reads which writer sets the
    // bounds.
    everywhere(Kind::HorizontalPodAutoscaler, &["get", "patch"]),
    everywhere(Kind::ScaledObject, &["get", "patch"]),
    // Status of a workload without an HPA; replicas for a CronHPA or mode direct, with a record of
    // the user's value. If they are contested, Evenkeel reads which other writer sets them.
    everywhere(Kind::Deployment, &["get", "patch"]),
    everywhere(Kind::StatefulSet, &["get", "patch"]),
    everywhere(Kind::ReplicaSet, &["get", "patch"]),
    scale(Kind::Deployment),
    scale(Kind::StatefulSet),
    scale(Kind::ReplicaSet),
    // Costs of deletion before a scale-in.
    needed(Need::ScaleInBalance, PATCH_PODS),
    // The Pod states of ReplicaProfiles, the deletion costs that order their Pods, and the
    // condition of their readiness gate, which every replica writes.
    needed(Need::ReplicaProfiles, PATCH_PODS),
    needed(Need::ReplicaProfiles, part("status", PATCH_PODS)),
    // Pods that stand by hold less.
    needed(Need::ReplicaProfiles, part("resize", PATCH_PODS)),
    // Resizes, the record of each, and what namespaces leave to their containers.
    needed(Need::InPlaceTuning, PATCH_PODS),
    RESIZE,
    limiting(Kind::LimitRange),
    limiting(Kind::ResourceQuota),
    limiting(Kind::VerticalPodAutoscaler),
    // A refusal is told where it was asked for.
    everywhere(Kind::DaemonSet, &["patch"]),
    // The statuses of CronHPAs, ReplicaProfiles and IHPAs.
    part("status", everywhere(Kind::CronHpa, &["patch"])),
    part("status", everywhere(Kind::ReplicaProfile, &["patch"])),
    part("status", everywhere(Kind::Ihpa, &["patch"])),
    // ReplicaProfiles of IHPAs that take Pods out of traffic before they delete them.
    needed(
        Need::ReplicaProfiles,
        everywhere(Kind::ReplicaProfile, &["create", "patch", "delete"]),
    ),
    // The portraits that others make for an autoscaler, where they are missing.
    everywhere(Kind::HorizontalPortrait, &["create", "patch"]),
    // External algorithms: portraits that need a job, CronJobs, and their results in ConfigMaps.
    of_jobs(Kind::Namespace, &["list", "watch"]),
    of_jobs(Kind::Ihpa, &["list", "watch"]),
    of_jobs(Kind::HorizontalPortrait, &["list", "watch"]),
    of_jobs(Kind::CronJob, &["get", "create", "patch"]),
    of_jobs(Kind::ConfigMap, &["get"]),
    RbacRule {
        subresource: Some("status"),
        ..of_jobs(Kind::HorizontalPortrait, &["patch"])
    },
    part("status", everywhere(Kind::HorizontalPortrait, &["patch"])),
    // Disk usage of Pods, read under an account that may read nothing else.
    RbacRule {
        identity: Identity::Kubelets,
        subresource: Some("stats"),
        ..everywhere(Kind::Node, &["get"])
    },
    RbacRule {
        subresource: Some("token"),
        ..own(
            Kind::ServiceAccount,
            &["create"],
            &["evenkeel-kubelets"],
            Need::Always,
        )
    },
    // External checks: the addresses of Services, and tokens of an account without rights.
    needed(Need::ExternalChecks, everywhere(Kind::Service, &["get"])),
    RbacRule {
        subresource: Some("token"),
        ..own(
            Kind::ServiceAccount,
            &["create"],
            &["evenkeel-checks"],
            Need::ExternalChecks,
        )
    },
    // Usage from the metrics API.
    everywhere(Kind::NodeMetrics, &["list"]),
    everywhere(Kind::PodMetrics, &["list"]),
    // Other metrics of HPAs, as the HPA controller reads them: Pods and objects by name, external
    // metrics as a list.
    everywhere(Kind::CustomMetrics, &["get"]),
    everywhere(Kind::ExternalMetrics, &["list"]),
    // Warnings about annotations, what was decided on a target, and past rescales of an HPA.
    everywhere(Kind::Event, &["create", "list"]),
    // Leadership. A create names no object yet, so it cannot be limited to one.
    own(Kind::Lease, &["create"], &[], Need::Always),
    own(Kind::Lease, &["get", "update"], &["evenkeel"], Need::Always),
    // The uid of the configuration's ConfigMap, which an Event about it names.
    own(Kind::ConfigMap, &["get"], &["evenkeel"], Need::Always),
    // The second scheduler's Lease. A right for one name allows a watch of that name only.
    own(
        Kind::Lease,
        &["list", "watch"],
        &["evenkeel-scheduler"],
        Need::SecondScheduler,
    ),
    // Readers of the metrics: the identity behind a token, and its permission to read.
    needed(
        Need::AuthenticatedMetrics,
        everywhere(Kind::TokenReview, &["create"]),
    ),
    reviews(Need::AuthenticatedMetrics),
    // External metrics: callers' headers, their rights, and another server of the group.
    introductions(Need::ExternalMetrics),
    reviews(Need::ExternalMetrics),
    EXTERNAL_METRICS,
    // Series: the same, and the identity behind a token that a client shows over gRPC.
    introductions(Need::MetricsProvider),
    reviews(Need::MetricsProvider),
    needed(
        Need::MetricsProvider,
        everywhere(Kind::TokenReview, &["create"]),
    ),
    METRICS_PROVIDER,
    // The serving certificate; the keys of the authorities are in another Secret.
    own(
        Kind::Secret,
        &["get"],
        &["evenkeel-serving-certificate"],
        Need::SelfManagedCertificates,
    ),
    // Certificates: kept in one Secret and published in another, valid for the Services' addresses,
    // trusted by the webhook. A create names no object yet.
    signer(Kind::Secret, &["create"], &[]),
    signer(
        Kind::Secret,
        &["get", "patch"],
        &["evenkeel-certificates", "evenkeel-serving-certificate"],
    ),
    signer(Kind::Service, &["get"], &["evenkeel", "evenkeel-extender"]),
    RbacRule {
        scope: Scope::Cluster,
        ..signer(
            Kind::MutatingWebhookConfiguration,
            &["get", "patch"],
            &["evenkeel"],
        )
    },
    RbacRule {
        identity: Identity::Signer,
        verbs: &["get", "patch"],
        ..EXTERNAL_METRICS
    },
    RbacRule {
        identity: Identity::Signer,
        verbs: &["get", "patch"],
        ..METRICS_PROVIDER
    },
];

/// A right of the process that runs the jobs of external algorithms.
const fn of_jobs(kind: Kind, verbs: &'static [&'static str]) -> RbacRule<'static> {
    RbacRule {
        identity: Identity::Jobs,
        need: Need::ExternalAlgorithms,
        ..everywhere(kind, verbs)
    }
}

/// The rights to an object that a finalizer keeps until all changes are undone.
const fn held(kind: Kind, names: &'static [&'static str]) -> RbacRule<'static> {
    RbacRule {
        names,
        ..everywhere(kind, &["get", "patch", "delete"])
    }
}

const fn limiting(kind: Kind) -> RbacRule<'static> {
    needed(Need::InPlaceTuning, everywhere(kind, &["list"]))
}

/// The right to block deletion as an owner, which `OwnerReferencesPermissionEnforcement` requires.
const fn owning(kind: Kind, names: &'static [&'static str]) -> RbacRule<'static> {
    RbacRule {
        names,
        ..part("finalizers", everywhere(kind, &["update"]))
    }
}

const RESIZE: RbacRule<'static> = needed(Need::InPlaceTuning, part("resize", PATCH_PODS));

const READ_PODS: RbacRule<'static> = everywhere(Kind::Pod, &["list", "get"]);
const PATCH_PODS: RbacRule<'static> = everywhere(Kind::Pod, &["patch"]);

const fn part(subresource: &'static str, access: RbacRule<'static>) -> RbacRule<'static> {
    RbacRule {
        subresource: Some(subresource),
        ..access
    }
}

const fn needed(need: Need, access: RbacRule<'static>) -> RbacRule<'static> {
    RbacRule { need, ..access }
}

const fn everywhere(kind: Kind, verbs: &'static [&'static str]) -> RbacRule<'static> {
    RbacRule {
        identity: Identity::Service,
        kind,
        subresource: None,
        verbs,
        names: &[],
        scope: Scope::Cluster,
        need: Need::Always,
    }
}

const EXTERNAL_METRICS: RbacRule<'static> = RbacRule {
    names: &[api_service::EXTERNAL_METRICS],
    need: Need::ExternalMetrics,
    ..everywhere(Kind::ApiService, &["get"])
};

/// The one APIService of series.
const METRICS_PROVIDER: RbacRule<'static> = RbacRule {
    names: &[api_service::METRICS_PROVIDER],
    need: Need::MetricsProvider,
    ..everywhere(Kind::ApiService, &["get"])
};

/// How the API server introduces callers.
const fn introductions(need: Need) -> RbacRule<'static> {
    RbacRule {
        scope: Scope::KubeSystem,
        ..own(
            Kind::ConfigMap,
            &["get"],
            &[request_header::CONFIG_MAP],
            need,
        )
    }
}

/// The right to check the permissions of callers.
const fn reviews(need: Need) -> RbacRule<'static> {
    RbacRule {
        need,
        ..everywhere(Kind::SubjectAccessReview, &["create"])
    }
}

const fn scale(kind: Kind) -> RbacRule<'static> {
    part("scale", everywhere(kind, &["get", "patch"]))
}

const fn own(
    kind: Kind,
    verbs: &'static [&'static str],
    names: &'static [&'static str],
    need: Need,
) -> RbacRule<'static> {
    RbacRule {
        identity: Identity::Service,
        kind,
        subresource: None,
        verbs,
        names,
        scope: Scope::OwnNamespace,
        need,
    }
}

const fn signer(
    kind: Kind,
    verbs: &'static [&'static str],
    names: &'static [&'static str],
) -> RbacRule<'static> {
    RbacRule {
        identity: Identity::Signer,
        ..own(kind, verbs, names, Need::SelfManagedCertificates)
    }
}
