//! Reads of an HPA from an API server that answers by path: missing rights and objects.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::to_bytes;
use evenkeel_hpa::autoscaler::Autoscaler;
use evenkeel_hpa::explanation::{PastRescale, RescaleHistory};
use evenkeel_service::cluster::ScalingObject;
use evenkeel_service::hpa_reader::read;
use hyper::{Request, Response};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::edges::extender::opted_in;
use crate::support::answering::{Asked, policy};

const HPA: &str = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web";
const HPAS: &str = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers";
const SCALE: &str = "/apis/apps/v1/namespaces/shop/deployments/web/scale";
const PODS: &str = "/api/v1/namespaces/shop/pods";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/shop/events";
const USAGE: &str = "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods";

fn now() -> Timestamp {
    "2026-03-01T10:00:00Z".parse().unwrap()
}

fn hpa(name: &str, kind: &str) -> Value {
    json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"minReplicas": 1, "maxReplicas": 9,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": kind, "name": name},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 50}}}]},
        "status": {"currentReplicas": 2, "desiredReplicas": 2}})
}

fn pod(name: &str) -> Value {
    let begun = "2026-03-01T09:00:00Z";
    json!({"metadata": {"name": name, "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Running", "startTime": begun, "conditions":
            [{"type": "Ready", "status": "True", "lastTransitionTime": begun}]}})
}

fn usage(name: &str, cpu: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop"}, "window": "15s",
        "timestamp": "2026-03-01T09:59:50Z", "containers": [{"name": "app", "usage": {"cpu": cpu}}]})
}

fn list(items: &[Value]) -> Value {
    json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items})
}

/// The answer of a cluster with the HPA `web` of two Pods; other paths are not served.
fn answer(path: &str) -> Value {
    match path {
        HPA => hpa("web", "Deployment"),
        HPAS => list(&[hpa("web", "Deployment")]),
        SCALE => json!({"spec": {"replicas": 2},
            "status": {"replicas": 2, "selector": "app=web"}, "metadata": {"name": "web"}}),
        PODS => list(&[pod("web-0"), pod("web-1")]),
        EVENTS => list(&[]),
        USAGE => list(&[usage("web-0", "700m"), usage("web-1", "700m")]),
        _ => Value::Null,
    }
}

