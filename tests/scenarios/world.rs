//! One installed Evenkeel with nodes and a load that a test sets: the common beginning of the
//! scenarios.

use std::process::Command;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::support::control_plane::evenkeel::Evenkeel;
use crate::support::control_plane::link::Link;
use crate::support::control_plane::manifests::{self, Installation, NAMESPACE};
use crate::support::control_plane::nodes::{self, NodeShape};
use crate::support::control_plane::objects::PodSketch;
use crate::support::control_plane::process::Process;
use crate::support::control_plane::prometheus::Prometheus;
use crate::support::control_plane::signer::Signer;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::{self, ControlPlane, free_port};
use crate::support::dev_api::{ask, create};
use crate::support::trial::Requirement;

/// The requirements of a scenario on the machine.
pub(crate) const NEEDS: [Requirement; 2] = [
    Requirement::Condition(control_plane::check),
    Requirement::Program("kubectl"),
];
/// Opts a namespace in.
pub(crate) const OPTED_IN: [(&str, &str); 1] = [("evenkeel.dev/enabled", "true")];
/// Says which profile admission found.
pub(crate) const PROFILE: &str = "evenkeel.dev/profile";
/// The rate of each node's network, and of its reads and writes, in MB/s: loads in percent are then
/// the same figures.
const RATE_CAPACITY: &str = "100MB/s";
const MEGABYTE: f64 = 1e6;
const SECOND_SCHEDULER: &str = "deploy/overlays/second-scheduler";
/// Those that are measured of each node.
const RESOURCES: usize = 5;

/// How long callers wait for Evenkeel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// As the shipped manifests say: a busy test machine can be too slow for it.
    Shipped,
    /// Until the answer is there, where a test asks what the answer is and not when it comes.
    Ample,
}

/// A control plane on which Evenkeel is installed, and what it measures.
pub(crate) struct World<'a> {
    pub plane: &'a ControlPlane,
    pub node_names: Vec<String>,
    prometheus: Prometheus,
    installation: Installation,
    pub signer: Signer,
    patience: Patience,
    /// Where the API server and kube-scheduler call.
    port: u16,
}

impl<'a> World<'a> {
    /// Installs the shipped manifests beside `count` nodes, on each of which a fifth of everything
    /// is used.
    pub(crate) async fn new(plane: &'a ControlPlane, count: usize, patience: Patience) -> Self {
        let shape = NodeShape::default()
            .annotated("evenkeel.dev/network-capacity", RATE_CAPACITY)
            .annotated("evenkeel.dev/disk-io-capacity", RATE_CAPACITY);
        let port = free_port();
        let timeout = (patience == Patience::Ample).then_some(10);
        let installation = manifests::install(plane, port, timeout).await;
        let world = Self {
            plane,
            node_names: nodes::create(&plane.client, "node", count, &shape).await,
            prometheus: Prometheus::start().await,
            signer: Signer::start(
                plane.folder(),
                NAMESPACE,
                &installation.signer,
                installation.configuration.clone(),
            ),
            installation,
            patience,
            port,
        };
        for node in &world.node_names {
            world.measure(node, "node_cpu", 1.6);
            world.measure(node, "node_memory", 6.4 * 1024.0 * 1024.0 * 1024.0);
            world.measure(node, "node_disk_io", 20.0 * MEGABYTE);
            world.measure(node, "node_disk", 20.0 * 1024.0 * 1024.0 * 1024.0);
            world.load_network(node, 20.0);
        }
        world
    }

    /// Tells how much the node can move over the network, such as `200MB/s`.
    pub(crate) async fn set_network_capacity(&self, node: &str, capacity: &str) {
        let nodes: Api<Node> = Api::all(self.plane.client.clone());
        let told =
            json!({"metadata": {"annotations": {"evenkeel.dev/network-capacity": capacity}}});
        nodes
            .patch(node, &PatchParams::default(), &Patch::Merge(told))
            .await
            .expect("the node is annotated");
    }

