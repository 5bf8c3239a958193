//! A plain HPA on Evenkeel's External metric. kube-controller-manager reads it through the API
//! server's aggregation layer and scales ahead of the load by its own rules. If no server answers,
//! the replicas stay. Nothing is written to the HPA.

use evenkeel_clock::{self as clock, Clock};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use serde_json::{Value, json};

use crate::support::control_plane::nodes::{self, NodeShape};
use crate::support::control_plane::objects;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;
use crate::support::dev_api::{ask, create, get};
use crate::support::load::{Handle, Prometheus};

use super::resource_metrics::ResourceMetrics;
use super::scaling::{MIN, Plain, follow, needed, ramp, until};
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

const NAMESPACE: &str = "ahead";
const HPA: &str = "/apis/autoscaling/v2/namespaces/ahead/horizontalpodautoscalers/web";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/ahead/deployments/web";
const GROUP: &str = "/apis/external.metrics.k8s.io/v1beta1";
const EXPECTED: &str = "/apis/external.metrics.k8s.io/v1beta1/namespaces/ahead/\
                        evenkeel-expected-load?labelSelector=name%3Dweb%2Csignal%3Dcpu";
const API_SERVICE: &str =
    "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.external.metrics.k8s.io";

fn a_plain_hpa_scales_ahead_on_the_expected_load_and_stays_when_nobody_answers() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let mut world = World::new(plane, 1, Patience::Ample).await;
        nodes::create(client, "room", 2, &NodeShape::default()).await;
        plane.start_scheduler(world::plain_scheduling()).await;
        objects::create_namespace(client, NAMESPACE, &OPTED_IN).await;
        let origin = clock::now() + SignedDuration::from_secs(30);
        let load = move |at: Timestamp| ramp(at.duration_since(origin));
        let target = (NAMESPACE, "Deployment/web");
        let prometheus = Prometheus::start(target, Clock::real(), load).await;
        let _metrics = ResourceMetrics::start(client, prometheus.handle.clone()).await;
        let begun = needed(prometheus.handle.load(clock::now()));
        workload(client, begun).await;
        let pods = follow(client.clone(), NAMESPACE, prometheus.handle.clone());
        let following = tokio::spawn(pods);
        let mut evenkeel = world.serve_external_metrics(&prometheus.url).await;
        available(client).await;
        let plain = Plain {
            replicas: begun,
            looked: clock::now(),
        };
        let mut line = Line {
            client,
            origin,
            load: &prometheus.handle,
            plain,
            is_served: true,
        };
        ahead(&mut line).await;
        until("the load is at its height", async || {
            let now = line.look().await;
            (now.seconds >= 195).then_some(())
        })
        .await;
        evenkeel.assert_within_rights();
        world.signer.assert_within_rights();
        evenkeel.stop().await;
        line.is_served = false;
        stays(&mut line).await;
        following.abort();
        for path in [API_SERVICE, HPA, DEPLOYMENT] {
            let background = json!({"propagationPolicy": "Background"});
            ask(client, "DELETE", path, &background).await;
        }
    });
}

/// A Deployment, and an HPA that a user writes: by what the Pods use now, and by the expected load.
async fn workload(client: &Client, replicas: i64) {
    let deployment = json!({"metadata": {"name": "web"}, "spec": {"replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{
            "name": "app", "image": "none",
            "resources": {"requests": {"cpu": "500m", "memory": "64Mi"}}}]}}}});
    let deployments = "/apis/apps/v1/namespaces/ahead/deployments";
    create(client, deployments, &deployment).await;
    let selector = json!({"kind": "Deployment", "name": "web", "signal": "cpu"});
    let hpa = json!({"metadata": {"name": "web"}, "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": MIN, "maxReplicas": 20,
        "metrics": [
            {"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 80}}},
            {"type": "External", "external": {
                "metric": {"name": "evenkeel-expected-load", "selector": {"matchLabels": selector}},
                "target": {"type": "AverageValue", "averageValue": "400m"}}},
        ],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}},
    }});
    let hpas = "/apis/autoscaling/v2/namespaces/ahead/horizontalpodautoscalers";
    create(client, hpas, &hpa).await;
}

/// The API server takes the group for available, and passes requests on.
async fn available(client: &Client) {
    eventually("external metrics are available", async || {
        let object = get(client, API_SERVICE).await;
        let conditions = object["status"]["conditions"].as_array().cloned();
        let is_available = |one: &Value| one["type"] == "Available" && one["status"] == "True";
        let mut conditions = conditions.into_iter().flatten();
        holds(conditions.any(|one| is_available(&one)), || {
            object["status"].to_string()
        })
    })
    .await;
    let (status, resources) = ask(client, "GET", GROUP, &Value::Null).await;
    assert_eq!(status, 200, "{resources}");
    assert_eq!(resources["resources"][0]["name"], "evenkeel-expected-load");
    // The list of all groups contains this one.
    let (_, groups) = ask(client, "GET", "/apis", &Value::Null).await;
    let groups = groups["groups"].as_array().cloned().unwrap_or_default();
    assert!(
        groups
            .iter()
            .any(|group| group["name"] == "external.metrics.k8s.io")
    );
}

