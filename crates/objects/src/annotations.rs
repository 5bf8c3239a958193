//! The annotations that Evenkeel reads and writes, and the message about an invalid value. If a
//! value is invalid, the default applies, and a warning or an Event names the annotation, the value
//! and what is accepted.

use std::collections::BTreeMap;
use std::fmt;

use evenkeel_units::{Amount, BytesPerSecond, RateError};

use crate::suggestion::nearest;
use crate::truncate::{OF_VALUE, excerpt};

/// The prefix of every annotation and label of Evenkeel.
pub const PREFIX: &str = "evenkeel.dev/";

/// On a namespace: `true` opts in. The label that mirrors it has the same name.
pub const ENABLED: &str = "evenkeel.dev/enabled";
/// On a namespace, written: the UIDs of its HorizontalPortraits with a job; the guard lets no other
/// run.
pub const PORTRAIT_JOBS: &str = "evenkeel.dev/portrait-jobs";
/// On a namespace: the headroom ratio.
pub const HEADROOM: &str = "evenkeel.dev/headroom";
/// On a namespace: the share from which a resource is dominant.
pub const PROFILE_THRESHOLD: &str = "evenkeel.dev/profile-threshold";
/// On a namespace: `off` keeps score terms away from its Pods.
pub const SCORE_LABELS: &str = "evenkeel.dev/score-labels";
/// On a namespace: the answer to a Pod for which no node has headroom.
pub const NO_HEADROOM: &str = "evenkeel.dev/no-headroom";
/// On a namespace: the time for which a Pod is refused before the least loaded nodes take it.
pub const RELAX_AFTER: &str = "evenkeel.dev/relax-after";

/// On a Pod: the rate at which it uses the network, in its busier direction.
pub const NETWORK_IO: &str = "evenkeel.dev/network-io";
/// On a Pod: the rate at which it reads and writes disks.
pub const DISK_IO: &str = "evenkeel.dev/disk-io";
/// On a Pod: the most that it may read from and write to each disk.
pub const DISK_IO_LIMIT: &str = "evenkeel.dev/disk-io-limit";
/// On a Pod: its profile, the user's own or found at admission.
pub const PROFILE: &str = "evenkeel.dev/profile";
/// On a Pod: the source of its profile, [`PROFILE_SOURCE_DECLARED`] or the data it was found from.
pub const PROFILE_SOURCE: &str = "evenkeel.dev/profile-source";
/// On a Pod: `true` leaves it alone.
pub const SKIP: &str = "evenkeel.dev/skip";
/// On a Pod, written at admission: the five numbers as compact JSON, marked if from other Pods'
/// use.
pub const DEMAND: &str = "evenkeel.dev/demand";

/// On a node: the rate that its network can carry in one direction.
pub const NETWORK_CAPACITY: &str = "evenkeel.dev/network-capacity";
/// On a node: the rate at which its disks read and write.
pub const DISK_IO_CAPACITY: &str = "evenkeel.dev/disk-io-capacity";
/// On a node, written when it regains headroom while refused Pods wait: the update wakes them.
pub const HEADROOM_RETURNED: &str = "evenkeel.dev/headroom-returned";

/// On a namespace, an autoscaler or a workload: the mode in which scaling decisions act.
pub const SCALING: &str = "evenkeel.dev/scaling";
/// On an autoscaler or a workload: the model that predicts its load.
pub const PREDICT: &str = "evenkeel.dev/predict";
/// On a workload without an autoscaler: its least replicas.
pub const MIN_REPLICAS: &str = "evenkeel.dev/min-replicas";
/// On a workload without an autoscaler: its most replicas.
pub const MAX_REPLICAS: &str = "evenkeel.dev/max-replicas";
/// On a workload without an autoscaler: the metrics that it is scaled by, with their targets.
pub const TARGET: &str = "evenkeel.dev/target";
/// On an autoscaler or a workload: a load that it also scales by, a preset or PromQL.
pub const QUERY: &str = "evenkeel.dev/query";
/// On an autoscaler or a workload: the amount of that load for each Pod.
pub const QUERY_TARGET: &str = "evenkeel.dev/query-target";
/// On an autoscaler or a workload: the traffic of which a model makes replicas, one query a line.
pub const TRAFFIC: &str = "evenkeel.dev/traffic";
/// On a workload without an autoscaler: how fast it may scale, as the `behavior` of an HPA.
pub const BEHAVIOR: &str = "evenkeel.dev/behavior";
/// On an autoscaler or a workload: the rule by which replicas are taken away.
pub const SCALE_DOWN: &str = "evenkeel.dev/scale-down";
/// On an autoscaler or a workload: `true` also forecasts its memory, which each Pod holds itself.
pub const PREDICT_MEMORY: &str = "evenkeel.dev/predict-memory";
/// On an autoscaler, a workload or a namespace: the share of time in which a floor may be too low.
pub const RISK: &str = "evenkeel.dev/risk";
/// On an autoscaler, written: the user's own bounds, and the contributions to them with their ends.
pub const BOUNDS: &str = "evenkeel.dev/bounds";
/// On an autoscaler or a workload, written: the last decision, and the conditions.
pub const SCALING_STATUS: &str = "evenkeel.dev/scaling-status";

