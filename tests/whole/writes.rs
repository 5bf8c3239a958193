//! The writer against a running API server: a thousand floors that rise at once while the HPA
//! controller goes on writing statuses, and writes that are refused. The embedded server always, and
//! a real one where `KUBEBUILDER_ASSETS` is set.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::{Method, Request, Response};
use evenkeel_objects::capacities::Capacities;
use evenkeel_objects::plan::context::PlanContext;
use evenkeel_objects::plan::election::Timing;
use evenkeel_objects::plan::{Purpose, Write};
use evenkeel_placement::node_table;
use evenkeel_scaling::load::horizon::Horizon;
use evenkeel_scaling::merge::recommendation::Recommendation;
use evenkeel_scaling::recommend::decision::ScalingDecision;
use evenkeel_scaling::recommend::decision_basis::DecisionBasis;
use evenkeel_scaling::status::memory::PlanMemory;
use evenkeel_scaling::targets::resolve::resolve;
use evenkeel_scaling::targets::settings::Settings;
use evenkeel_scaling::targets::target_objects::TargetObjects;
use evenkeel_scaling::tracker::TickReport;
use evenkeel_scaling::writes::plan;
use evenkeel_service::cluster;
use evenkeel_service::cluster::ClusterState;
use evenkeel_service::cluster::watch::{OptionalWatches, Watches};
use evenkeel_service::controller::leadership::{Elector, Leadership, Replica};
use evenkeel_service::controller::writer::Writer;
use evenkeel_service::controller::{
    ControllerMetrics, WriteQueue, WriteSwitch, Writes, leadership, writer,
};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::support::control_plane::wait::{eventually, holds};
use crate::support::dev_api::{ask, create, namespace, patch, path, with_embedded, with_real};

const NAMESPACES: usize = 10;
const EACH: i32 = 100;
const HPAS: &str = "autoscaling/v2/horizontalpodautoscalers";

fn embedded_floors_rise_by_the_thousand() {
    with_embedded(async |client| floors_rise_by_the_thousand(client).await);
}

fn real_floors_rise_by_the_thousand() {
    with_real(async |client| floors_rise_by_the_thousand(client).await);
}

/// The floor that the HPA of this number in its namespace is to get, above a least of 2.
const fn floor(number: i32) -> i32 {
    3 + number % 7
}

fn autoscaler(number: i32) -> Value {
    json!({
        "metadata": {"name": format!("web-{number}"), "annotations": {"evenkeel.dev/scaling": "floor"}},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": format!("web-{number}")},
            "minReplicas": 2, "maxReplicas": 20,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "AverageValue", "averageValue": "500m"}}}],
        },
    })
}

/// The status that the HPA controller writes every 15 seconds.
async fn write_status(client: &Client, hpa: &str, replicas: u64) {
    let status = json!({"status": {"currentReplicas": replicas, "desiredReplicas": replicas}});
    let (status, answer) = patch(client, &format!("{hpa}/status"), "merge", &status).await;
    assert_eq!(status, 200, "{hpa}: {answer}");
}

/// The patches on their way to an API server.
#[derive(Debug, Default)]
struct Passing {
    /// The paths of all so far, in the order in which they were sent.
    sent: Vec<String>,
    under_way: usize,
    most: usize,
    refused: usize,
}

/// A client that counts its patches of HPAs. Those in the namespace `denied` are refused, as a
/// tenant's own webhook refuses them.
fn counted(client: &Client, passing: &Arc<Mutex<Passing>>, denied: Option<&str>) -> Client {
    let (inner, passing) = (client.clone(), Arc::clone(passing));
    let denied: Option<Arc<str>> = denied.map(|namespace| path(namespace, HPAS).into());
    let service = tower::service_fn(move |request: Request<Body>| {
        let (inner, passing, denied) = (inner.clone(), Arc::clone(&passing), denied.clone());
        async move {
            if request.method() != Method::PATCH {
                return inner.send(request).await;
            }
            {
                let mut passing = passing.lock().unwrap();
                passing.sent.push(request.uri().path().to_owned());
                passing.under_way += 1;
                passing.most = passing.most.max(passing.under_way);
            }
            let is_denied = denied.is_some_and(|hpas| request.uri().path().starts_with(&*hpas));
            let answer = if is_denied {
                Ok(denial())
            } else {
                inner.send(request).await
            };
            let mut passing = passing.lock().unwrap();
            passing.under_way -= 1;
            let made = answer
                .as_ref()
                .is_ok_and(|answer| answer.status().is_success());
            passing.refused += usize::from(!made);
            answer
        }
    });
    Client::new(service, "default")
}