    /// From the next sample on, `percent` of the network of a node of a hundred MB/s is used.
    pub(crate) fn load_network(&self, node: &str, percent: f64) {
        self.measure(node, "node_network_io", percent * MEGABYTE);
    }

    fn measure(&self, node: &str, query: &str, value: f64) {
        self.prometheus.set(query, &[("node", node)], value);
    }

    /// Grants what serving external metrics takes, lets the signer follow, and starts a replica that does,
    /// measuring as in [`Self::serve_scaling`]. The API server is led to it.
    pub(crate) async fn serve_external_metrics(&mut self, url: &str) -> Evenkeel {
        let switch = json!({"server": {"externalMetrics": true}});
        self.serve_group("external-metrics", url, &switch).await
    }

    /// The same for series, with a port for jobs that speak no TLS.
    pub(crate) async fn serve_series(&mut self, url: &str, plaintext: u16) -> Evenkeel {
        let address = format!("127.0.0.1:{plaintext}");
        let switch = json!({"metricsProvider": {"enabled": true, "plaintextGrpc": address}});
        self.serve_group("metrics-provider", url, &switch).await
    }

    /// Grants what a component takes that serves a group, lets the signer follow, and starts a replica that
    /// serves it. The API server is led to it.
    async fn serve_group(&mut self, component: &str, url: &str, switch: &Value) -> Evenkeel {
        let client = &self.plane.client;
        manifests::grant(client, &format!("deploy/overlays/{component}")).await;
        let mut configuration = self.installation.configuration.clone();
        json_patch::merge(&mut configuration, switch);
        let (folder, credentials) = (self.plane.folder(), &self.installation.signer);
        self.signer = Signer::start(folder, NAMESPACE, credentials, configuration);
        let mut api_service = manifests::document(&format!("deploy/api-service/{component}"));
        api_service["spec"]["service"]["port"] = json!(self.port);
        let path = "/apis/apiregistration.k8s.io/v1/apiservices";
        create(client, path, &api_service).await;
        let mut ours = scaling(url);
        json_patch::merge(&mut ours, switch);
        self.replica_with("evenkeel-0", self.port, "1s", &ours)
            .await
    }

    /// Starts the replica that is called, which measures every `interval`, and waits until it
    /// knows the load of every node.
    pub(crate) async fn serve(&self, interval: &str) -> Evenkeel {
        let replica = self.replica("evenkeel-0", self.port, interval).await;
        self.await_measured(&replica).await;
        replica
    }

    /// The same, where no sample speaks of a span that a Pod has wholly run in: whatever is placed stays
    /// what is counted beside the measurements.
    pub(crate) async fn serve_bursts(&self) -> Evenkeel {
        let own = json!({"metrics": {"prometheus": {"window": "1h"}}});
        let replica = self.replica_with("evenkeel-0", self.port, "1s", &own).await;
        self.await_measured(&replica).await;
        replica
    }

    /// The same with score labels, with the rights of their component.
    pub(crate) async fn serve_score_labels(&self) -> Evenkeel {
        manifests::grant(&self.plane.client, "deploy/overlays/score-labels").await;
        let own = json!({
            "metrics": {"prometheus": {"window": "1h"}},
            "scheduling": {"scoreLabels": "on"},
        });
        let replica = self.replica_with("evenkeel-0", self.port, "1s", &own).await;
        self.await_measured(&replica).await;
        replica
    }

    async fn await_measured(&self, replica: &Evenkeel) {
        let all = (self.node_names.len() * RESOURCES).to_string();
        eventually("every node is measured", async || {
            let fresh = replica
                .metric("evenkeel_metrics_nodes", &[("freshness", "fresh")])
                .await
                .to_string();
            holds(fresh == all, || format!("{fresh} values of {all}"))
        })
        .await;
    }

