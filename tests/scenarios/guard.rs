//! The writes that the shipped ServiceAccount may make: RBAC and the admission policy together,
//! against a real API server.

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod, Secret};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::support::control_plane::manifests::{self, Installation};
use crate::support::control_plane::objects;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::{ControlPlane, with_control_plane};

fn evenkeel_may_write_bounds_and_its_annotations_and_nothing_else() {
    with_control_plane(async |plane| {
        let installation = manifests::install(plane, 443, None).await;
        hold_cases(plane, &installation, "guarded").await;
    });
}

/// The signer makes its Secrets, and none by which it would get another's token.
fn the_signer_may_ask_for_no_token() {
    with_control_plane(async |plane| {
        let installation = manifests::install(plane, 443, None).await;
        let signer =
            client(Kubeconfig::read_from(&installation.signer).expect("a kubeconfig")).await;
        let replica =
            client(Kubeconfig::read_from(&installation.kubeconfig).expect("a kubeconfig")).await;
        let secret = |name: &str, kind: &str| -> Secret {
            serde_json::from_value(json!({"metadata": {"name": name,
                "annotations": {"kubernetes.io/service-account.name": "evenkeel"}}, "type": kind}))
            .expect("a Secret")
        };
        let post = PostParams::default();
        let secrets = |client: &Client| -> Api<Secret> {
            Api::namespaced(client.clone(), manifests::NAMESPACE)
        };
        let token = secret("token", "kubernetes.io/service-account-token");
        eventually("the guard is in force", async || {
            let dry_run = PostParams {
                dry_run: true,
                ..PostParams::default()
            };
            let refused = secrets(&signer).create(&dry_run, &token).await;
            let said = refused
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default();
            holds(said.contains("of type Opaque"), || said.clone())
        })
        .await;
        let own = secret("evenkeel-certificates", "Opaque");
        let made = secrets(&signer).create(&post, &own).await;
        made.expect("it makes its own");
        let read = secrets(&signer).get("evenkeel-certificates").await;
        read.expect("it reads its own");
        let read = secrets(&replica).get("evenkeel-certificates").await;
        let refused = read.expect_err("a replica does not").to_string();
        assert!(refused.contains("forbidden"), "{refused}");
        // The guard does not stop others.
        let made = secrets(&plane.client).create(&post, &token).await;
        made.expect("an administrator may");
    });
}

/// A replica's token changes no webhook configuration.
fn a_replica_may_not_lead_the_webhook_elsewhere() {
    with_control_plane(async |plane| {
        let installation = manifests::install(plane, 443, None).await;
        let replica =
            client(Kubeconfig::read_from(&installation.kubeconfig).expect("a kubeconfig")).await;
        let signer =
            client(Kubeconfig::read_from(&installation.signer).expect("a kubeconfig")).await;
        let change: Patch<Value> = Patch::Merge(json!({"metadata": {"annotations": {"a": "b"}}}));
        let params = PatchParams {
            dry_run: true,
            ..PatchParams::default()
        };
        let webhooks = |client: Client| -> Api<MutatingWebhookConfiguration> { Api::all(client) };
        let refused = webhooks(replica).patch("evenkeel", &params, &change).await;
        let refused = refused.expect_err("it is refused").to_string();
        assert!(refused.contains("forbidden"), "{refused}");
        let written = webhooks(signer).patch("evenkeel", &params, &change).await;
        written.expect("the signer may");
    });
}

/// A user's overlay puts it into another namespace, and the guard goes with it.
fn evenkeel_is_narrowed_in_whatever_namespace_it_is() {
    with_control_plane(async |plane| {
        let installation = manifests::install_moved(plane, "keel-elsewhere").await;
        hold_cases(plane, &installation, "guarded-elsewhere").await;

        // The guard does not concern an account with that name in another namespace.
        let change = Patch::Merge(annotated("example.com/owner", &json!("namesake")));
        let nodes: Api<Node> = Api::all(namesake(plane).await);
        let params = PatchParams::default();
        let written = nodes.patch("guarded-elsewhere", &params, &change).await;
        written.expect("a namesake writes");

        // Without its rights there is no account to narrow, and the guard does not stop others.
        let grants: Api<ClusterRoleBinding> = Api::all(plane.client.clone());
        let gone = grants.delete("evenkeel", &DeleteParams::default()).await;
        gone.expect("it is deleted");
        let nodes: Api<Node> = Api::all(plane.client.clone());
        let change = Patch::Merge(annotated("example.com/owner", &json!("admin")));
        let written = nodes.patch("guarded-elsewhere", &params, &change).await;
        written.expect("an administrator writes");
    });
}

/// A record of the user's 2 to 10 under a floor of 6.
const RECORD: &str =
    r#"{"user":{"min":2,"max":10},"written":{"min":6,"max":10},"contested":false}"#;
/// A record of the user's 12 to 20.
const LOWERED: &str = r#"{"user":{"min":12,"max":20},"written":{"min":6,"max":20}}"#;
/// The same as the first where the user has no least.
const WITHOUT_LEAST: &str = r#"{"user":{"max":10},"written":{"min":6,"max":10},"contested":false}"#;

/// The clean-up may put back what a record says, and nothing else.
fn the_clean_up_may_only_put_back() {
    with_control_plane(async |plane| {
        manifests::install(plane, 443, None).await;
        let run = "restored";
        objects::create_namespace(&plane.client, run, &[]).await;
        define_scaled_objects(&plane.client).await;
        let clean_up = by_account(plane, "evenkeel-restore", &[]).await;
        for (kind, min, max) in [
            ("HorizontalPodAutoscaler", "minReplicas", "maxReplicas"),
            ("ScaledObject", "minReplicaCount", "maxReplicaCount"),
        ] {
            for (record, change, allowed) in trials(min, max) {
                let object = json!({"spec": {min: 6, max: 10}, "metadata": {"annotations": {
                    "evenkeel.dev/bounds": record, "evenkeel.dev/scaling-status": "{}"}}});
                let trial = Trial {
                    kind,
                    object,
                    change,
                    allowed,
                };
                trial.hold(plane, &clean_up, run).await;
            }
        }
        for (record, change, allowed) in trials_of_counts() {
            let object = json!({"spec": {"replicas": 6}, "metadata": {"annotations": {
                "evenkeel.dev/bounds": record, "evenkeel.dev/scaling-status": "{}"}}});
            let trial = Trial {
                kind: "Deployment",
                object,
                change,
                allowed,
            };
            trial.hold(plane, &clean_up, run).await;
        }
    });
}

