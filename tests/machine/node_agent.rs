//! `evenkeel agent` as a process, on the embedded API server: on the files of a node in a folder, and in a
//! real cgroup hierarchy where the machine has one that limits disk I/O.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

pub(crate) mod real;

use std::path::PathBuf;
use std::process::Command;

use evenkeel_apiserver::ApiServer;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

use crate::support::control_plane::free_port;
use crate::support::control_plane::page;
use crate::support::control_plane::process::{Process, Signal};
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::dev_api::{settings, with_settings};
use crate::support::node_tree::NodeTree;

const NODE: &str = "worker-1";
const LIMIT: &str = "evenkeel.dev/disk-io-limit";
const LIMITED: &str = "8:0 rbps=10485760 wbps=10485760";
const FREE: &str = "8:0 rbps=max wbps=max";

/// The places at which the agent finds its node.
struct Files {
    /// The folder of the test's own files.
    folder: PathBuf,
    kubepods: PathBuf,
    arguments: Vec<String>,
}

impl Files {
    fn of(tree: &NodeTree) -> Self {
        let argument = |flag: &str, path: PathBuf| [flag.to_owned(), path.display().to_string()];
        Self {
            folder: tree.path().to_owned(),
            kubepods: tree.kubepods(),
            arguments: [
                argument("--mountinfo", tree.mountinfo()),
                argument("--sys", tree.path().join("sys")),
                argument("--proc", tree.path().join("proc")),
                argument("--record", tree.record()),
            ]
            .concat(),
        }
    }
}

/// A node with its agent.
struct World<'a> {
    client: &'a Client,
    files: Files,
    http: u16,
    metrics: u16,
}

impl<'a> World<'a> {
    async fn new(server: &ApiServer, client: &'a Client, files: Files) -> Self {
        let world = Self {
            client,
            files,
            http: free_port(),
            metrics: free_port(),
        };
        let kubeconfig = world.files.folder.join("kubeconfig");
        std::fs::write(kubeconfig, server.kubeconfig()).unwrap();
        world.configure("enabled");
        for (name, enabled) in [("shop", "true"), ("other", "false")] {
            let annotations = json!({"evenkeel.dev/enabled": enabled});
            let namespace = json!({"metadata": {"name": name, "annotations": annotations}});
            let namespaces: Api<Namespace> = Api::all(client.clone());
            let namespace = serde_json::from_value(namespace).unwrap();
            let made = namespaces.create(&PostParams::default(), &namespace).await;
            made.unwrap();
            crate::support::control_plane::clear::await_service_account(client, name).await;
        }
        world
    }

    fn configure(&self, writes: &str) {
        let config = json!({
            "apiVersion": "config.evenkeel.dev/v1alpha1", "kind": "EvenkeelConfiguration",
            "writes": writes,
            "server": {
                "http": format!("127.0.0.1:{}", self.http),
                "metrics": format!("127.0.0.1:{}", self.metrics),
            },
            "agent": {"interval": "500ms"},
        });
        let path = self.files.folder.join("config.yaml");
        std::fs::write(path, config.to_string()).unwrap();
    }

    fn start(&self) -> Process {
        let folder = &self.files.folder;
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command
            .args(["agent", "--node", NODE, "--namespace", "evenkeel-system"])
            .arg("--config")
            .arg(folder.join("config.yaml"))
            .arg("--kubeconfig")
            .arg(folder.join("kubeconfig"))
            .arg("--kubepods")
            .arg(&self.files.kubepods)
            .args(&self.files.arguments);
        Process::spawn("agent", &mut command, folder)
    }

    fn pods(&self, namespace: &str) -> Api<Pod> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Makes a Pod that is burstable, and gives the way to its cgroup.
    async fn pod(&self, namespace: &str, name: &str, node: &str, limit: &str) -> String {
        let requests = json!({"cpu": "100m"});
        let pod = json!({
            "metadata": {"name": name, "annotations": {LIMIT: limit}},
            "spec": {"nodeName": node, "containers": [
                {"name": "app", "image": "app", "resources": {"requests": requests}}]},
        });
        let pod = serde_json::from_value(pod).unwrap();
        let (pods, params) = (self.pods(namespace), PostParams::default());
        let made = pods.create(&params, &pod).await.unwrap();
        let uid = made.uid().unwrap().replace('-', "_");
        format!("kubepods-burstable.slice/kubepods-burstable-pod{uid}.slice")
    }

