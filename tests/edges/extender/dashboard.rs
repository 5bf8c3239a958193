//! The lists and the stream of the dashboard, after calls of kube-scheduler.

use axum::body::Body;
use axum::http::StatusCode;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::{Asked, BIND, FILTER, NAMESPACE, NODES, PRIORITIZE, is_full, opted_in, policy};

/// A Pod that asks for so much, and may go to these nodes.
fn call(uid: &str, cpu: &str, nodes: &[&str]) -> Value {
    let metadata = json!({"name": uid, "namespace": NAMESPACE, "uid": uid});
    let container = json!({"resources": {"requests": {"cpu": cpu}}});
    json!({"Pod": {"metadata": metadata, "spec": {"containers": [container]}}, "NodeNames": nodes})
}

async fn place(service: &Asked, uid: &str, node: &str) {
    let call = call(uid, "500m", &["node-0001", "node-0299"]);
    service.post(FILTER, call.to_string()).await;
    service.post(PRIORITIZE, call.to_string()).await;
    let told = json!({"PodName": uid, "PodNamespace": NAMESPACE, "PodUID": uid, "Node": node});
    service.post(BIND, told.to_string()).await;
}

async fn read(service: &Asked, target: &str) -> Value {
    let answer = service.dashboard(target).await;
    assert_eq!(answer.status(), StatusCode::OK, "{target}");
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap()
}

/// The data of the next event of a stream.
async fn event(body: &mut Body) -> Value {
    let frame = body.frame().await.unwrap().unwrap();
    let text = String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap();
    let data = text
        .strip_prefix("data: ")
        .unwrap_or_else(|| panic!("{text}"));
    serde_json::from_str(data.trim_end()).unwrap()
}