/// The answer of an API server when its admission refuses a write.
fn denial() -> Response<Body> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "admission webhook \"tenant\" denied the request", "reason": "Invalid", "code": 422,
    });
    let body = Body::from(status.to_string().into_bytes());
    let answer = Response::builder().status(422);
    answer
        .header("content-type", "application/json")
        .body(body)
        .unwrap()
}

/// The HPAs as the watches show them.
async fn observed(client: &Client, namespaces: &[String], count: usize) -> Vec<TargetObjects> {
    let state = ClusterState::new(cluster::Settings {
        table: node_table::Settings::default(),
        capacities: Capacities::default(),
        caps_as_demand: false,
        expects_metrics: false,
        balances_scale_in: false,
        shape_policy: None,
    });
    let metrics = cluster::ClusterMetrics::default();
    let rarely = Duration::from_mins(1);
    let further = OptionalWatches {
        discovery: rarely,
        second_scheduler: None,
        kinds: Vec::new(),
    };
    let _at_work = Watches::start(client, &state, &metrics, further);
    eventually("all HPAs are seen", async || {
        let mut targets = state.scaling_view().targets;
        targets.retain(|target| namespaces.iter().any(|one| **one == *target.namespace));
        let known = |target: &TargetObjects| {
            let hpa = target.autoscaler.as_ref();
            hpa.is_some_and(|hpa| hpa.status.current_replicas.is_some())
        };
        let complete = targets.len() == count && targets.iter().all(known);
        holds(complete, || targets.len().to_string()).map(|()| targets)
    })
    .await
}

/// Plans the floor of each HPA, and queues it.
fn queue_floors(targets: &[TargetObjects], queue: &WriteQueue, now: Timestamp) {
    for observed in targets {
        let name = observed.target.name().strip_prefix("web-").unwrap();
        let min = floor(name.parse().unwrap());
        let report = TickReport {
            traffic: None,
            decision: ScalingDecision {
                replicas: min,
                reason: format!("the floor is to be {min}"),
                limited_by: None,
                grounds: DecisionBasis::Reaction,
            },
            loads: Vec::new(),
            horizon: Horizon::default(),
            contribution: Some(Recommendation::of_prediction(
                min,
                now + SignedDuration::from_mins(10),
            )),
            hpa: None,
            portrayed: None,
        };
        let settings = Settings::default();
        let resolved = resolve(observed, false, &settings, None, now);
        let context = PlanContext {
            now,
            reporter: "evenkeel-0",
        };
        let mut memory = PlanMemory::default();
        let writes = plan(observed, &resolved, Some(&report), &mut memory, &context);
        assert_eq!(
            writes.len(),
            2,
            "the floor, and its Event: {:?}",
            resolved.problems
        );
        queue.put(writes.into_iter().next().unwrap());
    }
}

/// The plan of an HPA without any decision.
fn plan_without_floor(observed: &TargetObjects, now: Timestamp) -> Vec<Write> {
    let settings = Settings::default();
    let resolved = resolve(observed, false, &settings, None, now);
    let context = PlanContext {
        now,
        reporter: "evenkeel-0",
    };
    plan(
        observed,
        &resolved,
        None,
        &mut PlanMemory::default(),
        &context,
    )
}

/// A replica that leads, until the tasks end.
async fn leading(client: &Client, namespace: &str, tasks: &mut JoinSet<()>) -> Leadership {
    let leadership = Leadership::default();
    let replica = Replica {
        namespace: namespace.to_owned(),
        identity: "evenkeel-0".to_owned(),
    };
    let settings = leadership::Settings {
        lease_name: "evenkeel".to_owned(),
        timing: Timing::default(),
        identity: None,
    };
    let elector = Elector::new(client.clone(), replica, settings, leadership.clone());
    tasks.spawn(elector.run(CancellationToken::new()));
    eventually("it leads", async || {
        let leads = leadership.is_leader(evenkeel_clock::instant());
        holds(leads, || "it does not".to_owned())
    })
    .await;
    leadership
}