/// Taints can keep every Pod from every node.
fn nodes_are_tainted_with_the_component_alone_and_only_as_overloaded() {
    with_control_plane(async |plane| {
        let installation = manifests::install(plane, 443, None).await;
        let evenkeel = Kubeconfig::read_from(&installation.kubeconfig).expect("a kubeconfig");
        let evenkeel = client(evenkeel).await;
        let node = json!({"metadata": {"name": TAINTED}});
        let node = serde_json::from_value(node).expect("a node");
        let nodes: Api<Node> = Api::all(plane.client.clone());
        let made = nodes.create(&PostParams::default(), &node).await;
        made.expect("the node is made");
        let foreign = taint("gpu", "NoSchedule");
        let ours = taint("evenkeel.dev/overloaded", "NoSchedule");
        none_may_be_set(plane, &evenkeel, [&foreign, &ours]).await;
        manifests::grant(&plane.client, "deploy/overlays/overload-taints").await;
        eventually("the component's guard is obeyed", async || {
            let answer = taints(&evenkeel, &[&foreign, &ours]).await;
            answer.map(drop).map_err(|error| error.to_string())
        })
        .await;
        let evicting = taint("evenkeel.dev/overloaded", "NoExecute");
        let other = taint("example.com/other", "NoSchedule");
        for refused in [
            vec![&foreign, &evicting],
            vec![&ours],
            vec![&foreign, &ours, &other],
        ] {
            let answer = taints(&evenkeel, &refused).await;
            assert!(answer.is_err(), "{refused:?}: {answer:?}");
        }
        let softer = taint("x.example/evenkeel-overloaded", "PreferNoSchedule");
        for allowed in [vec![&softer, &foreign], vec![&foreign, &softer]] {
            let answer = taints(&evenkeel, &allowed).await;
            assert!(answer.is_ok(), "{allowed:?}: {answer:?}");
        }
        the_clean_up_takes_taints_away(plane, [&foreign, &softer, &ours]).await;
        // The guard as it was, for the next test on this control plane.
        manifests::grant(&plane.client, "deploy/base").await;
        none_may_be_set(plane, &evenkeel, [&foreign, &ours]).await;
    });
}

/// A label of a node may decide where Pods run.
fn nodes_are_scored_with_the_component_alone_and_keep_all_other_labels() {
    with_control_plane(async |plane| {
        let installation = manifests::install(plane, 443, None).await;
        let evenkeel = Kubeconfig::read_from(&installation.kubeconfig).expect("a kubeconfig");
        let evenkeel = client(evenkeel).await;
        let node = json!({"metadata": {"name": SCORED, "labels": {"zone": "a"}}});
        let node = serde_json::from_value(node).expect("a node");
        let nodes: Api<Node> = Api::all(plane.client.clone());
        let made = nodes.create(&PostParams::default(), &node).await;
        made.expect("the node is made");
        no_score_may_be_set(plane, &evenkeel).await;
        manifests::grant(&plane.client, "deploy/overlays/score-labels").await;
        let score = |value: Value| json!({"score.evenkeel.dev/normal-c1": value});
        eventually("the component's guard is obeyed", async || {
            let answer = labels(&evenkeel, &score(json!("3"))).await;
            answer.map(drop).map_err(|error| error.to_string())
        })
        .await;
        for refused in [
            score(json!("5")),
            score(json!("")),
            json!({"zone": "b"}),
            json!({"zone": null}),
            json!({"score.evenkeel.device/x": "1"}),
            json!({"evenkeel.dev/enabled": "true"}),
            json!({"node-role.kubernetes.io/control-plane": ""}),
        ] {
            let answer = labels(&evenkeel, &refused).await;
            assert!(answer.is_err(), "{refused}: {answer:?}");
        }
        let clean_up = by_account(plane, "evenkeel-restore", &[]).await;
        eventually("the clean-up's guard is obeyed", async || {
            let answer = labels(&clean_up, &score(json!("0"))).await;
            let refused = matches!(&answer, Err(kube::Error::Api(status)) if status.message.contains("clean-up may"));
            holds(refused, || format!("{answer:?}"))
        })
        .await;
        assert!(labels(&clean_up, &json!({"zone": null})).await.is_err());
        let answer = labels(&clean_up, &score(Value::Null))
            .await
            .expect("it goes");
        let left = answer.metadata.labels.unwrap_or_default();
        assert_eq!(left.get("zone").map(String::as_str), Some("a"));
        assert!(
            !left.keys().any(|key| key.starts_with("score.")),
            "{left:?}"
        );
        // The guard as it was, for the next test on this control plane.
        manifests::grant(&plane.client, "deploy/base").await;
        no_score_may_be_set(plane, &evenkeel).await;
        labels(&plane.client, &score(json!("1")))
            .await
            .expect("an administrator sets it");
        let answer = labels(&evenkeel, &score(Value::Null)).await;
        assert!(
            answer.is_ok(),
            "a label that is left may be removed: {answer:?}"
        );
    });
}