#[tokio::test]
async fn the_list_of_nodes_has_the_loads_that_the_rule_goes_by() {
    let service = Asked::new(opted_in(), policy());
    let list = read(&service, "/api/v1/nodes").await;
    assert_eq!(
        (&list["headroom"], &list["synced"]),
        (&json!(0.8), &json!(true))
    );
    let nodes = list["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), NODES);
    for node in nodes {
        let name = node["name"].as_str().unwrap();
        let over = if is_full(name) {
            json!(["networkIo"])
        } else {
            json!([])
        };
        assert_eq!(node["over"], over, "{node}");
    }
    let first = nodes
        .iter()
        .find(|node| node["name"] == "node-0001")
        .unwrap();
    let cpu = json!({"load": 1010, "capacity": 16000, "freshness": "fresh"});
    assert_eq!(
        (&first["resources"]["cpu"], &first["schedulable"]),
        (&cpu, &json!(true))
    );
    assert_eq!(
        (&first["estimated"], &first["overload"]),
        (&json!(false), &Value::Null)
    );
}

#[tokio::test]
async fn a_placement_has_its_node_its_reason_and_one_entry() {
    let service = Asked::new(opted_in(), policy());
    let empty = read(&service, "/api/v1/placements").await;
    assert_eq!(empty["placements"], json!([]));
    place(&service, "web", "node-0001").await;
    let refused = call("giant", "15", &["node-0001", "node-0299"]);
    service.post(FILTER, refused.to_string()).await;
    let list = read(&service, "/api/v1/placements").await;
    let [web, giant] = &list["placements"].as_array().unwrap()[..] else {
        panic!("{list}");
    };
    assert_eq!(
        (&web["outcome"], &web["node"], &web["score"]),
        (&json!("chosen"), &json!("node-0001"), &json!(10))
    );
    let reason = web["reason"].as_str().unwrap();
    assert!(reason.starts_with("most even: cpu"), "{reason}");
    assert_eq!(
        (&giant["outcome"], &giant["node"]),
        (&json!("refused"), &Value::Null)
    );
    assert_eq!(
        giant["reason"],
        "none of 2 nodes has headroom; they lack cpu on 2"
    );
    // A later answer takes the place of the refusal, whatever kube-scheduler does next.
    for (cpu, node, outcome, reason) in [
        (
            "10",
            json!("node-0001"),
            "expected",
            "the only node with headroom",
        ),
        ("1", Value::Null, "passed", "2 of 2 nodes had headroom"),
    ] {
        let asked = call("giant", cpu, &["node-0001", "node-0299"]);
        service.post(FILTER, asked.to_string()).await;
        let list = read(&service, "/api/v1/placements").await;
        let giant = &list["placements"][1];
        assert_eq!(
            (&giant["outcome"], &giant["node"]),
            (&json!(outcome), &node)
        );
        let found = giant["reason"].as_str().unwrap();
        assert!(found.starts_with(reason), "{found}");
    }
    let other = read(&service, "/api/v1/placements?namespace=other").await;
    assert_eq!(other["placements"], json!([]));
    let wrong = service
        .dashboard("/api/v1/placements?namespace=a&namespace=b")
        .await;
    assert_eq!(wrong.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_calendar_without_objects_is_empty() {
    let service = Asked::new(opted_in(), policy());
    let calendar = read(&service, "/api/v1/calendar").await;
    let empty = json!({"cronHpas": [], "ihpas": [], "portraits": [], "tuning": [], "resizes": []});
    assert_eq!(calendar, empty);
}

#[tokio::test(start_paused = true)]
async fn a_stream_begins_with_everything_and_goes_on_with_what_changes() {
    let service = Asked::new(opted_in(), policy());
    let answer = service.dashboard("/api/v1/stream").await;
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let mut stream = answer.into_body();
    let first = event(&mut stream).await;
    assert_eq!(first["full"], true);
    assert_eq!(first["nodes"].as_array().unwrap().len(), NODES);
    assert!(first.get("placements").is_none(), "{first}");
    // Nothing changes, so the next event is one that shows that the connection lives.
    let begun = evenkeel_clock::runtime();
    let quiet = event(&mut stream).await;
    assert_eq!((&quiet["full"], quiet.get("nodes")), (&json!(false), None));
    assert_eq!(begun.elapsed().as_secs(), 5);
    place(&service, "web", "node-0001").await;
    let begun = evenkeel_clock::runtime();
    let changed = event(&mut stream).await;
    assert_eq!(begun.elapsed().as_secs(), 1, "at most one event a second");
    assert_eq!(changed["placements"][0]["pod"], "web");
    let names: Vec<_> = changed["nodes"].as_array().unwrap().iter().collect();
    assert_eq!(
        names.len(),
        1,
        "only the node with the Pod has changed: {names:?}"
    );
    assert_eq!(names[0]["name"], "node-0001");
}

/// The harm: a page of another site held all streams, and the operator's page got none.
#[tokio::test]
async fn a_page_of_another_site_opens_no_stream() {
    let service = Asked::new(opted_in(), policy());
    for (site, status) in [
        ("cross-site", StatusCode::FORBIDDEN),
        ("same-site", StatusCode::FORBIDDEN),
        ("same-origin", StatusCode::OK),
        ("none", StatusCode::OK),
    ] {
        let answer = service.dashboard_from("/api/v1/stream", site).await;
        assert_eq!(answer.status(), status, "{site}");
    }
}

/// Each stream keeps rows, so their number is bounded, and a slot is free again once its page is gone.
#[tokio::test]
async fn the_number_of_open_streams_is_bounded() {
    let service = Asked::new(opted_in(), policy());
    let mut open = Vec::new();
    for _ in 0..4 {
        let answer = service.dashboard("/api/v1/stream").await;
        assert_eq!(answer.status(), StatusCode::OK);
        open.push(answer);
    }
    let refused = service.dashboard("/api/v1/stream").await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    open.pop();
    let again = service.dashboard("/api/v1/stream").await;
    assert_eq!(again.status(), StatusCode::OK);
}
