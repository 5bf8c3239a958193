//! The objects that are put back, by account and place: the guards of Evenkeel and of its clean-up
//! against a real API server. The clean-up itself runs as the CronJob runs it.

use std::path::Path;
use std::process::Command;

use evenkeel_objects::bounds::ObjectBounds;
use evenkeel_scaling::bounds_record::annotation::BoundsAnnotation;
use evenkeel_scaling::merge::recommendation::Recommendation;
use futures::{StreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::config::Kubeconfig;
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::guard::{annotated, client, define_scaled_objects};
use super::world::{Patience, World};
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::{ControlPlane, manifests, objects, with_control_plane};

/// The field manager that makes a record valid.
const MANAGER: &str = "evenkeel";

/// A kind with written bounds, with the names of its fields.
#[derive(Debug, Clone, Copy)]
struct Bounded {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    least: &'static str,
    most: Option<&'static str>,
}

const KINDS: [Bounded; 3] = [
    Bounded {
        group: "autoscaling",
        version: "v2",
        kind: "HorizontalPodAutoscaler",
        least: "minReplicas",
        most: Some("maxReplicas"),
    },
    Bounded {
        group: "keda.sh",
        version: "v1alpha1",
        kind: "ScaledObject",
        least: "minReplicaCount",
        most: Some("maxReplicaCount"),
    },
    Bounded {
        group: "apps",
        version: "v1",
        kind: "Deployment",
        least: "replicas",
        most: None,
    },
];

impl Bounded {
    fn api(self, client: &Client, namespace: &str) -> Api<DynamicObject> {
        let gvk = GroupVersionKind::gvk(self.group, self.version, self.kind);
        Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk(&gvk))
    }

    /// An object of the kind with these bounds and annotations.
    fn object(self, name: &str, bounds: ObjectBounds, annotations: &Value) -> DynamicObject {
        let mut spec = match self.kind {
            "Deployment" => {
                json!({"paused": true, "selector": {"matchLabels": {"app": name}}, "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "app", "image": "registry.example/app:1"}]}}})
            }
            "ScaledObject" => json!({"scaleTargetRef": {"name": name}, "triggers": []}),
            _ => {
                json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}})
            }
        };
        if let Some(min) = bounds.min {
            spec[self.least] = json!(min);
        }
        if let Some(most) = self.most {
            spec[most] = json!(bounds.max);
        }
        let object = json!({"apiVersion": format!("{}/{}", self.group, self.version), "kind": self.kind,
            "metadata": {"name": name, "annotations": annotations}, "spec": spec});
        serde_json::from_value(object).expect("an object")
    }
}

/// Makes an object with Evenkeel's field manager, so that its record counts.
async fn plant(api: &Api<DynamicObject>, object: &DynamicObject) {
    let params = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    };
    eventually("the object is made", async || {
        let made = api.create(&params, object).await;
        made.map(drop).map_err(|error| error.to_string())
    })
    .await;
}

/// The record of a floor of 6 over the user's bounds that ended two hours ago, and the bounds that it wrote.
fn lapsed_record(user: ObjectBounds, now: Timestamp) -> (String, ObjectBounds) {
    let until = now - SignedDuration::from_hours(2);
    let before = until - SignedDuration::from_mins(10);
    let mut annotation = BoundsAnnotation::of_user(user);
    let floor = Recommendation::of_prediction(6, until);
    annotation.record.contribute(floor, before);
    let written = annotation.settle(before);
    let text = annotation.to_text().expect("it can be written");
    (text.expect("it is needed"), written)
}

/// An object as it may be found: the user's bounds in the record, later edits, annotations and the mode.
struct Situation {
    user: ObjectBounds,
    /// The user's later edit of the written bounds.
    edit: fn(ObjectBounds) -> ObjectBounds,
    annotations: Vec<(&'static str, &'static str)>,
}

const EDITS: [fn(ObjectBounds) -> ObjectBounds; 6] = [
    |written| written,
    |written| ObjectBounds {
        min: Some(3),
        ..written
    },
    |written| ObjectBounds {
        min: written.min.map(|min| min.min(5)),
        max: 5,
    },
    |written| ObjectBounds { max: 40, ..written },
    |_| ObjectBounds {
        min: Some(14),
        max: 30,
    },
    |_| ObjectBounds {
        min: Some(4),
        max: 4,
    },
];

