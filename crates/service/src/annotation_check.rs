//! Faults of annotations: invalid values, unknown names, and annotations on the wrong kind.

use std::collections::BTreeMap;

use evenkeel_certificates::key_rotation;
use evenkeel_objects::annotations::{
    BEHAVIOR, BOUNDS, DELETION_COST, DEMAND, DISK_IO, DISK_IO_CAPACITY, DISK_IO_LIMIT, ENABLED,
    HEADROOM, HEADROOM_RETURNED, InvalidAnnotation, MAX_ALLOWED, MAX_REPLICAS, MIN_ALLOWED,
    MIN_REPLICAS, NETWORK_CAPACITY, NETWORK_IO, NO_HEADROOM, ONLINE, POD_STATE, PORTRAIT_JOBS,
    PREDICT, PREDICT_MEMORY, PREFIX, PROFILE, PROFILE_SOURCE, PROFILE_THRESHOLD, QUERY,
    QUERY_TARGET, RELAX_AFTER, RESIZE_RESTARTS, RESIZED, RESUME, RISK, SCALE_DOWN, SCALING,
    SCALING_STATUS, SCORE_LABELS, SKIP, TARGET, TRAFFIC, TUNING, TUNING_STATUS,
};
use evenkeel_objects::capacities::Capacities;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::{Meta, RelevantAnnotations};
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::node::{Node, node_facts};
use evenkeel_objects::pod::Pod;
use evenkeel_objects::suggestion::nearest;
use evenkeel_placement::demand::demand;
use evenkeel_scaling::horizontal_portraits::TEMPLATE_HASH;
use evenkeel_scaling::specs::ihpa::resume;
use evenkeel_scaling::specs::scaling_policy::ScalingPolicy;
use evenkeel_tuning::tuning_policy::TuningPolicy;
use evenkeel_units::words;

words! {
    pub enum Carrier {
        Namespace = "the namespace",
        Node = "a node",
        Pod = "a Pod (spec.template.metadata.annotations of its workload)",
        /// An object that makes Pods and can be scaled or tuned; custom resources are included.
        Workload = "the workload",
        /// An HPA, or the ScaledObject that one is made from.
        Autoscaler = "the HorizontalPodAutoscaler or ScaledObject",
        Ihpa = "the IntelligentHorizontalPodAutoscaler",
        /// Any other kind: nothing reads annotations of it.
        Other = "no object",
    }
}

impl Carrier {
    pub const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Namespace => Self::Namespace,
            Kind::Node => Self::Node,
            Kind::Pod => Self::Pod,
            Kind::Deployment
            | Kind::StatefulSet
            | Kind::ReplicaSet
            | Kind::DaemonSet
            | Kind::Custom(_) => Self::Workload,
            Kind::HorizontalPodAutoscaler | Kind::ScaledObject => Self::Autoscaler,
            Kind::Ihpa => Self::Ihpa,
            _ => Self::Other,
        }
    }
}

use Carrier::{Autoscaler, Ihpa, Namespace as OfNamespace, Node as OfNode, Pod as OfPod, Workload};

/// The annotations that users set, with what each is read of.
const READ: [(&str, &[Carrier]); 30] = [
    (ENABLED, &[OfNamespace]),
    (HEADROOM, &[OfNamespace]),
    (PROFILE_THRESHOLD, &[OfNamespace]),
    (NO_HEADROOM, &[OfNamespace]),
    (RELAX_AFTER, &[OfNamespace]),
    (SCORE_LABELS, &[OfNamespace]),
    (NETWORK_IO, &[OfPod]),
    (DISK_IO, &[OfPod]),
    (DISK_IO_LIMIT, &[OfPod]),
    (PROFILE, &[OfPod]),
    (SKIP, &[OfPod]),
    (NETWORK_CAPACITY, &[OfNode]),
    (DISK_IO_CAPACITY, &[OfNode]),
    (SCALING, &[OfNamespace, Autoscaler, Workload, Ihpa]),
    (RISK, &[OfNamespace, Autoscaler, Workload]),
    (PREDICT, &[Autoscaler, Workload]),
    (PREDICT_MEMORY, &[Autoscaler, Workload]),
    (QUERY, &[Autoscaler, Workload]),
    (QUERY_TARGET, &[Autoscaler, Workload]),
    (TRAFFIC, &[Autoscaler, Workload]),
    (SCALE_DOWN, &[Autoscaler, Workload]),
    (MIN_REPLICAS, &[Autoscaler, Workload]),
    (MAX_REPLICAS, &[Autoscaler, Workload]),
    (TARGET, &[Autoscaler, Workload]),
    (BEHAVIOR, &[Autoscaler, Workload]),
    (TUNING, &[OfNamespace, Workload]),
    (MIN_ALLOWED, &[Workload]),
    (MAX_ALLOWED, &[Workload]),
    (RESIZE_RESTARTS, &[Workload]),
    (RESUME, &[Ihpa]),
];

