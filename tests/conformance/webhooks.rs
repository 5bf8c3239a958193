//! What an API server does with the answers of a mutating webhook.

use std::sync::atomic::Ordering;

use kube::Client;
use serde_json::{Value, json};

use crate::support::control_plane::wait::{eventually, holds};
use crate::support::dev_api::{ask, create, hook, namespace, path, pod};

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

/// What becomes of the Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Marked,
    Created,
    Refused(u64),
}

/// Cases, with their outcomes under `Ignore` and under `Fail`.
const CASES: &[(&str, Outcome, Outcome)] = &[
    ("good", Outcome::Marked, Outcome::Marked),
    ("empty-patch", Outcome::Created, Outcome::Created),
    ("unknown-field", Outcome::Created, Outcome::Created),
    ("warns", Outcome::Created, Outcome::Created),
    ("wrong-uid", Outcome::Created, Outcome::Refused(500)),
    ("no-response", Outcome::Created, Outcome::Refused(500)),
    ("no-patch-type", Outcome::Created, Outcome::Refused(500)),
    ("not-base64", Outcome::Created, Outcome::Refused(500)),
    ("fails", Outcome::Created, Outcome::Refused(500)),
    ("slow", Outcome::Created, Outcome::Refused(500)),
    (
        "does-not-apply",
        Outcome::Refused(500),
        Outcome::Refused(500),
    ),
    (
        "does-not-decode",
        Outcome::Refused(500),
        Outcome::Refused(500),
    ),
    ("is-invalid", Outcome::Refused(422), Outcome::Refused(422)),
    ("denied", Outcome::Refused(403), Outcome::Refused(403)),
    (
        "denied-silently",
        Outcome::Refused(400),
        Outcome::Refused(400),
    ),
];

fn webhooks(hook: &hook::Hook, namespace: &str) -> Value {
    let one = |case: &str, policy: &str| {
        json!({
            "name": format!("{case}.{}.test.dev", policy.to_lowercase()),
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": policy,
            "timeoutSeconds": 1,
            "clientConfig": {"url": format!("{}/{case}", hook.url), "caBundle": hook.bundle},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "objectSelector": {"matchLabels": {"case": case, "policy": policy}},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
                "resources": ["pods"]}],
        })
    };
    let all = CASES
        .iter()
        .flat_map(|(case, ..)| [one(case, "Ignore"), one(case, "Fail")]);
    all.collect()
}

async fn outcome(client: &Client, pods: &str, case: &str, policy: &str) -> (Outcome, Value) {
    let mut given = pod("a");
    given["metadata"]["labels"] = json!({"case": case, "policy": policy});
    let (status, answer) = ask(client, "POST", &format!("{pods}?dryRun=All"), &given).await;
    let marked = answer["metadata"]["annotations"]["hook"] == "was here";
    let outcome = match status {
        201 if marked => Outcome::Marked,
        201 => Outcome::Created,
        refused => Outcome::Refused(refused.into()),
    };
    (outcome, answer)
}

pub async fn answers_have_their_effects(client: &Client) {
    let hook = hook::start().await;
    let namespace = namespace(client).await;
    let pods = path(&namespace, "v1/pods");
    let configuration =
        json!({"metadata": {"name": namespace}, "webhooks": webhooks(&hook, &namespace)});
    create(client, CONFIGURATIONS, &configuration).await;
    eventually("the configuration to be in force", async || {
        let (outcome, answer) = outcome(client, &pods, "good", "Fail").await;
        holds(outcome == Outcome::Marked, || answer.to_string())
    })
    .await;
    for (case, ignore, fail) in CASES {
        for (policy, expected) in [("Ignore", ignore), ("Fail", fail)] {
            let (outcome, answer) = outcome(client, &pods, case, policy).await;
            assert_eq!(outcome, *expected, "{case} under {policy}: {answer}");
            if *case == "denied" {
                let said = answer["message"].as_str().unwrap_or_default();
                assert!(said.ends_with("denied the request: not today"), "{said}");
            }
        }
    }
    let before = hook.calls.load(Ordering::SeqCst);
    ask(
        client,
        "POST",
        &format!("{pods}?dryRun=All"),
        &pod("unlabelled"),
    )
    .await;
    assert_eq!(
        hook.calls.load(Ordering::SeqCst),
        before,
        "no webhook wants this Pod"
    );
    ask(
        client,
        "DELETE",
        &format!("{CONFIGURATIONS}/{namespace}"),
        &Value::Null,
    )
    .await;
}
