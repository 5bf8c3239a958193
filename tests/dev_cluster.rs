//! The embedded cluster with the real service: Pods are classified by the webhook over TLS, placed
//! through the extender over HTTPS, and scaled by the HPA controller, all through the API.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

#[path = "dev_cluster/faults.rs"]
mod faults;

use std::collections::BTreeMap;
use std::time::Duration;

use evenkeel::dev::events::Happened;
use evenkeel::dev::{Cluster, Event, Events, Options};
use evenkeel::service::embedded;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

/// However busy the machine is.
const PATIENCE: Duration = Duration::from_secs(240);

/// The profile that workloads of the shipped scenario are made for. The web workload's depends on
/// how full the nodes are when it comes.
const PROFILES: [(&str, &str); 5] = [
    ("frontend", "normal"),
    ("stream", "network"),
    ("store", "io"),
    ("encode", "compute"),
    ("cache", "memory"),
];

async fn start(
    folder: &std::path::Path,
    change: impl FnOnce(&mut Options),
) -> (Cluster, Receiver<Happened>) {
    // Fails only where a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut options = Options::new(folder.to_owned());
    options.patience = Some(Duration::from_secs(10));
    change(&mut options);
    let serve = async |wiring| embedded::run(wiring).await.map_err(Into::into);
    let events = Events::default();
    let happened = events.subscribe();
    let cluster = Cluster::start(options, events, serve).await;
    let cluster = cluster.unwrap_or_else(|error| panic!("{}: {error}", error.reason()));
    (cluster, happened)
}

/// Reads events until `done` is content.
async fn until(
    cluster: &mut Cluster,
    events: &mut Receiver<Happened>,
    mut done: impl FnMut(Event) -> bool,
) {
    let reading = async {
        loop {
            match events.recv().await {
                Ok(happened) if done(happened.event.clone()) => return,
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => panic!("the events have ended"),
            }
        }
    };
    tokio::select! {
        read = timeout(PATIENCE, reading) => read.expect("what was waited for has happened"),
        error = cluster.failed() => panic!("the service ended: {error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_workload_is_classified_placed_and_the_web_is_scaled() {
    let folder = tempfile::tempdir().unwrap();
    let (mut cluster, mut events) = start(folder.path(), |_| {}).await;
    let mut placed: BTreeMap<String, String> = BTreeMap::new();
    let (mut scored, mut scaled) = (false, false);
    until(&mut cluster, &mut events, |event| {
        match event {
            Event::PodPlaced {
                pod,
                profile,
                score,
                ..
            } => {
                let workload = pod
                    .name
                    .rsplitn(3, '-')
                    .last()
                    .unwrap_or_default()
                    .to_owned();
                scored |= score.is_some_and(|score| score > 0);
                placed.insert(workload, profile.unwrap_or_default());
            }
            Event::Scaled { workload, to, .. } => scaled |= workload == "web" && to > 2,
            _ => {}
        }
        scored && scaled && placed.len() == PROFILES.len() + 1
    })
    .await;
    for (workload, profile) in PROFILES {
        assert_eq!(
            placed.get(workload).map(String::as_str),
            Some(profile),
            "{workload}"
        );
    }
    let pods: Api<Pod> = Api::all(cluster.client.clone());
    for pod in pods.list(&ListParams::default()).await.unwrap() {
        assert!(
            pod.annotations().contains_key("evenkeel.dev/demand"),
            "{}",
            pod.name_any()
        );
    }
    let autoscalers: Api<HorizontalPodAutoscaler> = Api::namespaced(cluster.client.clone(), "shop");
    let web = autoscalers.get("web").await.unwrap();
    let conditions = web.status.unwrap().conditions.unwrap();
    assert!(
        conditions
            .iter()
            .any(|is| is.type_ == "ScalingActive" && is.status == "True")
    );
    assert!(std::fs::metadata(cluster.kubeconfig()).unwrap().len() > 0);
    let summary = cluster.stop().await;
    assert!(summary.seconds > 0.0);
}
