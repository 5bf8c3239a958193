//! The Pods that get score terms. Operators, gangs and queues compare or hash the spec of a Pod, so
//! terms go only to Pods of controllers that are known not to, and only at creation.

use std::collections::BTreeSet;

use evenkeel_objects::annotations::SCORE_LABEL_PREFIX;
use evenkeel_objects::kinds::group_of;
use evenkeel_objects::pod::{Pod, PreferredNodeTerm};
use evenkeel_units::words;

/// The controllers of Kubernetes that do not compare their Pods with a template: API group and kind.
/// Others have the same kinds, such as Volcano its Job.
const CONTROLLERS: [(&str, &str); 4] = [
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("batch", "Job"),
    ("", "ReplicationController"),
];

/// The label by which Kueue queues a Pod.
const KUEUE_QUEUE: &str = "kueue.x-k8s.io/queue-name";

words! {
    /// The reason for which a new Pod gets score terms, or none.
    pub enum TermsOutcome {
        Added = "added",
        /// It has score terms already.
        Present = "present",
        DryRun = "dry_run",
        /// It names its node.
        NodeNamed = "node_named",
        SchedulingGates = "scheduling_gates",
        OtherScheduler = "other_scheduler",
        KueueQueue = "kueue_queue",
        SchedulingGroup = "scheduling_group",
        /// Of a DaemonSet, the mirror of a static Pod, critical to the system, or in `kube-system`.
        Exempt = "exempt",
        /// Without a controller, or of one that is not on the list.
        Controller = "controller",
        NamespaceOptedOut = "namespace_opted_out",
        /// Evenkeel may not write, so the labels are frozen or go.
        WritesDisabled = "writes_disabled",
        /// Its own preferred node terms leave no weight.
        OwnTerms = "own_terms",
        /// All shapes with labels are smaller.
        NoShape = "no_shape",
    }
}

impl TermsOutcome {
    /// In words, for a Pod without terms.
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::Added => "it gets terms",
            Self::Present => "it has terms already",
            Self::DryRun => "it was a dry run",
            Self::NodeNamed => "it names its node",
            Self::SchedulingGates => "it has scheduling gates",
            Self::OtherScheduler => "another scheduler places it",
            Self::KueueQueue => "Kueue queues it",
            Self::SchedulingGroup => "it belongs to a scheduling group",
            Self::Exempt => {
                "it is a DaemonSet's, a mirror Pod, critical to the system, or in kube-system"
            }
            Self::Controller => {
                "it has no controller that gets score terms; scheduling.scoreLabelControllers adds others"
            }
            Self::NamespaceOptedOut => "its namespace has evenkeel.dev/score-labels: \"off\"",
            Self::WritesDisabled => "writes are not enabled (writes: disabled or restore)",
            Self::OwnTerms => "its own preferred node terms leave no weight",
            Self::NoShape => "all shapes with labels are smaller",
        }
    }
}

/// True if a term reads a score label, of any shape.
pub fn is_score_term(term: &PreferredNodeTerm) -> bool {
    let mut keys = term.keys.iter();
    keys.any(|key| key.starts_with(SCORE_LABEL_PREFIX))
}

/// The Pods that get terms, by configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScoreTermRules {
    /// Controllers beside those of Kubernetes, as kind and API group: `CloneSet.apps.kruise.io`.
    pub controllers: BTreeSet<String>,
}

impl ScoreTermRules {
    /// The reason for which a new Pod gets no terms, by itself.
    pub fn refusal(&self, pod: &Pod) -> Option<TermsOutcome> {
        let node = pod.spec.node_name.as_deref();
        let refusal = self.refusal_of_any(pod);
        if refusal.is_some() {
            refusal
        } else if node.is_some_and(|name| !name.is_empty()) {
            Some(TermsOutcome::NodeNamed)
        } else if pod.spec.has_scheduling_gates {
            Some(TermsOutcome::SchedulingGates)
        } else {
            None
        }
    }

    /// The reason for which no Pod of this kind gets terms, whether it is new or bound.
    pub fn refusal_of_any(&self, pod: &Pod) -> Option<TermsOutcome> {
        let scheduler = pod.spec.scheduler_name.as_deref();
        if pod.is_mirror() || pod.is_daemon_set() || pod.is_system_critical() {
            Some(TermsOutcome::Exempt)
        } else if !matches!(scheduler, None | Some("" | "default-scheduler")) {
            Some(TermsOutcome::OtherScheduler)
        } else if pod.labels.contains_key(KUEUE_QUEUE) {
            Some(TermsOutcome::KueueQueue)
        } else if pod.is_in_scheduling_group() {
            Some(TermsOutcome::SchedulingGroup)
        } else if !self.allows_controller(pod) {
            Some(TermsOutcome::Controller)
        } else {
            None
        }
    }

    fn allows_controller(&self, pod: &Pod) -> bool {
        pod.metadata.controller().is_some_and(|owner| {
            let (group, kind) = (group_of(&owner.api_version), owner.kind.as_str());
            CONTROLLERS.contains(&(group, kind))
                || self.controllers.contains(&format!("{kind}.{group}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn refusal(change: &Value) -> Option<TermsOutcome> {
        let mut pod = json!({
            "metadata": {
                "namespace": "shop",
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "controller": true}],
            },
            "spec": {"containers": []},
        });
        json_patch::merge(&mut pod, change);
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let controllers = ["CloneSet.apps.kruise.io".to_owned()].into();
        ScoreTermRules { controllers }.refusal(&pod)
    }

    #[test]
    fn each_reason_leaves_a_pod_without_terms() {
        use TermsOutcome::*;
        let owned = |api: &str, kind: &str| json!({"metadata": {"ownerReferences": [{"apiVersion": api, "kind": kind, "controller": true}]}});
        let spec = |key: &str, value: Value| json!({"spec": {key: value}});
        for (change, expected) in [
            (json!({}), None),
            (owned("batch/v1", "Job"), None),
            (owned("apps/v1", "StatefulSet"), None),
            (owned("v1", "ReplicationController"), None),
            (owned("apps.kruise.io/v1beta1", "CloneSet"), None),
            (owned("batch.volcano.sh/v1alpha1", "Job"), Some(Controller)),
            (
                owned("apps.kruise.io/v1beta1", "StatefulSet"),
                Some(Controller),
            ),
            (owned("example.com/v1", "CloneSet"), Some(Controller)),
            (owned("v1", "Job"), Some(Controller)),
            (owned("apps/v1", "DaemonSet"), Some(Exempt)),
            (
                json!({"metadata": {"ownerReferences": null}}),
                Some(Controller),
            ),
            (
                json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}),
                Some(Exempt),
            ),
            (
                spec("priorityClassName", json!("system-node-critical")),
                Some(Exempt),
            ),
            (spec("nodeName", json!("a")), Some(NodeNamed)),
            (spec("nodeName", json!("")), None),
            (spec("schedulerName", json!("default-scheduler")), None),
            (
                spec("schedulerName", json!("volcano")),
                Some(OtherScheduler),
            ),
            (spec("schedulingGates", json!([])), None),
            (
                spec("schedulingGates", json!([{"name": "x"}])),
                Some(SchedulingGates),
            ),
            (
                spec("schedulingGroup", json!({"podGroupName": "g"})),
                Some(SchedulingGroup),
            ),
            (
                spec("workloadRef", json!({"name": "g"})),
                Some(SchedulingGroup),
            ),
            (
                json!({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}}),
                Some(KueueQueue),
            ),
        ] {
            assert_eq!(refusal(&change), expected, "{change}");
        }
    }
}
