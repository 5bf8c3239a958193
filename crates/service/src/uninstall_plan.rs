//! The traces that Evenkeel leaves on foreign objects, and the patch that removes them. Bounds
//! return to the user's values, including later edits. An object stays as it is if its record does
//! not parse, makes no sense or is another writer's. The user's own annotations stay. A workload at
//! zero replicas by mode direct gets one again, because nothing else would wake it. A Pod out of
//! traffic loses its label here, and [`evenkeel_replica_profile::online_condition`] opens its gate.

pub mod installation;

use evenkeel_hpa::autoscaler::Autoscaler;
use evenkeel_objects::annotations::{
    BOUNDS, DELETION_COST, ENABLED, HEADROOM_RETURNED, POD_DELETION_COST, POD_STATE, PORTRAIT_JOBS,
    PREFIX, RESIZED, SCALING_STATUS, SCORE_LABEL_PREFIX, TUNING_STATUS,
};
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use evenkeel_objects::plan::conditional_patch::ConditionalPatch;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::taint::Taints;
use evenkeel_objects::workload::Workload;
use evenkeel_placement::plan::overload::change_taints;
use evenkeel_placement::removable_pod;
use evenkeel_replica_profile::online_condition;
use evenkeel_scaling::bounds_record::annotation::BoundsAnnotationError;
use evenkeel_scaling::status::last_status::sleeps;
use evenkeel_scaling::targets::bounds::{ObservedBounds, RefusedRecord};
use evenkeel_scaling::targets::owner::Owner;
use evenkeel_scaling::targets::scaled_object::ScaledObject;
use evenkeel_tuning::resizable_pod::ResizablePod;
use evenkeel_tuning::{resize, resize_record};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize as _;
use serde_json::{Map, Value};

/// The kinds of object that Evenkeel writes on.
pub(crate) const WRITTEN: [Kind; 9] = [
    Kind::HorizontalPodAutoscaler,
    Kind::ScaledObject,
    Kind::Deployment,
    Kind::StatefulSet,
    Kind::ReplicaSet,
    Kind::DaemonSet,
    Kind::Namespace,
    Kind::Node,
    Kind::Pod,
];

/// The kinds of object with bounds or a count that Evenkeel changes, with a record of the user's.
pub(crate) const BOUNDED: [Kind; 5] = [
    Kind::HorizontalPodAutoscaler,
    Kind::ScaledObject,
    Kind::Deployment,
    Kind::StatefulSet,
    Kind::ReplicaSet,
];

/// Time after the end of the last contribution until any run may restore the bounds; a live leader
/// does so within a minute.
const LAPSED: SignedDuration = SignedDuration::from_hours(1);

/// A live replica opens the readiness gate of a new Pod within a second. After this time none does.
const UNOPENED: SignedDuration = SignedDuration::from_mins(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    All,
    /// Traces on objects with bounds without a contributor ([`ObjectTraces::have_lapsed`]), and
    /// readiness gates that no replica opens.
    Lapsed,
    /// As `Lapsed`, and score labels of nodes: no leader has existed for ten minutes, and old scores
    /// would mislead kube-scheduler.
    Leaderless,
    /// As `Leaderless`, and taints, deletion costs, resizes and Pods out of traffic: no leader has
    /// existed for long.
    Abandoned,
}

#[derive(Debug, Default)]
pub struct ObjectTraces {
    /// The bounds of an object that carries a record of them.
    pub bounds: Option<Result<ObservedBounds, RefusedRecord>>,
    /// Annotations beside the record that Evenkeel wrote.
    pub annotations: Vec<&'static str>,
    /// The label that mirrors a namespace's annotation, or that marks a Pod as out of traffic.
    pub label: Option<&'static str>,
    /// The readiness gate of a Pod, where it keeps the Pod out of traffic.
    pub shut: Option<ClosedReadinessGate>,
    /// Taints of a node that Evenkeel set.
    pub taints: Vec<String>,
    /// Labels of a node with its scores.
    pub score_labels: Vec<String>,
    /// Annotations of Evenkeel that the user wrote.
    pub own: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedReadinessGate {
    /// True where the gate should be open, and no replica has opened it within 5 minutes.
    pub is_forgotten: bool,
}

impl ObjectTraces {
    /// True for bounds without a contributor for an hour: the replica that should have restored
    /// them is gone.
    pub(crate) fn have_lapsed(&self, now: Timestamp) -> bool {
        let bounds = self.bounds.as_ref().and_then(|bounds| bounds.as_ref().ok());
        let held_until = bounds.and_then(|bounds| bounds.written()?.held_until());
        held_until.is_some_and(|until| now.duration_since(until) >= LAPSED)
    }

    pub fn is_clean(&self) -> bool {
        let Self {
            bounds,
            annotations,
            label,
            shut,
            taints,
            score_labels,
            own: _,
        } = self;
        let has_marks = !annotations.is_empty() || label.is_some() || shut.is_some();
        bounds.is_none() && !has_marks && taints.is_empty() && score_labels.is_empty()
    }