/// A client whose server answers by path; `status` changes the status of some paths.
fn client(
    status: impl Fn(&str) -> Option<u16> + Send + Sync + 'static,
    answer: impl Fn(&str) -> Value + Send + Sync + 'static,
) -> Client {
    let (status, answer) = (Arc::new(status), Arc::new(answer));
    let service = tower::service_fn(move |request: Request<Body>| {
        let path = request.uri().path().to_owned();
        let found = answer(&path);
        let code = status(&path).unwrap_or(if found.is_null() { 404 } else { 200 });
        let body = if code == 200 {
            found
        } else {
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                "message": "refused", "reason": "Refused", "code": code})
        };
        let response = Response::builder().status(code);
        let response = response.body(Body::from(body.to_string().into_bytes()));
        async move { Ok::<_, Infallible>(response.unwrap()) }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn an_hpa_is_read_with_its_pods_and_their_usage() {
    let client = client(|_| None, answer);
    let found = read(&client, "shop", "web", now()).await.unwrap();
    let explained = found.explain();
    assert_eq!(
        (explained.current_replicas, explained.decided_replicas),
        (Some(2), Some(3))
    );
    assert_eq!(explained.metrics[0].current.as_deref(), Some("70%"));
    let counted = explained.metrics[0].pods.iter();
    let counted: Vec<_> = counted.map(|pod| pod.counted.as_deref()).collect();
    assert_eq!(counted, [Some("700m"), Some("700m")]);
    assert_eq!(found.unread, Vec::<String>::new());
}

/// A read that fails ends in an error or is kept as data; both name the right that it takes.
#[tokio::test]
async fn each_missing_right_is_named() {
    for (path, right) in [
        (HPA, "get horizontalpodautoscalers.autoscaling -n shop"),
        (SCALE, "get deployments.apps --subresource=scale -n shop"),
        (PODS, "list pods -n shop"),
        (HPAS, "list horizontalpodautoscalers.autoscaling -n shop"),
        (EVENTS, "list events.events.k8s.io -n shop"),
        (USAGE, "list pods.metrics.k8s.io -n shop"),
    ] {
        let client = client(move |asked| (asked == path).then_some(403), answer);
        let text = match read(&client, "shop", "web", now()).await {
            Ok(found) => format!("{:?}", found.explain()),
            Err(error) => error.to_string(),
        };
        let told = format!("the right to {right} is missing");
        assert!(text.contains(&told), "{told}: {text}");
    }
}

/// An HPA by an External metric, whose adapter answers with the status.
async fn external(status: u16) -> String {
    let path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue";
    let client = client(
        move |asked| (asked == path).then_some(status),
        |path| {
            let mut found = answer(path);
            if path == HPA {
                found["spec"]["metrics"] = json!([{"type": "External", "external": {
                    "metric": {"name": "Queue"},
                    "target": {"type": "AverageValue", "averageValue": "5"}}}]);
            }
            found
        },
    );
    let found = read(&client, "shop", "web", now()).await.unwrap();
    found.explain().summary.join("\n")
}

#[tokio::test]
async fn an_adapter_that_does_not_answer_is_named_with_its_right() {
    let right = "list queue.external.metrics.k8s.io -n shop";
    let forbidden = external(403).await;
    assert!(
        forbidden.contains(&format!("the right to {right}")),
        "{forbidden}"
    );
    let unserved = external(404).await;
    assert!(
        unserved.contains(&format!("must serve {right}")),
        "{unserved}"
    );
    assert!(
        unserved.contains("external/Queue has no value"),
        "{unserved}"
    );
}

fn event(size: i32, first: &str, last: &str, count: i32) -> Value {
    json!({"reason": "SuccessfulRescale", "deprecatedCount": count, "metadata": {"name": first},
        "regarding": {"kind": "HorizontalPodAutoscaler", "name": "web"},
        "note": format!("New size: {size}; reason: cpu resource utilization above target"),
        "deprecatedFirstTimestamp": first, "deprecatedLastTimestamp": last})
}

fn past(replicas: i32, at: &str) -> PastRescale {
    PastRescale {
        at: at.parse().unwrap(),
        replicas,
        is_rise_by_metric: true,
    }
}

#[tokio::test]
async fn rescales_are_read_with_their_first_and_last_time() {
    const EARLY: &str = "2026-03-01T09:40:00Z";
    const LATE: &str = "2026-03-01T09:45:00Z";
    const LATEST: &str = "2026-03-01T09:49:00Z";
    let client = client(
        |_| None,
        |path| {
            let mut other = event(7, EARLY, EARLY, 1);
            other["reason"] = json!("FailedGetScale");
            let mut of_earlier_hpa = event(8, LATE, LATE, 1);
            of_earlier_hpa["regarding"]["uid"] = json!("another");
            match path {
                EVENTS => list(&[
                    event(5, EARLY, LATEST, 3),
                    event(3, LATE, LATE, 1),
                    other,
                    event(9, "9999-12-30T21:59:00Z", "9999-12-30T21:59:00Z", 1),
                    of_earlier_hpa,
                ]),
                _ => answer(path),
            }
        },
    );
    let found = read(&client, "shop", "web", now()).await.unwrap();
    let rescales = vec![past(5, EARLY), past(3, LATE), past(5, LATEST)];
    let gap = Some(LATEST.parse().unwrap());
    assert_eq!(found.history, RescaleHistory::new(rescales, gap));
}

#[tokio::test]
async fn what_is_absent_is_told_with_what_is_accepted() {
    let client_without =
        |path: &'static str| client(move |asked| (asked == path).then_some(404), answer);
    let error = read(&client_without(HPA), "shop", "web", now()).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("there is no HPA shop/web"), "{error}");
    assert!(error.contains("kubectl get hpa -n shop"), "{error}");
    for (path, told) in [
        (SCALE, "deployments.apps \"web\" not found"),
        (
            USAGE,
            "does not serve metrics.k8s.io, which metrics-server provides",
        ),
    ] {
        let found = read(&client_without(path), "shop", "web", now()).await;
        let explained = found.unwrap().explain();
        assert_eq!(explained.decided_replicas, None, "{path}");
        let summary = explained.summary.join("\n");
        assert!(summary.contains(told), "{told}: {summary}");
    }
    let widget = client(
        |_| None,
        |path| match path {
            HPA => hpa("web", "Widget"),
            "/apis/apps/v1" => json!({"kind": "APIResourceList", "groupVersion": "apps/v1",
            "resources": []}),
            _ => Value::Null,
        },
    );
    let found = read(&widget, "shop", "web", now()).await.unwrap().explain();
    let summary = found.summary.join("\n");
    assert!(
        summary.contains("no matches for kind \"Widget\""),
        "{summary}"
    );
}

