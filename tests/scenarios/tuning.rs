//! Resizes in place on a real API server: its answers beside the plan's for the same Pod, and the
//! accounts that may resize with the component.
//!
//! The control plane's stand-in for kubelets shows every resize as done. Conditions that the test
//! writes show what kubelets defer.

use evenkeel_objects::managed_fields::MANAGER;
use evenkeel_objects::plan::{Purpose, WriteOperation};
use evenkeel_objects::pod::{Pod, ResourceRequirements};
use evenkeel_tuning::resizable_pod::ResizablePod;
use evenkeel_tuning::resize::{ResizeRules, put_back, record, resize};
use evenkeel_tuning::resize_record::{ContainerValues, Resizer};
use k8s_openapi::api::core::v1::Pod as ListedPod;
use kube::api::{Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::support::control_plane::nodes::NodeShape;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::{ControlPlane, manifests, nodes, objects, with_control_plane};
use crate::support::dev_api::create;

/// Where what the plan says is held against the API server.
const PLANNED: &str = "planned";
const NAMESPACE: &str = "resized";
const OUTSIDE: &str = "not-resized";
const FORGED: &str = "resized-by-record";
const RULES: ResizeRules = ResizeRules {
    may_restart: false,
    may_lower_memory_limits: true,
};

/// A Pod, a change of its first container, and what comes of it.
struct Case {
    what: &'static str,
    resources: Value,
    /// Laid over the Pod.
    pod: Value,
    /// Laid over its status.
    status: Value,
    /// Laid over `resources` of the container.
    change: Value,
    /// The status code of the API server.
    server: u16,
    /// The reason for which the plan does not ask; `None` where it does.
    plan: Option<&'static str>,
}

fn burstable() -> Value {
    json!({"requests": {"cpu": "300m", "memory": "200Mi"}, "limits": {"cpu": "600m", "memory": "400Mi"}})
}

fn guaranteed() -> Value {
    json!({"requests": {"cpu": "600m", "memory": "400Mi"}, "limits": {"cpu": "600m", "memory": "400Mi"}})
}

/// A change of a Burstable Pod's cpu limit.
fn case(what: &'static str, server: u16, plan: Option<&'static str>) -> Case {
    Case {
        what,
        resources: burstable(),
        pod: json!({}),
        status: json!({}),
        change: json!({"limits": {"cpu": "900m"}}),
        server,
        plan,
    }
}

/// A condition of the status.
fn pending(reason: &str) -> Value {
    json!({"conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}]})
}

fn cases() -> Vec<Case> {
    let mut all = by_values();
    all.extend(by_pod());
    all
}

/// Refused, or not, by the values themselves.
fn by_values() -> Vec<Case> {
    vec![
        case("a limit is raised", 200, None),
        Case {
            change: json!({"limits": {"cpu": "400m", "memory": "300Mi"}}),
            ..case("limits are lowered, of memory too", 200, None)
        },
        Case {
            change: json!({"limits": {"cpu": "200m"}}),
            ..case("below the request", 422, Some("RequestAboveLimit"))
        },
        Case {
            change: json!({"limits": {"cpu": null}}),
            ..case("a limit is removed", 422, Some("AbsentIsNotAdded"))
        },
        Case {
            // The server takes it, and fills the limit in for the request.
            change: json!({"requests": {"cpu": null}}),
            ..case("a request is removed", 200, Some("AbsentIsNotAdded"))
        },
        Case {
            resources: json!({"requests": {"cpu": "300m"}, "limits": {"cpu": "600m"}}),
            change: json!({"limits": {"memory": "1Gi"}}),
            ..case("a limit is added", 200, Some("AbsentIsNotAdded"))
        },
        Case {
            resources: json!({}),
            ..case("BestEffort", 422, Some("BestEffort"))
        },
        Case {
            resources: guaranteed(),
            ..case("Guaranteed, the limit alone", 422, Some("ClassWouldChange"))
        },
        Case {
            resources: guaranteed(),
            change: json!({"requests": {"cpu": "900m"}, "limits": {"cpu": "900m"}}),
            ..case("Guaranteed, both", 200, None)
        },
        Case {
            change: json!({"requests": {"cpu": "600m", "memory": "400Mi"}}),
            ..case(
                "Burstable becomes Guaranteed",
                422,
                Some("ClassWouldChange"),
            )
        },
        Case {
            change: json!({"requests": {"cpu": "9"}, "limits": {"cpu": "9"}}),
            ..case("more than the node has", 403, None)
        },
    ]
}

/// Refused, or not, by what the Pod is, or by how far a resize of it is.
fn by_pod() -> Vec<Case> {
    let restarts = json!({"spec": {"containers": [{"resizePolicy":
        [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}]}});
    let init = json!({"spec": {"initContainers":
        [{"name": "init", "image": "none", "restartPolicy": "Always", "resources": burstable()}]}});
    let mirror = json!({"metadata": {"annotations":
        {"kubernetes.io/config.mirror": "x", "kubernetes.io/config.source": "file"}}});
    vec![
        Case {
            pod: mirror,
            ..case("static", 422, Some("StaticPod"))
        },
        Case {
            pod: json!({"spec": {"os": {"name": "windows"}}}),
            ..case("Windows", 422, Some("Windows"))
        },
        Case {
            // From 1.36 on the server takes it.
            pod: json!({"spec": {"resources": {"limits": {"cpu": "4"}}}}),
            ..case("Pod-level resources", 200, Some("PodLevelResources"))
        },
        Case {
            pod: restarts,
            ..case("starts anew", 200, Some("WouldRestart"))
        },
        Case {
            pod: init,
            ..case("beside a sidecar", 200, None)
        },
        Case {
            status: pending("Deferred"),
            ..case("deferred", 200, Some("ResizeUnderWay"))
        },
        Case {
            status: pending("Infeasible"),
            ..case("infeasible", 200, Some("ResizeUnderWay"))
        },
        Case {
            status: json!({"conditions": [{"type": "PodResizeInProgress", "status": "True"}]}),
            ..case("in progress", 200, Some("ResizeUnderWay"))
        },
        Case {
            status: json!({"phase": "Succeeded"}),
            ..case("ended", 200, Some("NotRunning"))
        },
    ]
}

fn the_plan_asks_for_nothing_that_the_api_server_refuses_but_for_want_of_room() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let node = &nodes::create(client, "node", 1, &NodeShape::default()).await[0];
        objects::create_namespace(client, PLANNED, &[]).await;
        for (number, case) in cases().iter().enumerate() {
            let name = format!("p{number}");
            let pod = planted(client, &name, node, case).await;
            let wanted = wanted(&case.resources, &case.change);
            let planned = pod.as_ref().map(|pod| {
                let planned = resize(pod, &wanted, RULES, Purpose::Resize);
                planned.map_err(|refusal| refusal.reason())
            });
            // One that has ended is no candidate at all.
            let reason = match &planned {
                None => Some("NotRunning"),
                Some(planned) => planned.as_ref().err().copied(),
            };
            assert_eq!(reason, case.plan, "{}", case.what);
            let answer = asked(client, &name, case).await;
            assert_eq!(answer, case.server, "{}", case.what);
        }
        lower_limits_of_the_namespace(client, node).await;
    });
}

/// LimitRanges and quotas are held against a resize as against a new Pod.
async fn lower_limits_of_the_namespace(client: &Client, node: &str) {
    let range = json!({"metadata": {"name": "range"}, "spec": {"limits":
        [{"type": "Container", "max": {"cpu": "700m"}}]}});
    let path = format!("/api/v1/namespaces/{PLANNED}/limitranges");
    create(client, &path, &range).await;
    let over = case("above a LimitRange", 403, None);
    let _ = planted(client, "ranged", node, &over).await;
    eventually("the LimitRange is in force", async || {
        let answer = asked(client, "ranged", &over).await;
        holds(answer == 403, || answer.to_string())
    })
    .await;
}

/// The Pod of a case, as the watch would show it once it runs.
async fn planted(client: &Client, name: &str, node: &str, case: &Case) -> Option<ResizablePod> {
    let mut pod = json!({
        "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [
            {"name": "app", "image": "none", "resources": case.resources}]}});
    let mut over = case.pod.clone();
    if let Some(container) = over.pointer("/spec/containers/0").cloned() {
        json_patch::merge(&mut pod["spec"]["containers"][0], &container);
        over["spec"].as_object_mut()?.remove("containers");
    }
    json_patch::merge(&mut pod, &over);
    let pods: Api<ListedPod> = Api::namespaced(client.clone(), PLANNED);
    let pod = serde_json::from_value(pod).expect("a Pod");
    let made = pods.create(&PostParams::default(), &pod).await;
    made.unwrap_or_else(|error| panic!("{}: {error}", case.what));
    eventually("the Pod runs", async || {
        let seen = pods.get(name).await.expect("it is there");
        let phase = seen.status.and_then(|status| status.phase);
        holds(phase.as_deref() == Some("Running"), || format!("{phase:?}"))
    })
    .await;
    let status = Patch::Strategic(json!({"status": case.status}));
    let patched = pods
        .patch_status(name, &PatchParams::default(), &status)
        .await;
    let patched = patched.unwrap_or_else(|error| panic!("{}: {error}", case.what));
    read(&patched)
}

