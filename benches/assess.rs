//! The time that `evenkeel assess` takes for 500 HPAs with 14 days of past each: the program itself, an API
//! server in memory and a Prometheus on loopback that answers as quickly as it can write. The time of the
//! processor is the program's alone; that on the wall has the writing of the answers in it.

#![allow(clippy::print_stdout)] // a measurement's result is what it prints

use std::collections::HashMap;
use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

use axum::Router;
use axum::extract::Form;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use evenkeel_apiserver::{ApiServer, Settings};
use evenkeel_clock as clock;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

const TARGETS: usize = 500;
const UNTIL: &str = "2026-03-15T00:00:00Z";
const NAMESPACE: &str = "default";
/// The letters before the number of a target.
const NAME: &str = "web";
/// Ticks of the kernel's clock a second, in which it tells the times of processes.
const TICKS: f64 = 100.0;

fn main() {
    // Fails only where a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Runtime::new()
        .expect("a runtime starts")
        .block_on(measure());
}

async fn measure() {
    let server = ApiServer::start(Settings::default());
    let server = server.await.expect("the server starts");
    let kubeconfig = server.kubeconfig();
    plant(&client(&kubeconfig).await).await;
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), kubeconfig).expect("it is written");
    let prometheus = prometheus().await;
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command
        .args(["assess", "--until", UNTIL, "--prometheus", &prometheus])
        .args(["-o", "json", "--kubeconfig"])
        .arg(file.path())
        .env_clear();
    let (began, used) = (clock::instant(), of_children());
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = output.await.expect("it runs").expect("it starts");
    let (wall, used) = (began.elapsed(), of_children().saturating_sub(used));
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    println!(
        "assess, {TARGETS} HPAs, 14 days\n    wall {wall:.1?}  processor {used:.1?}\n    {}",
        report["summary"]
    );
    server.stop().await;
}

/// The processor's time of the processes that were waited for.
fn of_children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux tells of processes");
    let (_, after_name) = stat.rsplit_once(')').expect("the name of the process");
    let ticks = after_name.split_whitespace().skip(13).take(2);
    let ticks: f64 = ticks
        .map(|ticks| ticks.parse::<f64>().expect("a number"))
        .sum();
    Duration::from_secs_f64(ticks / TICKS)
}

async fn client(kubeconfig: &str) -> Client {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).expect("the kubeconfig is read");
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Client::try_from(config.expect("the kubeconfig is whole")).expect("a client is made")
}

/// Deployments with an HPA each, by an amount of cpu a Pod, which takes no Pods to know.
async fn plant(client: &Client) {
    for number in 0..TARGETS {
        let name = format!("{NAME}-{number}");
        let labels = json!({"app": name});
        let pods = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "app"}]}});
        let deployment = json!({"metadata": {"name": name},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": pods}});
        create::<Deployment>(client, deployment).await;
        let metric = json!({"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "AverageValue", "averageValue": "300m"}}});
        let autoscaler = json!({"metadata": {"name": name}, "spec": {"minReplicas": 2, "maxReplicas": 30,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}, "metrics": [metric]}});
        create::<HorizontalPodAutoscaler>(client, autoscaler).await;
    }
}

async fn create<K>(client: &Client, object: Value)
where
    K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned
        + Serialize,
{
    let api: Api<K> = Api::namespaced(client.clone(), NAMESPACE);
    let object = serde_json::from_value(object).expect("an object");
    let created = api.create(&PostParams::default(), &object).await;
    created.expect("it is created");
}

/// Serves the loads of the targets that a query names, and gives its address.
async fn prometheus() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let empty = json!({"status": "success", "data": {"resultType": "vector", "result": []}});
    let router = Router::new()
        .route("/api/v1/query", post(async move || axum::Json(empty)))
        .route("/api/v1/query_range", post(range));
    tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
    format!("http://{address}")
}

async fn range(Form(form): Form<HashMap<String, String>>) -> Response {
    let number = |field: &str| -> f64 { form[field].parse().expect("a number") };
    let step = form["step"].strip_suffix("ms").expect("milliseconds");
    let step = step.parse::<f64>().expect("a number") / 1000.0;
    let (start, end) = (number("start"), number("end"));
    let mut body = String::from(r#"{"status":"success","data":{"resultType":"matrix","result":["#);
    for (place, target) in named(&form["query"]).into_iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        write!(
            body,
            r#"{comma}{{"metric":{{"namespace":"{NAMESPACE}","workload":"Deployment/{NAME}-{target}"}},"values":["#
        )
        .expect("a string takes it");
        let (mut at, mut comma) = (start, "");
        while at <= end + 0.001 {
            let load = cores(target, at);
            write!(body, r#"{comma}[{at},"{load:.4}"]"#).expect("a string takes it");
            (at, comma) = (at + step, ",");
        }
        body.push_str("]}");
    }
    body.push_str("]}}");
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}

/// The numbers of the targets that a query names.
fn named(query: &str) -> Vec<u16> {
    let names = query.split(NAME).skip(1).filter_map(|after| {
        let digits = after.strip_prefix('-')?;
        let end = digits.find(|letter: char| !letter.is_ascii_digit());
        digits[..end.unwrap_or(digits.len())].parse().ok()
    });
    let mut names: Vec<u16> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A day from 0.9 to 3.9 cores at an hour of the target's own, a job of ten minutes in each hour, and unrest:
/// what no plain HPA follows, so that none is left out of the replay.
fn cores(target: u16, at: f64) -> f64 {
    let own = f64::from(target);
    let day = 2.4 - 1.5 * ((at / 86_400.0 + own / 24.0) * TAU).cos();
    let within = (at + own * 97.0).rem_euclid(3_600.0);
    let job = (within / 120.0).min(1.0) * f64::from(u8::from(within < 600.0));
    let unrest = (at * 0.013 + own).sin() * (at * 0.0071).sin();
    day * (1.0 + 0.6 * job + 0.05 * unrest)
}
