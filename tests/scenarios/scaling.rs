//! An HPA on a load that ramps: the floor rises first, kube-controller-manager scales to it, and
//! when the load is gone the HPA is as its user made it.

use std::time::Duration;

use evenkeel_clock::{self as clock, Clock};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use crate::support::control_plane::nodes::{self, NodeShape};
use crate::support::control_plane::objects;

use crate::support::control_plane::with_control_plane;
use crate::support::dev_api::{ask, create, get};
use crate::support::load::{Handle, Prometheus};

use super::resource_metrics::ResourceMetrics;
use super::world::{self, OPTED_IN, Patience, World};

/// Prints the timeline for the reader; the test runner shows it with `--nocapture`.
macro_rules! tell {
    ($($told:tt)*) => {
        #[allow(clippy::print_stdout)]
        {
            println!($($told)*);
        }
    };
}

const NAMESPACE: &str = "ramp";
const HPA: &str = "/apis/autoscaling/v2/namespaces/ramp/horizontalpodautoscalers/web";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/ramp/deployments/web";
pub(super) const MIN: i64 = 2;
/// Half a core is requested, and 80 % of it aimed at.
const EACH: f64 = 0.4;
/// How often kube-controller-manager looks at HPAs.
const SYNC: SignedDuration = SignedDuration::from_secs(15);

/// The cores that are used so long after the beginning: up for four minutes before it and three
/// after, then down to where it came from within a minute and a half.
pub(super) fn ramp(since: SignedDuration) -> f64 {
    let seconds = since.as_secs_f64();
    let noise = 0.01 * (seconds / 7.0).sin();
    let up = 0.4 + 0.01 * (seconds + 240.0).clamp(0.0, 440.0);
    let down = 0.05 * (seconds - 200.0).clamp(0.0, 88.0);
    noise + up - down
}

/// The replicas of an HPA without a floor that looks as often.
#[derive(Debug)]
pub(super) struct Plain {
    pub(super) replicas: i64,
    pub(super) looked: Timestamp,
}

impl Plain {
    #[allow(clippy::cast_precision_loss)] // a handful
    pub(super) fn at(&mut self, now: Timestamp, load: f64) -> i64 {
        if now.duration_since(self.looked) >= SYNC {
            self.looked = now;
            if (load / (self.replicas as f64 * EACH) - 1.0).abs() > 0.1 {
                self.replicas = needed(load).max(MIN);
            }
        }
        self.replicas
    }
}

#[allow(clippy::cast_possible_truncation)] // a handful
pub(super) fn needed(load: f64) -> i64 {
    (load / EACH).ceil() as i64
}

fn the_floor_rises_first_and_kube_controller_manager_scales() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 1, Patience::Ample).await;
        nodes::create(client, "room", 2, &NodeShape::default()).await;
        plane.start_scheduler(world::plain_scheduling()).await;
        objects::create_namespace(client, NAMESPACE, &OPTED_IN).await;
        let origin = clock::now() + SignedDuration::from_secs(20);
        let prometheus =
            Prometheus::start((NAMESPACE, "Deployment/web"), Clock::real(), move |at| {
                ramp(at.duration_since(origin))
            })
            .await;
        let _metrics = ResourceMetrics::start(client, prometheus.handle.clone()).await;
        let begun = needed(prometheus.handle.load(origin));
        workload(client, begun).await;
        let following = tokio::spawn(follow(client.clone(), NAMESPACE, prometheus.handle.clone()));
        let evenkeel = world.serve_scaling(&prometheus.url).await;
        let mut plain = Plain {
            replicas: begun,
            looked: clock::now(),
        };
        let ahead = ahead_of(client, (origin, &prometheus.handle), &mut plain).await;
        scaled(client, ahead).await;
        put_back(client, (origin, &prometheus.handle), &mut plain).await;
        following.abort();
        evenkeel.assert_within_rights();
        for path in [HPA, DEPLOYMENT] {
            let background = json!({"propagationPolicy": "Background"});
            ask(client, "DELETE", path, &background).await;
        }
        until("the Pods are gone", async || {
            let left = objects::pods(client, NAMESPACE).await;
            left.is_empty().then_some(())
        })
        .await;
    });
}

async fn workload(client: &Client, replicas: i64) {
    let deployment = json!({"metadata": {"name": "web"}, "spec": {"replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{
            "name": "app", "image": "none",
            "resources": {"requests": {"cpu": "500m", "memory": "64Mi"}}}]}}}});
    create(
        client,
        "/apis/apps/v1/namespaces/ramp/deployments",
        &deployment,
    )
    .await;
    let hpa = json!({
        "metadata": {"name": "web", "annotations": {"evenkeel.dev/scaling": "floor"}},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": MIN, "maxReplicas": 20,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 80}}}],
            "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}},
        },
    });
    create(
        client,
        "/apis/autoscaling/v2/namespaces/ramp/horizontalpodautoscalers",
        &hpa,
    )
    .await;
}