fn situations() -> Vec<Situation> {
    let mut all = Vec::new();
    let mut edits = EDITS.into_iter().cycle();
    for mode in ["", "off", "recommend", "floor", "direct"] {
        for min in [None, Some(1), Some(2), Some(9)] {
            for least in ["", "1", "4", "8", "25", "many"] {
                for most in ["", "3", "12", "60"] {
                    let given = [
                        ("evenkeel.dev/scaling", mode),
                        ("evenkeel.dev/min-replicas", least),
                        ("evenkeel.dev/max-replicas", most),
                    ];
                    let given = given.into_iter().filter(|(_, value)| !value.is_empty());
                    all.push(Situation {
                        user: ObjectBounds { min, max: 10 },
                        edit: edits.next().expect("they go round"),
                        annotations: given.collect(),
                    });
                }
            }
        }
    }
    all
}

/// The harm: where an annotation named a higher least than the record, the guard refused what the clean-up wanted to
/// write, every ten minutes, and the floor never ended.
fn the_clean_up_is_let_through_in_every_combination_of_mode_record_and_annotation() {
    with_control_plane(async |plane| {
        let installation = manifests::install(plane, 443, None).await;
        define_scaled_objects(&plane.client).await;
        let namespace = "put-back";
        objects::create_namespace(&plane.client, namespace, &[]).await;
        let now = evenkeel_clock::now();
        for kind in KINDS {
            let api = kind.api(&plane.client, namespace);
            let plants = situations()
                .into_iter()
                .enumerate()
                .map(|(number, situation)| {
                    let user = match (kind.most, situation.user) {
                        (Some(_), user) => user,
                        (None, user) => ObjectBounds::of_count(user.min.unwrap_or(1)),
                    };
                    let (record, written) = lapsed_record(user, now);
                    let bounds = (situation.edit)(written);
                    let mut annotations = json!({"evenkeel.dev/bounds": record,
                    "evenkeel.dev/scaling-status": "{}"});
                    for (key, value) in situation.annotations {
                        annotations[key] = json!(value);
                    }
                    let object = kind.object(&format!("case-{number}"), bounds, &annotations);
                    let api = api.clone();
                    async move { plant(&api, &object).await }
                });
            let plants: Vec<()> = stream::iter(plants).buffer_unordered(16).collect().await;
            assert_eq!(plants.len(), 480, "{}", kind.kind);
        }
        run_clean_up(plane, &installation.configuration).await;
        for kind in KINDS {
            let api = kind.api(&plane.client, namespace);
            let left = api.list(&ListParams::default()).await.expect("a list");
            assert_eq!(left.items.len(), 480);
            for object in left {
                let annotations = object.metadata.annotations.unwrap_or_default();
                let name = object.metadata.name;
                assert!(
                    !annotations.contains_key("evenkeel.dev/bounds"),
                    "{} {name:?} {annotations:?} {}",
                    kind.kind,
                    object.data
                );
            }
        }
    });
}

/// Runs the clean-up by the account and with the arguments of its CronJob.
async fn run_clean_up(plane: &ControlPlane, configuration: &Value) {
    let account = "evenkeel-restore";
    let token = manifests::token(&plane.client, manifests::NAMESPACE, account).await;
    let kubeconfig = plane.kubeconfig(account, &json!({"token": token}));
    let config = plane.folder().join("clean-up.yaml");
    std::fs::write(&config, configuration.to_string()).expect("the folder is ours");
    let call = async |kubeconfig: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command
            .args(["uninstall", "--expired", "-o", "json", "--config"])
            .arg(&config)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .env_clear();
        let ended = tokio::task::spawn_blocking(move || command.output()).await;
        ended.expect("it is called").expect("it ends")
    };
    eventually("the clean-up has its rights and puts back", async || {
        let output = call(&kubeconfig).await;
        let errors = String::from_utf8_lossy(&output.stderr);
        let told = String::from_utf8_lossy(&output.stdout);
        let failed = told
            .lines()
            .filter(|line| line.contains("\"failed\""))
            .take(5);
        let failed: Vec<_> = failed.collect();
        holds(output.status.success(), || format!("{errors} {failed:?}"))
    })
    .await;
}