    /// Sets the annotation of a Pod, or takes it away.
    async fn annotate(&self, name: &str, limit: Option<&str>) {
        let patch = json!({"metadata": {"annotations": {LIMIT: limit}}});
        let patched = self
            .pods("shop")
            .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await;
        patched.unwrap();
    }

    /// Waits until `io.max` of a cgroup holds this text.
    async fn io_max(&self, cgroup: &str, expected: &str) {
        let path = self.files.kubepods.join(cgroup).join("io.max");
        eventually(&format!("io.max is {expected:?}"), async || {
            let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
            holds(text.trim_end() == expected, || text.clone())
        })
        .await;
    }

    /// Waits for an Event of this reason about a Pod, and gives its note.
    async fn told(&self, pod: &str, reason: &str) -> String {
        let events: Api<Event> = Api::namespaced(self.client.clone(), "shop");
        eventually(&format!("an Event {reason}"), async || {
            let all = events.list(&ListParams::default()).await;
            let all = all.map_err(|error| error.to_string())?.items;
            let about = |event: &&Event| {
                let regarding = event.regarding.as_ref().and_then(|it| it.name.as_deref());
                regarding == Some(pod) && event.reason.as_deref() == Some(reason)
            };
            let found = all.iter().find(about).and_then(|event| event.note.clone());
            found.ok_or_else(|| format!("{} others", all.len()))
        })
        .await
    }

    async fn page(&self) -> String {
        let url = format!("http://127.0.0.1:{}/metrics", self.metrics);
        eventually("/metrics answers", async || {
            page::text(&url).await.map_err(|error| error.to_string())
        })
        .await
    }

    /// Waits until a page of the metrics has this line.
    async fn shows(&self, line: &str) {
        eventually(line, async || {
            let page = self.page().await;
            holds(page.lines().any(|shown| shown == line), || page.clone())
        })
        .await;
    }
}

