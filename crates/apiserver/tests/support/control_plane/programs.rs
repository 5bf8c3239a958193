//! The command lines of the four programs on loopback, and the wait until each is ready.

use std::path::{Path, PathBuf};
use std::process::Command;

use kube::Client;
use serde_json::{Value, json};

use super::assets::Assets;
use super::pki::{self, Authority, certificate_user};
use super::process::Process;
use super::wait::eventually;
use super::{Gates, Ports};

/// The controllers that tests need. Without node lifecycle, nodes need no heartbeat.
const CONTROLLERS: [&str; 13] = [
    "namespace-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "garbage-collector-controller",
    "disruption-controller",
    "endpointslice-controller",
    "clusterrole-aggregation-controller",
    "horizontal-pod-autoscaler-controller",
];

/// Needed by every start.
pub(crate) struct Launch<'a> {
    pub assets: &'a Assets,
    pub folder: &'a Path,
    pub ports: Ports,
    pub gates: Gates,
}

/// Makes certificates, keys and kubeconfigs; returns the authority and the administrator's
/// kubeconfig.
pub(crate) fn write_credentials(folder: &Path, ports: Ports) -> (Authority, PathBuf) {
    pki::write_service_account_key(folder);
    let authority = Authority::new(folder, "ca");
    authority.sign_server();
    // The aggregation layer needs its own CA: a client of this CA may name any user.
    Authority::new(folder, "front-proxy-ca").sign_client("front-proxy", "front-proxy", None);
    let users = [
        ("admin", "admin", Some("system:masters")),
        ("controller-manager", "system:kube-controller-manager", None),
        ("scheduler", "system:kube-scheduler", None),
    ];
    for (name, user, organization) in users {
        let user = certificate_user(&authority.sign_client(name, user, organization));
        let kubeconfig = authority.kubeconfig(ports.apiserver, &user);
        pki::write_json(&folder.join(format!("{name}.kubeconfig")), &kubeconfig);
    }
    (authority, folder.join("admin.kubeconfig"))
}