/// The record of the user's 2 to 10 under a floor of 6.
const RECORD: &str =
    r#"{"user":{"min":2,"max":10},"written":{"min":6,"max":12},"contested":false}"#;

/// The harm: a stolen token set the bounds of every HPA and ScaledObject of the cluster, down to one replica or up to
/// any number, whether its namespace had opted in or not.
fn bounds_are_only_put_back_where_nobody_has_opted_in() {
    with_control_plane(async |plane| {
        let installation = manifests::install(plane, 443, None).await;
        let kubeconfig = Kubeconfig::read_from(&installation.kubeconfig).expect("a kubeconfig");
        let evenkeel = client(kubeconfig).await;
        define_scaled_objects(&plane.client).await;
        let namespace = "never-opted-in";
        objects::create_namespace(&plane.client, namespace, &[]).await;
        for kind in &KINDS[..2] {
            hold_kind(plane, &evenkeel, *kind, namespace).await;
        }
    });
}

async fn hold_kind(plane: &ControlPlane, evenkeel: &Client, kind: Bounded, namespace: &str) {
    let (least, most) = (kind.least, kind.most.expect("it has a most"));
    let found = ObjectBounds {
        min: Some(6),
        max: 12,
    };
    let admin = kind.api(&plane.client, namespace);
    let ours = kind.api(evenkeel, namespace);
    let floored = json!({"evenkeel.dev/bounds": RECORD, "evenkeel.dev/min-replicas": "4"});
    plant(&admin, &kind.object("theirs", found, &json!({}))).await;
    plant(&admin, &kind.object("floored", found, &floored)).await;
    let gone = |spec: Value| json!({"metadata": {"annotations": {"evenkeel.dev/bounds": null}}, "spec": spec});
    let params = PatchParams {
        dry_run: true,
        ..PatchParams::default()
    };
    let send = async |name: &str, change: &Value| {
        let answer = ours.patch(name, &params, &Patch::Merge(change)).await;
        answer.map(drop).map_err(|error| error.to_string())
    };
    eventually("the guard is obeyed", async || {
        let answer = send("theirs", &annotated("example.com/probe", &json!("1"))).await;
        let said = answer.err().unwrap_or_default();
        holds(said.contains("Evenkeel may"), || said.clone())
    })
    .await;
    for (name, change) in [
        ("theirs", json!({"spec": {least: 1}})),
        ("theirs", json!({"spec": {least: 12}})),
        ("theirs", json!({"spec": {most: 100}})),
        ("theirs", json!({"spec": {most: 6}})),
        ("theirs", json!({"spec": {least: null}})),
        ("theirs", gone(json!({least: 2, most: 10}))),
        ("floored", json!({"spec": {least: 2, most: 10}})),
        ("floored", gone(json!({least: 3}))),
        ("floored", gone(json!({least: 1}))),
        ("floored", gone(json!({least: null}))),
        ("floored", gone(json!({most: 11}))),
        ("floored", gone(json!({least: 10, most: 10}))),
        ("floored", gone(json!({least: 12, most: 12}))),
    ] {
        let refused = send(name, &change).await.expect_err(&change.to_string());
        let told = refused.contains("change bounds only in namespaces that have opted in");
        assert!(told, "{} {change}: {refused}", kind.kind);
    }
    for change in [
        gone(json!({least: 2, most: 10})),
        gone(json!({least: 2})),
        gone(json!({least: 4, most: 10})),
        gone(json!({})),
        annotated("evenkeel.dev/scaling-status", &Value::Null),
    ] {
        assert_eq!(
            send("floored", &change).await,
            Ok(()),
            "{} {change}",
            kind.kind
        );
    }
}

/// The record of a floor of 6 over the user's 2 to 10 that is held for another hour.
fn held_record() -> String {
    let (record, _) = lapsed_record(
        ObjectBounds {
            min: Some(2),
            max: 10,
        },
        evenkeel_clock::now() + SignedDuration::from_hours(3),
    );
    record
}

