//! `evenkeel doctor` on a real installation: nothing is wrong, and each fault that is then planted
//! is found by its check.

use std::net::{IpAddr, UdpSocket};
use std::process::Command;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::control_plane::ControlPlane;
use crate::support::control_plane::clear;
use crate::support::control_plane::evenkeel::Evenkeel;
use crate::support::control_plane::manifests::{self, NAMESPACE};
use crate::support::control_plane::objects::{self, PodSketch};
use crate::support::control_plane::process::Signal;
use crate::support::control_plane::signer::Signer;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;

use super::world::{OPTED_IN, Patience, World, plain_scheduling};

/// The metrics that the checks' own tests take a replica to export.
const METRICS: &str = include_str!("../fixtures/doctor/metrics.txt");
/// Of these, what is exported only once something has gone wrong.
const ON_FAULTS: [&str; 3] = [
    "evenkeel_metrics_query_failures_total",
    "evenkeel_scaling_target_condition",
    "evenkeel_tls_handshake_failures_total",
];

/// A namespace that has opted in.
const EXAMINED: &str = "examined";

fn a_healthy_installation_has_no_errors_and_planted_faults_are_found() {
    with_control_plane(async |plane| {
        let world = World::new(plane, 2, Patience::Ample).await;
        // Names are checked from the second round on.
        let evenkeel = world.serve("1s").await;
        plane.start_scheduler(plain_scheduling()).await;
        run_deployment(&plane.client, &evenkeel).await;
        objects::create_namespace(&plane.client, EXAMINED, &OPTED_IN).await;
        world.await_webhook(EXAMINED).await;

        let unconfigured = examine(plane);
        assert_eq!(
            unconfigured.errors(),
            ["extender-called"],
            "{unconfigured:?}"
        );

        world.schedule_with_evenkeel().await;
        let pod = PodSketch::requesting("100m", "64Mi");
        pod.create(&plane.client, EXAMINED, "placed").await;
        objects::await_running(&plane.client, EXAMINED).await;
        // The label is mirrored within a round of the leader.
        eventually("nothing is wrong", async || {
            let healthy = examine(plane);
            holds(healthy.code == 0 && healthy.errors().is_empty(), || {
                format!("{healthy:?}")
            })
        })
        .await;

        assert_exports(&evenkeel).await;
        without_a_right(plane).await;
        with_another_authority(plane, &world.signer).await;
        evenkeel.signal(Signal::KILL);
        let down = examine(plane);
        assert!(down.errors().contains(&"webhook-call"), "{down:?}");
        clear::delete_pods(&plane.client, EXAMINED).await;
    });
}

/// The names that checks look for are the names that are really exported.
async fn assert_exports(evenkeel: &Evenkeel) {
    let page = evenkeel.page().await;
    for line in METRICS.lines().filter(|line| !line.starts_with('#')) {
        let name = line
            .split(['{', ' '])
            .next()
            .expect("a line begins with a name");
        let told = page.lines().any(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['{', ' ']))
        });
        assert!(told || ON_FAULTS.contains(&name), "{name}\n{page}");
    }
}

async fn without_a_right(plane: &ControlPlane) {
    let bindings: Api<ClusterRoleBinding> = Api::all(plane.client.clone());
    let mut binding = bindings.get("evenkeel").await.expect("it is installed");
    let now = DeleteParams::default();
    bindings
        .delete("evenkeel", &now)
        .await
        .expect("it is deleted");
    eventually("the missing rights are found", async || {
        let found = examine(plane);
        holds(found.errors().contains(&"rights"), || format!("{found:?}"))
    })
    .await;
    binding.metadata.resource_version = None;
    binding.metadata.managed_fields = None;
    let binding = bindings.create(&PostParams::default(), &binding).await;
    binding.expect("it is made anew");
}

