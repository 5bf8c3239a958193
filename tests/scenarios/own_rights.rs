//! The rights that outlive a deletion, against a real API server and its garbage collector: what a replica may do with
//! them before and after they are deleted, and their end.

use std::time::Duration;

use evenkeel_service::uninstall::release_own_rights;
use kube::Client;
use kube::config::Kubeconfig;
use serde_json::{Value, json};

use super::guard::client;
use crate::support::control_plane::manifests;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;
use crate::support::dev_api::{ask, get, gone, patch};

const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/evenkeel-clean-up";
const BINDING: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/evenkeel-clean-up";
const ACCOUNT: &str = "/api/v1/namespaces/evenkeel-system/serviceaccounts/evenkeel";
const HELD: [&str; 3] = [ROLE, BINDING, ACCOUNT];

/// The account with these owners.
fn owned(owners: &[Value]) -> Value {
    json!({"metadata": {"ownerReferences": owners}})
}

/// An owner of the account as a replica writes it.
fn owner(object: &Value) -> Value {
    json!({"apiVersion": object["apiVersion"], "kind": object["kind"],
        "name": object["metadata"]["name"], "uid": object["metadata"]["uid"], "blockOwnerDeletion": true})
}

/// The guard, or the API server itself, refuses.
fn assert_refused(what: &str, (status, answer): &(u16, Value)) {
    let message = answer["message"].as_str().unwrap_or_default();
    assert!([403, 422].contains(status), "{what}: {status} {answer}");
    assert!(
        message.contains("Evenkeel may") || message.contains("no new finalizers"),
        "{what}: {answer}"
    );
}

/// A replica may change nothing before the deletion, and may only release the objects afterwards.
async fn nothing_else_is_changed(ours: &Client, role: &Value) {
    let mut controlling = owner(role);
    controlling["controller"] = json!(true);
    let mut other = owner(role);
    other["name"] = json!("evenkeel");
    other["blockOwnerDeletion"] = json!(false);
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "evenkeel-clean-up", "uid": "1"});
    for wrong in [controlling, other, map] {
        let answer = patch(ours, ACCOUNT, "merge", &owned(&[wrong])).await;
        assert_refused("a wrong owner", &answer);
    }
    for path in HELD {
        for change in [
            json!({"metadata": {"finalizers": ["evenkeel.dev/clean-up", "example.com/held"]}}),
            json!({"metadata": {"labels": {"app": "other"}}}),
            json!({"metadata": {"annotations": {"a": "b"}}}),
        ] {
            assert_refused(path, &patch(ours, path, "merge", &change).await);
        }
    }
    let none = json!({"rules": []});
    assert_refused("no rule", &patch(ours, ROLE, "merge", &none).await);
    let own = [owner(role)];
    for path in [ROLE, BINDING] {
        let answer = patch(ours, path, "merge", &owned(&own)).await;
        assert_refused("an owner of the rights", &answer);
    }
}

/// The harm: with the first of the three the rights to the others were gone, and the deletion never ended. A stolen
/// token may not end an installation by it.
fn own_rights_are_only_let_go_once_they_are_deleted() {
    with_control_plane(async |plane| {
        let installation = manifests::install(plane, 443, None).await;
        let kubeconfig = Kubeconfig::read_from(&installation.kubeconfig).expect("a kubeconfig");
        let ours = client(kubeconfig).await;
        let admin = &plane.client;
        let foreground = json!({"propagationPolicy": "Foreground"});
        eventually("the guard is obeyed", async || {
            let dry = json!({"propagationPolicy": "Foreground", "dryRun": ["All"]});
            let (_, answer) = ask(&ours, "DELETE", ROLE, &dry).await;
            let message = answer["message"].as_str().unwrap_or_default();
            holds(message.contains("Evenkeel may"), || answer.to_string())
        })
        .await;
        let role = get(admin, ROLE).await;
        let owners = [owner(&role), owner(&get(admin, BINDING).await)];
        for path in HELD {
            assert_refused(path, &ask(&ours, "DELETE", path, &foreground).await);
        }
        let answer = patch(&ours, ACCOUNT, "merge", &owned(&owners)).await;
        assert_refused("owners", &answer);
        nothing_else_is_changed(&ours, &role).await;

        for path in HELD {
            let background = json!({"propagationPolicy": "Background"});
            let (status, answer) = ask(admin, "DELETE", path, &background).await;
            assert_eq!(status, 200, "{answer}");
        }
        nothing_else_is_changed(&ours, &role).await;
        let (status, answer) = patch(&ours, ACCOUNT, "merge", &owned(&owners)).await;
        assert_eq!(status, 200, "{answer}");
        let answer = patch(&ours, ACCOUNT, "merge", &owned(&[])).await;
        assert_refused("owners that are taken away", &answer);

        let pause = Duration::from_secs(1);
        let released = release_own_rights(&ours, manifests::NAMESPACE, pause).await;
        released.expect("all is let go");
        for path in HELD {
            gone(admin, path).await;
        }
    });
}

crate::support::trial::suite!(super::world::NEEDS => [
    own_rights_are_only_let_go_once_they_are_deleted,
]);
