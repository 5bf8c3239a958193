//! ReplicaProfiles on a real control plane: the refusals of their schema, and the writes that a replica may
//! make on Pods. Pods leave the EndpointSlices of their Service and come back, with any of the replicas.

use std::collections::BTreeSet;
use std::time::Duration;

use evenkeel_clock as clock;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use super::world::{self, OPTED_IN, Patience, World};
use crate::support::control_plane::manifests;
use crate::support::control_plane::objects;
use crate::support::control_plane::process::report;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;
use crate::support::dev_api::{ask, create, get, patch};

const NAMESPACE: &str = "sale";
const PROFILES: &str = "/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/sale/replicaprofiles";
const PROFILE: &str = "/apis/autoscaling.evenkeel.dev/v1alpha1/namespaces/sale/replicaprofiles/web";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/sale/deployments/web";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/sale/endpointslices";
const GATE: &str = "evenkeel.dev/online";
const STATE: &str = "evenkeel.dev/pod-state";

fn profile(spec: &Value) -> Value {
    let mut whole = json!({"scaleTargetRef": {"kind": "Deployment", "name": "web"},
        "onlineReplicas": 4, "behavior": {"drainSeconds": 3}});
    json_patch::merge(&mut whole, spec);
    json!({"apiVersion": "autoscaling.evenkeel.dev/v1alpha1", "kind": "ReplicaProfile",
        "metadata": {"name": "web"}, "spec": whole})
}