fn read(pod: &ListedPod) -> Option<ResizablePod> {
    let pod: Pod = serde_json::from_value(json!(pod)).expect("a Pod");
    ResizablePod::of(&pod)
}

/// The resources that the container is to have.
fn wanted(resources: &Value, change: &Value) -> ContainerValues {
    let mut wanted = resources.clone();
    json_patch::merge(&mut wanted, change);
    let read: ResourceRequirements = serde_json::from_value(wanted).expect("resources");
    [("app".into(), read.tuned())].into()
}

/// The API server's answer to the change, whatever the plan says.
async fn asked(client: &Client, name: &str, case: &Case) -> u16 {
    let change = json!({"spec": {"containers": [{"name": "app", "resources": case.change}]}});
    let pods: Api<ListedPod> = Api::namespaced(client.clone(), PLANNED);
    let params = PatchParams::default();
    let answer = pods
        .patch_subresource("resize", name, &params, &Patch::Strategic(change))
        .await;
    match answer {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{}: {error}", case.what),
    }
}

fn pods_are_resized_with_the_component_alone_and_put_back_by_the_clean_up() {
    with_control_plane(async |plane| {
        let installation = manifests::install(plane, 443, None).await;
        let evenkeel = Kubeconfig::read_from(&installation.kubeconfig).expect("a kubeconfig");
        let evenkeel = by(evenkeel).await;
        let node = &nodes::create(&plane.client, "node", 1, &NodeShape::default()).await[0];
        let opted_in = [("evenkeel.dev/enabled", "true")];
        objects::create_namespace(&plane.client, NAMESPACE, &opted_in).await;
        objects::create_namespace(&plane.client, OUTSIDE, &[]).await;
        for namespace in [NAMESPACE, OUTSIDE] {
            running(&plane.client, namespace, node).await;
        }
        let refused = grown(&evenkeel, NAMESPACE, "700m").await;
        assert!(refused.is_err(), "the base grants no resize: {refused:?}");
        manifests::grant(&plane.client, "deploy/overlays/in-place-tuning").await;
        eventually("the guard looks at Pods", async || {
            // Another image each time: the guard allows a write that changes nothing.
            let image = format!("other:{}", evenkeel_clock::now().as_nanosecond());
            let other = json!({"spec": {"containers": [{"name": "app", "image": image}]}});
            let answer = patched(&evenkeel, NAMESPACE, None, &other).await;
            let refused = matches!(&answer, Err(kube::Error::Api(status)) if status.message.contains("Evenkeel may change"));
            holds(refused, || format!("{answer:?}"))
        })
        .await;
        eventually("the guard knows the namespace", async || {
            let answer = grown(&evenkeel, OUTSIDE, "700m").await;
            holds(answer.is_err(), || format!("{answer:?}"))
        })
        .await;
        hold_records(plane, node).await;
        hold_resizes(plane, &evenkeel).await;
        manifests::grant(&plane.client, "deploy/base").await;
    });
}