    /// The traces that go at this extent. Taints of a node stay for longer than its score labels.
    fn within(self, extent: Extent) -> Self {
        if extent != Extent::Leaderless || self.score_labels.is_empty() {
            return self;
        }
        Self {
            score_labels: self.score_labels,
            ..Self::default()
        }
    }

    fn is_forgotten(&self) -> bool {
        self.shut.is_some_and(|shut| shut.is_forgotten)
    }

    pub(crate) fn are_due(&self, extent: Extent, now: Timestamp) -> bool {
        match extent {
            Extent::All => !self.is_clean(),
            Extent::Lapsed => self.have_lapsed(now) || self.is_forgotten(),
            Extent::Leaderless => {
                self.have_lapsed(now) || self.is_forgotten() || !self.score_labels.is_empty()
            }
            Extent::Abandoned => {
                let of_pods = [DELETION_COST, RESIZED];
                let has = of_pods.iter().any(|key| self.annotations.contains(key));
                let off = self.label == Some(POD_STATE) || self.shut.is_some();
                let on_node = !self.taints.is_empty() || !self.score_labels.is_empty();
                self.have_lapsed(now) || on_node || has || off
            }
        }
    }
}

/// One object as far as traces can be on it.
#[derive(Debug, Clone)]
enum TracedObject {
    Autoscaler(Box<Autoscaler>),
    ScaledObject(Box<ScaledObject>),
    Workload(Box<Workload>),
    /// An object with unchanged bounds, such as a Deployment's ReplicaSet, which carries copies of
    /// the annotations.
    Other(Box<Meta>),
}

impl TracedObject {
    fn read(kind: Kind, object: &Value) -> Result<Self, BoundsAnnotationError> {
        Ok(match kind {
            Kind::HorizontalPodAutoscaler => Self::Autoscaler(Box::deserialize(object)?),
            Kind::ScaledObject => Self::ScaledObject(Box::deserialize(object)?),
            _ if kind.has_scale() && !is_controlled(object) => {
                Self::Workload(Box::new(Workload::deserialize(kind, object)?))
            }
            _ => Self::Other(Box::deserialize(&object["metadata"])?),
        })
    }

    const fn metadata(&self) -> &Meta {
        match self {
            Self::Autoscaler(autoscaler) => &autoscaler.metadata,
            Self::ScaledObject(scaled_object) => &scaled_object.metadata,
            Self::Workload(workload) => &workload.metadata,
            Self::Other(metadata) => metadata,
        }
    }

    fn owner(&self) -> Option<Owner<'_>> {
        match self {
            Self::Autoscaler(autoscaler) => Some(Owner::of_autoscaler(autoscaler)),
            Self::ScaledObject(scaled_object) => Some(Owner::of_scaled_object(scaled_object)),
            Self::Workload(workload) => Some(Owner::of_workload(workload)),
            Self::Other(_) => None,
        }
    }

    /// The bounds of an object with a record; edits since the last write are the user's.
    fn bounds(&self, now: Timestamp) -> Option<Result<ObservedBounds, RefusedRecord>> {
        self.metadata().annotation(BOUNDS)?;
        let owner = self.owner()?;
        let bounds = ObservedBounds::read(&owner, None, now)?;
        Some(match bounds.refused() {
            Some(refused) => Err(refused.clone()),
            None => Ok(bounds.with_annotated(&owner)),
        })
    }
}

fn is_controlled(object: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.is_some_and(|owners| owners.iter().any(|owner| owner["controller"] == true))
}

pub fn traces(kind: Kind, object: &Value, now: Timestamp) -> ObjectTraces {
    let metadata = &object["metadata"];
    let keys = || {
        metadata["annotations"]
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
    };
    if kind == Kind::Pod {
        // All else on it was written at admission, and goes with it.
        let read: Meta = Meta::deserialize(metadata).unwrap_or_default();
        let is_out = metadata["labels"][POD_STATE].is_string();
        let is_resized = read.own_records.resize && read.annotation(RESIZED).is_some();
        let resized = is_resized.then_some(RESIZED);
        return ObjectTraces {
            annotations: costs(&read).into_iter().chain(resized).collect(),
            label: is_out.then_some(POD_STATE),
            shut: shut(object, now),
            ..ObjectTraces::default()
        };
    }
    // The record of a Deployment that was copied says nothing of its ReplicaSet.
    let copied = (kind == Kind::ReplicaSet && is_controlled(object)).then_some(BOUNDS);
    let written = [SCALING_STATUS, TUNING_STATUS, HEADROOM_RETURNED]
        .into_iter()
        .chain(copied);
    let vouched = (kind == Kind::Namespace).then_some(PORTRAIT_JOBS);
    let written = written.chain(vouched);
    let left = written
        .clone()
        .filter(|written| keys().any(|key| key == written));
    let own = keys().filter(|key| {
        let is_record = *key == BOUNDS && BOUNDED.contains(&kind);
        let ours = is_record || written.clone().any(|written| written == *key);
        key.starts_with(PREFIX) && !ours
    });
    ObjectTraces {
        bounds: match TracedObject::read(kind, object) {
            Ok(marked) => marked.bounds(now),
            Err(error) => Some(Err(error.into())),
        },
        annotations: left.collect(),
        label: (kind == Kind::Namespace && metadata["labels"][ENABLED].is_string())
            .then_some(ENABLED),
        shut: None,
        taints: taints_of(kind, object).own(),
        score_labels: score_labels(kind, object),
        own: own.cloned().collect(),
    }
}