    /// The same, but what the replica asks of the API server goes over a wire.
    pub(crate) async fn serve_over(&self, link: &Link) -> Evenkeel {
        let shipped = &self.installation.kubeconfig;
        let text = std::fs::read_to_string(shipped).expect("a kubeconfig");
        let direct = format!(":{}", self.plane.apiserver_port());
        assert!(text.contains(&direct), "{text}");
        let path = shipped.with_extension("over-a-wire");
        std::fs::write(&path, text.replace(&direct, &format!(":{}", link.port)))
            .expect("it is written");
        let configuration = self.configuration("1s", &json!({}));
        let folder = self.plane.folder();
        let replica = Evenkeel::start(folder, "evenkeel-0", &path, self.port, configuration).await;
        self.await_measured(&replica).await;
        replica
    }

    /// Starts one more replica, which is not called.
    pub(crate) async fn standby(&self) -> Evenkeel {
        self.replica("evenkeel-1", free_port(), "1s").await
    }

    /// Starts a replica that measures by the Prometheus at `url`, where Pods have cpu only, and
    /// looks at its targets every five seconds.
    pub(crate) async fn serve_scaling(&self, url: &str) -> Evenkeel {
        let ours = scaling(url);
        self.replica_with("evenkeel-0", self.port, "1s", &ours)
            .await
    }

    /// Grants what scaling custom resources takes, and starts a replica that scales these kinds, measuring
    /// as in [`Self::serve_scaling`].
    pub(crate) async fn serve_custom_kinds(&self, url: &str, kinds: &Value) -> Evenkeel {
        manifests::grant(&self.plane.client, "deploy/overlays/custom-kinds").await;
        eventually("the rights are taken in", async || {
            self.may_scale_rollouts().await
        })
        .await;
        let mut ours = scaling(url);
        ours["scaling"]["kinds"] = kinds.clone();
        self.replica_with("evenkeel-0", self.port, "1s", &ours)
            .await
    }

    /// Grants what costs of deletion take, and starts a replica that gives them, measuring as in
    /// [`Self::serve_scaling`].
    pub(crate) async fn serve_scale_in(&self, url: &str) -> Evenkeel {
        manifests::grant(&self.plane.client, "deploy/overlays/scale-in-balance").await;
        let mut ours = scaling(url);
        ours["scheduling"]["scaleIn"] = json!("balance");
        self.replica_with("evenkeel-0", self.port, "1s", &ours)
            .await
    }

    /// Starts a replica that takes Pods out of traffic for ReplicaProfiles, with the rights of the component
    /// that [`manifests::grant`] gives; the one that is called or another.
    pub(crate) async fn serve_profiles(&self, name: &str, is_called: bool) -> Evenkeel {
        let port = if is_called { self.port } else { free_port() };
        let ours = json!({"scaling": {"replicaProfiles": "on"}});
        self.replica_with(name, port, "1s", &ours).await
    }

    async fn may_scale_rollouts(&self) -> Result<(), String> {
        let review = json!({"spec": {
            "user": format!("system:serviceaccount:{NAMESPACE}:evenkeel"),
            "resourceAttributes": {"group": "argoproj.io", "resource": "rollouts",
                "subresource": "scale", "verb": "patch"}}});
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let (_, answer) = ask(&self.plane.client, "POST", path, &review).await;
        holds(answer["status"]["allowed"] == true, || answer.to_string())
    }

    async fn replica(&self, name: &str, port: u16, interval: &str) -> Evenkeel {
        self.replica_with(name, port, interval, &json!({})).await
    }

    async fn replica_with(&self, name: &str, port: u16, interval: &str, own: &Value) -> Evenkeel {
        let configuration = self.configuration(interval, own);
        let kubeconfig = &self.installation.kubeconfig;
        Evenkeel::start(self.plane.folder(), name, kubeconfig, port, configuration).await
    }