/// Runs a test on a node in a folder.
fn with_world(test: impl AsyncFnOnce(&World<'_>, &NodeTree)) {
    with_settings(settings(), async |server, client| {
        let tree = NodeTree::new("kubepods.slice");
        let world = World::new(server, client, Files::of(&tree)).await;
        test(&world, &tree).await;
    });
}

async fn end(mut agent: Process) {
    agent.signal(Signal::TERM);
    let status = agent.wait().await;
    assert!(status.success(), "{}", agent.log_tail(30));
}

fn a_limit_follows_the_annotation_and_goes_with_the_agent() {
    with_world(async |world, tree| {
        let web = world.pod("shop", "web", NODE, "10MiB/s").await;
        let elsewhere = world.pod("shop", "elsewhere", "worker-2", "10MiB/s").await;
        let closed = world.pod("other", "web", NODE, "10MiB/s").await;
        for cgroup in [&web, &elsewhere, &closed] {
            tree.pod(cgroup);
        }
        let agent = world.start();
        world.io_max(&web, LIMITED).await;
        let note = world.told("web", "DiskIoLimited").await;
        assert_eq!(note, "disk I/O is limited to 10MiB/s on sda");
        world.annotate("web", Some("read=20MiB/s")).await;
        world.io_max(&web, "8:0 rbps=20971520 wbps=max").await;
        world.annotate("web", None).await;
        world.io_max(&web, FREE).await;
        world.annotate("web", Some("10MiB/s")).await;
        world.io_max(&web, LIMITED).await;
        end(agent).await;
        world.io_max(&web, FREE).await;
        assert_eq!(std::fs::read_to_string(tree.record()).unwrap(), "{}");
        // Neither the Pod of another node nor that of a namespace that has not opted in.
        assert_eq!(tree.io_max(&elsewhere), "");
        assert_eq!(tree.io_max(&closed), "");
    });
}

fn what_a_killed_agent_left_is_kept_or_taken_away_by_the_next() {
    with_world(async |world, tree| {
        let (web, api) = (
            world.pod("shop", "web", NODE, "10MiB/s").await,
            world.pod("shop", "api", NODE, "10MiB/s").await,
        );
        let foreign = world.pod("shop", "foreign", NODE, "10MiB/s").await;
        for cgroup in [&web, &api, &foreign] {
            tree.pod(cgroup);
        }
        tree.set_io_max(&foreign, "8:0 rbps=9 wbps=9");
        let mut agent = world.start();
        world.io_max(&web, LIMITED).await;
        world.io_max(&api, LIMITED).await;
        let note = world.told("foreign", "DiskIoLimitForeign").await;
        assert!(
            note.contains("sda has a limit that Evenkeel did not set"),
            "{note}"
        );
        agent.signal(Signal::KILL);
        agent.wait().await;
        assert_eq!(tree.io_max(&web), LIMITED);
        world.annotate("web", None).await;
        world.annotate("foreign", None).await;
        let agent = world.start();
        world.io_max(&web, FREE).await;
        assert_eq!(tree.io_max(&api), LIMITED);
        end(agent).await;
        world.io_max(&api, FREE).await;
        assert_eq!(tree.io_max(&foreign), "8:0 rbps=9 wbps=9");
    });
}

fn the_kill_switch_is_obeyed() {
    with_world(async |world, tree| {
        let web = world.pod("shop", "web", NODE, "10MiB/s").await;
        tree.pod(&web);
        let agent = world.start();
        world.io_max(&web, LIMITED).await;
        world.configure("restore");
        world.io_max(&web, FREE).await;
        world.configure("enabled");
        world.io_max(&web, LIMITED).await;
        world.configure("disabled");
        world.shows("evenkeel_writes_enabled 0").await;
        world.annotate("web", None).await;
        end(agent).await;
        // Everything stays as it is, and the next agent knows it.
        assert_eq!(tree.io_max(&web), LIMITED);
        world.configure("enabled");
        let agent = world.start();
        world.io_max(&web, FREE).await;
        end(agent).await;
    });
}

fn what_is_not_accepted_is_told_and_what_is_measured_is_shown() {
    with_world(async |world, tree| {
        let web = world.pod("shop", "web", NODE, "1KiB/s").await;
        tree.pod(&web);
        let closed = world.pod("other", "closed", NODE, "10MiB/s").await;
        tree.pod(&closed);
        let agent = world.start();
        let note = world.told("web", "DiskIoLimitTooLow").await;
        assert!(
            note.contains("1KiB/s is below agent.leastLimit, which is 1MiB/s"),
            "{note}"
        );
        assert_eq!(tree.io_max(&web), "");
        world
            .shows(r#"evenkeel_disk_io_unlimited_pods{reason="DiskIoLimitTooLow"} 1"#)
            .await;
        // Of all Pods of the node, whether their namespace has opted in or not.
        for (namespace, pod) in [("shop", "web"), ("other", "closed")] {
            let labels =
                format!(r#"namespace="{namespace}",pod="{pod}",device="sda",node="{NODE}""#);
            let line = format!("evenkeel_pod_disk_written_bytes_total{{{labels}}} 8192");
            world.shows(&line).await;
        }
        world
            .shows(&format!(
                r#"evenkeel_node_io_waiting_seconds_total{{node="{NODE}"}} 2.5"#
            ))
            .await;
        let ready = format!("http://127.0.0.1:{}/readyz", world.http);
        assert!(page::status(&ready).await.unwrap().is_success());
        world.annotate("web", Some("slow")).await;
        let note = world.told("web", "DiskIoLimitInvalid").await;
        assert!(note.contains("\"slow\" is not accepted"), "{note}");
        world.annotate("web", Some("10MiB/s")).await;
        world.io_max(&web, LIMITED).await;
        let now = DeleteParams::default().grace_period(0);
        world.pods("shop").delete("web", &now).await.unwrap();
        world.io_max(&web, FREE).await;
        end(agent).await;
    });
}

fn a_call_that_cannot_work_says_why() {
    let tree = NodeTree::new("kubepods.slice");
    let kubeconfig = tree.path().join("kubeconfig");
    let cluster = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": ""}}],
    });
    std::fs::write(&kubeconfig, cluster.to_string()).unwrap();
    let run = |arguments: &[&str]| -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command.arg("agent").arg("--kubeconfig").arg(&kubeconfig);
        let output = command.args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    };
    let (code, said) = run(&[]);
    assert_eq!(code, Some(2), "{said}");
    let record = tree.record().display().to_string();
    let nowhere = tree.path().join("kubepods").display().to_string();
    let (code, said) = run(&["--node", NODE, "--record", &record, "--kubepods", &nowhere]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("not a cgroup of version 2"), "{said}");
    let least = "agent.leastLimit=0";
    let (code, said) = run(&["--node", NODE, "--set", least]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("agent.leastLimit") && said.contains("above zero"),
        "{said}"
    );
}

crate::support::trial::suite!(
    [] => [
        a_limit_follows_the_annotation_and_goes_with_the_agent,
        what_a_killed_agent_left_is_kept_or_taken_away_by_the_next,
        the_kill_switch_is_obeyed,
        what_is_not_accepted_is_told_and_what_is_measured_is_shown,
        a_call_that_cannot_work_says_why,
    ],
);