/// The annotations of a Pod about the cost of its deletion that are Evenkeel's.
fn costs(metadata: &Meta) -> Vec<&'static str> {
    let mark = removable_pod::DeletionCostAnnotations::of(&metadata.annotations);
    let own = mark.own.is_some().then_some(DELETION_COST);
    let cost = own.filter(|_| mark.cost.is_some() && !mark.is_users());
    own.into_iter()
        .chain(cost.map(|_| POD_DELETION_COST))
        .collect()
}

/// The readiness gate of a Pod that has not ended, if the gate is not open.
fn shut(object: &Value, now: Timestamp) -> Option<ClosedReadinessGate> {
    let pod = Pod::deserialize(object).ok()?;
    let is_open = pod.status.condition(evenkeel_objects::annotations::ONLINE);
    let is_open = is_open.is_some_and(|found| found.status == "True");
    if !pod.is_gated() || pod.is_finished() || is_open {
        return None;
    }
    let made = pod.metadata.creation_timestamp;
    let is_old = made.is_some_and(|made| now.duration_since(made) >= UNOPENED);
    // A Pod with an off label is out of traffic on purpose.
    let is_due = online_condition::patch(&pod, now).is_some() && !pod.state().is_off();
    Some(ClosedReadinessGate {
        is_forgotten: is_old && is_due,
    })
}

/// True for a Pod with resources to restore, or with an unreadable object or record. The original
/// values are in its record alone.
fn is_owed_resources(object: &Value) -> bool {
    let Ok(pod) = Pod::deserialize(object) else {
        return true;
    };
    let Some(pod) = ResizablePod::of(&pod) else {
        return false;
    };
    let is_unreadable = pod.record == Some(Err(resize_record::RefusedRecord::Unreadable));
    is_unreadable || resize::owed(&pod).is_some()
}

/// The taints of a node; a list that is none has none of ours.
fn taints_of(kind: Kind, object: &Value) -> Taints {
    let found = (kind == Kind::Node).then(|| Taints::deserialize(&object["spec"]["taints"]));
    found.and_then(Result::ok).unwrap_or_default()
}

fn score_labels(kind: Kind, object: &Value) -> Vec<String> {
    let labels = object["metadata"]["labels"].as_object();
    let labels = labels.filter(|_| kind == Kind::Node);
    let keys = labels.into_iter().flat_map(Map::keys);
    keys.filter(|key| key.starts_with(SCORE_LABEL_PREFIX))
        .cloned()
        .collect()
}