/// Waits until the guard of the base is obeyed.
async fn no_score_may_be_set(plane: &ControlPlane, evenkeel: &Client) {
    let score = |value: Value| json!({"score.evenkeel.dev/normal-c1": value});
    eventually("the base lets no score through", async || {
        let before = labels(&plane.client, &score(Value::Null)).await;
        before.expect("an administrator sets what he likes");
        let answer = labels(evenkeel, &score(json!("3"))).await;
        let refused = matches!(&answer, Err(kube::Error::Api(status)) if status.message.contains("Evenkeel may change only the labels"));
        holds(refused, || format!("{answer:?}"))
    })
    .await;
}

/// Waits until the guard of the base is obeyed; each trial begins without the taint, since one that stands
/// already may stay.
async fn none_may_be_set(plane: &ControlPlane, evenkeel: &Client, [foreign, ours]: [&Value; 2]) {
    eventually("the base lets no taint through", async || {
        let before = taints(&plane.client, &[foreign]).await;
        before.expect("an administrator sets what he likes");
        let answer = taints(evenkeel, &[foreign, ours]).await;
        let refused = matches!(&answer, Err(kube::Error::Api(status)) if status.message.contains("Evenkeel may change only its own taints"));
        holds(refused, || format!("{answer:?}"))
    })
    .await;
}

/// Takes one taint of Evenkeel away and sets none, beside a taint of another owner.
async fn the_clean_up_takes_taints_away(
    plane: &ControlPlane,
    [foreign, softer, ours]: [&Value; 3],
) {
    let clean_up = by_account(plane, "evenkeel-restore", &[]).await;
    eventually("the clean-up's guard is obeyed", async || {
        let answer = taints(&clean_up, &[foreign, softer, ours]).await;
        let refused = matches!(&answer, Err(kube::Error::Api(status)) if status.message.contains("clean-up may"));
        holds(refused, || format!("{answer:?}"))
    })
    .await;
    let answer = taints(&clean_up, &[softer]).await;
    assert!(answer.is_err(), "{answer:?}");
    let answer = taints(&clean_up, &[foreign]).await.expect("it goes");
    let left = answer.spec.and_then(|spec| spec.taints).unwrap_or_default();
    let keys: Vec<_> = left.into_iter().map(|taint| taint.key).collect();
    assert_eq!(keys, ["gpu"]);
}

/// An account that may patch a Pod could make it run another image; RBAC cannot narrow it to annotations.
fn pods_are_given_costs_with_the_component_alone_and_never_over_the_users() {
    with_control_plane(async |plane| {
        let installation = manifests::install(plane, 443, None).await;
        let evenkeel = Kubeconfig::read_from(&installation.kubeconfig).expect("a kubeconfig");
        let evenkeel = client(evenkeel).await;
        objects::create_namespace(&plane.client, PRICED, &[("evenkeel.dev/enabled", "true")]).await;
        objects::create_namespace(&plane.client, "not-priced", &[]).await;
        plant_pods(plane).await;
        let ours = costs(&json!("-1"), &json!("-1 balance"));
        let answer = price(&evenkeel, PRICED, &ours).await;
        assert!(answer.is_err(), "the base grants no patch: {answer:?}");
        manifests::grant(&plane.client, "deploy/overlays/scale-in-balance").await;
        let running =
            |image: &str| json!({"spec": {"containers": [{"name": "app", "image": image}]}});
        eventually("the guard looks at Pods", async || {
            let before = price(&plane.client, PRICED, &running("none")).await;
            before.expect("an administrator runs what he likes");
            let answer = price(&evenkeel, PRICED, &running("other")).await;
            let refused = matches!(&answer, Err(kube::Error::Api(status)) if status.message.contains("Evenkeel may change"));
            holds(refused, || format!("{answer:?}"))
        })
        .await;
        hold_costs(plane, &evenkeel, &ours).await;
        manifests::grant(&plane.client, "deploy/base").await;
    });
}

