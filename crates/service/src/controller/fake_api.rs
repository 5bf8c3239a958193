//! An API server in memory for the controller: objects by path, versions, conflicts, and failures.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::body::Body;
use axum::http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum FakeApiBehavior {
    #[default]
    Answers,
    /// Every request gets this status.
    Refuses(u16),
    /// Reading works, writing gets this status.
    RefusesWrites(u16),
    RefusesPath(&'static str, u16),
    /// No request is ever answered.
    Hangs,
    /// Patches wait for another mood.
    HoldsPatches,
}

#[derive(Debug, Default)]
struct FakeApiState {
    objects: BTreeMap<String, Value>,
    writes: Vec<(Method, String)>,
    requests: usize,
    held: usize,
    version: u64,
    mood: FakeApiBehavior,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct FakeApi(Arc<Mutex<FakeApiState>>);

impl FakeApi {
    pub(crate) fn client(&self) -> Client {
        let api = self.clone();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let api = api.clone();
            async move { Ok::<_, Infallible>(api.answer(request).await) }
        });
        Client::new(service, "default")
    }

    pub(crate) fn set(&self, path: &str, object: Value) {
        self.state().store(path, object);
    }

    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        self.state().objects.get(path).cloned()
    }

    /// The one object with a path that begins with `folder`.
    pub(crate) fn only_under(&self, folder: &str) -> Value {
        let state = self.state();
        let mut found = state
            .objects
            .iter()
            .filter(|(path, _)| path.starts_with(folder));
        let (_, object) = found.next().expect("there is an object");
        assert!(
            found.next().is_none(),
            "there is more than one under {folder}"
        );
        object.clone()
    }

    pub(crate) fn remove(&self, path: &str) {
        self.state().objects.remove(path);
    }

    pub(crate) fn mood(&self, mood: FakeApiBehavior) {
        self.state().mood = mood;
    }

    /// The writes so far, refused ones included.
    pub(crate) fn writes(&self) -> Vec<(Method, String)> {
        self.state().writes.clone()
    }

    pub(crate) fn requests(&self) -> usize {
        self.state().requests
    }

    /// The patches that have been made to wait.
    pub(crate) fn held(&self) -> usize {
        self.state().held
    }

    fn state(&self) -> MutexGuard<'_, FakeApiState> {
        self.0.lock().unwrap()
    }

    fn mood_is(&self, mood: FakeApiBehavior) -> bool {
        self.state().mood == mood
    }

    async fn answer(&self, request: Request<kube::client::Body>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        if head.method == Method::PATCH && self.mood_is(FakeApiBehavior::HoldsPatches) {
            self.state().held += 1;
            while self.mood_is(FakeApiBehavior::HoldsPatches) {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        }
        let answer = self.state().handle(&head.method, head.uri.path(), body);
        let Some((status, body)) = answer else {
            return std::future::pending().await;
        };
        let response = Response::builder().status(status);
        response.body(Body::from(body.to_string())).unwrap()
    }
}

impl FakeApiState {
    fn handle(&mut self, method: &Method, path: &str, body: Value) -> Option<(u16, Value)> {
        self.requests += 1;
        let writes = *method != Method::GET;
        if writes {
            self.writes.push((method.clone(), path.to_owned()));
        }
        match self.mood {
            FakeApiBehavior::Hangs => return None,
            FakeApiBehavior::Refuses(status) => return Some(invalid(status)),
            FakeApiBehavior::RefusesWrites(status) if writes => return Some(invalid(status)),
            FakeApiBehavior::RefusesPath(refused, status) if refused == path => {
                return Some(invalid(status));
            }
            FakeApiBehavior::RefusesWrites(_)
            | FakeApiBehavior::RefusesPath(..)
            | FakeApiBehavior::HoldsPatches
            | FakeApiBehavior::Answers => {}
        }
        let path = if *method == Method::POST {
            format!("{path}/{}", body["metadata"]["name"].as_str().unwrap())
        } else {
            path.to_owned()
        };
        let known = self.objects.get(&path).cloned();
        let asked = body.pointer("/metadata/resourceVersion").cloned();
        let asked = asked.unwrap_or_default();
        Some(match (known, method.as_str()) {
            (Some(_), "POST") => refused(409),
            (None, "POST") => (201, self.store(&path, body)),
            (None, _) => refused(404),
            (Some(known), "GET") => (200, known),
            (Some(known), _)
                if !asked.is_null() && asked != known["metadata"]["resourceVersion"] =>
            {
                refused(409)
            }
            (Some(_), "PUT") => (200, self.store(&path, body)),
            (Some(mut known), _) if body.is_array() => {
                let operations: json_patch::Patch = serde_json::from_value(body).unwrap();
                match json_patch::patch(&mut known, &operations) {
                    Ok(()) => (200, self.store(&path, known)),
                    Err(_) => refused(422),
                }
            }
            (Some(mut known), _) => {
                json_patch::merge(&mut known, &body);
                (200, self.store(&path, known))
            }
        })
    }

    fn store(&mut self, path: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.objects.insert(path.to_owned(), object.clone());
        object
    }
}

fn refused(status: u16) -> (u16, Value) {
    let reason = match status {
        404 => "NotFound",
        409 => "Conflict",
        422 => "Invalid",
        _ => "InternalError",
    };
    let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                      "message": "refused", "reason": reason, "code": status});
    (status, body)
}

/// A refusal that names the field at fault, as that of an object that is not valid.
fn invalid(status: u16) -> (u16, Value) {
    let (status, mut body) = refused(status);
    let cause = json!({"reason": "FieldValueInvalid", "message": "no", "field": "spec"});
    body["details"] = json!({"causes": [cause]});
    (status, body)
}

/// Waits until something holds; panics when it does not within a generous time.
pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..3000 {
        if holds() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{what} did not come true");
}
