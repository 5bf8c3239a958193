//! Refusals and their words.

use kube::Client;
use serde_json::Value;

use crate::support::client::{ask, create, namespace, path, pod, refusal};

const CASES: &str = include_str!("../fixtures/refusals.json");

pub(crate) async fn are_worded_alike(client: &Client) {
    let namespace = namespace(client).await;
    create(client, &path(&namespace, "v1/pods"), &pod("there")).await;
    let cases: Vec<Value> = serde_json::from_str(CASES).expect("the cases are JSON");
    for case in cases {
        let text = |field: &str| case[field].as_str().unwrap_or_default();
        let path = text("path").replace("NAMESPACE", &namespace);
        let answer = ask(client, text("method"), &path, &case["body"]).await;
        let (status, reason, message) = refusal(answer);
        assert_eq!(case["status"], status, "{case}: {message}");
        assert!(message.contains(text("message")), "{case}: {message}");
        assert!(
            text("reason").is_empty() || text("reason") == reason,
            "{case}: {reason}"
        );
    }
}

pub(crate) async fn changes_of_running_pods_are_refused(client: &Client) {
    let pods = path(&namespace(client).await, "v1/pods");
    let mut unknown = pod("a");
    unknown["spec"]["fish"] = 1.into();
    let mut moved = create(client, &format!("{pods}?fieldValidation=Ignore"), &unknown).await;
    assert_eq!(moved["spec"].get("fish"), None);
    moved["spec"]["schedulerName"] = "other".into();
    let (status, _, said) = refusal(ask(client, "PUT", &format!("{pods}/a"), &moved).await);
    assert_eq!(status, 422);
    let words = "pod updates may not change fields other than";
    assert!(said.contains(words), "{said}");
}
