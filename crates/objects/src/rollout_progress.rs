//! The progress of a rollout of a Deployment or a StatefulSet, as its controller reports it. A
//! Deployment is done once all Pods have been available together, which its condition `Progressing`
//! keeps; without a deadline it has no such condition. A StatefulSet is done once its two revisions
//! are equal, or with a partition once all Pods above it are new. Paused and `OnDelete` workloads
//! replace nothing.

use serde::Deserialize;

use crate::json::{list, null_is_default};
use crate::kinds::Kind;
use crate::rollout::RolloutProgress;

#[derive(Debug, Clone, Copy)]
pub(crate) struct PodReplacementSpec {
    pub(crate) paused: bool,
    /// True if it replaces only Pods that a user or another program deletes.
    pub(crate) on_delete: bool,
    pub(crate) partition: i32,
}

/// The parts of its status that say how far it is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct WrittenStatus {
    observed_generation: Option<i64>,
    replicas: i32,
    updated_replicas: i32,
    #[serde(deserialize_with = "null_is_default")]
    current_revision: String,
    #[serde(deserialize_with = "null_is_default")]
    update_revision: String,
    #[serde(deserialize_with = "list")]
    conditions: Vec<WrittenCondition>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct WrittenCondition {
    #[serde(rename = "type", deserialize_with = "null_is_default")]
    kind: String,
    #[serde(deserialize_with = "null_is_default")]
    reason: String,
}

impl WrittenStatus {
    pub(crate) fn progress(
        &self,
        kind: Kind,
        generation: Option<i64>,
        replicas: i32,
        spec: PodReplacementSpec,
    ) -> RolloutProgress {
        let is_done = match kind {
            Kind::Deployment => spec.paused || self.has_progressed(replicas),
            Kind::StatefulSet => self.has_updated(replicas, spec),
            _ => return RolloutProgress::Complete,
        };
        if self.observed_generation < generation {
            RolloutProgress::Unseen
        } else if is_done {
            RolloutProgress::Complete
        } else {
            RolloutProgress::UnderWay
        }
    }

    fn has_progressed(&self, replicas: i32) -> bool {
        let mut told = self.conditions.iter();
        match told.find(|one| one.kind == "Progressing") {
            Some(progressing) => progressing.reason == "NewReplicaSetAvailable",
            None => self.updated_replicas >= replicas && self.replicas <= self.updated_replicas,
        }
    }

    fn has_updated(&self, replicas: i32, spec: PodReplacementSpec) -> bool {
        let above = replicas.saturating_sub(spec.partition);
        spec.on_delete
            || self.current_revision == self.update_revision
            || (spec.partition > 0 && self.updated_replicas >= above)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::rollout::RolloutProgress::{Complete, UnderWay, Unseen};

    const ALL: PodReplacementSpec = PodReplacementSpec {
        paused: false,
        on_delete: false,
        partition: 0,
    };

    fn progress(kind: Kind, spec: PodReplacementSpec, mut status: Value) -> RolloutProgress {
        if status["observedGeneration"].is_null() {
            status["observedGeneration"] = json!(2);
        }
        let status: WrittenStatus = serde_json::from_value(status).unwrap();
        status.progress(kind, Some(2), 3, spec)
    }

    #[test]
    fn a_deployment_is_done_once_its_condition_has_said_so() {
        let paused = PodReplacementSpec {
            paused: true,
            ..ALL
        };
        let told = |reason: &str| {
            json!({"conditions": [{"type": "Available", "reason": "Minimum"},
                {"type": "Progressing", "reason": reason}]})
        };
        let counts =
            |replicas: i32, updated: i32| json!({"replicas": replicas, "updatedReplicas": updated});
        let mut old = told("NewReplicaSetAvailable");
        old["observedGeneration"] = json!(1);
        for (spec, status, found) in [
            (ALL, told("NewReplicaSetAvailable"), Complete),
            (ALL, told("ReplicaSetUpdated"), UnderWay),
            (ALL, told("ProgressDeadlineExceeded"), UnderWay),
            (ALL, told("DeploymentResumed"), UnderWay),
            (paused, told("DeploymentPaused"), Complete),
            (ALL, old, Unseen),
            (ALL, counts(3, 3), Complete),
            (ALL, counts(4, 3), UnderWay),
            (ALL, counts(3, 2), UnderWay),
            (ALL, json!({"conditions": null}), UnderWay),
        ] {
            let name = format!("{spec:?} {status}");
            assert_eq!(progress(Kind::Deployment, spec, status), found, "{name}");
        }
    }

    #[test]
    fn a_stateful_set_is_done_once_its_revisions_are_one() {
        let revisions = |update: &str, updated: i32| json!({"currentRevision": "a", "updateRevision": update, "updatedReplicas": updated});
        let partition = |partition: i32| PodReplacementSpec { partition, ..ALL };
        let on_delete = PodReplacementSpec {
            on_delete: true,
            ..ALL
        };
        for (spec, status, found) in [
            (ALL, json!({}), Complete),
            (ALL, revisions("a", 3), Complete),
            (ALL, revisions("b", 3), UnderWay),
            (partition(2), revisions("b", 0), UnderWay),
            (partition(2), revisions("b", 1), Complete),
            (on_delete, revisions("b", 0), Complete),
        ] {
            let name = format!("{spec:?} {status}");
            assert_eq!(progress(Kind::StatefulSet, spec, status), found, "{name}");
        }
        let alone = progress(Kind::ReplicaSet, ALL, json!({}));
        assert_eq!(alone, Complete, "it brings nothing out");
    }
}