    /// The shipped configuration with this world's Prometheus, and `own` on top.
    fn configuration(&self, interval: &str, own: &Value) -> Value {
        let mut configuration = self.installation.configuration.clone();
        let ours = json!({
            "metrics": {
                "source": "prometheus",
                "interval": interval,
                "maxAge": "1h",
                "prometheus": {
                    "url": self.prometheus.url,
                    "window": "1s",
                    "queries": {
                        "nodeCpu": "node_cpu",
                        "nodeMemory": "node_memory",
                        "nodeNetworkIo": "node_network_io",
                        "nodeDiskIo": "node_disk_io",
                        "nodeDisk": "node_disk",
                        "podCpu": "pod_cpu",
                        "podMemory": "pod_memory",
                        "podNetworkIo": "pod_network_io",
                        "podDiskIo": "pod_disk_io",
                        "podDisk": "pod_disk",
                        "networkCapacity": "network_capacity",
                        "nodeIoPressure": "node_io_pressure",
                    },
                },
            },
        });
        json_patch::merge(&mut configuration, &ours);
        json_patch::merge(&mut configuration, own);
        configuration
    }

    /// Starts kube-scheduler with the configuration that operators are given.
    pub(crate) async fn schedule_with_evenkeel(&self) {
        self.plane.start_scheduler(self.scheduling()).await;
    }

    /// That configuration, which leads to the replica that is called.
    pub(crate) fn scheduling(&self) -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
            .args(["certs", "scheduler-config", "--namespace", NAMESPACE])
            .arg("--kubeconfig")
            .arg(self.plane.folder().join("admin.kubeconfig"))
            .output()
            .expect("the program runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "certs scheduler-config: {errors}");
        let text = String::from_utf8(output.stdout).expect("a configuration is text");
        let mut configuration: Value =
            serde_saphyr::from_str(&text).expect("the configuration is YAML");
        let extender = &mut configuration["extenders"][0];
        extender["urlPrefix"] = json!(format!("https://127.0.0.1:{}/scheduler", self.port));
        if self.patience == Patience::Ample {
            extender["httpTimeout"] = json!("20s");
        }
        configuration
    }

    /// Starts the component's scheduler, which leads to the replica that is called.
    pub(crate) async fn start_second_scheduler(&self) -> Process {
        let token = manifests::token(&self.plane.client, NAMESPACE, "evenkeel-scheduler").await;
        let credentials = json!({"token": token});
        let kubeconfig = self.plane.kubeconfig("second-scheduler", &credentials);
        let mut configuration = manifests::scheduler_configuration(SECOND_SCHEDULER);
        // Names of the cluster lead nowhere here.
        configuration["extenders"] = self.scheduling()["extenders"].clone();
        self.plane
            .start_second_scheduler(&kubeconfig, configuration)
            .await
    }

    /// Grants what the second scheduler's component takes, and starts the replica that is called, which gives
    /// Pods to this scheduler while it is alive.
    pub(crate) async fn serve_beside(&self, scheduler: &str) -> Evenkeel {
        manifests::grant(&self.plane.client, SECOND_SCHEDULER).await;
        let own = json!({"admission": {"schedulerName": scheduler}});
        let replica = self.replica_with("evenkeel-0", self.port, "1s", &own).await;
        self.await_measured(&replica).await;
        replica
    }

    /// Waits until the API server asks the webhook and the webhook knows the namespace.
    pub(crate) async fn await_webhook(&self, namespace: &str) {
        let pods: Api<Pod> = Api::namespaced(self.plane.client.clone(), namespace);
        let dry_run = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let probe = PodSketch::requesting("100m", "64Mi").to_pod("probe");
        eventually("Pods are annotated", async || {
            let pod = pods.create(&dry_run, &probe).await;
            let annotations = pod.map_err(|error| error.to_string())?.metadata.annotations;
            holds(
                annotations
                    .as_ref()
                    .is_some_and(|all| all.contains_key(PROFILE)),
                || format!("{annotations:?}"),
            )
        })
        .await;
    }
}

/// The configuration by which targets are measured by the Prometheus at `url` and looked at every five
/// seconds.
fn scaling(url: &str) -> Value {
    json!({
        "metrics": {"interval": "1s", "maxAge": "2m", "prometheus": {"url": url}},
        "scaling": {"interval": "5s"},
    })
}

/// kube-scheduler as it comes.
pub(crate) fn plain_scheduling() -> Value {
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    })
}
