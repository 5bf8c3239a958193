//! Every command that the documentation names is tried on one cluster of `dev`, as its user would.

use std::path::Path;
use std::process::{Command, Output};

use super::*;

/// A cluster with what commands need to reach it.
struct Shell<'c> {
    cluster: &'c DevCluster,
    folder: &'c Path,
}

impl Shell<'_> {
    /// Runs a program on the cluster.
    async fn run(&self, program: &str, arguments: &str) -> (bool, String) {
        let file = self.cluster.kubeconfig().to_owned();
        let mut command = Command::new(program);
        command
            .args(arguments.split_whitespace())
            .env("KUBECONFIG", file)
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        let Output {
            status,
            stdout,
            stderr,
        } = output.await.unwrap();
        let text = [stdout, stderr].concat();
        (
            status.success(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    }

    /// Runs `evenkeel`, which has to succeed, or to fail, and to print each part.
    async fn evenkeel(&self, arguments: &str, succeeds: bool, parts: &[&str]) {
        let (found, text) = self.run(env!("CARGO_BIN_EXE_evenkeel"), arguments).await;
        assert_eq!(found, succeeds, "{arguments}: {text}");
        for part in parts {
            assert!(text.contains(part), "{arguments}: {part} is not in {text}");
        }
    }

    /// Runs kubectl where it is installed; it has to succeed and to print the part.
    async fn kubectl(&self, arguments: &str, part: &str) {
        let program = "/usr/bin/kubectl";
        if Path::new(program).exists() {
            let (succeeds, text) = self.run(program, arguments).await;
            assert!(succeeds && text.contains(part), "{arguments}: {text}");
        }
    }

    fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_documented_command_works_on_a_cluster_of_dev() {
    let folder = tempfile::tempdir().unwrap();
    let (mut cluster, mut events) = start(folder.path(), |options| {
        options.speed = Ratio::new(60.0).unwrap();
    })
    .await;
    let mut web = None;
    until(&mut cluster, &mut events, |event| {
        match event {
            DevEvent::PodPlaced { pod, why, .. } if pod.name().starts_with("web-") => {
                web = Some((pod.to_string(), why));
            }
            DevEvent::Scaling { targets } => return web.is_some() && !targets.is_empty(),
            _ => {}
        }
        false
    })
    .await;
    let (pod, why) = web.unwrap();
    let shell = Shell {
        cluster: &cluster,
        folder: folder.path(),
    };
    what_the_service_knows(&shell, &pod, &why).await;
    what_prometheus_remembers(&shell).await;
    what_stands_in_the_cluster(&shell).await;
    what_kubectl_does(&shell).await;
    cluster.stop().await;
}

/// `explain` says of a Pod what the list of `dev` says.
async fn what_the_service_knows(shell: &Shell<'_>, pod: &str, why: &str) {
    let url = format!("http://{}", shell.cluster.dashboard_address());
    let explain = format!("explain {pod} --url {url}");
    shell
        .evenkeel(&explain, true, &["kube-scheduler chose", why])
        .await;
    // At once: the HPA may remove the Pod later.
    let (namespace, name) = pod.split_once('/').unwrap();
    let describe = format!("-n {namespace} describe pod {name}");
    shell.kubectl(&describe, "Scheduled").await;
}

/// The commands that read the past have a week of it.
async fn what_prometheus_remembers(shell: &Shell<'_>) {
    let prometheus = format!("--prometheus http://{}", shell.cluster.prometheus_address());
    let assess = format!("assess {prometheus} --depth shortest --days 7");
    shell
        .evenkeel(&assess, true, &["1 of 1 HPA assessed", "web"])
        .await;
    let tune = format!("tune recommend {prometheus} --days 1");
    shell.evenkeel(&tune, true, &["web", "frontend"]).await;
    let file = shell.file("web.csv");
    let record =
        |query: &str| format!("forecast record {query} {prometheus} --days 7 --step 5m -o {file}");
    let requests = "sum(rate(http_requests_total{namespace=\"shop\"}[2m]))";
    shell.evenkeel(&record(requests), true, &[]).await;
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(
        written.lines().count() > 2_000,
        "a week of five minutes: {written}"
    );
    let unknown = [
        "the Prometheus of evenkeel dev does not know this query",
        "there is no metric up",
    ];
    shell.evenkeel(&record("up"), false, &unknown).await;
}

async fn what_stands_in_the_cluster(shell: &Shell<'_>) {
    shell
        .evenkeel("doctor", true, &["measurements", "prometheus-series"])
        .await;
    shell
        .evenkeel(
            "upgrade --check",
            false,
            &["CustomResourceDefinition", "objects differ"],
        )
        .await;
    let counted = [
        "HPA shop/web",
        "Deployment web has",
        "CPU decides",
        "Pods by cpu",
    ];
    shell.evenkeel("explain hpa shop/web", true, &counted).await;
    let json = "explain hpa shop/web -o json";
    shell.evenkeel(json, true, &["\"decidedReplicas\": "]).await;
    let unknown = ["there is no HPA shop/shop", "kubectl get hpa -n shop"];
    shell
        .evenkeel("explain hpa shop/shop", false, &unknown)
        .await;
    let left = ["Namespace shop", "things are left"];
    shell.evenkeel("uninstall --check", false, &left).await;
    let cron = "cron next -f examples/cron/office-hours.yaml";
    shell.evenkeel(cron, true, &["office-hours"]).await;
}

async fn what_kubectl_does(shell: &Shell<'_>) {
    for (arguments, part) in [
        ("get hpa -A", "web"),
        (
            "apply -n shop -f examples/cron/office-hours.yaml",
            "does not evaluate x-kubernetes-validations",
        ),
        ("-n shop get cronhpas", "office-hours"),
        ("-n shop describe cronhpa", "Name:"),
    ] {
        shell.kubectl(arguments, part).await;
    }
}