/// The patch that takes away what is left; `None` where nothing is.
///
/// # Errors
/// A record that is taken for none; then nothing may be written.
pub fn patch(
    kind: Kind,
    object: &Value,
    extent: Extent,
    now: Timestamp,
) -> Result<Option<ConditionalPatch>, RefusedRecord> {
    let traces = traces(kind, object, now);
    if !traces.are_due(extent, now) {
        return Ok(None);
    }
    let traces = traces.within(extent);
    let marked = TracedObject::read(kind, object)?;
    let mut patch = ConditionalPatch::of(marked.metadata());
    // A record says what there was before it slept.
    let has_record = traces.bounds.is_some();
    if let Some((bounds, owner)) = traces.bounds.zip(marked.owner()) {
        bounds?.put_back(&owner, &mut patch);
    }
    let replicas = kind.count_path();
    let count = replicas
        .iter()
        .try_fold(object, |value, key| value.get(key));
    let is_asleep = count.is_some_and(|count| *count == 0);
    if !has_record && is_asleep && sleeps(marked.metadata()) {
        patch.expect(&replicas, Value::from(0));
        patch.change(&replicas, true, Value::from(1));
    }
    for key in traces.annotations {
        if key == RESIZED && is_owed_resources(object) {
            continue;
        }
        if kind == Kind::Pod {
            // It is ours only as long as both say the same. What was read of a long text is cut.
            let found = object["metadata"]["annotations"][key].as_str();
            patch.expect_annotation(key, found);
        }
        patch.annotate(key, true, None);
    }
    if !traces.taints.is_empty() {
        let found = taints_of(kind, object);
        change_taints(&mut patch, &found, &found.without_own());
    }
    for label in &traces.score_labels {
        patch.change(&["metadata", "labels", label], true, Value::Null);
    }
    if let Some(label) = traces.label {
        if kind == Kind::Pod {
            let found = object["metadata"]["labels"][label].clone();
            patch.expect(&["metadata", "labels", label], found);
        }
        patch.change(&["metadata", "labels", label], true, Value::Null);
    }
    Ok(Some(patch))
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::annotations::{MIN_REPLICAS, SCALING};
    use evenkeel_objects::bounds::ObjectBounds;
    use evenkeel_objects::managed_fields::MANAGER;
    use evenkeel_objects::plan::conditional_patch::apply;
    use evenkeel_objects::scaled_kind::ScaledKind;
    use evenkeel_scaling::bounds_record::annotation::BoundsAnnotation;
    use evenkeel_scaling::merge::recommendation::Recommendation;
    use serde_json::json;

    use super::*;

    /// The managed fields of a Pod on which `manager` has written the record of a resize.
    fn written_by(manager: &str) -> Value {
        let fields = json!({"f:metadata": {"f:annotations": {"f:evenkeel.dev/resized": {}}}});
        json!([{"manager": manager, "fieldsV1": fields}])
    }

    const HPA: Kind = Kind::HorizontalPodAutoscaler;

    /// The record of a floor of 6 above a least of the user's.
    fn record(min: Option<i32>) -> String {
        let mut annotation = BoundsAnnotation::of_user(ObjectBounds { min, max: 10 });
        let until = Timestamp::from_second(600).unwrap();
        let floor = Recommendation::of_prediction(6, until);
        annotation.record.contribute(floor, Timestamp::UNIX_EPOCH);
        annotation.settle(Timestamp::UNIX_EPOCH);
        annotation.to_text().unwrap().unwrap()
    }

    #[test]
    fn a_pod_that_is_refused_its_resources_comes_back_and_keeps_the_record_of_them() {
        let now: Timestamp = "2026-11-25T12:00:00Z".parse().unwrap();
        let of = |cpu: &str| json!({"web": {"requests": {"cpu": cpu}}});
        let record = json!({"by": "standby", "original": of("1"), "from": of("1"), "to": of("500m"),
            "at": "2026-11-25T11:00:00Z"});
        for (asked, is_kept) in [("500m", true), ("1", false), ("700m", false)] {
            let resources = json!({"requests": {"cpu": asked}});
            let mut pod = json!({
                "metadata": {"name": "p", "uid": "u", "labels": {POD_STATE: "Standby"},
                    "annotations": {RESIZED: record.to_string()}, "managedFields": written_by(MANAGER)},
                "spec": {"nodeName": "a", "containers": [{"name": "web", "resources": resources}],
                    "readinessGates": [{"conditionType": "evenkeel.dev/online"}]},
                "status": {"phase": "Running", "containerStatuses": [
                    {"name": "web", "resources": resources}]},
            });
            let patch = patch(Kind::Pod, &pod, Extent::All, now).unwrap().unwrap();
            apply(&mut pod, &patch).unwrap();
            assert_eq!(pod["metadata"]["labels"], json!({}), "{asked}");
            let has = pod["metadata"]["annotations"][RESIZED].is_string();
            assert_eq!(has, is_kept, "{asked}");
        }
    }

    #[test]
    fn a_record_stays_while_what_it_tells_cannot_be_put_back() {
        let now: Timestamp = "2026-11-25T12:00:00Z".parse().unwrap();
        let of = |cpu: &str| json!({"web": {"requests": {"cpu": cpu}}});
        let record = json!({"by": "tuning", "original": of("1"), "from": of("1"), "to": of("500m"),
            "at": "2026-11-25T11:00:00Z"});
        let resources = json!({"requests": {"cpu": "500m"}});
        let told = json!([{"name": "web", "resources": resources}]);
        for (phase, statuses, is_kept) in [
            ("Running", told.clone(), true),
            ("Pending", told.clone(), true),
            ("Unknown", told.clone(), true),
            // Its node does not tell what its containers have.
            ("Running", json!([{"name": "web"}]), true),
            ("Running", json!("damaged"), true),
            ("Failed", told, false),
        ] {
            let pod = json!({
                "metadata": {"name": "p", "uid": "u", "annotations": {RESIZED: record.to_string()},
                    "managedFields": written_by(MANAGER)},
                "spec": {"nodeName": "a", "containers": [{"name": "web", "resources": resources}]},
                "status": {"phase": phase, "containerStatuses": statuses},
            });
            for extent in [Extent::All, Extent::Abandoned] {
                let patch = patch(Kind::Pod, &pod, extent, now).unwrap().unwrap();
                let mut after = pod.clone();
                apply(&mut after, &patch).unwrap();
                let has = after["metadata"]["annotations"][RESIZED].is_string();
                assert_eq!(has, is_kept, "{extent:?} {pod}");
            }
        }
    }

    /// The harm: an older version deleted a newer one's record, the only memory of the Pod's own
    /// resources.
    #[test]
    fn a_record_of_another_version_stays_on_a_pod_that_runs() {
        let now: Timestamp = "2026-11-25T12:00:00Z".parse().unwrap();
        for text in [
            "{}",
            "v2",
            r#"{"by":"evictions","original":{},"from":{},"to":{},"at":"2026-11-25T11:00:00Z"}"#,
            r#"{"by":"tuning","original":{"web":{"requests":7}},"from":{},"to":{},"at":"2026-11-25T11:00:00Z"}"#,
        ] {
            let resources = json!({"requests": {"cpu": "500m"}});
            let pod = json!({
                "metadata": {"name": "p", "uid": "u", "annotations": {RESIZED: text},
                    "managedFields": written_by(MANAGER)},
                "spec": {"nodeName": "a", "containers": [{"name": "web", "resources": resources}]},
                "status": {"phase": "Running"},
            });
            for extent in [Extent::All, Extent::Abandoned] {
                let patch = patch(Kind::Pod, &pod, extent, now).unwrap().unwrap();
                let mut after = pod.clone();
                apply(&mut after, &patch).unwrap();
                assert_eq!(
                    after["metadata"]["annotations"][RESIZED], text,
                    "{extent:?}"
                );
            }
        }
    }

    #[test]
    fn a_pod_out_of_traffic_comes_back_and_a_gate_that_nobody_opens_is_opened() {
        let now: Timestamp = "2026-11-25T12:00:00Z".parse().unwrap();
        let pod = |state: Option<&str>, condition: &str, made: &str| {
            let mut pod = json!({
                "metadata": {"name": "p", "uid": "u", "labels": {"app": "web"},
                    "creationTimestamp": made},
                "spec": {"readinessGates": [{"conditionType": "evenkeel.dev/online"}]},
                "status": {"conditions": [{"type": "evenkeel.dev/online", "status": condition}]},
            });
            if let Some(state) = state {
                pod["metadata"]["labels"][POD_STATE] = json!(state);
            }
            pod
        };
        let (old, new) = ("2026-11-25T11:00:00Z", "2026-11-25T11:58:00Z");
        for (case, pod, all, lapsed, abandoned) in [
            ("open", pod(None, "True", old), false, false, false),
            (
                "cut off",
                pod(Some("Cutoff"), "False", old),
                true,
                false,
                true,
            ),
            ("just made", pod(None, "Unknown", new), true, false, true),
            ("forgotten", pod(None, "Unknown", old), true, true, true),
        ] {
            for (extent, is_due) in [
                (Extent::All, all),
                (Extent::Lapsed, lapsed),
                (Extent::Abandoned, abandoned),
            ] {
                let patch = patch(Kind::Pod, &pod, extent, now).unwrap();
                assert_eq!(patch.is_some(), is_due, "{case} {extent:?}");
                let mut after = pod.clone();
                if let Some(patch) = patch {
                    apply(&mut after, &patch).unwrap();
                }
                let labels = &after["metadata"]["labels"];
                assert!(!is_due || labels == &json!({"app": "web"}), "{case}");
            }
        }
        let raced = pod(Some("Standby"), "False", old);
        let cut_off = pod(Some("Cutoff"), "False", old);
        let decided = patch(Kind::Pod, &cut_off, Extent::All, now)
            .unwrap()
            .unwrap();
        assert!(
            apply(&mut raced.clone(), &decided).is_err(),
            "it is another state by now"
        );
    }

    #[test]
    fn the_record_of_a_resize_goes_at_the_end_and_where_no_leader_is_left() {
        let fields = json!({"f:metadata": {"f:annotations": {"f:evenkeel.dev/resized": {}}}});
        let by = |manager: &str| {
            json!({"metadata": {"name": "p", "uid": "u",
                "annotations": {RESIZED: "{}", "evenkeel.dev/profile": "io"},
                "managedFields": [{"manager": manager, "fieldsV1": fields}]}})
        };
        let (pod, copied) = (by(MANAGER), by("kubectl"));
        let now = Timestamp::UNIX_EPOCH;
        assert!(traces(Kind::Pod, &copied, now).is_clean(), "it is theirs");
        let found = traces(Kind::Pod, &pod, now);
        assert_eq!((found.annotations, found.own), (vec![RESIZED], vec![]));
        for (extent, is_due) in [
            (Extent::All, true),
            (Extent::Abandoned, true),
            (Extent::Lapsed, false),
        ] {
            let patch = patch(Kind::Pod, &pod, extent, now).unwrap();
            assert_eq!(patch.is_some(), is_due, "{extent:?}");
        }
    }

    #[test]
    fn costs_of_deletion_go_with_what_says_that_they_are_ours_and_the_users_stay() {
        let annotated = |cost: &str, own: Value| {
            json!({"metadata": {"name": "p", "uid": "u", "annotations": {
                POD_DELETION_COST: cost, DELETION_COST: own, "evenkeel.dev/profile": "io"}}})
        };
        let now = Timestamp::UNIX_EPOCH;
        let mut ours = annotated("-1", json!("-1 spread"));
        let raced = annotated("5", json!("-1 spread"));
        assert_eq!(traces(Kind::Pod, &ours, now).own, Vec::<String>::new());
        assert!(
            patch(Kind::Pod, &ours, Extent::Lapsed, now)
                .unwrap()
                .is_none()
        );
        for extent in [Extent::All, Extent::Abandoned] {
            let patch = patch(Kind::Pod, &ours, extent, now).unwrap().unwrap();
            assert!(
                apply(&mut raced.clone(), &patch).is_err(),
                "it is another's by now"
            );
            let mut left = ours.clone();
            apply(&mut left, &patch).unwrap();
            let kept = json!({"evenkeel.dev/profile": "io"});
            assert_eq!(left["metadata"]["annotations"], kept);
        }
        let change = patch(Kind::Pod, &raced, Extent::All, now).unwrap().unwrap();
        let mut left = raced.clone();
        apply(&mut left, &change).unwrap();
        assert_eq!(left["metadata"]["annotations"][POD_DELETION_COST], "5");
        assert_eq!(left["metadata"]["annotations"][DELETION_COST], Value::Null);
        ours["metadata"]["annotations"] = json!({POD_DELETION_COST: "5"});
        assert!(traces(Kind::Pod, &ours, now).is_clean());
    }

    /// The harm: a text that is longer than what is read of it kept its Pod from being restored.
    #[test]
    fn a_pod_with_a_long_text_is_restored() {
        let now = Timestamp::UNIX_EPOCH;
        let long = "-1 ".repeat(20_000);
        let many = (0..64).map(|number| (format!("evenkeel.dev/a{number:02}"), json!("x")));
        let mut annotations: Map<String, Value> = many.collect();
        annotations.insert(DELETION_COST.to_owned(), json!(long));
        annotations.insert(POD_DELETION_COST.to_owned(), json!("-1"));
        let mut pod = json!({"metadata": {"name": "p", "uid": "u", "annotations": annotations}});
        let patch = patch(Kind::Pod, &pod, Extent::All, now).unwrap().unwrap();
        apply(&mut pod, &patch).expect("a patch of this very object");
        let left = pod["metadata"]["annotations"].as_object().unwrap();
        assert_eq!(left.len(), 64, "{:?}", left.keys());
    }

    /// An object that Evenkeel wrote its record on.
    fn object(annotations: &Value, spec: &Value) -> Value {
        let fields = json!({"f:metadata": {"f:annotations": {"f:evenkeel.dev/bounds": {}}}});
        json!({
            "metadata": {
                "uid": "u", "resourceVersion": "7", "annotations": annotations,
                "managedFields": [{"manager": MANAGER, "fieldsV1": fields}],
            },
            "spec": spec,
        })
    }

    /// The object once everything is taken away; `None` where nothing is left to be.
    fn cleaned(kind: Kind, object: &Value) -> Option<Value> {
        let patch = patch(kind, object, Extent::All, Timestamp::UNIX_EPOCH).unwrap()?;
        let mut object = object.clone();
        apply(&mut object, &patch).expect("a patch of this very object");
        Some(object)
    }

    #[test]
    fn only_what_nobody_has_held_for_an_hour_has_lapsed() {
        let spec = json!({"minReplicas": 6, "maxReplicas": 10});
        let later = r#""plan/x":{"how":1},"prediction""#;
        let unreadable = record(Some(2)).replace(r#""prediction""#, later);
        for (record, second, lapsed) in [
            (record(Some(2)), 600, false),
            (record(Some(2)), 600 + 3599, false),
            (record(Some(2)), 600 + 3600, true),
            // Its end is not known.
            (unreadable, 600 + 36_000, false),
            // No contributor holds it, for whatever time.
            (
                r#"{"user":{"min":2,"max":10},"written":{"min":6,"max":10}}"#.to_owned(),
                36_000,
                false,
            ),
        ] {
            let object = object(&json!({BOUNDS: record, SCALING_STATUS: "{}"}), &spec);
            let now = Timestamp::from_second(second).unwrap();
            let lapsed_only = patch(HPA, &object, Extent::Lapsed, now).unwrap();
            assert_eq!(lapsed_only.is_some(), lapsed, "{record} {second}");
            let all = patch(HPA, &object, Extent::All, now).unwrap().unwrap();
            assert!(!lapsed || lapsed_only == Some(all), "all goes at once");
        }
    }

    #[test]
    fn a_count_goes_back_to_the_users_and_copies_of_its_record_go_alone() {
        let mut annotation = BoundsAnnotation::of_user(ObjectBounds::of_count(3));
        let until = Timestamp::from_second(600).unwrap();
        let floor = Recommendation::of_prediction(9, until);
        annotation.record.contribute(floor, Timestamp::UNIX_EPOCH);
        annotation.settle(Timestamp::UNIX_EPOCH);
        let record = annotation.to_text().unwrap().unwrap();
        let annotations = json!({BOUNDS: record, "a/b": "c"});
        let deployment = object(&annotations, &json!({"replicas": 9, "paused": true}));
        let back = cleaned(Kind::Deployment, &deployment).unwrap();
        assert_eq!(back["spec"], json!({"replicas": 3, "paused": true}));
        assert_eq!(back["metadata"]["annotations"], json!({"a/b": "c"}));
        let edited = object(&annotations, &json!({"replicas": 5}));
        let back = cleaned(Kind::StatefulSet, &edited).unwrap();
        assert_eq!(back["spec"]["replicas"], 5, "it is the user's");
        let lapsed = |second| {
            let now = Timestamp::from_second(second).unwrap();
            patch(Kind::Deployment, &deployment, Extent::Lapsed, now).unwrap()
        };
        assert!(lapsed(600 + 3599).is_none() && lapsed(600 + 3600).is_some());

        let mut copy = object(&annotations, &json!({"replicas": 9}));
        copy["metadata"]["ownerReferences"] = json!([{"kind": "Deployment", "controller": true}]);
        copy["metadata"]["managedFields"] = json!([]);
        let back = cleaned(Kind::ReplicaSet, &copy).unwrap();
        assert_eq!(back["spec"]["replicas"], 9);
        assert_eq!(back["metadata"]["annotations"], json!({"a/b": "c"}));
    }

    #[test]
    fn a_record_of_somebody_else_or_without_sense_is_no_word_of_the_users() {
        let spec = json!({"minReplicas": 6, "maxReplicas": 10});
        let refused = |object: &Value, kind| {
            let patched = patch(kind, object, Extent::All, Timestamp::UNIX_EPOCH);
            patched.err().map(|refused| refused.reason)
        };
        let senseless = record(Some(2)).replace(r#""min":2"#, r#""min":-1"#);
        let senseless = object(&json!({BOUNDS: senseless}), &spec);
        assert_eq!(refused(&senseless, HPA), Some("SenselessRecord"));
        let damaged = object(&json!({BOUNDS: "{", SCALING_STATUS: "{}"}), &spec);
        assert_eq!(refused(&damaged, HPA), Some("OwnershipRecord"));
        let none = json!({"minReplicaCount": 6, "maxReplicaCount": 10});
        let mut found = object(&json!({BOUNDS: record(Some(0))}), &none);
        assert_eq!(refused(&found, Kind::ScaledObject), None);
        found["metadata"]["managedFields"][0]["manager"] = json!("kubectl");
        assert_eq!(refused(&found, Kind::ScaledObject), Some("ForeignRecord"));
    }

    #[test]
    fn bounds_go_back_to_what_the_user_has() {
        for (kind, user, spec, back) in [
            (
                HPA,
                Some(2),
                json!({"minReplicas": 6, "maxReplicas": 10}),
                json!({"minReplicas": 2, "maxReplicas": 10}),
            ),
            (
                HPA,
                None,
                json!({"minReplicas": 6, "maxReplicas": 10}),
                json!({"maxReplicas": 10}),
            ),
            // Edited since: the least is the user's, and stays.
            (
                HPA,
                Some(2),
                json!({"minReplicas": 4, "maxReplicas": 10}),
                json!({"minReplicas": 4, "maxReplicas": 10}),
            ),
            (
                HPA,
                Some(2),
                json!({"minReplicas": 6, "maxReplicas": 12}),
                json!({"minReplicas": 2, "maxReplicas": 12}),
            ),
            (
                Kind::ScaledObject,
                Some(2),
                json!({"minReplicaCount": 6, "maxReplicaCount": 10}),
                json!({"minReplicaCount": 2, "maxReplicaCount": 10}),
            ),
        ] {
            let before = object(&json!({BOUNDS: record(user)}), &spec);
            let after = cleaned(kind, &before).expect("a record to be taken away");
            assert_eq!(after["spec"], back, "{spec}");
            assert_eq!(after["metadata"]["annotations"], json!({}), "{spec}");
        }
    }

    #[test]
    fn bounds_in_annotations_go_before_those_of_the_record() {
        let spec = json!({"minReplicas": 6, "maxReplicas": 10});
        let annotations = json!({BOUNDS: record(Some(2)), MIN_REPLICAS: "3"});
        let after = cleaned(HPA, &object(&annotations, &spec)).unwrap();
        assert_eq!(after["spec"], json!({"minReplicas": 3, "maxReplicas": 10}));
    }

    #[test]
    fn a_patch_of_what_has_changed_since_fails() {
        let spec = json!({"minReplicas": 6, "maxReplicas": 10});
        let before = object(&json!({BOUNDS: record(Some(2))}), &spec);
        let now = Timestamp::UNIX_EPOCH;
        let patch = patch(HPA, &before, Extent::All, now).unwrap().unwrap();
        let places = [
            ("/metadata/uid", json!("v")),
            ("/spec/minReplicas", json!(7)),
            ("/metadata/annotations/evenkeel.dev~1bounds", json!("{}")),
        ];
        for (place, value) in places {
            let mut changed = before.clone();
            *changed.pointer_mut(place).expect("a place in the object") = value;
            assert!(apply(&mut changed, &patch).is_err(), "{place}");
        }
    }

    #[test]
    fn taints_go_with_all_and_where_no_leader_is_left() {
        let foreign = json!({"key": "gpu", "effect": "NoSchedule"});
        let ours = json!({"key": "a/evenkeel-overloaded", "value": "cpu", "effect": "NoSchedule"});
        let mut node = object(&json!({}), &json!({"taints": [foreign, ours]}));
        for (extent, goes) in [
            (Extent::All, true),
            (Extent::Abandoned, true),
            (Extent::Lapsed, false),
        ] {
            let patch = patch(Kind::Node, &node, extent, Timestamp::UNIX_EPOCH).unwrap();
            assert_eq!(patch.is_some(), goes, "{extent:?}");
            if let Some(patch) = patch {
                let mut after = node.clone();
                apply(&mut after, &patch).unwrap();
                assert_eq!(after["spec"]["taints"], json!([foreign]));
                let mut changed = node.clone();
                changed["spec"]["taints"] = json!([ours]);
                assert!(apply(&mut changed, &patch).is_err(), "{extent:?}");
            }
        }
        node["spec"]["taints"] = json!([foreign]);
        assert_eq!(cleaned(Kind::Node, &node), None);
    }

    #[test]
    fn what_was_written_goes_and_what_the_user_wrote_stays() {
        let annotations = json!({
            SCALING_STATUS: "{}", HEADROOM_RETURNED: "x", SCALING: "floor", "a/b": "c",
        });
        for (kind, label) in [(Kind::Namespace, true), (Kind::Node, false)] {
            let mut object = object(&annotations, &Value::Null);
            object["metadata"]["labels"] = json!({ENABLED: "true", "team": "a"});
            let found = traces(kind, &object, Timestamp::UNIX_EPOCH);
            let mirrored = label.then_some(ENABLED);
            let own = vec![SCALING.to_owned()];
            assert_eq!((found.label, found.own), (mirrored, own));
            let after = cleaned(kind, &object).expect("something is left");
            let kept = json!({SCALING: "floor", "a/b": "c"});
            assert_eq!(after["metadata"]["annotations"], kept);
            assert_eq!(after["metadata"]["labels"].get(ENABLED).is_none(), label);
            assert_eq!(after["metadata"]["labels"]["team"], "a");
        }
        let own = json!({SCALING: "floor", ENABLED: "true"});
        assert_eq!(cleaned(HPA, &object(&own, &json!({}))), None);
    }

    #[test]
    fn an_object_that_sleeps_is_woken() {
        let status = json!({"mode": "direct", "replicas": 0, "conditions": [{
            "type": "ScaledToZero", "status": "True", "reason": "ScaledToZero", "message": "",
            "lastTransitionTime": "1970-01-01T00:00:00Z"}]});
        let paths = json!({"specReplicasPath": ".spec.size.pods",
            "statusReplicasPath": ".status.pods", "labelSelectorPath": ".status.selector"});
        let versions = json!([{"name": "v1alpha1", "subresources": {"scale": paths}}]);
        let definition = serde_json::from_value(json!({"spec": {"versions": versions}})).unwrap();
        let rollouts = ScaledKind::new("argoproj.io/v1alpha1", "Rollout").unwrap();
        let rollouts = rollouts.found("rollouts", Some(definition)).unwrap();
        for (kind, mode, asleep, awake) in [
            (
                Kind::Deployment,
                "direct",
                json!({"replicas": 0}),
                json!({"replicas": 1}),
            ),
            (
                Kind::Custom(rollouts.into_kind()),
                "off",
                json!({"size": {"pods": 0}}),
                json!({"size": {"pods": 1}}),
            ),
        ] {
            let mut object = json!({"metadata": {"name": "web", "namespace": "shop", "uid": "r",
                "resourceVersion": "1", "annotations": {
                    SCALING: mode, SCALING_STATUS: status.to_string()}}, "spec": asleep});
            let patch = patch(kind, &object, Extent::All, Timestamp::UNIX_EPOCH);
            apply(&mut object, &patch.unwrap().unwrap()).unwrap();
            assert_eq!(object["spec"], awake);
            assert_eq!(object["metadata"]["annotations"].get(SCALING_STATUS), None);
        }
    }
}