/// A Pod `p` that runs.
async fn running(client: &Client, namespace: &str, node: &str) {
    let pods: Api<ListedPod> = Api::namespaced(client.clone(), namespace);
    let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": node, "containers": [
        {"name": "app", "image": "none", "resources": burstable()}]}});
    let pod = serde_json::from_value(pod).expect("a Pod");
    pods.create(&PostParams::default(), &pod)
        .await
        .expect("it is made");
    eventually("the Pod runs", async || {
        let seen = pods.get("p").await.expect("it is there");
        let phase = seen.status.and_then(|status| status.phase);
        holds(phase.as_deref() == Some("Running"), || format!("{phase:?}"))
    })
    .await;
}

/// The allowed writes of resizes and of their records, by account.
async fn hold_resizes(plane: &ControlPlane, evenkeel: &Client) {
    let record = marked(&plane.client).await;
    let text = json!({"metadata": {"annotations": {"evenkeel.dev/resized": record}}});
    let outside = patched(evenkeel, OUTSIDE, None, &text).await;
    assert!(outside.is_err(), "{outside:?}");
    let written = patched(evenkeel, NAMESPACE, None, &text).await;
    written.expect("the record is written");
    grown(evenkeel, NAMESPACE, "900m")
        .await
        .expect("it is resized");
    let clean_up = by_account(plane, "evenkeel-restore").await;
    let other = patched(&clean_up, NAMESPACE, None, &text_of("other")).await;
    assert!(other.is_err(), "{other:?}");
    eventually("the clean-up puts back", async || {
        let pods: Api<ListedPod> = Api::namespaced(clean_up.clone(), NAMESPACE);
        let seen = read(&pods.get("p").await.expect("it is there")).expect("it runs");
        let write = put_back(&seen, RULES, Purpose::Restore);
        let Some(write) = write.expect("all of it can be") else {
            return Ok(());
        };
        let WriteOperation::Conditional(change) = &write.operation else {
            panic!("a patch")
        };
        let (params, change) = (PatchParams::default(), Patch::<()>::Json(change.to_patch()));
        // The stand-in for kubelet writes meanwhile, which makes it another version.
        let answer = match write.target.subresource.as_deref() {
            Some(part) => pods.patch_subresource(part, "p", &params, &change).await,
            None => pods.patch("p", &params, &change).await,
        };
        Err(format!("{answer:?}"))
    })
    .await;
    let pods: Api<ListedPod> = Api::namespaced(plane.client.clone(), NAMESPACE);
    let left = json!(pods.get("p").await.expect("it is there"));
    assert_eq!(left["spec"]["containers"][0]["resources"], burstable());
    assert!(left["metadata"]["annotations"]["evenkeel.dev/resized"].is_null());
    let again = grown(&clean_up, NAMESPACE, "900m").await;
    assert!(
        again.is_err(),
        "without a record it resizes nothing: {again:?}"
    );
}

