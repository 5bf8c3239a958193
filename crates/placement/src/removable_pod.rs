//! A Pod with the facts that decide if it may go when its ReplicaSet is scaled in. A deletion cost
//! is Evenkeel's if the annotation beside it says the same. Any other cost is the user's, and
//! Evenkeel never changes it.

use std::sync::Arc;

use evenkeel_objects::annotations::{DELETION_COST, POD_DELETION_COST};
use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::kinds::foreign_group;
use evenkeel_objects::meta::{AllLabels, Meta, RelevantAnnotations};
use evenkeel_objects::pod::{Pod, PodStatusPhase, TopologySpread};

use crate::deletion_cost::DeletionBasis;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovablePod {
    pub name: Box<str>,
    pub uid: Arc<str>,
    pub node: Option<Arc<str>>,
    /// True if the ReplicaSet's controller deletes it before any ready Pod, whatever its cost: not
    /// bound, not running or not ready.
    pub goes_first: bool,
    pub profile: Option<Arc<str>>,
    pub common: Arc<ReplicaSetPodData>,
    pub mark: DeletionCostAnnotations,
}

/// The data that Pods of one ReplicaSet share as a rule, kept once for all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplicaSetPodData {
    pub namespace: String,
    /// The ReplicaSet that controls them; no controller reads the costs of other Pods.
    pub replica_set: Option<ReplicaSetName>,
    pub labels: AllLabels,
    pub spread: Vec<TopologySpread>,
    pub priority_class: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaSetName {
    pub name: String,
    pub key: ControllerKey,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeletionCostAnnotations {
    /// The cost that its ReplicaSet's controller reads.
    pub cost: Option<String>,
    /// The annotation that Evenkeel wrote beside it: the same cost and its ground.
    pub own: Option<String>,
    /// True where the Pod has annotations at all.
    pub is_annotated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    pub cost: i32,
    pub ground: DeletionBasis,
}

impl DeletionCostAnnotations {
    pub fn of(annotations: &RelevantAnnotations) -> Self {
        Self {
            cost: annotations.get(POD_DELETION_COST).cloned(),
            own: annotations.get(DELETION_COST).cloned(),
            is_annotated: annotations.is_there,
        }
    }

    pub fn with(&self, cost: Option<&Cost>) -> Self {
        Self {
            cost: cost.map(|given| given.cost.to_string()),
            own: cost.map(|given| format!("{} {}", given.cost, given.ground.as_str())),
            is_annotated: self.is_annotated || cost.is_some(),
        }
    }

    pub fn is_users(&self) -> bool {
        let own = self.own.as_deref().and_then(|own| own.split(' ').next());
        self.cost.is_some() && self.cost.as_deref() != own
    }

    /// The cost that Evenkeel gave the Pod; `None` where it gave none that stands.
    pub fn given(&self) -> Option<Cost> {
        let own = self.own.as_deref().filter(|_| !self.is_users())?;
        let (cost, ground) = own.split_once(' ')?;
        self.cost.as_ref()?;
        Some(Cost {
            cost: cost.parse().ok()?,
            ground: DeletionBasis::ALL
                .into_iter()
                .find(|one| one.as_str() == ground)?,
        })
    }
}

impl RemovablePod {
    /// The Pod, unless it has ended or is being deleted, so that no controller counts it any more.
    pub fn of(pod: &Pod) -> Option<Self> {
        if pod.is_finished() || pod.is_terminating() {
            return None;
        }
        let controller = pod.metadata.controller().filter(|owner| {
            owner.kind == "ReplicaSet" && foreign_group(&owner.api_version, &owner.kind).is_none()
        });
        let ready = pod.status.condition("Ready");
        let is_ready = ready.is_some_and(|ready| ready.status == "True");
        let node = pod.spec.node_name.as_deref();
        let common = ReplicaSetPodData {
            namespace: pod.namespace().to_owned(),
            replica_set: controller.map(|owner| ReplicaSetName {
                name: owner.name.clone(),
                key: ControllerKey::new(pod.namespace(), &owner.uid),
            }),
            labels: pod.labels.clone(),
            spread: pod.spec.topology_spread_constraints.clone(),
            priority_class: pod.spec.priority_class_name.clone(),
        };
        Some(Self {
            name: pod.name().into(),
            uid: pod.uid().into(),
            goes_first: node.is_none() || pod.status.phase != PodStatusPhase::Running || !is_ready,
            node: node.map(Arc::from),
            profile: pod.annotated_profile().map(Arc::from),
            common: Arc::new(common),
            mark: DeletionCostAnnotations::of(&pod.metadata.annotations),
        })
    }

    pub fn share(&mut self, other: &Self) {
        if self.common == other.common {
            self.common = Arc::clone(&other.common);
        }
        // Admission writes what fits the cluster at that moment, so it may differ in a ReplicaSet.
        if self.profile == other.profile {
            self.profile.clone_from(&other.profile);
        }
    }

    pub fn metadata(&self) -> Meta {
        let mut metadata = Meta {
            name: Some(self.name.to_string()),
            namespace: Some(self.common.namespace.clone()),
            uid: Some(self.uid.to_string()),
            ..Meta::default()
        };
        metadata.annotations.is_there = self.mark.is_annotated;
        metadata
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(ready: &str, annotations: &serde_json::Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "web-1", "namespace": "shop", "uid": "u",
                "annotations": annotations, "labels": {"app": "web"},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                    "name": "web", "uid": "set", "controller": true}]},
            "spec": {"nodeName": "a"},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}}))
        .unwrap()
    }

    #[test]
    fn a_cost_is_ours_where_the_annotation_beside_it_says_the_same() {
        for (cost, own, users, given) in [
            (json!(null), json!(null), false, None),
            (
                json!("-2"),
                json!("-2 headroom"),
                false,
                Some((-2, DeletionBasis::Headroom)),
            ),
            (json!("-2"), json!(null), true, None),
            (json!("5"), json!("-2 headroom"), true, None),
            (json!(null), json!("-2 headroom"), false, None),
            (json!("-2"), json!("-2"), false, None),
        ] {
            let annotations = json!({POD_DELETION_COST: cost, DELETION_COST: own});
            let mark = RemovablePod::of(&pod("True", &annotations)).unwrap().mark;
            assert_eq!(mark.is_users(), users, "{annotations}");
            let found = mark.given().map(|given| (given.cost, given.ground));
            assert_eq!(found, given, "{annotations}");
        }
        let cost = Cost {
            cost: -3,
            ground: DeletionBasis::Balance,
        };
        let mark = DeletionCostAnnotations::default().with(Some(&cost));
        assert_eq!(mark.given(), Some(cost));
        assert_eq!(mark.with(None).given(), None);
    }

    #[test]
    fn what_the_controller_deletes_anyway_is_known_and_what_goes_already_is_left_out() {
        let of = |ready: &str| RemovablePod::of(&pod(ready, &json!({}))).unwrap();
        assert!(!of("True").goes_first && of("False").goes_first);
        let mut waiting = pod("True", &json!({}));
        waiting.spec.node_name = None;
        assert!(RemovablePod::of(&waiting).unwrap().goes_first);
        let mut going = pod("True", &json!({}));
        going.metadata.deletion_timestamp = Some(jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(RemovablePod::of(&going), None);
        let mut foreign = pod("True", &json!({}));
        foreign.metadata.owner_references[0].api_version = "other.example/v1".to_owned();
        assert_eq!(RemovablePod::of(&foreign).unwrap().common.replica_set, None);
    }

    #[test]
    fn pods_of_one_template_share_what_is_the_same() {
        let one = RemovablePod::of(&pod("True", &json!({}))).unwrap();
        let mut other = RemovablePod::of(&pod("True", &json!({}))).unwrap();
        other.share(&one);
        assert!(Arc::ptr_eq(&one.common, &other.common));
        let mut third = pod("True", &json!({}));
        third.spec.priority_class_name = Some("high".to_owned());
        let mut third = RemovablePod::of(&third).unwrap();
        third.share(&one);
        assert!(!Arc::ptr_eq(&one.common, &third.common));
        let profile = json!({"evenkeel.dev/profile": "compute"});
        let mut fourth = RemovablePod::of(&pod("True", &profile)).unwrap();
        fourth.share(&one);
        assert!(Arc::ptr_eq(&one.common, &fourth.common));
        assert_eq!(fourth.profile.as_deref(), Some("compute"));
    }
}