/// On an IntelligentHorizontalPodAutoscaler: when a user asked Evenkeel to resume a held change.
pub const RESUME: &str = "evenkeel.dev/resume";

/// On a Pod, written while its ReplicaSet is scaled in: its deletion cost and the reason. A cost
/// without this annotation is the user's.
pub const DELETION_COST: &str = "evenkeel.dev/deletion-cost";
/// On a Pod, read by its ReplicaSet's controller: ready Pods with the lowest cost go first.
pub const POD_DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// On a namespace or a workload: how far the tuning of its Pods goes.
pub const TUNING: &str = "evenkeel.dev/tuning";
/// On a workload: the least cpu and memory that tuning may give a container.
pub const MIN_ALLOWED: &str = "evenkeel.dev/min-allowed";
/// On a workload: the most cpu and memory that tuning may give a container.
pub const MAX_ALLOWED: &str = "evenkeel.dev/max-allowed";
/// On a workload: `true` lets containers be resized that are started anew for it.
pub const RESIZE_RESTARTS: &str = "evenkeel.dev/resize-restarts";
/// On a workload, written: what its Pods are told to have, and what stands against it.
pub const TUNING_STATUS: &str = "evenkeel.dev/tuning-status";
/// On a Pod, written: the resources that it was made with, and those that it was resized to.
pub const RESIZED: &str = "evenkeel.dev/resized";
/// On a Pod, a label, written: its state where it takes no traffic, `Cutoff` or `Standby`.
pub const POD_STATE: &str = "evenkeel.dev/pod-state";
/// On a node, labels, written: the score of the node for the shape of Pods that the rest of the key
/// names.
pub const SCORE_LABEL_PREFIX: &str = "score.evenkeel.dev/";
/// A readiness gate of Pods and the condition that opens it: whether the Pod takes traffic.
pub const ONLINE: &str = "evenkeel.dev/online";

const KEDA_PAUSED: &str = "autoscaling.keda.sh/paused";

/// Set by kubelet on the mirror of a static Pod.
pub const MIRROR: &str = "kubernetes.io/config.mirror";
/// Cap on incoming traffic in bits per second, read by the CNI bandwidth plugin.
pub const INGRESS_BANDWIDTH: &str = "kubernetes.io/ingress-bandwidth";
/// Cap on outgoing traffic in bits per second, read by the CNI bandwidth plugin.
pub const EGRESS_BANDWIDTH: &str = "kubernetes.io/egress-bandwidth";

/// Labels and taint keys of control-plane nodes; the second is from clusters older than 1.24.
pub(crate) const CONTROL_PLANE: [&str; 2] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
];

/// [`PROFILE_SOURCE`] of a profile that the user chose.
pub const PROFILE_SOURCE_DECLARED: &str = "declared";
/// [`PROFILE_SOURCE`] of a profile found from requests and annotations.
pub const PROFILE_SOURCE_REQUESTS: &str = "requests";

/// True where a rule reads the annotation or label `key`; the others are skipped while parsing.
pub(crate) fn is_read(key: &str) -> bool {
    key.starts_with(PREFIX)
        || key.starts_with(KEDA_PAUSED)
        || [
            MIRROR,
            INGRESS_BANDWIDTH,
            EGRESS_BANDWIDTH,
            POD_DELETION_COST,
        ]
        .contains(&key)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidAnnotation {
    pub key: &'static str,
    pub value: String,
    pub accepted: &'static str,
}

impl InvalidAnnotation {
    /// A value that is not accepted; a long one is cut.
    pub fn new(key: &'static str, value: &str, accepted: &'static str) -> Self {
        Self {
            key,
            value: excerpt(value, OF_VALUE),
            accepted,
        }
    }

    /// The accepted word that was most likely meant, where a word is asked for.
    pub fn suggestion(&self) -> Option<&'static str> {
        let choices = choices(self.accepted);
        let truth = match self.value.trim().to_ascii_lowercase().as_str() {
            "yes" | "y" | "on" | "1" | "t" => Some("true"),
            "no" | "n" | "off" | "0" | "f" => Some("false"),
            _ => None,
        };
        let truth = truth.filter(|word| choices.contains(word));
        truth.or_else(|| nearest(&self.value, choices))
    }
}

/// The words in a text that lists only words, such as `off, recommend or on`; otherwise none.
fn choices(accepted: &'static str) -> Vec<&'static str> {
    let words = accepted.split(", ").flat_map(|part| part.split(" or "));
    let words: Vec<&str> = words.map(|word| word.trim_matches('"')).collect();
    let is_word = |word: &&str| {
        let mut letters = word.chars();
        letters.all(|letter| letter.is_ascii_lowercase() || letter == '-')
    };
    if words.iter().all(is_word) {
        words
    } else {
        Vec::new()
    }
}

impl fmt::Display for InvalidAnnotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "annotation {}: {:?} is not accepted, and the default applies; accepted: {}",
            self.key, self.value, self.accepted
        )?;
        match self.suggestion() {
            Some(word) => write!(f, "; did you mean {word:?}?"),
            None => Ok(()),
        }
    }
}