#[tokio::test]
async fn an_hpa_that_selects_the_same_pods_is_found() {
    let client = client(
        |_| None,
        |path| match path {
            HPAS => list(&[hpa("web", "Deployment"), hpa("other", "StatefulSet")]),
            "/apis/apps/v1/namespaces/shop/statefulsets/other/scale" => answer(SCALE),
            _ => answer(path),
        },
    );
    let found = read(&client, "shop", "web", now()).await.unwrap().explain();
    assert_eq!(found.decided_replicas, None);
    let summary = found.summary.join("\n");
    let told = "are controlled by multiple HPAs: [shop/other shop/web]";
    assert!(summary.contains(told), "{summary}");
}

/// A kind that the cluster does not serve is no missing right: the API server refuses an unknown kind
/// too.
#[tokio::test]
async fn only_a_served_kind_has_a_right_that_is_missing() {
    const GROUP: &str = "/apis/autoscaling.evenkeel.dev/v1alpha1";
    let kinds = ["cronhpas", "intelligenthorizontalpodautoscalers"];
    for is_served in [false, true] {
        let client = client(
            |path| (path.starts_with(GROUP) && path != GROUP).then_some(403),
            move |path| match path {
                GROUP if is_served => json!({"kind": "APIResourceList", "groupVersion": "g/v",
                    "resources": kinds.map(|name| json!({"name": name, "singularName": "",
                        "namespaced": true, "kind": name, "verbs": ["list"]}))}),
                _ => answer(path),
            },
        );
        let found = read(&client, "shop", "web", now()).await.unwrap();
        let unread = found.unread.join("\n");
        for kind in kinds {
            let told =
                format!("the right to list {kind}.autoscaling.evenkeel.dev -n shop is missing");
            assert_eq!(unread.contains(&told), is_served, "{told}: {unread}");
        }
        assert_eq!(
            found.unread.len(),
            if is_served { 2 } else { 0 },
            "{unread}"
        );
    }
}

/// Five HPAs of two targets, whose scales take one right.
#[tokio::test]
async fn the_scale_of_each_other_target_is_read_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let client = client(
        move |path| {
            let is_other = path.contains("/statefulsets/") && path.ends_with("/scale");
            counted.fetch_add(usize::from(is_other), Ordering::Relaxed);
            is_other.then_some(403)
        },
        |path| {
            if path != HPAS {
                return answer(path);
            }
            let other = |index: usize| {
                let mut other = hpa(&format!("other-{index}"), "StatefulSet");
                other["spec"]["scaleTargetRef"]["name"] = json!(format!("db-{}", index % 2));
                other
            };
            list(&[0, 1, 2, 3, 4].map(other))
        },
    );
    let found = read(&client, "shop", "web", now()).await.unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    let told = "HPAs other-0, other-2, other-4 and 2 more may share Pods with this one, because \
                the right to get statefulsets.apps --subresource=scale -n shop is missing.";
    assert_eq!(found.unread, [told]);
}