impl Launch<'_> {
    pub(crate) async fn etcd(&self) -> Process {
        let client = format!("http://127.0.0.1:{}", self.ports.etcd);
        let peer = format!("http://127.0.0.1:{}", self.ports.etcd_peer);
        let mut etcd = self.spawn(
            "etcd",
            &[
                format!("--data-dir={}", self.path("etcd")),
                format!("--listen-client-urls={client}"),
                format!("--advertise-client-urls={client}"),
                format!("--listen-peer-urls={peer}"),
                format!("--initial-advertise-peer-urls={peer}"),
                format!("--initial-cluster=default={peer}"),
                // The data lives as long as the test.
                "--unsafe-no-fsync".to_owned(),
            ],
        );
        await_healthy(&mut etcd, &client, "/health").await;
        etcd
    }

    pub(crate) async fn apiserver(&self, client: &Client) -> Process {
        let mut apiserver = self.spawn(
            "kube-apiserver",
            &[
                format!("--etcd-servers=http://127.0.0.1:{}", self.ports.etcd),
                format!("--secure-port={}", self.ports.apiserver),
                "--bind-address=127.0.0.1".to_owned(),
                "--advertise-address=127.0.0.1".to_owned(),
                // A loopback address is no valid endpoint.
                "--endpoint-reconciler-type=none".to_owned(),
                format!("--tls-cert-file={}", self.path("apiserver.crt")),
                format!("--tls-private-key-file={}", self.path("apiserver.key")),
                format!("--client-ca-file={}", self.path("ca.crt")),
                "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
                format!("--service-account-key-file={}", self.path("sa.pub")),
                format!("--service-account-signing-key-file={}", self.path("sa.key")),
                "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
                "--authorization-mode=Node,RBAC".to_owned(),
                // As in OpenShift.
                "--enable-admission-plugins=OwnerReferencesPermissionEnforcement".to_owned(),
                // The aggregation layer.
                format!(
                    "--requestheader-client-ca-file={}",
                    self.path("front-proxy-ca.crt")
                ),
                "--requestheader-allowed-names=front-proxy".to_owned(),
                "--requestheader-username-headers=X-Remote-User".to_owned(),
                "--requestheader-group-headers=X-Remote-Group".to_owned(),
                "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
                format!("--proxy-client-cert-file={}", self.path("front-proxy.crt")),
                format!("--proxy-client-key-file={}", self.path("front-proxy.key")),
            ],
        );
        eventually("kube-apiserver is ready", async || {
            apiserver.assert_running();
            let request = http_get("/readyz");
            client
                .request_text(request)
                .await
                .map(drop)
                .map_err(|error| error.to_string())
        })
        .await;
        apiserver
    }

    pub(crate) async fn controller_manager(&self) -> Process {
        let port = self.ports.controller_manager;
        let mut manager = self.spawn(
            "kube-controller-manager",
            &[
                format!(
                    "--kubeconfig={}",
                    self.path("controller-manager.kubeconfig")
                ),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--secure-port={port}"),
                format!("--cert-dir={}", self.path("controller-manager-certs")),
                "--leader-elect=false".to_owned(),
                "--use-service-account-credentials=true".to_owned(),
                format!("--service-account-private-key-file={}", self.path("sa.key")),
                format!("--root-ca-file={}", self.path("ca.crt")),
                format!("--controllers={}", CONTROLLERS.join(",")),
                "--kube-api-qps=200".to_owned(),
                "--kube-api-burst=400".to_owned(),
                // It creates this folder, by default outside of the test's.
                format!("--flex-volume-plugin-dir={}", self.path("flexvolume")),
            ],
        );
        await_healthy(
            &mut manager,
            &format!("https://127.0.0.1:{port}"),
            "/healthz",
        )
        .await;
        manager
    }

    /// The cluster's own scheduler; it adds client and leader election.
    pub(crate) async fn scheduler(&self, mut configuration: Value) -> Process {
        configuration["leaderElection"] = json!({"leaderElect": false});
        let kubeconfig = self.folder.join("scheduler.kubeconfig");
        self.any_scheduler(
            "scheduler",
            self.ports.scheduler,
            &kubeconfig,
            configuration,
        )
        .await
    }

    /// A scheduler whose files have this name, with the credentials of a kubeconfig.
    pub(crate) async fn any_scheduler(
        &self,
        name: &str,
        port: u16,
        kubeconfig: &Path,
        mut configuration: Value,
    ) -> Process {
        // With --config, --kubeconfig is not read.
        configuration["clientConnection"]["kubeconfig"] = json!(kubeconfig);
        let path = self.path(&format!("{name}.config"));
        pki::write_json(Path::new(&path), &configuration);
        let mut scheduler = self.spawn(
            "kube-scheduler",
            &[
                format!("--config={path}"),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--secure-port={port}"),
                format!("--cert-dir={}", self.path(&format!("{name}-certs"))),
                "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics".to_owned(),
            ],
        );
        await_healthy(
            &mut scheduler,
            &format!("https://127.0.0.1:{port}"),
            "/readyz",
        )
        .await;
        scheduler
    }

    fn spawn(&self, name: &str, arguments: &[String]) -> Process {
        let mut command = Command::new(self.assets.program(name));
        command.args(arguments).current_dir(self.folder);
        let Gates { features, apis } = self.gates;
        if matches!(name, "kube-apiserver" | "kube-scheduler") && !features.is_empty() {
            command.arg(format!("--feature-gates={}", all_on(features)));
        }
        if name == "kube-apiserver" && !apis.is_empty() {
            command.arg(format!("--runtime-config={}", all_on(apis)));
        }
        Process::spawn(name, &mut command, self.folder)
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

fn all_on(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| format!("{name}=true"))
        .collect::<Vec<_>>()
        .join(",")
}

/// An anonymous client of a server with a self-signed certificate.
fn stranger(url: &str) -> Client {
    let mut config = kube::Config::new(url.parse().expect("a URL"));
    config.accept_invalid_certs = true;
    Client::try_from(config).expect("a client is made")
}

/// Served on a local port without authentication.
pub(super) async fn page(port: u16, path: &str) -> String {
    let client = stranger(&format!("https://127.0.0.1:{port}"));
    let page = client.request_text(http_get(path)).await;
    page.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Until `path` of the server at `url` answers 200.
async fn await_healthy(process: &mut Process, url: &str, path: &str) {
    let client = stranger(url);
    eventually(&format!("{url}{path} is healthy"), async || {
        process.assert_running();
        let answer = client.request_text(http_get(path)).await;
        answer.map(drop).map_err(|error| error.to_string())
    })
    .await;
}

fn http_get(path: &str) -> hyper::Request<Vec<u8>> {
    hyper::Request::get(path)
        .body(Vec::new())
        .expect("the path is valid")
}
