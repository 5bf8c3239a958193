//! kubectl on the server in memory, if installed.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_apiserver::{CpuMemoryUsage, ResourceMetrics, Settings, UsageMeasurement};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::client::{create, settings, with_settings};
use crate::support::trial::Requirement;

const DEPLOYMENT: &str = include_str!("../fixtures/deployment.yaml");

/// With its own home and the server's kubeconfig.
struct Kubectl<'a> {
    folder: &'a Path,
}

impl Kubectl<'_> {
    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new("kubectl");
        command
            .args(arguments.split_whitespace())
            .env("KUBECONFIG", self.folder.join("kubeconfig"))
            .env("HOME", self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The success and all output.
    async fn try_run(&self, arguments: &str, input: &str) -> (bool, String) {
        let mut command = self.command(arguments);
        let input = input.to_owned();
        let run = move || {
            let mut child = command.spawn().expect("kubectl starts");
            let mut stdin = child.stdin.take().expect("it is piped");
            stdin.write_all(input.as_bytes()).expect("it reads");
            drop(stdin);
            child.wait_with_output().expect("it ends")
        };
        let output = tokio::task::spawn_blocking(run).await.expect("it ran");
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    }

    /// The command must succeed and print all of `expected`.
    async fn run(&self, arguments: &str, input: &str, expected: &[&str]) -> String {
        let (success, text) = self.try_run(arguments, input).await;
        assert!(success, "kubectl {arguments}: {text}");
        for part in expected {
            assert!(
                text.contains(part),
                "kubectl {arguments} lacks {part:?}: {text}"
            );
        }
        text
    }
}

/// Measures everything as 100m and 64 MiB.
struct Flat;

impl Flat {
    fn reading(namespace: &str, name: &str) -> Vec<UsageMeasurement> {
        vec![UsageMeasurement {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            timestamp: Timestamp::UNIX_EPOCH,
            window: Duration::from_secs(15),
            usage: vec![CpuMemoryUsage {
                name: "app".to_owned(),
                cpu_milli: 100,
                memory_bytes: 64 << 20,
            }],
        }]
    }
}

impl ResourceMetrics for Flat {
    fn nodes(&self) -> Vec<UsageMeasurement> {
        Self::reading("", "n1")
    }

    fn pods(&self) -> Vec<UsageMeasurement> {
        Self::reading("default", "p1")
    }
}