pub struct AnnotationParser<T> {
    pub key: &'static str,
    pub accepted: &'static str,
    /// The value in a text; `None` where it is not accepted.
    pub parse: fn(&str) -> Option<T>,
}

impl<T> AnnotationParser<T> {
    /// The value of the annotation; `None` where it is absent or refused.
    pub fn read(
        &self,
        annotations: &BTreeMap<String, String>,
        invalid: &mut Vec<InvalidAnnotation>,
    ) -> Option<T> {
        let text = annotations.get(self.key)?;
        let value = (self.parse)(text);
        if value.is_none() {
            invalid.push(InvalidAnnotation::new(self.key, text, self.accepted));
        }
        value
    }
}

/// The value of a boolean annotation; `false` where it is absent or refused.
pub fn flag(
    annotations: &BTreeMap<String, String>,
    key: &'static str,
    invalid: &mut Vec<InvalidAnnotation>,
) -> bool {
    match annotations.get(key).map(String::as_str) {
        Some("true") => true,
        None | Some("false") => false,
        Some(other) => {
            invalid.push(InvalidAnnotation::new(key, other, "\"true\" or \"false\""));
            false
        }
    }
}

/// The value of a rate annotation; `None` where it is absent or refused.
pub fn rate(
    annotations: &BTreeMap<String, String>,
    key: &'static str,
    invalid: &mut Vec<InvalidAnnotation>,
) -> Option<Amount> {
    let text = annotations.get(key)?;
    let rate = text.parse::<BytesPerSecond>().ok();
    if rate.is_none() {
        invalid.push(InvalidAnnotation::new(key, text, RateError::ACCEPTED));
    }
    rate.map(Amount::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_carry_the_prefix() {
        for key in [
            ENABLED,
            HEADROOM,
            PROFILE_THRESHOLD,
            NO_HEADROOM,
            RELAX_AFTER,
            SCORE_LABELS,
            NETWORK_IO,
            DISK_IO,
            DISK_IO_LIMIT,
            PROFILE,
            PROFILE_SOURCE,
            SKIP,
            DEMAND,
            NETWORK_CAPACITY,
            DISK_IO_CAPACITY,
            HEADROOM_RETURNED,
            SCALING,
            PREDICT,
            MIN_REPLICAS,
            MAX_REPLICAS,
            TARGET,
            BEHAVIOR,
            SCALE_DOWN,
            PREDICT_MEMORY,
            RISK,
            BOUNDS,
            SCALING_STATUS,
            DELETION_COST,
            TUNING,
            MIN_ALLOWED,
            MAX_ALLOWED,
            RESIZE_RESTARTS,
            TUNING_STATUS,
            RESIZED,
            POD_STATE,
            ONLINE,
        ] {
            assert!(key.starts_with(PREFIX), "{key}");
        }
        assert!(is_read(MIRROR) && is_read(EGRESS_BANDWIDTH) && is_read(SKIP));
        assert!(is_read(POD_DELETION_COST));
        assert!(is_read("autoscaling.keda.sh/paused-replicas"));
        assert!(!is_read("kubernetes.io/limit-ranger"));
    }

    #[test]
    fn a_word_that_was_mistyped_is_told_beside_what_is_accepted() {
        let modes = "off, recommend, floor or direct";
        for (value, accepted, expected) in [
            ("flor", modes, Some("floor")),
            ("Direct", modes, Some("direct")),
            ("auto", modes, None),
            ("yes", "\"true\" or \"false\"", Some("true")),
            ("FALSE", "\"true\" or \"false\"", Some("false")),
            ("yes", modes, None),
            // A text is no list of words.
            ("numbr", "a whole number from 0", None),
        ] {
            let invalid = InvalidAnnotation::new(SCALING, value, accepted);
            assert_eq!(invalid.suggestion(), expected, "{value}");
            let end = expected.map(|word| format!("; did you mean {word:?}?"));
            let is_told = end.is_some_and(|end| invalid.to_string().ends_with(&end));
            assert_eq!(is_told, expected.is_some(), "{invalid}");
        }
    }

    #[test]
    fn a_refused_value_is_named_with_what_is_accepted() {
        let annotations = BTreeMap::from([(NETWORK_IO.to_owned(), "fast".to_owned())]);
        let mut invalid = Vec::new();
        assert_eq!(rate(&annotations, NETWORK_IO, &mut invalid), None);
        let text = invalid[0].to_string();
        assert!(
            text.contains(NETWORK_IO) && text.contains("\"fast\"") && text.contains("5Mbps"),
            "{text}"
        );
    }
}