/// The annotations that Evenkeel writes; they may be on anything copied from such an object.
const WRITTEN: [&str; 14] = [
    PROFILE_SOURCE,
    DEMAND,
    HEADROOM_RETURNED,
    BOUNDS,
    SCALING_STATUS,
    DELETION_COST,
    TUNING_STATUS,
    RESIZED,
    POD_STATE,
    ONLINE,
    key_rotation::REQUEST,
    key_rotation::ROTATION,
    TEMPLATE_HASH,
    PORTRAIT_JOBS,
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnnotationFault {
    Invalid(InvalidAnnotation),
    Unknown {
        key: String,
        /// The name that was most likely meant.
        nearest: Option<&'static str>,
    },
    /// It stands on an object of which nothing reads it.
    Unread {
        key: &'static str,
        read_of: &'static [Carrier],
    },
}

pub fn read() -> impl Iterator<Item = &'static str> {
    READ.iter().map(|(key, _)| *key)
}

/// True where an annotation of these asks for something of an object of this kind.
pub fn asks(carrier: Carrier, annotations: &BTreeMap<String, String>) -> bool {
    READ.iter()
        .any(|(key, read_of)| read_of.contains(&carrier) && annotations.contains_key(*key))
}

/// The annotations with invalid values, among those that Evenkeel reads on this carrier.
pub fn invalid(carrier: Carrier, annotations: &RelevantAnnotations) -> Vec<InvalidAnnotation> {
    let metadata = || Meta {
        annotations: annotations.clone(),
        ..Meta::default()
    };
    match carrier {
        Carrier::Namespace => NamespacePolicy::parse(annotations).1,
        Carrier::Node => {
            let node = Node {
                metadata: metadata(),
                ..Node::default()
            };
            node_facts(&node, &Capacities::default()).1
        }
        Carrier::Pod => {
            let pod = Pod {
                metadata: metadata(),
                ..Pod::default()
            };
            demand(&pod, false).invalid
        }
        Carrier::Workload => {
            let mut invalid = ScalingPolicy::parse(annotations).1;
            invalid.extend(TuningPolicy::parse(annotations).1);
            invalid
        }
        Carrier::Autoscaler => ScalingPolicy::parse(annotations).1,
        Carrier::Ihpa => {
            let mut invalid = ScalingPolicy::parse(annotations).1;
            invalid.retain(|one| one.key == SCALING);
            invalid.extend(resume(annotations).err());
            invalid
        }
        Carrier::Other => Vec::new(),
    }
}

/// Everything that is wrong with the annotations of an object.
pub fn check(carrier: Carrier, annotations: &RelevantAnnotations) -> Vec<AnnotationFault> {
    let invalid = invalid(carrier, annotations);
    let mut faults: Vec<_> = invalid.into_iter().map(AnnotationFault::Invalid).collect();
    let own = annotations
        .keys()
        .filter(|key| key.starts_with(PREFIX) && !WRITTEN.contains(&key.as_str()));
    for key in own {
        match READ.iter().find(|(known, _)| known == key) {
            None => faults.push(AnnotationFault::Unknown {
                key: key.clone(),
                nearest: nearest_name(key),
            }),
            Some((_, read_of)) if read_of.contains(&carrier) => {}
            Some((key, read_of)) => faults.push(AnnotationFault::Unread { key, read_of }),
        }
    }
    faults
}