/// The signer would mend the bundle at once, so it is paused while doctor looks.
async fn with_another_authority(plane: &ControlPlane, signer: &Signer) {
    let foreign = rcgen::generate_simple_self_signed(["foreign".to_owned()]);
    let foreign = foreign.expect("a certificate is made").cert.pem();
    signer.signal(Signal::STOP);
    let webhooks: Api<MutatingWebhookConfiguration> = Api::all(plane.client.clone());
    let mut webhook = webhooks.get("evenkeel").await.expect("it is installed");
    let good = webhook.clone();
    for one in webhook.webhooks.iter_mut().flatten() {
        one.client_config.ca_bundle = Some(k8s_openapi::ByteString(foreign.clone().into_bytes()));
    }
    let params = PostParams::default();
    let webhook = webhooks.replace("evenkeel", &params, &webhook).await;
    let version = webhook.expect("it is replaced").resource_version();
    let found = examine(plane);
    assert!(found.errors().contains(&"webhook-trust"), "{found:?}");
    let mut good = good;
    good.metadata.resource_version = version;
    let mended = webhooks.replace("evenkeel", &params, &good).await;
    mended.expect("it is replaced");
    signer.signal(Signal::CONT);
}

/// The result of a run of the program.
#[derive(Debug)]
struct Diagnosis {
    code: i32,
    report: Value,
}

impl Diagnosis {
    /// The checks that found something wrong.
    fn errors(&self) -> Vec<&str> {
        let findings = self.report["findings"]
            .as_array()
            .expect("there are findings");
        findings
            .iter()
            .filter(|finding| finding["severity"] == "error")
            .filter_map(|finding| finding["id"].as_str())
            .collect()
    }
}

fn examine(plane: &ControlPlane) -> Diagnosis {
    let output = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["doctor", "--namespace", NAMESPACE, "-o", "json"])
        .arg("--kubeconfig")
        .arg(plane.folder().join("admin.kubeconfig"))
        .output()
        .expect("the program runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    let diagnosis = Diagnosis {
        code: output.status.code().expect("it was not killed"),
        report: serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {errors}")),
    };
    let wrong = !diagnosis.errors().is_empty();
    assert_eq!(diagnosis.code, i32::from(wrong), "{diagnosis:?}");
    diagnosis
}

/// The shipped Deployment, with Pods that lead to the process and an endpoint for kube-scheduler.
async fn run_deployment(client: &Client, evenkeel: &Evenkeel) {
    manifests::deploy(client, evenkeel.metrics).await;
    let address = own_address().to_string();
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    eventually("the Deployment is ready", async || {
        let deployment = deployments.get("evenkeel").await;
        let status = deployment.map_err(|error| error.to_string())?.status;
        let ready = status.as_ref().and_then(|status| status.ready_replicas);
        holds(ready == Some(2), || format!("{status:?}"))
    })
    .await;
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let ours = ListParams::default().labels("app.kubernetes.io/name=evenkeel");
    for pod in pods.list(&ours).await.expect("Pods are listed").items {
        let status = json!({"status": {"podIP": address, "podIPs": [{"ip": address}]}});
        pods.patch_status(
            &pod.name_any(),
            &PatchParams::default(),
            &Patch::Merge(status),
        )
        .await
        .expect("the Pod gets an address");
    }
    let slice: EndpointSlice = serde_json::from_value(json!({
        "metadata": {
            "name": "evenkeel-extender-1",
            "labels": {"kubernetes.io/service-name": "evenkeel-extender"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": true}}],
        "ports": [{"name": "https", "port": 8443, "protocol": "TCP"}],
    }))
    .expect("the EndpointSlice is well formed");
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), NAMESPACE);
    let slice = slices.create(&PostParams::default(), &slice).await;
    slice.expect("the endpoint is made");
}

/// An address of this machine that is not loopback; no packet is sent.
fn own_address() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket is made");
    socket
        .connect("192.0.2.1:9")
        .expect("this machine has an address besides loopback");
    socket.local_addr().expect("it is bound").ip()
}

crate::support::trial::suite!(super::world::NEEDS => [
    a_healthy_installation_has_no_errors_and_planted_faults_are_found,
]);
