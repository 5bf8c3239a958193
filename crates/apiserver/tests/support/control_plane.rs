//! A real Kubernetes control plane on loopback: etcd, kube-apiserver, kube-controller-manager and
//! kube-scheduler as child processes, nodes without machines and a kubelet that runs their Pods.
//! Module paths are spelled out, because test programs of other packages include this file by its
//! path. A test has its own control plane, which starts in a few seconds and leaves nothing behind,
//! or shares one with many small tests. When a test panics, the ends of the logs are printed.

#[path = "control_plane/assets.rs"]
mod assets;
#[path = "control_plane/clear.rs"]
pub(crate) mod clear;
#[path = "control_plane/kubelet.rs"]
pub(crate) mod kubelet;
#[path = "control_plane/pki.rs"]
pub(crate) mod pki;
#[path = "control_plane/process.rs"]
pub(crate) mod process;
#[path = "control_plane/programs.rs"]
mod programs;
#[path = "control_plane/wait.rs"]
pub(crate) mod wait;

use std::net::TcpListener;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use self::assets::Assets;
use self::pki::Authority;
use self::process::{Process, report};

/// Fields are dropped in this order: users before what they use.
pub(crate) struct ControlPlane {
    pub client: Client,
    runtime: Runtime,
    scheduler: Mutex<Option<Process>>,
    controller_manager: Process,
    apiserver: Mutex<Option<Process>>,
    etcd: Process,
    authority: Authority,
    ports: Ports,
    gates: Gates,
    assets: Assets,
    folder: TempDir,
}

#[derive(Debug, Clone, Copy)]
struct Ports {
    etcd: u16,
    etcd_peer: u16,
    apiserver: u16,
    controller_manager: u16,
    scheduler: u16,
}

/// Features and API versions that a Kubernetes release has and leaves off by default.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Gates {
    /// Of kube-apiserver and kube-scheduler.
    pub features: &'static [&'static str],
    /// Versions of APIs, such as `scheduling.k8s.io/v1alpha2`.
    pub apis: &'static [&'static str],
}

/// Limit of one test, so that a hanging one fails.
const LIMIT: Duration = Duration::from_mins(20);

static SHARED: Mutex<Option<Arc<ControlPlane>>> = Mutex::new(None);
static TURN: Mutex<()> = Mutex::new(());

/// The error says why there are no programs.
pub(crate) fn check() -> Result<(), String> {
    Assets::find().map(drop)
}

