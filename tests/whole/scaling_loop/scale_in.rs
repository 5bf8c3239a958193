//! Pods are given costs of deletion before their workload is scaled in, with the user's permission
//! only. They lose them once it is over or turned off.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use evenkeel_clock as clock;
use evenkeel_clock::Clock;
use evenkeel_objects::kinds::Kind;
use evenkeel_service::metrics::exposition::Exposition;
use futures::StreamExt as _;
use jiff::SignedDuration;
use kube::api::{DynamicObject, WatchEvent, WatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::controllers::{DELETION_COST, PODS};
use super::direct::directly;
use super::world::{DEPLOYMENT, MIN, SHOP, World, annotation, number, with_world_on};
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::dev_api;
use crate::support::dev_api::{ask, get};

const OWN: &str = "evenkeel.dev/deletion-cost";
const ON: [(&str, &str); 1] = [("scheduling.scaleIn", "balance")];

/// A world in which a scale-in waits for costs for longer than a busy machine takes to write them.
fn with_slower_world(test: impl AsyncFnOnce(&World<'_>)) {
    let origin = clock::now();
    let clock = Clock::accelerated(6.0, origin, origin);
    with_world_on(dev_api::settings(), clock, test);
}

/// The versions at which the count fell, and at which each Pod was first seen with a cost.
#[derive(Default)]
struct Seen {
    counts: Vec<(u64, i64)>,
    costs: BTreeMap<String, u64>,
    gone: Vec<(u64, String)>,
}

/// Follows the objects of a kind in the namespace from now on.
async fn follow(
    client: &Client,
    kind: Kind,
    seen: &Arc<Mutex<Seen>>,
    take: fn(&mut Seen, u64, &DynamicObject, bool),
) -> JoinHandle<()> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), SHOP, &kind.api_resource());
    let mut events = api
        .watch(&WatchParams::default(), "0")
        .await
        .expect("a watch")
        .boxed();
    let seen = Arc::clone(seen);
    tokio::spawn(async move {
        while let Some(Ok(event)) = events.next().await {
            let (object, is_gone) = match &event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
                WatchEvent::Deleted(object) => (object, true),
                WatchEvent::Bookmark(_) | WatchEvent::Error(_) => continue,
            };
            let version = object.resource_version().unwrap_or_default();
            let version = version.parse().expect("a number");
            take(&mut seen.lock().unwrap(), version, object, is_gone);
        }
    })
}

fn count(seen: &mut Seen, version: u64, deployment: &DynamicObject, _: bool) {
    let replicas = deployment.data["spec"]["replicas"].as_i64().unwrap_or(1);
    if seen.counts.last().is_none_or(|(_, last)| *last != replicas) {
        seen.counts.push((version, replicas));
    }
}

fn pod(seen: &mut Seen, version: u64, pod: &DynamicObject, is_gone: bool) {
    if pod.annotations().contains_key(DELETION_COST) {
        seen.costs.entry(pod.name_any()).or_insert(version);
    }
    if is_gone {
        seen.gone.push((version, pod.name_any()));
    }
}

/// The Pods with what stands on them of costs.
async fn costs(world: &World<'_>) -> BTreeMap<String, (Option<String>, Option<String>)> {
    let (_, list) = ask(world.client, "GET", PODS, &Value::Null).await;
    let pods = list["items"].as_array().cloned().unwrap_or_default();
    let text = |pod: &Value, key: &str| annotation(pod, key).map(str::to_owned);
    let named = pods.iter().map(|pod| {
        let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
        (name, (text(pod, DELETION_COST), text(pod, OWN)))
    });
    named.collect()
}

async fn until_unmarked(world: &World<'_>, what: &str) {
    eventually(what, async || {
        let found = costs(world).await;
        let unmarked = found
            .values()
            .all(|(cost, own)| cost.is_none() && own.is_none());
        holds(unmarked, || format!("{found:?}"))
    })
    .await;
}

async fn until_few(world: &World<'_>) {
    world
        .until(DEPLOYMENT, "it falls to its least", |deployment| {
            number(deployment, "/spec/replicas") == Some(MIN)
        })
        .await;
}