/// Tells Prometheus which Pods there are.
pub(super) async fn follow(client: Client, namespace: &str, load: Handle) {
    let pods: Api<Pod> = Api::namespaced(client, namespace);
    loop {
        if let Ok(found) = pods.list(&ListParams::default()).await {
            let names: Vec<String> = found.iter().map(ResourceExt::name_any).collect();
            load.set_pods(&names);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// One line of what happens.
async fn look(client: &Client, (origin, load): (Timestamp, &Handle), plain: &mut Plain) -> Moment {
    let (hpa, deployment) = (get(client, HPA).await, get(client, DEPLOYMENT).await);
    let now = clock::now();
    let load = load.load(now);
    let moment = Moment {
        seconds: now.duration_since(origin).as_secs(),
        min: hpa["spec"]["minReplicas"].as_i64().expect("a least"),
        plain: plain.at(now, load),
        replicas: deployment["spec"]["replicas"].as_i64().expect("a count"),
        recorded: hpa["metadata"]["annotations"]["evenkeel.dev/bounds"].is_string(),
    };
    let Moment {
        seconds,
        min,
        plain,
        replicas,
        ..
    } = moment;
    let ready = deployment["status"]["readyReplicas"].as_i64().unwrap_or(0);
    tell!(
        "{seconds:>5} s  load {load:.2}  floor {min:>2}  replicas {replicas:>2}  ready {ready:>2}  plain HPA {plain:>2}"
    );
    moment
}

#[derive(Debug, Clone, Copy)]
struct Moment {
    seconds: i64,
    min: i64,
    plain: i64,
    replicas: i64,
    recorded: bool,
}

/// Waits until the floor has been above what an HPA alone would have by then, and that has followed.
async fn ahead_of(client: &Client, load: (Timestamp, &Handle), plain: &mut Plain) -> Moment {
    let mut first: Option<Moment> = None;
    let (ahead, now) = until("the HPA alone follows the floor", async || {
        let now = look(client, load, plain).await;
        if first.is_none() && now.min > now.plain && now.min > MIN {
            first = Some(now);
        }
        let ahead = first?;
        (now.plain >= ahead.min).then_some((ahead, now))
    })
    .await;
    tell!("the floor was {} s ahead", now.seconds - ahead.seconds);
    ahead
}

/// Looks every second; minutes pass on a real HPA's clock.
pub(super) async fn until<T>(what: &str, mut probe: impl AsyncFnMut() -> Option<T>) -> T {
    let began = clock::instant();
    loop {
        if let Some(found) = probe().await {
            return found;
        }
        assert!(began.elapsed() < Duration::from_mins(10), "{what}");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Evenkeel did not write the count, but it did write the floor.
async fn scaled(client: &Client, ahead: Moment) {
    let deployment = get(client, DEPLOYMENT).await;
    assert!(
        deployment["spec"]["replicas"].as_i64() >= Some(ahead.min),
        "{deployment}"
    );
    let managers = |object: &Value, field: &str| -> Vec<String> {
        let entries = object["metadata"]["managedFields"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let owns = |entry: &&Value| entry["fieldsV1"]["f:spec"][field].is_object();
        let manager = |entry: &Value| entry["manager"].as_str().unwrap_or_default().to_owned();
        entries.iter().filter(owns).map(manager).collect()
    };
    assert_eq!(
        managers(&deployment, "f:replicas"),
        ["kube-controller-manager"]
    );
    assert_eq!(
        managers(&get(client, HPA).await, "f:minReplicas"),
        ["evenkeel"]
    );
    let path = "/apis/events.k8s.io/v1/namespaces/ramp/events";
    let (_, events) = ask(client, "GET", path, &Value::Null).await;
    let items = events["items"].as_array().cloned().unwrap_or_default();
    let of = |reason: &str| items.iter().any(|event| event["reason"] == reason);
    assert!(of("FloorRaised") && of("SuccessfulRescale"), "{events}");
    for event in items
        .iter()
        .filter(|event| event["reason"] == "FloorRaised")
    {
        tell!("{}", event["note"].as_str().unwrap_or_default());
    }
}

async fn put_back(client: &Client, load: (Timestamp, &Handle), plain: &mut Plain) {
    until("the user's bounds are back", async || {
        let now = look(client, load, plain).await;
        let back = now.min == MIN && !now.recorded && now.replicas <= now.plain;
        back.then_some(())
    })
    .await;
}

crate::support::trial::suite!(super::world::NEEDS => [
    the_floor_rises_first_and_kube_controller_manager_scales,
]);