/// As kube-apiserver tells it, such as `Kubernetes v1.36.2`. The error says why it does not.
pub(crate) fn version() -> Result<String, String> {
    let program = Assets::find()?.program("kube-apiserver");
    let output = std::process::Command::new(program)
        .arg("--version")
        .output();
    let output = output.map_err(|error| format!("kube-apiserver: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// On a control plane of its own, which ends with the test.
pub(crate) fn with_control_plane(test: impl AsyncFnOnce(&ControlPlane)) {
    with_gated_control_plane(Gates::default(), test);
}

/// The same, with features that are off by default.
pub(crate) fn with_gated_control_plane(gates: Gates, test: impl AsyncFnOnce(&ControlPlane)) {
    run(&ControlPlane::start(gates), test);
}

/// On the shared control plane, after earlier tests and on a cluster without nodes, Pods or
/// webhooks.
pub(crate) fn with_shared_control_plane(test: impl AsyncFnOnce(&ControlPlane)) {
    let plane = shared();
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    run(&plane, async |plane| {
        clear::clear(&plane.client).await;
        test(plane).await;
    });
}

fn run(plane: &ControlPlane, test: impl AsyncFnOnce(&ControlPlane)) {
    let _report = ReportOnPanic(plane);
    plane.runtime.block_on(async {
        let ended = tokio::time::timeout(LIMIT, test(plane)).await;
        ended.unwrap_or_else(|_| panic!("not within {} s", LIMIT.as_secs()));
    });
}

fn shared() -> Arc<ControlPlane> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(shared.get_or_insert_with(|| Arc::new(ControlPlane::start(Gates::default()))))
}

/// Called by a test program after its last test.
pub(crate) fn stop_shared() {
    drop(SHARED.lock().unwrap_or_else(PoisonError::into_inner).take());
}

impl ControlPlane {
    fn start(gates: Gates) -> Self {
        let assets = Assets::find().unwrap_or_else(|reason| panic!("{reason}"));
        // Fails only if a provider is installed already, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::Builder::new()
            .prefix("control-plane-")
            .tempdir()
            .expect("a temporary folder is made");
        let runtime = Runtime::new().expect("a runtime starts");
        let ports = Ports::free();
        let (authority, kubeconfig) = programs::write_credentials(folder.path(), ports);
        let launch = programs::Launch {
            assets: &assets,
            folder: folder.path(),
            ports,
            gates,
        };
        let (etcd, apiserver, controller_manager, client) = runtime.block_on(async {
            let etcd = launch.etcd().await;
            let client = client(&kubeconfig).await;
            let apiserver = launch.apiserver(&client).await;
            let controller_manager = launch.controller_manager().await;
            clear::await_service_account(&client, "default").await;
            (etcd, apiserver, controller_manager, client)
        });
        runtime.spawn(kubelet::run(client.clone()));
        Self {
            client,
            runtime,
            scheduler: Mutex::new(None),
            controller_manager,
            apiserver: Mutex::new(Some(apiserver)),
            etcd,
            authority,
            ports,
            gates,
            assets,
            folder,
        }
    }

    /// (Re)starts kube-scheduler with a KubeSchedulerConfiguration; adds client and leader election
    /// if absent.
    pub(crate) async fn start_scheduler(&self, configuration: Value) {
        self.stop_scheduler();
        let process = self.launch().scheduler(configuration).await;
        *locked(&self.scheduler) = Some(process);
    }

    /// Starts one more kube-scheduler, with the credentials of a kubeconfig. It is killed when it is
    /// dropped.
    pub(crate) async fn start_second_scheduler(
        &self,
        kubeconfig: &Path,
        configuration: Value,
    ) -> Process {
        self.launch()
            .any_scheduler("second-scheduler", free_port(), kubeconfig, configuration)
            .await
    }

    /// Kills and starts it, like a failing machine.
    pub(crate) async fn restart_apiserver(&self) {
        drop(locked(&self.apiserver).take());
        let process = self.launch().apiserver(&self.client).await;
        *locked(&self.apiserver) = Some(process);
    }

    pub(crate) fn apiserver_port(&self) -> u16 {
        self.ports.apiserver
    }

    pub(crate) async fn scheduler_metrics(&self) -> String {
        programs::page(self.ports.scheduler, "/metrics").await
    }

    /// Processor seconds of kube-scheduler, if running, and of kube-apiserver so far.
    pub(crate) fn processor_seconds(&self) -> [f64; 2] {
        [&self.scheduler, &self.apiserver].map(|process| {
            let process = locked(process);
            process.as_ref().map_or(0.0, Process::processor_seconds)
        })
    }

    pub(crate) fn stop_scheduler(&self) {
        drop(locked(&self.scheduler).take());
    }

    /// Returns the path of the kubeconfig.
    pub(crate) fn kubeconfig(&self, name: &str, user: &Value) -> PathBuf {
        let path = self.folder.path().join(format!("{name}.kubeconfig"));
        pki::write_json(
            &path,
            &self.authority.kubeconfig(self.ports.apiserver, user),
        );
        path
    }

    /// With logs and files.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn launch(&self) -> programs::Launch<'_> {
        programs::Launch {
            assets: &self.assets,
            folder: self.folder.path(),
            ports: self.ports,
            gates: self.gates,
        }
    }

    fn log_tails(&self) -> String {
        let mut tails = vec![self.etcd.log_tail(5), self.controller_manager.log_tail(10)];
        for process in [&self.apiserver, &self.scheduler] {
            tails.extend(locked(process).as_ref().map(|process| process.log_tail(20)));
        }
        tails.join("\n")
    }
}

fn locked(process: &Mutex<Option<Process>>) -> MutexGuard<'_, Option<Process>> {
    process.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ports {
    fn free() -> Self {
        Self {
            etcd: free_port(),
            etcd_peer: free_port(),
            apiserver: free_port(),
            controller_manager: free_port(),
            scheduler: free_port(),
        }
    }
}

/// Given once. It is below the range of ephemeral ports, so that no outgoing connection holds it
/// when a server starts.
pub(crate) fn free_port() -> u16 {
    const RANGE: Range<u32> = 10_000..32_000;
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    // Concurrent programs begin at different places.
    let begin = std::process::id().wrapping_mul(97);
    let size = RANGE.end - RANGE.start;
    loop {
        let given = GIVEN.fetch_add(1, Ordering::Relaxed);
        assert!(given < size, "a port is free");
        let port = RANGE.start + begin.wrapping_add(given) % size;
        let port = u16::try_from(port).expect("the range is of ports");
        if TcpListener::bind(("0.0.0.0", port)).is_ok() {
            return port;
        }
    }
}

struct ReportOnPanic<'a>(&'a ControlPlane);

impl Drop for ReportOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            report(&self.0.log_tails());
        }
    }
}

async fn client(kubeconfig: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("the kubeconfig is read");
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .expect("the kubeconfig is whole");
    Client::try_from(config).expect("a client is made")
}
