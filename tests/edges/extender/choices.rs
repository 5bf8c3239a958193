//! An answer that depends on where the last Pod went waits a moment for kube-scheduler to tell it.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Asked, BIND, FILTER, NAMESPACE, PRIORITIZE, opted_in, passed, policy, scores};

/// Two that are almost equal, and one that is fuller and has room all the same.
const ASKED: [&str; 3] = ["node-0001", "node-0002", "node-0299"];

/// Either of the two has room for one such Pod.
fn heavy(uid: &str) -> Value {
    let metadata = json!({"name": uid, "namespace": NAMESPACE, "uid": uid});
    let container = json!({"resources": {"requests": {"cpu": "6"}}});
    json!({"Pod": {"metadata": metadata, "spec": {"containers": [container]}}, "NodeNames": ASKED})
}

async fn tell(service: &Asked, uid: &str, node: &str) {
    let told = json!({"PodName": uid, "PodNamespace": NAMESPACE, "PodUID": uid, "Node": node});
    service.post(BIND, told.to_string()).await;
}

async fn filter(service: &Asked, uid: &str) -> Vec<String> {
    let call = heavy(uid);
    passed(&call, &service.post(FILTER, call.to_string()).await)
}

/// The first Pod is scored, highest on the first node, and the second one almost as high.
async fn one_placed(has_notices: bool) -> Asked {
    let service = Asked::new(opted_in(), policy());
    if has_notices {
        let call = heavy("before");
        service.post(PRIORITIZE, call.to_string()).await;
        tell(&service, "before", "node-0003").await;
    }
    assert_eq!(filter(&service, "first").await, ASKED);
    let call = heavy("first");
    let answer = service.post(PRIORITIZE, call.to_string()).await;
    assert_eq!(scores(&call, &answer), [10, 9, 0]);
    service
}

fn waits(service: &Asked, ended: &str) -> u32 {
    let page = service.page();
    let line = format!("extender_filter_waits_total{{ended=\"{ended}\"}} ");
    let value = page.lines().find_map(|text| text.split_once(&line));
    value.map_or(0, |(_, count)| count.parse().expect("a count"))
}

#[tokio::test(start_paused = true)]
async fn the_next_pod_goes_where_the_last_one_did_not() {
    for (chosen, left) in [("node-0001", "node-0002"), ("node-0002", "node-0001")] {
        let service = one_placed(true).await;
        // Time passes once all calls wait.
        let later = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            tell(&service, "first", chosen).await;
        };
        let (passed, ()) = tokio::join!(filter(&service, "second"), later);
        assert_eq!(passed, [left, "node-0299"], "the first went to {chosen}");
        assert_eq!((waits(&service, "told"), waits(&service, "late")), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_notice_that_does_not_come_is_waited_for_once() {
    let service = one_placed(true).await;
    // Both keep room for the first; the third Pod has no other node, and is not refused for a doubt.
    for (uid, passes) in [("second", "node-0299"), ("third", "node-0002")] {
        assert_eq!(filter(&service, uid).await, [passes], "{uid}");
        assert_eq!((waits(&service, "told"), waits(&service, "late")), (0, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn the_notice_of_another_pod_ends_no_wait() {
    let service = one_placed(true).await;
    let other = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        tell(&service, "before", "node-0003").await;
    };
    let (passed, ()) = tokio::join!(filter(&service, "second"), other);
    assert_eq!(passed, ["node-0299"]);
    assert_eq!((waits(&service, "told"), waits(&service, "late")), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn where_no_notices_come_nobody_waits() {
    let service = one_placed(false).await;
    assert_eq!(filter(&service, "second").await, ["node-0299"]);
    assert_eq!((waits(&service, "told"), waits(&service, "late")), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_depend_on_it_waits_for_nothing() {
    let service = one_placed(true).await;
    let mut small = heavy("small");
    small["Pod"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("100m");
    let answer = service.post(FILTER, small.to_string()).await;
    assert_eq!(passed(&small, &answer), ASKED);
    assert_eq!((waits(&service, "told"), waits(&service, "late")), (0, 0));
}