/// Eight Pods in mode direct under a load that has just gone.
async fn shrinking(world: &World<'_>) {
    directly(world).await;
    world.prometheus.handle.set_load(|_| 1.0);
}

#[test]
fn costs_are_there_before_the_count_falls_and_go_once_it_has_fallen() {
    with_slower_world(async |world| {
        world.prometheus.handle.set_load(|_| 6.0);
        let _controllers = world.controllers().await;
        shrinking(world).await;
        let seen = Arc::<Mutex<Seen>>::default();
        let watches = [
            follow(world.client, Kind::Deployment, &seen, count).await,
            follow(world.client, Kind::Pod, &seen, pod).await,
        ];
        let _service = world.serve(&ON).await;
        let note = world.until_event("ScaleInBalanced").await;
        assert!(note.starts_with("scale-in from 8 to "), "{note}");
        until_few(world).await;
        eventually("the Pods have followed", async || {
            let left = costs(world).await;
            holds(left.len() == 2, || format!("{left:?}"))
        })
        .await;
        {
            let seen = seen.lock().unwrap();
            let [(_, before), (lowered, after), ..] = seen.counts[..] else {
                panic!("{:?}", seen.counts);
            };
            assert!(before == 8 && after < before, "{:?}", seen.counts);
            let first = usize::try_from(before - after).unwrap();
            let marked = seen.costs.values().filter(|&&version| version < lowered);
            assert!(marked.count() >= first, "{lowered} {:?}", seen.costs);
            for (version, gone) in &seen.gone[..first] {
                assert!(
                    seen.costs.get(gone).is_some_and(|marked| *marked < lowered),
                    "{gone} went at {version}: {:?}",
                    seen.costs
                );
            }
        }
        let page = world.metrics().await;
        let balanced = Exposition::parse(&page).sum("evenkeel_scale_ins_balanced_total", &[]);
        assert!(balanced.is_some_and(|count| count >= 1.0), "{page}");
        until_unmarked(world, "the costs are taken away").await;
        for watch in watches {
            watch.abort();
        }
    });
}

#[test]
fn a_cost_of_the_users_leaves_its_replica_set_alone() {
    with_slower_world(async |world| {
        world.prometheus.handle.set_load(|_| 6.0);
        let _controllers = world.controllers().await;
        let (name, _) = costs(world).await.pop_first().expect("a Pod");
        let path = format!("{PODS}/{name}");
        world.annotate(&path, json!({DELETION_COST: "3"})).await;
        shrinking(world).await;
        let _service = world.serve(&ON).await;
        let note = world.until_event("ScaleInLeftAlone").await;
        assert!(note.contains(&name), "{note}");
        until_few(world).await;
        let users = get(world.client, &path).await;
        assert_eq!(annotation(&users, DELETION_COST), Some("3"));
        let found = costs(world).await;
        assert!(found.values().all(|(_, own)| own.is_none()), "{found:?}");
        let page = world.metrics().await;
        let counted = r#"evenkeel_scale_ins_left_alone_total{reason="users_cost"}"#;
        assert!(page.contains(counted), "{page}");
    });
}

#[test]
fn what_was_left_goes_once_it_is_off_and_not_while_nothing_may_be_written() {
    with_slower_world(async |world| {
        let _controllers = world.controllers().await;
        let (name, _) = costs(world).await.pop_first().expect("a Pod");
        let path = format!("{PODS}/{name}");
        let marks = json!({DELETION_COST: "-1", OWN: "-1 balance"});
        world.annotate(&path, marks).await;
        let service = world.serve(&[("writes", "disabled")]).await;
        let shown = get(world.client, &path).await;
        world.pass(SignedDuration::from_secs(30)).await;
        assert_eq!(
            annotation(&get(world.client, &path).await, DELETION_COST),
            Some("-1")
        );
        let explained = world.explain(&shown).await;
        assert_eq!(explained["deletionCost"]["cost"], -1, "{explained}");
        service.stop().await;
        let service = world.serve(&[]).await;
        until_unmarked(world, "the costs are taken away").await;
        service.stop().await;
        world
            .annotate(&path, json!({DELETION_COST: "-1", OWN: "-1 balance"}))
            .await;
        let _service = world.serve(&[("writes", "restore")]).await;
        until_unmarked(world, "and where all is to be put back").await;
    });
}