/// A Pod in the namespace that has opted in, and one in another.
async fn plant_pods(plane: &ControlPlane) {
    for namespace in [PRICED, "not-priced"] {
        let pod = json!({"metadata": {"name": "p", "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "app", "image": "none"}]}});
        let pod = serde_json::from_value(pod).expect("a Pod");
        let pods: Api<Pod> = Api::namespaced(plane.client.clone(), namespace);
        let made = pods.create(&PostParams::default(), &pod).await;
        made.expect("the Pod is made");
    }
}

/// The allowed and refused writes on the Pods, by account.
async fn hold_costs(plane: &ControlPlane, evenkeel: &Client, ours: &Value) {
    let allowed = async |by: &Client, change: &Value| {
        let answer = price(by, PRICED, change).await;
        assert!(answer.is_ok(), "{change}: {answer:?}");
    };
    let refused = async |by: &Client, namespace: &str, change: &Value| {
        let answer = price(by, namespace, change).await;
        assert!(answer.is_err(), "{namespace} {change}: {answer:?}");
    };
    refused(evenkeel, "not-priced", ours).await;
    refused(evenkeel, PRICED, &costs(&json!("-1"), &Value::Null)).await;
    refused(evenkeel, PRICED, &costs(&json!("-1"), &json!("-2 balance"))).await;
    refused(
        evenkeel,
        PRICED,
        &json!({"metadata": {"labels": {"app": "db"}}}),
    )
    .await;
    refused(
        evenkeel,
        PRICED,
        &annotated("evenkeel.dev/demand", &json!("{}")),
    )
    .await;
    allowed(evenkeel, ours).await;
    allowed(evenkeel, &costs(&json!("-2"), &json!("-2 headroom"))).await;
    let clean_up = by_account(plane, "evenkeel-restore", &[]).await;
    refused(&clean_up, PRICED, ours).await;
    allowed(&clean_up, &costs(&Value::Null, &Value::Null)).await;
    let users = costs(&json!("7"), &Value::Null);
    allowed(&plane.client, &users).await;
    refused(evenkeel, PRICED, ours).await;
    refused(evenkeel, PRICED, &costs(&Value::Null, &Value::Null)).await;
    refused(&clean_up, PRICED, &costs(&Value::Null, &Value::Null)).await;
    // Nor in two steps, of which the first says that the user's cost is Evenkeel's.
    let claimed = costs(&json!("7"), &json!("7 balance"));
    refused(evenkeel, PRICED, &claimed).await;
    refused(&clean_up, PRICED, &claimed).await;
    // Neither what is left of Evenkeel's beside it, nor what is claimed where no cost is, leads there.
    let beside = costs(&json!("7"), &json!("-2 headroom"));
    allowed(&plane.client, &beside).await;
    refused(evenkeel, PRICED, &claimed).await;
    allowed(evenkeel, &users).await;
    allowed(&plane.client, &costs(&Value::Null, &Value::Null)).await;
    refused(evenkeel, PRICED, &costs(&Value::Null, &json!("7 balance"))).await;
}

const PRICED: &str = "priced";

/// Both annotations about the cost of a Pod's deletion.
fn costs(cost: &Value, own: &Value) -> Value {
    json!({"metadata": {"annotations": {
        "controller.kubernetes.io/pod-deletion-cost": cost, "evenkeel.dev/deletion-cost": own}}})
}

/// Changes the Pod of a namespace.
async fn price(client: &Client, namespace: &str, change: &Value) -> kube::Result<Pod> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let change = Patch::Strategic(change.clone());
    pods.patch("p", &PatchParams::default(), &change).await
}

const TAINTED: &str = "tainted";
const SCORED: &str = "scored";

/// Changes these labels of the node, with the rights of `client`.
async fn labels(client: &Client, labels: &Value) -> kube::Result<Node> {
    let change = Patch::Merge(json!({"metadata": {"labels": labels}}));
    let nodes: Api<Node> = Api::all(client.clone());
    nodes.patch(SCORED, &PatchParams::default(), &change).await
}

fn taint(key: &str, effect: &str) -> Value {
    json!({"key": key, "value": "cpu", "effect": effect})
}

/// Makes these the taints of the node, with the rights of `client`.
async fn taints(client: &Client, taints: &[&Value]) -> kube::Result<Node> {
    let change = Patch::Merge(json!({"spec": {"taints": taints}}));
    let nodes: Api<Node> = Api::all(client.clone());
    nodes.patch(TAINTED, &PatchParams::default(), &change).await
}

/// A record of the user's 2 replicas, where a CronHPA asks for 6.
const COUNT: &str = r#"{"user":{"min":2,"max":2147483647},"written":{"min":6,"max":2147483647}}"#;

/// The same of a workload without an autoscaler.
fn trials_of_counts() -> Vec<(&'static str, Value, bool)> {
    let gone = |spec: Value| json!({"metadata": {"annotations": {"evenkeel.dev/bounds": null}}, "spec": spec});
    vec![
        (COUNT, gone(json!({"replicas": 2})), true),
        (COUNT, gone(json!({})), true),
        (COUNT, gone(json!({"replicas": 1})), false),
        (COUNT, gone(json!({"replicas": 60})), false),
        (COUNT, json!({"spec": {"replicas": 2}}), false),
        (COUNT, gone(json!({"replicas": 2, "paused": true})), false),
    ]
}

/// Records, changes of the object that has one, and whether they are let through.
fn trials(min: &str, max: &str) -> Vec<(&'static str, Value, bool)> {
    let gone = |spec: Value| {
        json!({"metadata": {"annotations": {"evenkeel.dev/bounds": null,
                "evenkeel.dev/scaling-status": null}}, "spec": spec})
    };
    let both = |least: i32, most: i32| gone(json!({min: least, max: most}));
    let least = |least: Value| gone(json!({min: least}));
    vec![
        (RECORD, both(2, 10), true),
        (RECORD, least(json!(2)), true),
        (RECORD, gone(json!({})), true),
        (WITHOUT_LEAST, least(Value::Null), true),
        // The user has lowered the most since, and it takes the least along.
        (LOWERED, least(json!(10)), true),
        (LOWERED, least(json!(9)), false),
        (RECORD, both(1, 1), false),
        (RECORD, least(json!(1)), false),
        (RECORD, least(json!(9)), false),
        (RECORD, both(2, 100), false),
        (RECORD, json!({"spec": {min: 2}}), false),
        (
            RECORD,
            annotated("evenkeel.dev/bounds", &json!("{}")),
            false,
        ),
        ("{}", least(json!(2)), false),
        (RECORD, annotated("kept", &Value::Null), false),
        (
            RECORD,
            annotated("evenkeel.dev/scaling-status", &json!("{}")),
            false,
        ),
        (
            RECORD,
            json!({"metadata": {"annotations": {"evenkeel.dev/bounds": null},
                    "labels": {"app": "other"}}}),
            false,
        ),
        (
            RECORD,
            gone(json!({"scaleTargetRef": {"name": "other"}})),
            false,
        ),
    ]
}

/// A change of an object that the clean-up may make, or may not.
struct Trial {
    kind: &'static str,
    object: Value,
    change: Value,
    allowed: bool,
}

impl Trial {
    async fn hold(&self, plane: &ControlPlane, clean_up: &Client, run: &str) {
        let cases = cases();
        let case = cases
            .iter()
            .find(|case| case.kind == self.kind)
            .expect("a case");
        let gvk = GroupVersionKind::gvk(case.group, case.version, case.kind);
        let resource = ApiResource::from_gvk(&gvk);
        let name = "put-back";
        let mut object = serde_json::to_value(case.object(name)).expect("an object");
        json_patch::merge(&mut object, &self.object);
        let admin: Api<DynamicObject> = Api::namespaced_with(plane.client.clone(), run, &resource);
        let made: DynamicObject = serde_json::from_value(object).expect("an object");
        eventually("the object is made", async || {
            let made = admin.create(&PostParams::default(), &made).await;
            made.map(drop).map_err(|error| error.to_string())
        })
        .await;
        let ours: Api<DynamicObject> = Api::namespaced_with(clean_up.clone(), run, &resource);
        let params = PatchParams::default();
        let change = Patch::Merge(&self.change);
        let refused = |answer: &kube::Result<DynamicObject>| {
            let Err(kube::Error::Api(status)) = answer else {
                return false;
            };
            status.message.contains("clean-up may")
        };
        // Rights and policy are obeyed a moment after they have been stored; each probe is another
        // change, since one that has been let through would change nothing any more.
        let mut probes = 0;
        eventually("the policy is obeyed", async || {
            probes += 1;
            let probe = annotated("example.com/probe", &json!(probes.to_string()));
            let answer = ours.patch(name, &params, &Patch::Merge(&probe)).await;
            holds(refused(&answer), || format!("{answer:?}"))
        })
        .await;
        let answer = ours.patch(name, &params, &change).await;
        let (kind, change) = (self.kind, &self.change);
        assert_eq!(answer.is_ok(), self.allowed, "{kind} {change}: {answer:?}");
        assert!(
            self.allowed || refused(&answer),
            "{kind} {change}: {answer:?}"
        );
        let deleted = admin.delete(name, &DeleteParams::default()).await;
        deleted.expect("it is deleted");
    }
}

/// The administrator in the name of a ServiceAccount of the installation, with its rights and those
/// of further groups.
pub(super) async fn by_account(plane: &ControlPlane, account: &str, groups: &[&str]) -> Client {
    let path = plane.folder().join("admin.kubeconfig");
    let mut kubeconfig = Kubeconfig::read_from(path).expect("a kubeconfig");
    let own = ["system:serviceaccounts", "system:authenticated"];
    let groups = own.iter().chain(groups).map(|group| (*group).to_owned());
    for user in &mut kubeconfig.auth_infos {
        let user = user.auth_info.get_or_insert_default();
        user.impersonate = Some(format!("system:serviceaccount:evenkeel-system:{account}"));
        user.impersonate_groups = Some(groups.clone().collect());
    }
    client(kubeconfig).await
}

pub(super) async fn client(kubeconfig: Kubeconfig) -> Client {
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Client::try_from(config.expect("it is whole")).expect("a client")
}

/// An administrator by the name that the shipped ServiceAccount has in the namespace of the base.
async fn namesake(plane: &ControlPlane) -> Client {
    by_account(plane, "evenkeel", &["system:masters"]).await
}

/// One of Evenkeel's own kinds, as a user writes it.
fn own_kind(kind: &str, name: &str, metadata: &Value) -> DynamicObject {
    let mut object = json!({"apiVersion": "autoscaling.evenkeel.dev/v1alpha1", "kind": kind,
        "metadata": {"name": name},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    if kind == "HorizontalPortrait" {
        object["spec"]["portraitType"] = json!("Ours");
        object["spec"]["externalGeneratorName"] = json!("us");
        object["spec"]["algorithm"] = json!({"type": "Ours"});
    } else {
        object["spec"]["onlineReplicas"] = json!(1);
    }
    for (key, value) in metadata.as_object().into_iter().flatten() {
        object["metadata"][key] = value.clone();
    }
    serde_json::from_value(object).expect("an object")
}

/// Users' portraits and profiles are theirs, and so is the metadata of those that Evenkeel makes.
fn own_kinds_of_users_are_out_of_evenkeels_reach() {
    with_control_plane(async |plane| {
        let installation = manifests::install(plane, 443, None).await;
        manifests::grant(&plane.client, "deploy/overlays/replica-profiles").await;
        let kubeconfig = Kubeconfig::read_from(&installation.kubeconfig).expect("a kubeconfig");
        let evenkeel = client(kubeconfig).await;
        let opted_in = [("evenkeel.dev/enabled", "true")];
        for (namespace, annotations) in [("reached", &opted_in[..]), ("unreached", &[][..])] {
            objects::create_namespace(&plane.client, namespace, annotations).await;
        }
        let owned = [
            owned_by_autoscaler(plane, "reached").await,
            owned_by_autoscaler(plane, "unreached").await,
        ];
        for kind in ["HorizontalPortrait", "ReplicaProfile"] {
            hold_own_kind(plane, &evenkeel, kind, &owned).await;
        }
    });
}

/// Metadata that name a new autoscaler by portraits as the owner.
async fn owned_by_autoscaler(plane: &ControlPlane, namespace: &str) -> Value {
    let kind = "IntelligentHorizontalPodAutoscaler";
    let resource = GroupVersionKind::gvk("autoscaling.evenkeel.dev", "v1alpha1", kind);
    let resource = ApiResource::from_gvk(&resource);
    let api: Api<DynamicObject> = Api::namespaced_with(plane.client.clone(), namespace, &resource);
    let object = json!({"apiVersion": "autoscaling.evenkeel.dev/v1alpha1", "kind": kind,
        "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 1, "maxReplicas": 3,
            "portraitProviders": [{"type": "Static", "priority": 1, "static": {"replicas": 1}}]}});
    let object = serde_json::from_value(object).expect("an object");
    let made = api.create(&PostParams::default(), &object).await;
    let uid = made.expect("it is made").metadata.uid;
    json!({"ownerReferences": [{"apiVersion": "autoscaling.evenkeel.dev/v1alpha1", "kind": kind,
        "name": "web", "uid": uid, "controller": true}]})
}

#[expect(clippy::too_many_lines, reason = "one story, told in its order")]
async fn hold_own_kind(
    plane: &ControlPlane,
    evenkeel: &Client,
    kind: &str,
    [owned, owned_elsewhere]: &[Value; 2],
) {
    let resource = GroupVersionKind::gvk("autoscaling.evenkeel.dev", "v1alpha1", kind);
    let resource = ApiResource::from_gvk(&resource);
    let api = |client: &Client, namespace: &str| -> Api<DynamicObject> {
        Api::namespaced_with(client.clone(), namespace, &resource)
    };
    let post = PostParams::default();
    let mut held = owned.clone();
    held["finalizers"] = json!(["example.com/held"]);
    for (namespace, owned) in [("reached", owned), ("unreached", owned_elsewhere)] {
        for (name, metadata) in [("theirs", &json!({})), ("ours", owned)] {
            let made = own_kind(kind, name, metadata);
            let made = api(&plane.client, namespace).create(&post, &made).await;
            made.expect("it is made");
        }
    }
    let patch = async |namespace: &str, name: &str, change: &Value| {
        let (params, change) = (PatchParams::default(), Patch::Merge(change));
        let patched = api(evenkeel, namespace).patch(name, &params, &change).await;
        patched.map(drop).map_err(|error| error.to_string())
    };
    let other = json!({"spec": {"scaleTargetRef": {"name": "other"}}});
    eventually("the guard is in force", async || {
        let said = patch("reached", "theirs", &other).await.err();
        let said = said.unwrap_or_default();
        holds(said.contains("that belong to"), || said.clone())
    })
    .await;
    assert_eq!(patch("reached", "ours", &other).await, Ok(()));
    assert!(patch("unreached", "ours", &other).await.is_err());
    for change in [
        json!({"finalizers": ["example.com/held"]}),
        json!({"labels": {"a": "b"}}),
        json!({"annotations": {"a": "b"}}),
        json!({"ownerReferences": null}),
    ] {
        let change = json!({"metadata": change});
        assert!(patch("reached", "ours", &change).await.is_err(), "{change}");
    }
    for (namespace, metadata, allowed) in [
        ("reached", &json!({}), false),
        ("reached", &held, false),
        ("unreached", owned_elsewhere, false),
        ("reached", owned, true),
    ] {
        let made = own_kind(kind, "new", metadata);
        let made = api(evenkeel, namespace).create(&post, &made).await;
        assert_eq!(made.is_ok(), allowed, "{namespace} {metadata}");
    }
    if kind == "ReplicaProfile" {
        let delete = DeleteParams::default();
        assert!(
            api(evenkeel, "reached")
                .delete("theirs", &delete)
                .await
                .is_err()
        );
        assert!(
            api(evenkeel, "reached")
                .delete("ours", &delete)
                .await
                .is_ok()
        );
    }
}

/// Replicas are set where the namespace has opted in, and nowhere else.
fn evenkeel_may_scale_only_where_the_namespace_has_opted_in() {
    with_control_plane(async |plane| {
        let installation = manifests::install(plane, 443, None).await;
        let kubeconfig = Kubeconfig::read_from(&installation.kubeconfig).expect("a kubeconfig");
        let evenkeel = client(kubeconfig).await;
        let opted_in = [("evenkeel.dev/enabled", "true")];
        let scale = async |namespace: &str, change: &Value| {
            let deployments: Api<Deployment> = Api::namespaced(evenkeel.clone(), namespace);
            let params = PatchParams::default();
            let change = Patch::Merge(change);
            let patched = deployments.patch_scale("web", &params, &change).await;
            patched.map(|scale| scale.spec.and_then(|spec| spec.replicas))
        };
        for (namespace, annotations) in [("scaled", &opted_in[..]), ("let-alone", &[][..])] {
            objects::create_namespace(&plane.client, namespace, annotations).await;
            let [.., deployment, _] = cases();
            let made = deployment.object("web");
            let deployments: Api<DynamicObject> = Api::namespaced_with(
                plane.client.clone(),
                namespace,
                &ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", "Deployment")),
            );
            let made = deployments.create(&PostParams::default(), &made).await;
            made.expect("it is made");
        }
        let three = json!({"spec": {"replicas": 3}});
        eventually("the guard is in force", async || {
            let refused = scale("let-alone", &three).await.err();
            let said = refused.map(|error| error.to_string()).unwrap_or_default();
            holds(said.contains("namespaces that have opted in"), || {
                said.clone()
            })
        })
        .await;
        assert_eq!(scale("scaled", &three).await.ok().flatten(), Some(3));
        let zero = json!({"spec": {"replicas": 0}});
        assert!(scale("scaled", &zero).await.is_ok());
        assert!(scale("let-alone", &zero).await.is_err());
        counts_with_records(plane, &evenkeel).await;
    });
}

/// The same of replicas that are set with the record of the user's own; where the namespace has opted out
/// since, they may go back to what the record says.
async fn counts_with_records(plane: &ControlPlane, evenkeel: &Client) {
    let set = async |client: &Client, namespace: &str, replicas: i32, record: Value| {
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
        let change = json!({"spec": {"replicas": replicas},
            "metadata": {"annotations": {"evenkeel.dev/bounds": record}}});
        let change = Patch::Merge(change);
        let patched = deployments
            .patch("web", &PatchParams::default(), &change)
            .await;
        patched.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(set(evenkeel, "scaled", 6, json!(COUNT)).await, Ok(()));
    let refused = set(evenkeel, "let-alone", 6, json!(COUNT))
        .await
        .expect_err("it has not opted in");
    assert!(
        refused.contains("namespaces that have opted in"),
        "{refused}"
    );
    let before = set(&plane.client, "let-alone", 6, json!(COUNT)).await;
    assert_eq!(before, Ok(()));
    for (replicas, record) in [(3, Value::Null), (2, json!(COUNT)), (20, Value::Null)] {
        assert!(
            set(evenkeel, "let-alone", replicas, record).await.is_err(),
            "{replicas}"
        );
    }
    assert_eq!(set(evenkeel, "let-alone", 2, Value::Null).await, Ok(()));
    // A record that it writes itself opens no way to another count.
    let forged = r#"{"user":{"min":0,"max":2147483647}}"#;
    let refused = set(evenkeel, "let-alone", 2, json!(forged)).await;
    let refused = refused.expect_err("it has not opted in");
    assert!(refused.contains("records of bounds only"), "{refused}");
    // A workload at zero may be woken anywhere.
    let asleep = set(&plane.client, "let-alone", 0, Value::Null).await;
    assert_eq!(asleep, Ok(()));
    assert_eq!(set(evenkeel, "let-alone", 1, Value::Null).await, Ok(()));
}

/// Tries all cases by the rights of an installation, on objects that are named after `run`.
async fn hold_cases(plane: &ControlPlane, installation: &Installation, run: &'static str) {
    let kubeconfig = Kubeconfig::read_from(&installation.kubeconfig).expect("a kubeconfig");
    let evenkeel = client(kubeconfig).await;
    let opted_in = [("evenkeel.dev/enabled", "true")];
    objects::create_namespace(&plane.client, run, &opted_in).await;
    define_scaled_objects(&plane.client).await;
    for case in cases() {
        case.hold(plane, &evenkeel, run).await;
    }
}

/// An object with changes of it that are let through, and others that are not.
struct Case {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    spec: Value,
    allowed: Vec<Value>,
    refused: Vec<Value>,
}

pub(super) fn annotated(key: &str, value: &Value) -> Value {
    json!({"metadata": {"annotations": {key: value}}})
}

/// Changes of metadata that are refused on every object.
fn foreign() -> Vec<Value> {
    vec![
        annotated("example.com/owner", &json!("me")),
        annotated("evenkeel.dev/scaling", &json!("floor")),
        annotated("kept", &Value::Null),
        json!({"metadata": {"labels": {"app": "other"}}}),
        json!({"metadata": {"finalizers": ["example.com/held"]}}),
    ]
}

fn cases() -> [Case; 7] {
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [
        {"name": "app", "image": "registry.example/app:1"}]}});
    let deployment = json!({"replicas": 0, "template": template,
        "selector": {"matchLabels": {"app": "web"}}});
    let mut stateful_set = deployment.clone();
    stateful_set["serviceName"] = json!("web");
    [
        node(),
        namespace(),
        autoscaler(),
        old_autoscaler(),
        scaled_object(),
        workload("Deployment", deployment),
        workload("StatefulSet", stateful_set),
    ]
}

/// Other bounds, with both annotations.
fn written(bounds: &Value) -> Value {
    json!({"spec": bounds, "metadata": {"annotations": {
        "evenkeel.dev/bounds": "{}", "evenkeel.dev/scaling-status": "{}"}}})
}

/// An account that may patch a node could drain it, report another capacity of it, or have Pods flee from it.
fn node() -> Case {
    let wake = |value| annotated("evenkeel.dev/headroom-returned", &value);
    // The API server adds it to each new node.
    let added = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    let taints = |taints: &[Value]| {
        let all = [taints, std::slice::from_ref(&added)].concat();
        json!({"spec": {"taints": all}})
    };
    let kept = json!({"key": "gpu", "effect": "NoSchedule"});
    let own = json!({"key": "evenkeel.dev/overloaded", "value": "cpu", "effect": "NoSchedule"});
    let another = json!({"key": "a/evenkeel-overloaded", "effect": "NoSchedule"});
    Case {
        group: "",
        version: "v1",
        kind: "Node",
        spec: json!({"taints": [kept, own]}),
        allowed: vec![
            wake(json!("2026-01-01T00:00:00Z")),
            wake(Value::Null),
            taints(std::slice::from_ref(&kept)),
        ],
        refused: vec![
            json!({"spec": {"unschedulable": true}}),
            json!({"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}),
            taints(&[]),
            taints(&[kept.clone(), own.clone(), another]),
            taints(&[own]),
            json!({"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}),
            annotated("evenkeel.dev/network-capacity", &json!("1Tbps")),
            annotated("evenkeel.dev/bounds", &json!("{}")),
        ],
    }
}

/// An account that may patch a namespace could lift its security level, or opt it in.
fn namespace() -> Case {
    let label = |value: Value| json!({"metadata": {"labels": {"evenkeel.dev/enabled": value}}});
    Case {
        group: "",
        version: "v1",
        kind: "Namespace",
        spec: json!({}),
        allowed: vec![label(json!("true")), label(Value::Null)],
        refused: vec![
            json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}),
            json!({"metadata": {"labels": {"app": null, "evenkeel.dev/enabled": "true"}}}),
            annotated("evenkeel.dev/enabled", &json!("true")),
            annotated("evenkeel.dev/headroom-returned", &json!("now")),
            annotated("evenkeel.dev/scaling-status", &json!("{}")),
        ],
    }
}

/// The same object through an older version of its API.
fn old_autoscaler() -> Case {
    Case {
        version: "v1",
        allowed: vec![written(&json!({"minReplicas": 2}))],
        refused: vec![
            json!({"spec": {"targetCPUUtilizationPercentage": 1}}),
            json!({"spec": {"scaleTargetRef": {"name": "other"}}}),
        ],
        ..autoscaler()
    }
}

fn autoscaler() -> Case {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    Case {
        group: "autoscaling",
        version: "v2",
        kind: "HorizontalPodAutoscaler",
        spec: json!({"scaleTargetRef": target, "maxReplicas": 5}),
        allowed: vec![
            written(&json!({"minReplicas": 3})),
            written(&json!({"minReplicas": 4, "maxReplicas": 6})),
            annotated("evenkeel.dev/bounds", &Value::Null),
        ],
        refused: vec![
            json!({"spec": {"scaleTargetRef": {"name": "other"}}}),
            json!({"spec": {"metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 1}}}]}}),
            json!({"spec": {"minReplicas": 2, "behavior": {"scaleUp": {
                "stabilizationWindowSeconds": 60}}}}),
        ],
    }
}

fn scaled_object() -> Case {
    Case {
        group: "keda.sh",
        version: "v1alpha1",
        kind: "ScaledObject",
        spec: json!({"scaleTargetRef": {"name": "web"}, "triggers": []}),
        allowed: vec![
            written(&json!({"minReplicaCount": 3})),
            written(&json!({"minReplicaCount": null, "maxReplicaCount": 7})),
        ],
        refused: vec![
            json!({"spec": {"triggers": [{"type": "cron"}]}}),
            json!({"spec": {"triggers": null}}),
            json!({"spec": {"pollingInterval": 5}}),
        ],
    }
}

fn workload(kind: &'static str, spec: Value) -> Case {
    let status = |value| annotated("evenkeel.dev/scaling-status", &value);
    let image = json!([{"name": "app", "image": "registry.example/other:1"}]);
    Case {
        group: "apps",
        version: "v1",
        kind,
        spec,
        allowed: vec![status(json!("{}")), status(Value::Null)],
        refused: vec![
            json!({"spec": {"minReadySeconds": 3}}),
            json!({"spec": {"template": {"spec": {"containers": image}}}}),
        ],
    }
}

impl Case {
    /// One that no other object of the kind has: the namespace of the other objects is `run` itself.
    fn name(&self, run: &str) -> String {
        match (self.kind, self.version) {
            ("Namespace", _) => format!("{run}-namespace"),
            ("HorizontalPodAutoscaler", "v1") => format!("{run}-old"),
            _ => run.to_owned(),
        }
    }

    fn object(&self, name: &str) -> DynamicObject {
        let gvk = GroupVersionKind::gvk(self.group, self.version, self.kind);
        let object = json!({
            "apiVersion": gvk.api_version(), "kind": self.kind,
            "metadata": {"name": name, "annotations": {"kept": "yes"}, "labels": {"app": "web"}},
            "spec": self.spec,
        });
        serde_json::from_value(object).expect("an object")
    }

    async fn hold(&self, plane: &ControlPlane, evenkeel: &Client, run: &'static str) {
        let kind = self.kind;
        let gvk = GroupVersionKind::gvk(self.group, self.version, kind);
        let resource = ApiResource::from_gvk(&gvk);
        let in_cluster = matches!(kind, "Node" | "Namespace");
        let api = |client: &Client| -> Api<DynamicObject> {
            if in_cluster {
                Api::all_with(client.clone(), &resource)
            } else {
                Api::namespaced_with(client.clone(), run, &resource)
            }
        };
        let name = self.name(run);
        let object = self.object(&name);
        eventually("the object is made", async || {
            let made = api(&plane.client)
                .create(&PostParams::default(), &object)
                .await;
            made.map(drop).map_err(|error| error.to_string())
        })
        .await;
        let ours = api(evenkeel);
        let send = async |change: &Value| {
            let params = PatchParams::default();
            ours.patch(&name, &params, &Patch::Merge(change)).await
        };
        let refused = async |change: &Value| match send(change).await {
            Err(kube::Error::Api(status)) => {
                let told = status.message.contains("Evenkeel may");
                holds(told, || format!("{kind} {change}: {status:?}"))
            }
            other => Err(format!("{kind} {change}: {other:?}")),
        };
        // The API server obeys a new policy a moment after it has stored it; each probe is another
        // change, since one that has been let through would change nothing any more.
        let mut probes = 0;
        eventually("the policy is obeyed", async || {
            probes += 1;
            refused(&annotated("example.com/probe", &json!(probes.to_string()))).await
        })
        .await;
        for change in self.refused.iter().chain(&foreign()) {
            refused(change).await.expect("a refusal");
        }
        for change in &self.allowed {
            let answer = send(change).await;
            assert!(answer.is_ok(), "{kind} {change}: {answer:?}");
        }
        self.hold_rights(&ours, &name).await;
        let (others, params) = (api(&plane.client), PatchParams::default());
        let annotation = annotated("example.com/owner", &json!("me"));
        let change = Patch::Merge(annotation);
        let written = others.patch(&name, &params, &change).await;
        written.expect("others may write what they like");
    }

    /// The writes that need no refusal by a policy, because there is no right to them.
    async fn hold_rights(&self, ours: &Api<DynamicObject>, name: &str) {
        let status = Patch::Merge(json!({"status": {}}));
        let params = PatchParams::default();
        let deleted = ours.delete(name, &DeleteParams::default()).await.map(drop);
        let status = ours.patch_status(name, &params, &status).await.map(drop);
        for answer in [deleted, status] {
            let forbidden = matches!(&answer, Err(kube::Error::Api(status)) if status.code == 403);
            assert!(forbidden, "{}: {answer:?}", self.kind);
        }
    }
}

pub(super) async fn define_scaled_objects(client: &Client) {
    let gvk = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> =
        Api::all_with(client.clone(), &ApiResource::from_gvk(&gvk));
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "scaledobjects.keda.sh"},
        "spec": {
            "group": "keda.sh", "scope": "Namespaced",
            "names": {"kind": "ScaledObject", "plural": "scaledobjects"},
            "versions": [{"name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}}],
        },
    });
    let params = PatchParams::apply("control-plane-test").force();
    let name = "scaledobjects.keda.sh";
    let made = definitions
        .patch(name, &params, &Patch::Apply(&definition))
        .await;
    made.expect("the definition is made");
}

crate::support::trial::suite!(super::world::NEEDS => [
    evenkeel_may_write_bounds_and_its_annotations_and_nothing_else,
    the_signer_may_ask_for_no_token,
    a_replica_may_not_lead_the_webhook_elsewhere,
    evenkeel_is_narrowed_in_whatever_namespace_it_is,
    the_clean_up_may_only_put_back,
    nodes_are_tainted_with_the_component_alone_and_only_as_overloaded,
    nodes_are_scored_with_the_component_alone_and_keep_all_other_labels,
    pods_are_given_costs_with_the_component_alone_and_never_over_the_users,
    own_kinds_of_users_are_out_of_evenkeels_reach,
    evenkeel_may_scale_only_where_the_namespace_has_opted_in,
]);