/// Specs that are refused, each with a part of what is said.
fn refused() -> [(Value, &'static str); 7] {
    let kind = |kind: &str| json!({"scaleTargetRef": {"kind": kind, "name": "web"}});
    [
        (
            kind("DaemonSet"),
            "a ReplicaProfile needs a Deployment, a StatefulSet or a ReplicaSet",
        ),
        (
            json!({"scaleTargetRef": {"apiVersion": "argoproj.io/v1alpha1"}}),
            "have the apiVersion apps/v1",
        ),
        (json!({"cutoffReplicas": -1}), "greater than or equal to 0"),
        (
            json!({"onlineReplicas": i32::MAX, "standbyReplicas": 1}),
            "is the replicas of the workload",
        ),
        (
            json!({"allowedScalingDirection": "Sideways"}),
            "Unsupported value",
        ),
        (
            json!({"behavior": {"podSorter": {"type": "External"}}}),
            "Unsupported value",
        ),
        (
            json!({"behavior": {"drainSeconds": 86_401}}),
            "less than or equal to 86400",
        ),
    ]
}

async fn refuses_what_does_not_go_together(client: &Client) {
    let dry_run = format!("{PROFILES}?dryRun=All");
    for (spec, told) in refused() {
        let (status, answer) = ask(client, "POST", &dry_run, &profile(&spec)).await;
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(
            status == 422 && message.contains(told),
            "{spec}: {status} {message}"
        );
    }
}

async fn install(client: &Client) {
    create(client, PROFILES, &profile(&json!({}))).await;
    let labels = json!({"app": "web"});
    let containers = json!([{"name": "web", "image": "none",
        "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}}}]);
    let deployment = json!({"metadata": {"name": "web"}, "spec": {
        "replicas": 4, "selector": {"matchLabels": labels},
        "strategy": {"rollingUpdate": {"maxUnavailable": "50%"}},
        "template": {"metadata": {"labels": labels},
            "spec": {"terminationGracePeriodSeconds": 0, "containers": containers}}}});
    create(
        client,
        "/apis/apps/v1/namespaces/sale/deployments",
        &deployment,
    )
    .await;
    let service = json!({"metadata": {"name": "web"},
        "spec": {"selector": labels, "ports": [{"name": "web", "port": 80}]}});
    create(client, "/api/v1/namespaces/sale/services", &service).await;
}

/// The Pods that the Service leads to.
async fn serving(client: &Client) -> BTreeSet<String> {
    let (_, list) = ask(client, "GET", SLICES, &Value::Null).await;
    let slices = list["items"].as_array().cloned().unwrap_or_default();
    let endpoints = slices.iter().flat_map(|slice| {
        let all = slice["endpoints"].as_array();
        all.cloned().unwrap_or_default()
    });
    let ready = endpoints.filter(|one| one["conditions"]["ready"] == true);
    let names = ready.filter_map(|one| Some(one["targetRef"]["name"].as_str()?.to_owned()));
    names.collect()
}

async fn until_serving(client: &Client, count: usize) -> BTreeSet<String> {
    eventually(&format!("{count} Pods serve"), async || {
        let found = serving(client).await;
        let pods = objects::pods(client, NAMESPACE).await;
        let why = || {
            let told = pods.iter().map(|pod| {
                json!([
                    pod.name_any(),
                    pod.spec
                        .as_ref()
                        .map(|spec| (&spec.node_name, &spec.readiness_gates)),
                    pod.status
                ])
            });
            format!("{found:?} of {}", told.collect::<Value>())
        };
        holds(found.len() == count, why).map(|()| found.clone())
    })
    .await
}

async fn want(client: &Client, online: u32, cutoff: u32) {
    let spec = json!({"spec": {"onlineReplicas": online, "cutoffReplicas": cutoff}});
    let (status, answer) = patch(client, PROFILE, "merge", &spec).await;
    assert_eq!(status, 200, "{answer}");
}

/// Asks for so many online Pods and none that are cut off, and tells how long it takes until all of them serve.
async fn time_to_serve(client: &Client, online: u32, whose: &str) -> BTreeSet<String> {
    let begun = clock::instant();
    want(client, online, 0).await;
    let count = usize::try_from(online).expect("a few");
    let found = until_serving(client, count).await;
    let seconds = clock::instant().duration_since(begun).as_secs_f64();
    report(&format!(
        "{whose} serve {seconds:.2} s after they are asked for"
    ));
    found
}

async fn until_ensured(client: &Client) {
    eventually("the Pods are as wanted", async || {
        let profile = get(client, PROFILE).await;
        let (status, generation) = (&profile["status"], &profile["metadata"]["generation"]);
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let ensured = conditions.iter().find(|one| one["type"] == "Ensured");
        let is_so = ensured.is_some_and(|one| one["status"] == "True");
        holds(is_so && status["observedGeneration"] == *generation, || {
            status.to_string()
        })
    })
    .await;
}

fn is_gated(pod: &Pod) -> bool {
    let gates = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.readiness_gates.as_ref());
    gates.is_some_and(|gates| gates.iter().any(|one| one.condition_type == GATE))
}

/// Pods made before any replica could open their gates have none, and are made anew.
async fn until_gated(client: &Client) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    eventually("four Pods with the gate", async || {
        let all = objects::pods(client, NAMESPACE).await;
        for pod in all.iter().filter(|pod| !is_gated(pod)) {
            let _ = pods.delete(&pod.name_any(), &DeleteParams::default()).await;
        }
        let gated = all.iter().filter(|pod| is_gated(pod)).count();
        holds(gated == 4 && all.len() == 4, || {
            format!("{gated} of {}", all.len())
        })
    })
    .await;
}

/// A Pod of the Service that waits for its gate, made by any client.
async fn add_gated_pod(client: &Client, name: &str) {
    let pod = json!({"metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"terminationGracePeriodSeconds": 0, "readinessGates": [{"conditionType": GATE}],
            "containers": [{"name": "web", "image": "none"}]}});
    create(client, "/api/v1/namespaces/sale/pods", &pod).await;
}

#[expect(clippy::too_many_lines, reason = "one story, told in its order")]
fn pods_leave_the_endpoints_and_come_back_whoever_of_the_replicas_is_there() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 2, Patience::Ample).await;
        plane.start_scheduler(world::plain_scheduling()).await;
        objects::create_namespace(client, NAMESPACE, &OPTED_IN).await;
        manifests::grant(client, "deploy/overlays/replica-profiles").await;
        let mut first = world.serve_profiles("evenkeel-0", true).await;
        let mut second = world.serve_profiles("evenkeel-1", false).await;
        world.await_webhook(NAMESPACE).await;
        refuses_what_does_not_go_together(client).await;
        install(client).await;
        until_gated(client).await;
        until_serving(client, 4).await;
        want(client, 2, 2).await;
        until_serving(client, 2).await;
        until_ensured(client).await;
        time_to_serve(client, 4, "two cut-off Pods").await;
        let all = time_to_serve(client, 6, "two new Pods that start in no time").await;
        want(client, 4, 2).await;
        let few = until_serving(client, 4).await;
        until_ensured(client).await;
        // The replica that is called and leads is gone: the other opens gates, and soon leads.
        first.stop().await;
        add_gated_pod(client, "by-hand").await;
        let more = until_serving(client, 5).await;
        assert!(
            more.contains("by-hand") && more.is_superset(&few),
            "{more:?}"
        );
        want(client, 6, 0).await;
        let found = until_serving(client, 7).await;
        assert!(
            found.is_superset(&all),
            "the same Pods serve again: {found:?}"
        );
        want(client, 3, 3).await;
        let left = until_serving(client, 4).await;
        // Without both, what is open stays open, and what is cut off stays so.
        second.stop().await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(serving(client).await, left);
        // New Pods have no gate then, and take traffic.
        let grown = json!({"spec": {"replicas": 7}});
        patch(client, DEPLOYMENT, "merge", &grown).await;
        until_serving(client, 5).await;
        // Nor while the API server is away; and the next replica goes on from the present state.
        plane.restart_apiserver().await;
        assert_eq!(serving(client).await.len(), 5);
        let third = world.serve_profiles("evenkeel-0", true).await;
        want(client, 4, 0).await;
        until_ensured(client).await;
        until_serving(client, 5).await;
        // A starting API server refuses every caller until it has read the roles.
        third.assert_within_rights();
        plane.restart_apiserver().await;
        want(client, 2, 2).await;
        until_serving(client, 3).await;
        // When the profile goes, every Pod takes traffic, and nothing holds it back.
        let (status, _) = ask(client, "DELETE", PROFILE, &Value::Null).await;
        assert_eq!(status, 200);
        until_serving(client, 5).await;
        eventually("no label is left", async || {
            let pods = objects::pods(client, NAMESPACE).await;
            let marked = pods
                .iter()
                .filter(|pod| pod.labels().contains_key(STATE))
                .count();
            holds(marked == 0, || format!("{marked} are marked"))
        })
        .await;
        manifests::grant(client, "deploy/base").await;
        clear(client).await;
    });
}