/// The harm: `kubectl delete -k` in one go took away the rights first and then the clean-up, and floors, taints and
/// Pods out of traffic were left for ever.
#[allow(clippy::too_many_lines)] // one story from the installation to its end
fn what_is_deleted_first_takes_everything_back_and_is_gone() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 1, Patience::Ample).await;
        let overlay = "deploy/overlays/replica-profiles";
        manifests::grant(client, overlay).await;
        let mut replica = world.serve_profiles("evenkeel-0", true).await;
        // The planted objects stay until then.
        replica.reconfigure(&json!({"writes": "disabled"}));
        eventually("nothing is written", async || {
            let standing = replica.metric("evenkeel_writes_enabled", &[]).await;
            holds(standing < 0.5, || standing.to_string())
        })
        .await;
        let namespace = "left-behind";
        objects::create_namespace(client, namespace, &[("evenkeel.dev/enabled", "true")]).await;
        let floored =
            json!({"evenkeel.dev/bounds": held_record(), "evenkeel.dev/scaling-status": "{}"});
        let found = ObjectBounds {
            min: Some(6),
            max: 10,
        };
        let autoscalers = KINDS[0].api(client, namespace);
        plant(&autoscalers, &KINDS[0].object("web", found, &floored)).await;
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let pod = json!({"metadata": {"name": "cut-off", "labels": {"evenkeel.dev/pod-state": "Cutoff"}},
            "spec": {"readinessGates": [{"conditionType": "evenkeel.dev/online"}],
                "containers": [{"name": "app", "image": "registry.example/app:1"}]}});
        let pod = serde_json::from_value(pod).expect("a Pod");
        let made = pods.create(&PostParams::default(), &pod).await;
        made.expect("the Pod is made");
        let nodes: Api<Node> = Api::all(client.clone());
        let taint = json!({"key": "evenkeel.dev/overloaded", "effect": "NoSchedule"});
        let change = Patch::Merge(json!({"spec": {"taints": [taint]}}));
        let node = world.node_names[0].as_str();
        let tainted = nodes.patch(node, &PatchParams::default(), &change).await;
        tainted.expect("the node is tainted");

        delete(plane, overlay).await;

        let web = autoscalers.get("web").await.expect("it is there");
        assert_eq!(web.data["spec"]["minReplicas"], 2, "{:?}", web.data);
        let annotations = web.metadata.annotations.unwrap_or_default();
        assert!(
            annotations
                .keys()
                .all(|key| !key.starts_with("evenkeel.dev/")),
            "{annotations:?}"
        );
        let pod = pods.get("cut-off").await.expect("it is there");
        let labels = pod.metadata.labels.unwrap_or_default();
        assert!(!labels.contains_key("evenkeel.dev/pod-state"), "{labels:?}");
        let conditions = pod
            .status
            .and_then(|status| status.conditions)
            .unwrap_or_default();
        let online = conditions
            .iter()
            .find(|one| one.type_ == "evenkeel.dev/online");
        assert_eq!(
            online.map(|one| one.status.as_str()),
            Some("True"),
            "{conditions:?}"
        );
        let node = nodes.get(node).await.expect("it is there");
        let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
        assert!(
            taints
                .iter()
                .all(|taint| taint.key != "evenkeel.dev/overloaded"),
            "{taints:?}"
        );
        replica.stop().await;
    });
}

/// Deletes an overlay as an operator does, and waits until all of it is gone.
async fn delete(plane: &ControlPlane, overlay: &str) {
    let kubeconfig = plane.folder().join("admin.kubeconfig");
    let mut command = Command::new("kubectl");
    command
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args([
            "delete",
            "--ignore-not-found",
            "--timeout=120s",
            "-k",
            overlay,
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = tokio::task::spawn_blocking(move || command.output()).await;
    let output = output.expect("it is called").expect("kubectl is on PATH");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}

crate::support::trial::suite!(super::world::NEEDS => [
    the_clean_up_is_let_through_in_every_combination_of_mode_record_and_annotation,
    bounds_are_only_put_back_where_nobody_has_opted_in,
    what_is_deleted_first_takes_everything_back_and_is_gone,
]);
