//! Each fault on a run: what breaks, what Evenkeel says and does, and that it ends.

use std::collections::BTreeSet;

use evenkeel_lab::dev::cluster::{DevCluster, DevEvent};
use evenkeel_units::Ratio;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::{start, until};

/// Gives a workload of the shop other replicas, as a user would.
async fn scale(cluster: &DevCluster, name: &str, replicas: u32) {
    let api: Api<Deployment> = Api::namespaced(cluster.client.clone(), "shop");
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    let parameters = PatchParams::default();
    api.patch_scale(name, &parameters, &patch).await.unwrap();
}

/// True for an event with a notice of this subject and part of its text.
fn notices(event: &DevEvent, about: &str, part: &str) -> bool {
    let DevEvent::Notices { on } = event else {
        return false;
    };
    on.iter()
        .any(|notice| notice.about == about && notice.text.contains(part))
}

fn is_over(event: &DevEvent, about: &str) -> bool {
    matches!(event, DevEvent::Notices { on } if on.iter().all(|notice| notice.about != about))
}

/// A placement of a Pod of a workload.
fn placed<'a>(event: &'a DevEvent, workload: &str) -> Option<&'a str> {
    match event {
        DevEvent::PodPlaced { pod, node, .. } if pod.name().starts_with(workload) => Some(node),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_metrics_pods_are_placed_by_requests_and_the_service_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (mut cluster, mut events) = start(folder.path(), |options| {
        options.speed = Ratio::new(60.0).unwrap();
        options.faults = vec!["metrics-down@120s..1800s".parse().unwrap()];
    })
    .await;
    until(&mut cluster, &mut events, |event| {
        notices(&event, "metrics", "placing by the last sample")
    })
    .await;
    until(&mut cluster, &mut events, |event| {
        notices(&event, "metrics", "stale") && notices(&event, "metrics", "by requests")
    })
    .await;
    scale(&cluster, "frontend", 6).await;
    let mut more = 0;
    until(&mut cluster, &mut events, |event| {
        assert!(!is_over(&event, "metrics"), "they are placed meanwhile");
        more += usize::from(placed(&event, "frontend").is_some());
        more == 2
    })
    .await;
    until(&mut cluster, &mut events, |event| {
        is_over(&event, "metrics")
    })
    .await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_hangs_keeps_no_pod_from_its_node() {
    let folder = tempfile::tempdir().unwrap();
    let (mut cluster, mut events) = start(folder.path(), |options| {
        // The shipped timeouts are what this is about.
        options.patience = None;
        options.faults = vec!["hang@30s..230s".parse().unwrap()];
    })
    .await;
    let (mut calls, mut bare) = (BTreeSet::new(), 0);
    let mut hangs = false;
    until(&mut cluster, &mut events, |event| {
        match &event {
            DevEvent::FailedOpen { call, .. } if hangs => {
                calls.insert(*call);
            }
            DevEvent::PodPlaced {
                profile: None,
                score,
                ..
            } if hangs => {
                assert!(score.is_none_or(|score| score == 0));
                bare += 1;
            }
            DevEvent::Fault { begins, .. } => hangs = *begins,
            _ => {}
        }
        calls.len() == 2 && bare >= 4
    })
    .await;
    until(&mut cluster, &mut events, |event| {
        matches!(event, DevEvent::Fault { begins: false, .. })
    })
    .await;
    // New Pods, since those of the fault stay as they are: until one is classified again.
    let mut replicas = 4;
    loop {
        replicas += 1;
        scale(&cluster, "frontend", replicas).await;
        let mut classified = None;
        until(&mut cluster, &mut events, |event| {
            match &event {
                DevEvent::PodClassified { pod, .. } if pod.name().starts_with("frontend") => {
                    classified = Some(true);
                }
                DevEvent::FailedOpen {
                    call: "webhook",
                    pod,
                } if pod.name().starts_with("frontend") => classified = Some(false),
                _ => {}
            }
            classified.is_some()
        })
        .await;
        if classified == Some(true) {
            break;
        }
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_of_the_api_watches_resync_and_nothing_was_lost() {
    let folder = tempfile::tempdir().unwrap();
    let (mut cluster, mut events) = start(folder.path(), |options| {
        // The streams are due at 70 s, while it is away.
        options.faults = vec!["api-restart@60s..110s".parse().unwrap()];
    })
    .await;
    let (mut interrupted, mut resynced, mut over) = (false, false, false);
    let (mut classified, mut streams) = (BTreeSet::new(), BTreeSet::new());
    until(&mut cluster, &mut events, |event| {
        interrupted |= notices(&event, "watches", "interrupted");
        resynced |= interrupted && notices(&event, "watches", "resynced");
        // On a busy machine the last stream is placed after the notice has gone.
        over |= resynced && is_over(&event, "watches");
        match &event {
            DevEvent::PodClassified { pod, .. } if pod.name().starts_with("stream") => {
                classified.insert(pod.name().to_owned());
            }
            DevEvent::PodPlaced { pod, profile, .. } if pod.name().starts_with("stream") => {
                assert_eq!(profile.as_deref(), Some("network"));
                streams.insert(pod.name().to_owned());
            }
            _ => {}
        }
        resynced && streams.len() == 14 && classified.len() == 14
    })
    .await;
    assert_eq!(classified, streams);
    if !over {
        until(&mut cluster, &mut events, |event| {
            is_over(&event, "watches")
        })
        .await;
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_node_is_left_by_its_pods_and_takes_some_again_when_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let (mut cluster, mut events) = start(folder.path(), |options| {
        options.speed = Ratio::new(60.0).unwrap();
        options.faults = vec!["node-loss@200s..500s".parse().unwrap()];
    })
    .await;
    let lost = "large-1";
    // The node's readiness, and the number of its Pods.
    let state = |event: &DevEvent| {
        let DevEvent::Loads { nodes, .. } = event else {
            return None;
        };
        let node = nodes.iter().find(|node| node.name == lost)?;
        Some((node.ready, node.pods))
    };
    let (mut began, mut ended) = (false, false);
    let (mut fled, mut moved) = (false, 0_usize);
    let (mut back, mut taken) = (false, 0_usize);
    until(&mut cluster, &mut events, |event| {
        fled |= began && state(&event) == Some((false, 0));
        back |= ended && state(&event).is_some_and(|(ready, _)| ready);
        match &event {
            DevEvent::Fault { begins: true, .. } => began = true,
            DevEvent::Fault { begins: false, .. } => ended = true,
            DevEvent::PodPlaced { node, .. } if ended => taken += usize::from(node == lost),
            DevEvent::PodPlaced { node, .. } if began => moved += usize::from(node != lost),
            _ => {}
        }
        fled && back
    })
    .await;
    assert!(moved > 0, "its Pods are made again elsewhere");
    if taken == 0 {
        // Whatever else comes now, these do.
        scale(&cluster, "frontend", 14).await;
        until(
            &mut cluster,
            &mut events,
            |event| matches!(event, DevEvent::PodPlaced { node, .. } if node == lost),
        )
        .await;
    }
    cluster.stop().await;
}
