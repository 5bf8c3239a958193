//! The end of the rights that outlive a deletion: a replica that has its rights by them takes the finalizer away
//! without losing one of them before its last request.

use std::sync::Arc;
use std::time::Duration;

use crate::support::dev_api::{ask, create, gone, settings, with_settings};
use evenkeel_service::uninstall::{FINALIZER, ReleaseError, release, release_own_rights};
use hyper::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::Mutex;

const OWN: &str = "evenkeel-system";
const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/evenkeel-clean-up";
const BINDING: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/evenkeel-clean-up";
const ACCOUNT: &str = "/api/v1/namespaces/evenkeel-system/serviceaccounts/evenkeel";
const HELD: [&str; 3] = [ROLE, BINDING, ACCOUNT];
/// The garbage collector of the server in memory sees at once what is written.
const PAUSE: Duration = Duration::from_millis(50);

/// The writes of a whole release.
const WRITES: [(Method, &str); 6] = [
    (Method::PATCH, ACCOUNT),
    (Method::DELETE, ROLE),
    (Method::DELETE, BINDING),
    (Method::PATCH, ROLE),
    (Method::PATCH, BINDING),
    (Method::PATCH, ACCOUNT),
];

/// Makes the three objects.
async fn plant(client: &Client) {
    let namespace = json!({"metadata": {"name": OWN}});
    create(client, "/api/v1/namespaces", &namespace).await;
    for (path, more) in [
        (ROLE, json!({"rules": []})),
        (
            BINDING,
            json!({"subjects": [], "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole", "name": "evenkeel-clean-up"}}),
        ),
        (ACCOUNT, json!({})),
    ] {
        let (collection, name) = path.rsplit_once('/').unwrap();
        let mut object = more;
        object["metadata"] = json!({"name": name, "finalizers": [FINALIZER]});
        create(client, collection, &object).await;
    }
}

/// Deletes the three as `kubectl delete` does.
async fn delete(client: &Client) {
    for path in HELD {
        let background = json!({"propagationPolicy": "Background"});
        let (status, answer) = ask(client, "DELETE", path, &background).await;
        assert_eq!(status, 200, "{answer}");
    }
}

async fn all_gone(client: &Client) {
    for path in HELD {
        gone(client, path).await;
    }
}

/// The rights of a replica and its past writes.
#[derive(Debug, Default)]
struct Account {
    /// The writes that were let through.
    writes: Mutex<Vec<(Method, String)>>,
    /// The number of writes after which the replica dies.
    life: Option<usize>,
    /// The method that is refused.
    refused: Option<Method>,
    /// The method that is answered as if it had been done.
    ignored: Option<Method>,
}

impl Account {
    async fn writes(&self) -> Vec<(Method, String)> {
        self.writes.lock().await.clone()
    }
}

/// A client that has its rights by the three objects: without one of them every request is refused.
fn by_its_rights(server: &Client, account: &Arc<Account>) -> Client {
    let (server, account) = (server.clone(), Arc::clone(account));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (server, account) = (server.clone(), Arc::clone(&account));
        async move {
            let mut writes = account.writes.lock().await;
            let (method, path) = (request.method().clone(), request.uri().path().to_owned());
            let mut is_refused = account.refused.as_ref() == Some(&method);
            for path in HELD {
                is_refused |= ask(&server, "GET", path, &Value::Null).await.0 == 404;
            }
            if is_refused {
                return Ok(answer(
                    403,
                    &json!({"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden",
                    "message": "forbidden"}),
                ));
            }
            if account.ignored.as_ref() == Some(&method) {
                return Ok(answer(200, &json!({"kind": "Status", "status": "Success"})));
            }
            if method != Method::GET {
                if account.life == Some(writes.len()) {
                    return Err("the replica is dead".into());
                }
                writes.push((method, path));
            }
            let sent = server.send(request).await;
            sent.map_err(tower::BoxError::from)
        }
    });
    Client::new(service, "default")
}

fn answer(status: u16, body: &Value) -> Response<Body> {
    let response = Response::builder().status(status);
    response
        .body(Body::from(body.to_string().into_bytes()))
        .unwrap()
}

fn named(writes: &[(Method, &str)]) -> Vec<(Method, String)> {
    let writes = writes.iter();
    writes
        .map(|(method, path)| (method.clone(), (*path).to_owned()))
        .collect()
}

/// The harm: the three finalizers went at once, and by the rights of one that was gone the next was refused. It stayed
/// for ever, and `kubectl delete -k` waited for it.
#[test]
fn the_rights_stay_until_the_last_request() {
    with_settings(settings(), async |_, client| {
        plant(client).await;
        delete(client).await;
        let account = Arc::default();
        let released = release_own_rights(&by_its_rights(client, &account), OWN, PAUSE).await;
        released.unwrap();
        assert_eq!(account.writes().await, named(&WRITES));
        all_gone(client).await;
    });
    // Without the garbage collector's help it is refused.
    with_settings(settings(), async |_, client| {
        plant(client).await;
        delete(client).await;
        let released = release(&by_its_rights(client, &Arc::default()), OWN).await;
        assert!(released.is_err(), "{released:?}");
    });
}