/// The sampled state, second by second.
struct Line<'a> {
    client: &'a Client,
    origin: Timestamp,
    load: &'a Handle,
    plain: Plain,
    /// False once no server answers: the client would try again for minutes.
    is_served: bool,
}

#[derive(Debug, Clone)]
struct Moment {
    seconds: i64,
    /// The value of the metric and its basis, as a client with the right to list it sees them.
    expected: Option<(String, String)>,
    replicas: i64,
    plain: i64,
}

impl Line<'_> {
    /// The value of the metric and its basis, if a server answers.
    async fn expected(&self) -> Option<(String, String)> {
        if !self.is_served {
            return None;
        }
        let (status, list) = ask(self.client, "GET", EXPECTED, &Value::Null).await;
        let item = &list["items"][0];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (status == 200 && item.is_object())
            .then(|| (text(&item["value"]), text(&item["metricLabels"]["basis"])))
    }

    async fn look(&mut self) -> Moment {
        let deployment = get(self.client, DEPLOYMENT).await;
        let expected = self.expected().await;
        let now = clock::now();
        let load = self.load.load(now);
        let moment = Moment {
            seconds: now.duration_since(self.origin).as_secs(),
            expected,
            replicas: deployment["spec"]["replicas"].as_i64().expect("a count"),
            plain: self.plain.at(now, load),
        };
        let (value, basis) = moment.expected.clone().unwrap_or_default();
        let ready = deployment["status"]["readyReplicas"].as_i64().unwrap_or(0);
        tell!(
            "{:>5} s  load {load:.2}  expected {value:>8} {basis:<8}  replicas {:>2}  ready {ready:>2}  plain HPA {:>2}",
            moment.seconds,
            moment.replicas,
            moment.plain
        );
        moment
    }
}

/// Waits until there have been more replicas than an HPA alone would have by then, which it has later.
async fn ahead(line: &mut Line<'_>) {
    let mut first: Option<Moment> = None;
    let (ahead, now) = until("the HPA alone follows", async || {
        let now = line.look().await;
        let basis = now.expected.as_ref().map(|(_, basis)| basis.as_str());
        if first.is_none() && now.replicas > now.plain && basis == Some("forecast") {
            first = Some(now.clone());
        }
        let ahead = first.clone()?;
        (now.plain >= ahead.replicas).then_some((ahead, now))
    })
    .await;
    tell!("{} s ahead of an HPA alone", now.seconds - ahead.seconds);
    let hpa = get(line.client, HPA).await;
    assert_eq!(hpa["spec"]["minReplicas"], MIN, "no floor was raised");
    assert!(
        hpa["metadata"]["annotations"]["evenkeel.dev/bounds"].is_null(),
        "{hpa}"
    );
    let metrics = hpa["status"]["currentMetrics"].as_array().cloned();
    let mut metrics = metrics.into_iter().flatten();
    let external = metrics.find(|metric| metric["type"] == "External");
    let external = external.expect("the HPA has read it");
    assert_eq!(
        external["external"]["metric"]["name"],
        "evenkeel-expected-load"
    );
}

/// While no server answers and the load is gone, the replicas stay.
async fn stays(line: &mut Line<'_>) {
    let before = line.look().await;
    until("the load is gone for a while", async || {
        let now = line.look().await;
        assert!(
            now.replicas >= before.replicas,
            "an error is no zero: {now:?}"
        );
        (now.seconds > 320).then_some(())
    })
    .await;
    let hpa = get(line.client, HPA).await;
    assert!(needed(line.load.load(clock::now())) < before.replicas);
    let path = "/apis/events.k8s.io/v1/namespaces/ahead/events";
    let (_, events) = ask(line.client, "GET", path, &Value::Null).await;
    let items = events["items"].as_array().cloned().unwrap_or_default();
    let told = items
        .iter()
        .find(|event| event["reason"] == "FailedGetExternalMetric");
    let told = told.unwrap_or_else(|| panic!("{events} {hpa}"));
    tell!("{}", told["note"].as_str().unwrap_or_default());
}

crate::support::trial::suite!(super::world::NEEDS => [
    a_plain_hpa_scales_ahead_on_the_expected_load_and_stays_when_nobody_answers,
]);
