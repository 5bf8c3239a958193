//! Mutating webhooks: effects of answers, order, addresses, matching.

use std::sync::atomic::Ordering;

use kube::Client;
use serde_json::{Value, json};

use crate::support::client::{ask, create, namespace, patch, path, pod};
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::webhook::{self as hook, Hook};

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Marked,
    Created,
    Refused(u64),
}

/// With the outcomes under `Ignore` and under `Fail`.
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

fn webhooks(hook: &Hook, namespace: &str) -> Value {
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

pub(crate) async fn answers_have_their_effects(client: &Client) {
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

fn webhook(name: &str, namespace: &str, rule: &Value, client: &Value) -> Value {
    json!({
        "name": format!("{name}.test.dev"), "admissionReviewVersions": ["v1"],
        "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 5,
        "clientConfig": client, "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
    })
}

fn rule(group: &str, version: &str, plural: &str) -> Value {
    json!({"operations": ["CREATE"], "apiGroups": [group], "apiVersions": [version],
        "resources": [plural]})
}

/// Creates as a dry run until the object is marked; the last answer.
async fn marked(client: &Client, collection: &str, object: &Value) -> Value {
    let path = format!("{collection}?dryRun=All");
    eventually("the webhook to be in force", async || {
        let (_, answer) = ask(client, "POST", &path, object).await;
        is_marked(&answer)
            .then(|| answer.clone())
            .ok_or(answer.to_string())
    })
    .await
}

fn is_marked(object: &Value) -> bool {
    let metadata = &object["metadata"];
    metadata["annotations"]["hook"] == "was here" || metadata["labels"]["hook"] == "was-here-too"
}

async fn remove(client: &Client, name: &str) {
    let one = format!("{CONFIGURATIONS}/{name}");
    ask(client, "DELETE", &one, &Value::Null).await;
}

pub(crate) async fn are_called_again_when_a_later_one_changed_the_object(client: &Client) {
    let hook = hook::start().await;
    let namespace = namespace(client).await;
    let pods = path(&namespace, "v1/pods");
    let at = |case: &str| json!({"url": format!("{}/{case}", hook.url), "caBundle": hook.bundle});
    let of_pods = rule("", "v1", "pods");
    for (policy, calls) in [("IfNeeded", 3), ("Never", 2)] {
        let mut first = webhook("a", &namespace, &of_pods, &at("good"));
        first["reinvocationPolicy"] = policy.into();
        let second = webhook("b", &namespace, &of_pods, &at("marks-too"));
        let configuration = json!({"metadata": {"name": namespace}, "webhooks": [first, second]});
        create(client, CONFIGURATIONS, &configuration).await;
        eventually("as many calls", async || {
            let before = hook.calls.load(Ordering::SeqCst);
            let object = marked(client, &pods, &pod("a")).await;
            let made = hook.calls.load(Ordering::SeqCst) - before;
            let both = object["metadata"]["labels"]["hook"] == "was-here-too";
            holds(both && made == calls, || {
                format!("{policy}: {made} calls, {object}")
            })
        })
        .await;
        remove(client, &namespace).await;
    }
}

pub(crate) async fn are_found_through_their_service(client: &Client) {
    let namespace = namespace(client).await;
    let hook = hook::start_as(&format!("hook.{namespace}.svc")).await;
    let port: u16 = hook
        .url
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    let alias = json!({"metadata": {"name": "hook"},
        "spec": {"type": "ExternalName", "externalName": "localhost"}});
    create(client, &path(&namespace, "v1/services"), &alias).await;
    let service = json!({"name": "hook", "namespace": namespace, "path": "/good", "port": port});
    let to = json!({"service": service, "caBundle": hook.bundle});
    let only = webhook("a", &namespace, &rule("", "v1", "pods"), &to);
    let configuration = json!({"metadata": {"name": namespace}, "webhooks": [only]});
    create(client, CONFIGURATIONS, &configuration).await;
    marked(client, &path(&namespace, "v1/pods"), &pod("a")).await;
    remove(client, &namespace).await;
}

pub(crate) async fn see_other_versions_unless_they_want_exact_matches(client: &Client) {
    let hook = hook::start().await;
    let namespace = namespace(client).await;
    let to = json!({"url": format!("{}/marks-too", hook.url), "caBundle": hook.bundle});
    let mut of_v1 = webhook("a", &namespace, &rule("autoscaling", "v1", "*"), &to);
    of_v1["matchPolicy"] = "Equivalent".into();
    let configuration = json!({"metadata": {"name": namespace}, "webhooks": [of_v1]});
    create(client, CONFIGURATIONS, &configuration).await;
    let hpa = json!({"metadata": {"name": "web"}, "spec": {"maxReplicas": 3, "metrics": [
        {"type": "Resource", "resource": {"name": "memory",
            "target": {"type": "Utilization", "averageUtilization": 70}}}],
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    let hpas = path(&namespace, "autoscaling/v2/horizontalpodautoscalers");
    let seen = marked(client, &hpas, &hpa).await;
    // A field that the older version lacks has survived the conversion.
    assert_eq!(seen["spec"]["metrics"][0]["resource"]["name"], "memory");
    let exact = json!([{"op": "replace", "path": "/webhooks/0/matchPolicy", "value": "Exact"}]);
    let one = format!("{CONFIGURATIONS}/{namespace}");
    assert_eq!(patch(client, &one, "json", &exact).await.0, 200);
    eventually("the webhook not to be called", async || {
        let (_, answer) = ask(client, "POST", &format!("{hpas}?dryRun=All"), &hpa).await;
        holds(!is_marked(&answer), || answer.to_string())
    })
    .await;
    remove(client, &namespace).await;
}