/// A tenant that may write Pods and not resize them writes no record that Evenkeel would follow.
async fn hold_records(plane: &ControlPlane, node: &str) {
    objects::create_namespace(&plane.client, FORGED, &[]).await;
    running(&plane.client, FORGED, node).await;
    let group = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({"metadata": {"name": "tenant"}, "rules": [{"apiGroups": [""],
        "resources": ["pods", "pods/status", "pods/ephemeralcontainers"],
        "verbs": ["create", "get", "update", "patch"]}]});
    let path = format!("{group}/namespaces/{FORGED}/roles");
    create(&plane.client, &path, &role).await;
    let binding = json!({"metadata": {"name": "tenant"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "evenkeel-system", "name": "tenant"}]});
    let path = format!("{group}/namespaces/{FORGED}/rolebindings");
    create(&plane.client, &path, &binding).await;
    let tenant = by_account(plane, "tenant").await;
    eventually("the tenant may write Pods", async || {
        let label = json!({"metadata": {"labels": {"a": "b"}}});
        let answer = patched(&tenant, FORGED, None, &label).await;
        holds(answer.is_ok(), || format!("{answer:?}"))
    })
    .await;
    for part in [None, Some("status")] {
        let refused = patched(&tenant, FORGED, part, &text_of("{}")).await;
        let refused = refused.expect_err("a forged record").to_string();
        assert!(
            refused.contains("only users who may resize"),
            "{part:?} {refused}"
        );
    }
    let pods: Api<ListedPod> = Api::namespaced(tenant.clone(), FORGED);
    let made = |name: &str| -> ListedPod {
        serde_json::from_value(json!({
            "metadata": {"name": name, "annotations": {"evenkeel.dev/resized": "{}"}},
            "spec": {"nodeName": node, "containers": [
                {"name": "app", "image": "none", "resources": burstable()}]}}))
        .expect("a Pod")
    };
    let forging = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    };
    let refused = pods.create(&forging, &made("forged")).await;
    refused.expect_err("a forged record of a new Pod");
    // A copy of a resized Pod is a Pod like any other, and its record does not count.
    let copied = pods.create(&PostParams::default(), &made("copied")).await;
    let copied = read(&copied.expect("a copy is made")).expect("it has not ended");
    assert!(!copied.is_resized());
}