fn with_kubectl(test: impl AsyncFnOnce(&Kubectl<'_>)) {
    let measured = Settings {
        metrics: Some(Arc::new(Flat)),
        ..settings()
    };
    with_settings(measured, async |server, client| {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("kubeconfig"), server.kubeconfig())
            .expect("it is written");
        let amounts = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
        let node = json!({"metadata": {"name": "n1"}, "status": {"capacity": amounts,
            "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}});
        create(client, "/api/v1/nodes", &node).await;
        test(&Kubectl {
            folder: folder.path(),
        })
        .await;
    });
}

fn pod(image: &str) -> String {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p1", "namespace": "default"},
        "spec": {"nodeName": "n1", "containers": [{"name": "app", "image": image,
            "resources": {"requests": {"cpu": "100m"}}}]}});
    pod.to_string()
}

fn applies() {
    with_kubectl(async |kubectl| {
        let more = DEPLOYMENT.replace("replicas: 2", "replicas: 3");
        for (arguments, input, expected) in [
            ("apply -f -", &pod("a:1"), "pod/p1 created"),
            ("apply -f -", &pod("a:2"), "pod/p1 configured"),
            ("apply -f -", &pod("a:2"), "pod/p1 unchanged"),
            (
                "apply -f -",
                &DEPLOYMENT.to_owned(),
                "deployment.apps/web created",
            ),
            (
                "apply --dry-run=server -f -",
                &more,
                "deployment.apps/web configured (server dry run)",
            ),
            ("apply -f -", &more, "deployment.apps/web configured"),
            (
                "apply --server-side --force-conflicts -f -",
                &more,
                "serverside-applied",
            ),
        ] {
            kubectl.run(arguments, input, &[expected]).await;
        }
        let misspelt = pod("a:1").replace("\"image\"", "\"imge\"");
        let (success, text) = kubectl.try_run("apply -f -", &misspelt).await;
        let words = "unknown field \"spec.containers[0].imge\"";
        assert!(!success && text.contains(words), "{text}");
    });
}

fn shows() {
    with_kubectl(async |kubectl| {
        kubectl.run("apply -f -", &pod("a:2"), &[]).await;
        kubectl.run("apply -f -", DEPLOYMENT, &[]).await;
        for (arguments, expected) in [
            ("get pods", &["NAME", "READY", "p1", "0/1", "Pending"][..]),
            ("get nodes -o wide", &["n1", "Ready", "KERNEL-VERSION"]),
            (
                "get deployment web -o yaml",
                &["replicas: 2", "kind: Deployment"],
            ),
            (
                "get all -A",
                &["deployment.apps/web", "pod/p1", "service/kubernetes"],
            ),
            ("describe pod p1", &["Node:", "Image:", "a:2", "QoS Class:"]),
            ("describe node n1", &["Allocatable:", "p1", "100m (2%)"]),
            ("api-resources", &["horizontalpodautoscalers", "leases"]),
            ("delete pod p1 --now --wait=false", &["deleted"]),
        ] {
            kubectl.run(arguments, "", expected).await;
        }
    });
}

fn changes_what_there_is() {
    with_kubectl(async |kubectl| {
        for (arguments, expected) in [
            (
                "create deployment web --image=registry.example/app:1 --replicas=2",
                "deployment.apps/web created",
            ),
            ("scale deployment web --replicas=4", "scaled"),
            ("annotate deployment web a=b", "annotated"),
            ("label deployment web x=y", "labeled"),
            (
                "patch deployment web -p {\"spec\":{\"paused\":true}}",
                "patched",
            ),
            (
                "set image deployment/web app=registry.example/app:2",
                "image updated",
            ),
        ] {
            kubectl.run(arguments, "", &[expected]).await;
        }
        let text = kubectl.run("get deployment web -o json", "", &[]).await;
        let web: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(web["spec"]["replicas"], 4);
        assert_eq!(web["metadata"]["annotations"]["a"], "b");
        assert_eq!(web["metadata"]["labels"]["x"], "y");
        assert_eq!(web["spec"]["paused"], true);
        let container = &web["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], "registry.example/app:2");
    });
}

fn creates_and_deletes() {
    with_kubectl(async |kubectl| {
        for (arguments, expected) in [
            (
                "create deployment web --image=registry.example/app:1",
                "created",
            ),
            (
                "autoscale deployment web --min=1 --max=5 --cpu-percent=50",
                "autoscaled",
            ),
            ("get hpa", "cpu: <unknown>/50%"),
            ("describe hpa web", "Min replicas:"),
            ("create namespace other", "created"),
            ("get serviceaccounts -n other", "default"),
            ("delete namespace other", "deleted"),
            ("cordon n1", "cordoned"),
            ("delete deployment,hpa web", "deleted"),
            ("auth can-i create pods", "yes"),
            ("explain pod.spec.containers", "livenessProbe"),
            ("explain hpa.spec --recursive", "stabilizationWindowSeconds"),
        ] {
            kubectl.run(arguments, "", &[expected]).await;
        }
    });
}

fn shows_usage() {
    with_kubectl(async |kubectl| {
        kubectl.run("apply -f -", &pod("a:1"), &[]).await;
        kubectl.run("top nodes", "", &["n1", "100m", "64Mi"]).await;
        kubectl.run("top pods", "", &["p1", "100m", "64Mi"]).await;
        let (success, text) = kubectl.try_run("logs p1", "").await;
        assert!(!success && text.contains("does not implement"), "{text}");
    });
}

fn watches() {
    with_kubectl(async |kubectl| {
        kubectl
            .run("create configmap a --from-literal=k=v", "", &["created"])
            .await;
        let watch = "get configmaps -w --request-timeout=4s";
        let watching = kubectl.try_run(watch, "");
        let changing = async {
            kubectl
                .run("create configmap b --from-literal=k=v", "", &["created"])
                .await;
        };
        let ((_, text), ()) = tokio::join!(watching, changing);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().any(|line| line.starts_with("a ")), "{text}");
        assert!(lines.iter().any(|line| line.starts_with("b ")), "{text}");
    });
}

crate::support::trial::suite!([Requirement::Program("kubectl")] => [
    applies,
    shows,
    changes_what_there_is,
    creates_and_deletes,
    shows_usage,
    watches,
]);