async fn opt_in(client: &Client, namespace: &str) {
    let enabled = json!({"metadata": {"annotations": {"evenkeel.dev/enabled": "true"}}});
    let path = format!("/api/v1/namespaces/{namespace}");
    let (status, answer) = patch(client, &path, "merge", &enabled).await;
    assert_eq!(status, 200, "{answer}");
}

fn embedded_refused_writes_delay_nobody() {
    with_embedded(async |client| refused_writes_delay_nobody(client).await);
}

fn real_refused_writes_delay_nobody() {
    with_real(async |client| refused_writes_delay_nobody(client).await);
}

/// The HPAs of the tenant.
const FORGED: i32 = 50;

/// An HPA with a record that the tenant wrote in Evenkeel's name. By it the user had a least of 0,
/// which makes sense beside an external metric. The tenant's webhook refuses that bounds are put back.
fn forged(number: i32) -> Value {
    let record = json!({"user": {"min": 0, "max": 20}, "written": {"min": 2, "max": 20}});
    let mut forged = autoscaler(number);
    forged["metadata"]["annotations"]["evenkeel.dev/bounds"] = record.to_string().into();
    forged["spec"]["metrics"] = json!([{"type": "External", "external": {
        "metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "5"}}}]);
    forged
}

/// Makes the tenant's HPAs, and one of another owner; returns the path of that one.
async fn forge(client: &Client, tenant: &str, shop: &str) -> String {
    opt_in(client, shop).await;
    for number in 0..FORGED {
        let hpas = format!("{}?fieldManager=evenkeel", path(tenant, HPAS));
        create(client, &hpas, &forged(number)).await;
        let hpa = format!("{}/web-{number}", path(tenant, HPAS));
        write_status(client, &hpa, 2).await;
    }
    create(client, &path(shop, HPAS), &autoscaler(0)).await;
    let web = format!("{}/web-0", path(shop, HPAS));
    write_status(client, &web, 2).await;
    web
}

/// Queues what each tick plans for these: that their bounds are put back.
fn queue_repairs(targets: &[TargetObjects], queue: &WriteQueue, now: Timestamp) {
    let plans = targets
        .iter()
        .flat_map(|target| plan_without_floor(target, now));
    let bounds = plans.filter(|write| write.purpose == Purpose::ScalingBounds);
    let count = bounds.map(|write| queue.put(write)).count();
    assert_eq!(
        count,
        targets.len(),
        "the bounds of each are to be put back"
    );
}

/// A tenant forges records with a refused repair. Another owner's floor rises all the same, and the
/// refused writes are not made again and again.
async fn refused_writes_delay_nobody(client: &Client) {
    let namespaces = [namespace(client).await, namespace(client).await];
    let [tenant, shop] = &namespaces;
    let web = forge(client, tenant, shop).await;
    let all = usize::try_from(FORGED + 1).unwrap();
    let mut tasks = JoinSet::new();
    let targets = observed(client, &namespaces, all).await;
    let (theirs, ours): (Vec<_>, Vec<_>) = targets
        .into_iter()
        .partition(|target| *target.namespace == **tenant);
    let passing = Arc::<Mutex<Passing>>::default();
    let (writer, queue) = Writer::new(
        counted(client, &passing, Some(tenant)),
        writer::Settings::default(),
        leading(client, shop, &mut tasks).await,
        WriteSwitch::new(Writes::Enabled),
        ControllerMetrics::default(),
    );
    let now = evenkeel_clock::now();
    queue_repairs(&theirs, &queue, now);
    queue_floors(&ours, &queue, now);
    tasks.spawn(writer.run(CancellationToken::new()));
    eventually("each has been tried", async || {
        queue_repairs(&theirs, &queue, now);
        let passing = passing.lock().unwrap();
        let tried: HashSet<&String> = passing.sent.iter().collect();
        let ended = tried.len() == all && passing.under_way == 0;
        holds(ended, || tried.len().to_string())
    })
    .await;
    for _ in 0..100 {
        queue_repairs(&theirs, &queue, now);
        tokio::task::yield_now().await;
    }
    tasks.abort_all();
    let (_, found) = ask(client, "GET", &web, &Value::Null).await;
    assert_eq!(found["spec"]["minReplicas"], floor(0));
    hold_tries(&passing.lock().unwrap(), &web);
}

/// The one floor was not behind the refused writes, and each of those was tried once; twice where the
/// test took so long that its rest was over.
fn hold_tries(passing: &Passing, web: &str) {
    let place = passing.sent.iter().position(|path| path == web);
    assert!(
        place.is_some_and(|place| place < 2),
        "{place:?}: the namespaces take turns"
    );
    for path in passing.sent.iter().filter(|path| *path != web) {
        let tries = passing.sent.iter().filter(|sent| *sent == path).count();
        assert!(tries <= 2, "{path} was tried {tries} times");
    }
    let refused = i32::try_from(passing.refused).unwrap();
    assert!(refused >= FORGED, "{refused} were refused");
}

async fn floors_rise_by_the_thousand(client: &Client) {
    let (mut namespaces, mut hpas) = (Vec::new(), Vec::new());
    for _ in 0..NAMESPACES {
        let namespace = namespace(client).await;
        opt_in(client, &namespace).await;
        for number in 0..EACH {
            create(client, &path(&namespace, HPAS), &autoscaler(number)).await;
            let hpa = format!("{}/web-{number}", path(&namespace, HPAS));
            write_status(client, &hpa, 2).await;
            hpas.push((hpa, number));
        }
        namespaces.push(namespace);
    }
    let mut tasks = JoinSet::new();
    let targets = observed(client, &namespaces, hpas.len()).await;
    let leadership = leading(client, &namespaces[0], &mut tasks).await;
    let passing = Arc::<Mutex<Passing>>::default();
    let (writer, queue) = Writer::new(
        counted(client, &passing, None),
        writer::Settings::default(),
        leadership,
        WriteSwitch::new(Writes::Enabled),
        ControllerMetrics::default(),
    );
    queue_floors(&targets, &queue, evenkeel_clock::now());
    // After the plans were made, every object changes, and again while they are written.
    for (hpa, _) in &hpas {
        write_status(client, hpa, 3).await;
    }
    let (churning, all) = (client.clone(), hpas.clone());
    tasks.spawn(async move {
        for (replicas, (hpa, _)) in (4..).zip(all.iter().cycle()) {
            write_status(&churning, hpa, replicas % 5).await;
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
    });
    tasks.spawn(writer.run(CancellationToken::new()));
    eventually("all are written", async || {
        let passing = passing.lock().unwrap();
        let ended = passing.sent.len() - passing.under_way;
        holds(ended == hpas.len(), || format!("{ended} of {}", hpas.len()))
    })
    .await;
    tasks.abort_all();
    for (hpa, number) in &hpas {
        let (_, found) = ask(client, "GET", hpa, &Value::Null).await;
        assert_eq!(found["spec"]["minReplicas"], floor(*number), "{hpa}");
    }
    hold_order(&passing.lock().unwrap());
}

/// Each was sent once, no more at a time than may be, the largest gap of each namespace first, and
/// the namespaces in turns.
fn hold_order(passing: &Passing) {
    let most = writer::Settings::default().in_flight;
    // An API server that answers at once never has two.
    assert!(passing.most <= most, "{} at a time", passing.most);
    assert_eq!(
        (passing.sent.len(), passing.refused),
        (NAMESPACES * usize::try_from(EACH).unwrap(), 0)
    );
    let place = |path: &String| {
        let mut steps = path.split('/').skip(5).step_by(2);
        let (namespace, name) = (steps.next().unwrap().to_owned(), steps.next().unwrap());
        (
            namespace,
            floor(name.strip_prefix("web-").unwrap().parse().unwrap()),
        )
    };
    for (turn, sent) in passing.sent.chunks(NAMESPACES).enumerate() {
        let namespaces: HashSet<String> = sent.iter().map(|path| place(path).0).collect();
        assert_eq!(namespaces.len(), NAMESPACES, "turn {turn}: {sent:?}");
    }
    let turns: Vec<i32> = passing.sent.iter().map(|path| place(path).1).collect();
    assert!(
        turns.is_sorted_by(|earlier, later| earlier >= later),
        "{turns:?}"
    );
}

crate::support::trial::suite!(
    [] => [
        embedded_floors_rise_by_the_thousand,
        embedded_refused_writes_delay_nobody,
    ],
    crate::scenarios::world::NEEDS => [
        real_floors_rise_by_the_thousand,
        real_refused_writes_delay_nobody,
    ],
);