fn text_of(record: &str) -> Value {
    json!({"metadata": {"annotations": {"evenkeel.dev/resized": record}}})
}

/// The record of a resize of the Pod to 900m.
async fn marked(client: &Client) -> String {
    let pods: Api<ListedPod> = Api::namespaced(client.clone(), NAMESPACE);
    let seen = read(&pods.get("p").await.expect("it is there")).expect("it runs");
    let wanted = wanted(&burstable(), &json!({"limits": {"cpu": "900m"}}));
    let made = record(&seen, Resizer::Tuning, &wanted, evenkeel_clock::now());
    made.expect("it may be resized").to_string()
}

/// Gives the Pod another cpu limit, with the rights of `client`.
async fn grown(client: &Client, namespace: &str, cpu: &str) -> kube::Result<ListedPod> {
    let change =
        json!({"spec": {"containers": [{"name": "app", "resources": {"limits": {"cpu": cpu}}}]}});
    patched(client, namespace, Some("resize"), &change).await
}

async fn patched(
    client: &Client,
    namespace: &str,
    subresource: Option<&str>,
    change: &Value,
) -> kube::Result<ListedPod> {
    let pods: Api<ListedPod> = Api::namespaced(client.clone(), namespace);
    // The record of a resize counts only from this field manager.
    let params = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let change = Patch::Strategic(change);
    match subresource {
        Some(part) => pods.patch_subresource(part, "p", &params, &change).await,
        None => pods.patch("p", &params, &change).await,
    }
}

async fn by_account(plane: &ControlPlane, account: &str) -> Client {
    let path = plane.folder().join("admin.kubeconfig");
    let mut kubeconfig = Kubeconfig::read_from(path).expect("a kubeconfig");
    let groups = ["system:serviceaccounts", "system:authenticated"];
    for user in &mut kubeconfig.auth_infos {
        let user = user.auth_info.get_or_insert_default();
        user.impersonate = Some(format!("system:serviceaccount:evenkeel-system:{account}"));
        user.impersonate_groups = Some(groups.map(str::to_owned).to_vec());
    }
    by(kubeconfig).await
}

async fn by(kubeconfig: Kubeconfig) -> Client {
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Client::try_from(config.expect("it is whole")).expect("a client")
}

crate::support::trial::suite!(super::world::NEEDS => [
    the_plan_asks_for_nothing_that_the_api_server_refuses_but_for_want_of_room,
    pods_are_resized_with_the_component_alone_and_put_back_by_the_clean_up,
]);