/// Leaves nothing to the next test.
async fn clear(client: &Client) {
    let background = json!({"propagationPolicy": "Background"});
    ask(client, "DELETE", DEPLOYMENT, &background).await;
    ask(
        client,
        "DELETE",
        "/api/v1/namespaces/sale/pods/by-hand",
        &Value::Null,
    )
    .await;
    eventually("the Pods are gone", async || {
        let left = objects::pods(client, NAMESPACE).await.len();
        holds(left == 0, || format!("{left} are left"))
    })
    .await;
}

const GUARDED: &str = "gated";

/// Makes a Pod with the gate or without, in a namespace that has opted in or not.
async fn plant(client: &Client, namespace: &str, name: &str, gates: &Value) {
    let pod = json!({"metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"readinessGates": gates, "containers": [{"name": "app", "image": "none"}]}});
    let pod = serde_json::from_value(pod).expect("a Pod");
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    pods.create(&PostParams::default(), &pod)
        .await
        .expect("the Pod is made");
}

fn condition(kind: &str, status: &str) -> Value {
    json!({"status": {"conditions": [{"type": kind, "status": status}]}})
}

/// An account that may patch a Pod's status could take it out of any Service; RBAC cannot narrow it.
#[expect(clippy::too_many_lines, reason = "one story, told in its order")]
fn a_replica_may_open_gates_and_change_nothing_else_of_a_pod() {
    with_control_plane(async |plane| {
        let installation = manifests::install(plane, 443, None).await;
        let path = installation.kubeconfig.clone();
        let evenkeel = by_kubeconfig(&path).await;
        let (admin, gate) = (&plane.client, json!([{"conditionType": GATE}]));
        objects::create_namespace(admin, GUARDED, &OPTED_IN).await;
        objects::create_namespace(admin, "not-gated", &[]).await;
        plant(admin, GUARDED, "p", &gate).await;
        plant(admin, GUARDED, "bare", &json!([])).await;
        plant(admin, "not-gated", "p", &gate).await;
        let state = |state: Value| json!({"metadata": {"labels": {STATE: state}}});
        let write = async |namespace: &str, name: &str, change: &Value, of_status: bool| {
            let pods: Api<Pod> = Api::namespaced(evenkeel.clone(), namespace);
            let (params, change) = (PatchParams::default(), Patch::Strategic(change.clone()));
            if of_status {
                pods.patch_status(name, &params, &change).await
            } else {
                pods.patch(name, &params, &change).await
            }
        };
        let open = condition(GATE, "True");
        let answer = write(GUARDED, "p", &open, true).await;
        assert!(answer.is_err(), "the base grants no patch: {answer:?}");
        manifests::grant(admin, "deploy/overlays/replica-profiles").await;
        let mut times = 0;
        eventually("the guard looks at Pods", async || {
            // A write without a change is never refused.
            times += 1;
            let mut change = condition("Ready", "True");
            change["status"]["conditions"][0]["reason"] = json!(format!("Time{times}"));
            let answer = write(GUARDED, "p", &change, true).await;
            let refused = matches!(&answer, Err(kube::Error::Api(status)) if status.message.contains("Evenkeel may change"));
            holds(refused, || format!("{answer:?}"))
        })
        .await;
        let shut = condition(GATE, "False");
        let phase = json!({"status": {"phase": "Failed"}});
        let other = json!({"metadata": {"labels": {"app": "db"}}});
        for (case, namespace, name, change, of_status, allowed) in [
            ("opens", GUARDED, "p", &open, true, true),
            (
                "opens where nobody has opted in",
                "not-gated",
                "p",
                &open,
                true,
                true,
            ),
            (
                "a condition of no gate",
                GUARDED,
                "bare",
                &open,
                true,
                false,
            ),
            ("shuts what is online", GUARDED, "p", &shut, true, false),
            (
                "another field of the status",
                GUARDED,
                "p",
                &phase,
                true,
                false,
            ),
            ("another label", GUARDED, "p", &other, false, false),
            (
                "cuts off where nobody has opted in",
                "not-gated",
                "p",
                &state(json!("Cutoff")),
                false,
                false,
            ),
            (
                "cuts off without a gate",
                GUARDED,
                "bare",
                &state(json!("Cutoff")),
                false,
                false,
            ),
            (
                "no state",
                GUARDED,
                "p",
                &state(json!("Gone")),
                false,
                false,
            ),
            (
                "cuts off",
                GUARDED,
                "p",
                &state(json!("Cutoff")),
                false,
                true,
            ),
            ("shuts what is cut off", GUARDED, "p", &shut, true, true),
            (
                "brings back",
                GUARDED,
                "p",
                &state(Value::Null),
                false,
                true,
            ),
        ] {
            let answer = write(namespace, name, change, of_status).await;
            assert_eq!(answer.is_ok(), allowed, "{case}: {answer:?}");
        }
        manifests::grant(admin, "deploy/base").await;
    });
}

async fn by_kubeconfig(path: &std::path::Path) -> Client {
    let kubeconfig = kube::config::Kubeconfig::read_from(path).expect("a kubeconfig");
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Client::try_from(config.expect("it is whole")).expect("a client")
}

crate::support::trial::suite!(super::world::NEEDS => [
    pods_leave_the_endpoints_and_come_back_whoever_of_the_replicas_is_there,
    a_replica_may_open_gates_and_change_nothing_else_of_a_pod,
]);