/// The annotation that a name stands for which is none.
fn nearest_name(key: &str) -> Option<&'static str> {
    let ending = |key: &'static str| key.strip_prefix(PREFIX);
    let given = key.strip_prefix(PREFIX)?;
    let meant = nearest(given, read().filter_map(ending))?;
    read().find(|key| ending(key) == Some(meant))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const REFUSED: &str = "\u{0}no value of anything\u{0}";
    /// Annotations that accept every text: a profile may be configured, and a target depends on its
    /// query.
    const FREE: [&str; 2] = [PROFILE, QUERY_TARGET];

    fn annotated(of: &[(&str, &str)]) -> RelevantAnnotations {
        let map: BTreeMap<&str, &str> = of.iter().copied().collect();
        serde_json::from_value(json!(map)).unwrap()
    }

    #[test]
    fn every_annotation_is_checked_on_every_kind_that_it_is_read_of() {
        for (key, read_of) in READ {
            for carrier in read_of {
                let faults = check(*carrier, &annotated(&[(key, REFUSED)]));
                let named = faults.iter().any(|fault| match fault {
                    AnnotationFault::Invalid(invalid) => invalid.key == key,
                    _ => false,
                });
                assert_eq!(
                    named,
                    !FREE.contains(&key),
                    "{key} of {carrier:?}: {faults:?}"
                );
            }
        }
    }

    #[test]
    fn an_annotation_on_an_object_that_nothing_reads_it_of_is_named_with_its_place() {
        for (key, read_of) in READ {
            for carrier in [
                OfNamespace,
                OfNode,
                OfPod,
                Workload,
                Autoscaler,
                Ihpa,
                Carrier::Other,
            ] {
                let faults = check(carrier, &annotated(&[(key, "1")]));
                let unread = faults
                    .iter()
                    .any(|fault| matches!(fault, AnnotationFault::Unread { .. }));
                assert_eq!(unread, !read_of.contains(&carrier), "{key} of {carrier:?}");
            }
        }
    }

    #[test]
    fn a_name_that_does_not_exist_is_told_with_the_one_that_was_meant() {
        for (given, meant) in [
            ("evenkeel.dev/scalling", Some(SCALING)),
            ("evenkeel.dev/Scaling", Some(SCALING)),
            ("evenkeel.dev/min-replica", Some(MIN_REPLICAS)),
            ("evenkeel.dev/networkio", Some(NETWORK_IO)),
            ("evenkeel.dev/foo", None),
            ("evenkeel.dev/anything-else-that-is-long", None),
        ] {
            let faults = check(Workload, &annotated(&[(given, "floor")]));
            let expected = AnnotationFault::Unknown {
                key: given.to_owned(),
                nearest: meant,
            };
            assert_eq!(faults, [expected], "{given}");
        }
    }

    #[test]
    fn what_evenkeel_writes_and_what_others_write_is_no_fault() {
        for key in WRITTEN.into_iter().chain(["kubernetes.io/config.mirror"]) {
            for carrier in [OfNamespace, OfPod, Workload, Autoscaler, Carrier::Other] {
                assert_eq!(check(carrier, &annotated(&[(key, "x")])), [], "{key}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_mistyped_mode_is_found_on_every_kind_that_scales(
            mode in prop::sample::select(vec!["off", "recommend", "floor", "direct"]),
            at in 0..9_usize,
        ) {
            let at = at % mode.len();
            let mistyped = format!("{}{}", &mode[..at], &mode[at + 1..]);
            for carrier in [OfNamespace, Workload, Autoscaler, Ihpa] {
                let faults = check(carrier, &annotated(&[(SCALING, &mistyped)]));
                let [AnnotationFault::Invalid(invalid)] = &faults[..] else {
                    return Err(TestCaseError::fail(format!("{carrier:?}: {faults:?}")));
                };
                prop_assert_eq!(invalid.suggestion(), Some(mode));
            }
        }
    }
}