/// The HPA controller reads answers of any length.
#[tokio::test]
async fn usage_of_many_mebibytes_is_read() {
    let client = client(
        |_| None,
        |path| {
            let mut found = answer(path);
            if path == USAGE {
                let padding = "x".repeat(5 * 1024 * 1024);
                found["items"][0]["metadata"]["annotations"] = json!({"padding": padding});
            }
            found
        },
    );
    let found = read(&client, "shop", "web", now()).await.unwrap();
    assert_eq!(found.explain().decided_replicas, Some(3));
}

async fn dashboard(service: &Asked, path: &str) -> (u16, Value) {
    let answer = service.dashboard(path).await;
    let status = answer.status().as_u16();
    let body = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

/// The dashboard lists the HPAs in memory, and explains one with live figures.
#[tokio::test]
async fn the_dashboard_explains_hpas_that_have_not_opted_in() {
    let cluster = opted_in();
    let object = Autoscaler::deserialize(hpa("web", "Deployment")).unwrap();
    cluster.apply_scaling_object(ScalingObject::Autoscaler(Arc::new(object)));
    let service = Asked::new(cluster, policy()).with_api_server(client(|_| None, answer));
    let (_, list) = dashboard(&service, "/api/v1/hpas").await;
    let expected = json!({"namespace": "shop", "name": "web", "target": "Deployment web",
        "current": 2, "desired": 2, "min": 1, "max": 9, "active": null, "optedIn": false});
    assert_eq!(list["hpas"], json!([expected]));
    let path = "/api/v1/hpas/explain?namespace=shop&name=";
    let (status, found) = dashboard(&service, &format!("{path}web")).await;
    assert_eq!(status, 200, "{found}");
    assert_eq!(found["decidedReplicas"], 3);
    assert_eq!(found["metrics"][0]["pods"][0]["counted"], "700m");
    let (status, absent) = dashboard(&service, &format!("{path}api")).await;
    assert_eq!((status, &absent["reason"]), (404, &json!("NoSuchHpa")));
    let (status, wrong) = dashboard(&service, "/api/v1/hpas/explain?namespace=shop").await;
    assert_eq!((status, &wrong["reason"]), (400, &json!("WrongParameters")));
}

#[tokio::test]
async fn the_dashboard_names_the_right_that_the_service_lacks() {
    let refused = client(|path| (path == PODS).then_some(403), answer);
    let service = Asked::new(opted_in(), policy()).with_api_server(refused);
    let path = "/api/v1/hpas/explain?namespace=shop&name=web";
    let (status, found) = dashboard(&service, path).await;
    assert_eq!((status, &found["reason"]), (502, &json!("RightMissing")));
    let text = found["error"].as_str().unwrap();
    assert!(text.contains("list pods -n shop"), "{text}");
}

#[tokio::test]
async fn the_dashboard_explains_two_hpas_at_a_time() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (now, seen) = (Arc::clone(&running), Arc::clone(&most));
    let service = tower::service_fn(move |_: Request<Body>| {
        let (now, seen) = (Arc::clone(&now), Arc::clone(&seen));
        async move {
            seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            now.fetch_sub(1, Ordering::SeqCst);
            let response = Response::builder().status(404);
            Ok::<_, Infallible>(response.body(Body::empty()).unwrap())
        }
    });
    let service = Asked::new(opted_in(), policy()).with_api_server(Client::new(service, "default"));
    let path = "/api/v1/hpas/explain?namespace=shop&name=web";
    let answers = futures::future::join_all((0..6).map(|_| dashboard(&service, path))).await;
    assert!(answers.iter().all(|(status, _)| *status == 404));
    assert_eq!(most.load(Ordering::SeqCst), 2);
}