/// Wherever a replica dies, the next one goes on.
#[test]
fn a_replica_goes_on_where_another_one_died() {
    for life in 0..WRITES.len() {
        with_settings(settings(), async |_, client| {
            plant(client).await;
            delete(client).await;
            let mortal = Arc::new(Account {
                life: Some(life),
                ..Account::default()
            });
            let died = release_own_rights(&by_its_rights(client, &mortal), OWN, PAUSE).await;
            assert!(
                matches!(died, Err(ReleaseError::Refused(_))),
                "{life}: {died:?}"
            );
            assert_eq!(mortal.writes().await, named(&WRITES[..life]));
            assert!(
                evenkeel_service::uninstall::is_awaited(client, OWN)
                    .await
                    .unwrap(),
                "{life}"
            );
            let second = Arc::default();
            let released = release_own_rights(&by_its_rights(client, &second), OWN, PAUSE).await;
            released.unwrap();
            assert_eq!(second.writes().await, named(&WRITES[life..]));
            all_gone(client).await;
        });
    }
}

#[test]
fn two_replicas_at_once_leave_nothing() {
    for _ in 0..8 {
        with_settings(settings(), async |_, client| {
            plant(client).await;
            delete(client).await;
            let (first, second) = (Arc::default(), Arc::default());
            let (first, second) = (
                by_its_rights(client, &first),
                by_its_rights(client, &second),
            );
            let (first, second) = tokio::join!(
                release_own_rights(&first, OWN, PAUSE),
                release_own_rights(&second, OWN, PAUSE)
            );
            // The slower one may be refused once all is gone.
            assert!(first.is_ok() || second.is_ok(), "{first:?} {second:?}");
            all_gone(client).await;
        });
    }
}

/// The three carry the finalizer, and are not gone.
async fn all_held(client: &Client) {
    for path in HELD {
        let (status, object) = ask(client, "GET", path, &Value::Null).await;
        assert_eq!(status, 200, "{path}: {object}");
        let finalizers = object["metadata"]["finalizers"].as_array().unwrap();
        assert!(finalizers.contains(&json!(FINALIZER)), "{path}: {object}");
    }
}

/// Where a step is refused, or has no effect as without a garbage collector, nothing is let go by half.
#[test]
fn without_a_deletion_in_the_foreground_all_three_are_held() {
    let refused = Account {
        refused: Some(Method::DELETE),
        ..Account::default()
    };
    let ignored = Account {
        ignored: Some(Method::DELETE),
        ..Account::default()
    };
    for (account, told) in [(refused, "forbidden"), (ignored, "collect garbage")] {
        with_settings(settings(), async |_, client| {
            plant(client).await;
            delete(client).await;
            let client_of = by_its_rights(client, &Arc::new(account));
            let released = release_own_rights(&client_of, OWN, PAUSE).await;
            let error = released.unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
            all_held(client).await;
        });
    }
}

/// An administrator lets go before the deletion too, and a replica does not.
#[test]
fn what_is_not_deleted_is_let_go_by_an_administrator_alone() {
    with_settings(settings(), async |_, client| {
        plant(client).await;
        let released = release_own_rights(client, OWN, PAUSE).await;
        let error = released.unwrap_err().to_string();
        assert_eq!(error, "ClusterRole evenkeel-clean-up is not being deleted");
        all_held(client).await;
        release(client, OWN).await.unwrap();
        for path in HELD {
            let (_, object) = ask(client, "GET", path, &Value::Null).await;
            assert!(object["metadata"]["finalizers"].is_null(), "{object}");
        }
        delete(client).await;
        all_gone(client).await;
    });
}

/// The harm: after an installation in this window a new replica undid everything, and could release nothing.
#[test]
fn a_new_installation_is_not_undone_while_the_old_binding_goes() {
    with_settings(settings(), async |_, client| {
        plant(client).await;
        for (path, is_awaited) in [(BINDING, false), (ACCOUNT, true)] {
            let (status, answer) = ask(client, "DELETE", path, &Value::Null).await;
            assert_eq!(status, 200, "{answer}");
            let awaited = evenkeel_service::uninstall::is_awaited(client, OWN).await;
            assert_eq!(awaited.unwrap(), is_awaited, "{path}");
        }
    });
}

/// An administrator ends what a replica could not.
#[test]
fn an_administrator_goes_on_where_a_replica_died() {
    for life in 0..WRITES.len() {
        with_settings(settings(), async |_, client| {
            plant(client).await;
            delete(client).await;
            let mortal = Arc::new(Account {
                life: Some(life),
                ..Account::default()
            });
            let died = release_own_rights(&by_its_rights(client, &mortal), OWN, PAUSE).await;
            died.unwrap_err();
            release(client, OWN).await.unwrap();
            all_gone(client).await;
        });
    }
}
