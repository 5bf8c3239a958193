//! Watches on an API server that breaks off, lies or hangs by a script, and answers well after it.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::{Request, Response};
use evenkeel_objects::lenient_object::LenientObject;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    /// So many seconds without a byte.
    Pause(u64),
    Break,
    /// Nothing more comes, and the connection stands.
    Hang,
}

#[derive(Debug, Clone)]
enum Answer {
    Parts(Vec<Part>),
    Status(u16),
    /// None at all.
    Hang,
    /// The content of the store, and then nothing until the watch is cut off after a minute.
    Well,
    /// A part of what the store has, and then this fault.
    Faulty(u8),
}

#[derive(Debug, Default)]
struct Store {
    version: u64,
    maps: BTreeMap<String, u64>,
    changes: Vec<(u64, String)>,
    script: VecDeque<Answer>,
    watches: Vec<String>,
    lists: usize,
}

fn map(name: &str, version: u64) -> Value {
    json!({"metadata": {"name": name, "resourceVersion": version.to_string()}})
}

fn event(kind: &str, object: &Value) -> String {
    // The type first, as API servers have it.
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

fn bookmark(version: &str) -> Value {
    json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"resourceVersion": version}})
}

fn status(code: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "reason": "", "code": code})
}

impl Store {
    fn put(&mut self, name: &str) {
        self.version += 1;
        self.maps.insert(name.to_owned(), self.version);
        self.note("MODIFIED", name);
    }

    fn remove(&mut self, name: &str) {
        if self.maps.remove(name).is_some() {
            self.version += 1;
            self.note("DELETED", name);
        }
    }

    fn note(&mut self, kind: &str, name: &str) {
        let text = event(kind, &map(name, self.version));
        self.changes.push((self.version, text));
    }

    fn list(&mut self) -> String {
        self.lists += 1;
        let items: Vec<_> = self
            .maps
            .iter()
            .map(|(name, version)| map(name, *version))
            .collect();
        json!({"metadata": {"resourceVersion": self.version.to_string()}, "items": items})
            .to_string()
    }

    fn since(&self, version: &str) -> Vec<Part> {
        let after: u64 = version.parse().unwrap_or_default();
        let later = self.changes.iter().filter(|(version, _)| *version > after);
        later.map(|(_, text)| Part::Text(text.clone())).collect()
    }
}

#[derive(Debug, Clone, Default)]
struct Server(Arc<Mutex<Store>>);

impl Server {
    fn scripted(script: impl IntoIterator<Item = Answer>) -> Self {
        let server = Self::default();
        let mut store = server.0.lock().unwrap();
        store.put("a");
        store.script = script.into_iter().collect();
        drop(store);
        server
    }

    fn answer(&self, query: &str) -> Option<Response<Body>> {
        let mut store = self.0.lock().unwrap();
        let respond = |code: u16, body: Body| Response::builder().status(code).body(body).unwrap();
        if !query.contains("watch=true") {
            return Some(respond(200, Body::from(store.list())));
        }
        let version = query.rsplit("resourceVersion=").next().unwrap_or_default();
        let version = version.split('&').next().unwrap_or_default().to_owned();
        store.watches.push(version.clone());
        let answer = match store.script.pop_front().unwrap_or(Answer::Well) {
            Answer::Faulty(fault) => disturbed(store.since(&version), fault),
            answer => answer,
        };
        let parts = match answer {
            Answer::Hang => return None,
            Answer::Status(code) => {
                return Some(respond(code, Body::from(status(code).to_string())));
            }
            Answer::Parts(parts) => parts,
            Answer::Well | Answer::Faulty(_) => {
                let mut parts = store.since(&version);
                parts.push(Part::Pause(60));
                parts
            }
        };
        let chunks = stream::unfold(parts.into_iter(), |mut parts| async move {
            loop {
                let chunk = match parts.next()? {
                    Part::Pause(seconds) => {
                        tokio::time::sleep(Duration::from_secs(seconds)).await;
                        continue;
                    }
                    Part::Text(text) => Ok(text.into_bytes()),
                    Part::Break => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
                    Part::Hang => std::future::pending().await,
                };
                return Some((chunk, parts));
            }
        });
        Some(respond(200, Body::from_stream(chunks)))
    }

    fn api(&self) -> Api<LenientObject<ConfigMap>> {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let answer = server.answer(request.uri().query().unwrap_or_default());
            async move {
                match answer {
                    Some(answer) => Ok::<_, Infallible>(answer),
                    None => std::future::pending().await,
                }
            }
        });
        Api::all(Client::new(service, "default"))
    }

    /// The maps that a follower has after so many seconds, and the errors that it has seen.
    async fn follow(&self, seconds: u64) -> (BTreeMap<String, u64>, usize) {
        let mut events = std::pin::pin!(events(self.api(), Config::default()));
        let (mut seen, mut listed, mut errors) = (BTreeMap::new(), BTreeMap::new(), 0);
        let named = |object: LenientObject<ConfigMap>| {
            let meta = object.meta();
            let version = meta.resource_version.as_ref().unwrap();
            (meta.name.clone().unwrap(), version.parse().unwrap())
        };
        let following = async {
            loop {
                match events.next().await.expect("it has no end") {
                    Ok(Event::Init) => listed = BTreeMap::new(),
                    Ok(Event::InitApply(object)) => listed.extend([named(object)]),
                    Ok(Event::InitDone) => seen = std::mem::take(&mut listed),
                    Ok(Event::Apply(object)) => seen.extend([named(object)]),
                    Ok(Event::Delete(object)) => drop(seen.remove(&named(object).0)),
                    Err(_) => errors += 1,
                }
            }
        };
        let _: Result<(), _> = tokio::time::timeout(Duration::from_secs(seconds), following).await;
        (seen, errors)
    }

    fn watches(&self) -> Vec<String> {
        self.0.lock().unwrap().watches.clone()
    }

    fn lists(&self) -> usize {
        self.0.lock().unwrap().lists
    }

    /// Puts or removes maps, and lets the answer to a watch have a fault.
    fn disturb(&self, changes: Vec<(bool, u8)>, fault: u8) {
        let mut store = self.0.lock().unwrap();
        for (puts, name) in changes {
            let name = format!("m{name}");
            if puts {
                store.put(&name);
            } else {
                store.remove(&name);
            }
        }
        store.script.push_back(Answer::Faulty(fault));
    }
}

fn text(text: impl Into<String>) -> Part {
    Part::Text(text.into())
}

/// Each interruption, the version of the next watch, and whether a new list must come before.
#[tokio::test(start_paused = true)]
async fn each_interruption_is_followed_by_the_right_request() {
    let changed = || text(event("MODIFIED", &map("a", 5)));
    let marked = |version| text(event("BOOKMARK", &bookmark(version)));
    let error = |code| text(event("ERROR", &status(code)));
    let unversioned = text(event("MODIFIED", &json!({"metadata": {"name": "a"}})));
    let unknown = text(event("PATCHED", &map("a", 5)));
    let bare = text(format!("{}\n", status(410)));
    let cut = || text(r#"{"type":"MODIFIED","object":{"meta"#);
    let later = || Part::Pause(5);
    for (what, answer, next, lists) in [
        ("ended", vec![changed(), later()], "5", 1),
        ("ended at once", vec![], "1", 1),
        ("broken", vec![changed(), Part::Break], "5", 1),
        ("cut within a line", vec![cut()], "1", 1),
        (
            "broken within a line",
            vec![changed(), cut(), Part::Break],
            "5",
            1,
        ),
        ("silent", vec![changed(), Part::Hang], "5", 1),
        ("bookmark", vec![marked("9"), later()], "9", 1),
        (
            "bookmark without a version",
            vec![changed(), marked(""), later()],
            "5",
            1,
        ),
        ("without a version", vec![unversioned, later()], "1", 2),
        ("gone", vec![changed(), error(410), later()], "1", 2),
        ("a fault", vec![changed(), error(500), later()], "1", 2),
        ("a bare status", vec![bare, later()], "1", 2),
        ("no event", vec![text("<html>\n"), later()], "1", 2),
        ("an unknown event", vec![unknown, later()], "1", 2),
    ] {
        let server = Server::scripted([Answer::Parts(answer)]);
        server.follow(95).await;
        assert_eq!(server.watches()[..2], ["1", next], "{what}");
        assert_eq!(server.lists(), lists, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_not_answered_well_is_asked_for_again() {
    for (answer, lists) in [
        (Answer::Status(410), 2),
        (Answer::Status(400), 2),
        (Answer::Status(429), 1),
        (Answer::Status(500), 1),
        (Answer::Hang, 1),
    ] {
        let server = Server::scripted([answer.clone()]);
        let (_, errors) = server.follow(95).await;
        assert_eq!(server.watches()[..2], ["1", "1"], "{answer:?}");
        assert_eq!((server.lists(), errors), (lists, 1), "{answer:?}");
    }
}

/// The harm: a proxy that ended each watch at once was asked again without a pause.
#[tokio::test(start_paused = true)]
async fn a_server_that_ends_each_watch_at_once_is_not_hurried() {
    let bookmark = text(event("BOOKMARK", &bookmark("9")));
    let unversioned = text(event("MODIFIED", &json!({"metadata": {"name": "a"}})));
    for parts in [
        vec![],
        vec![bookmark],
        vec![unversioned],
        vec![text(event("MODIFIED", &map("a", 5)))],
        vec![text(event("ERROR", &status(410)))],
        vec![text("{")],
        vec![Part::Break],
    ] {
        let answers = std::iter::repeat_n(Answer::Parts(parts.clone()), 5000);
        let server = Server::scripted(answers);
        let (seen, _) = server.follow(600).await;
        let asked = server.watches().len();
        assert!((10..60).contains(&asked), "{asked} {parts:?}");
        assert_eq!(seen.len(), 1, "{parts:?}");
    }
}

/// Another than the normal course of one watch, with what the store has before it.
fn disturbances() -> impl Strategy<Value = (Vec<(bool, u8)>, u8)> {
    let changes = prop::collection::vec((any::<bool>(), 0..4_u8), 0..6);
    (changes, 0..12_u8)
}

/// The answer with a fault after some of what is due.
fn disturbed(mut due: Vec<Part>, fault: u8) -> Answer {
    let half = due.len() / 2;
    let cut = |part: &Part| match part {
        Part::Text(text) => Part::Text(text[..text.len() / 2].to_owned()),
        other => other.clone(),
    };
    let rest = due.split_off(half);
    let (first, bookmark) = (rest.first().map(cut), bookmark(""));
    match fault {
        0 => {}
        1 => due.extend(first),
        2 => due.extend(first.into_iter().chain([Part::Break])),
        3 => due.push(Part::Hang),
        4 => due.push(text(event("ERROR", &status(410)))),
        5 => due.push(text(event("ERROR", &status(500)))),
        6 => due.push(text("nothing\n")),
        7 => due.push(text(event("BOOKMARK", &bookmark))),
        8 => due.push(text(event("DELETED", &json!({"metadata": {"name": "m0"}})))),
        9 => return Answer::Status(410),
        10 => return Answer::Status(503),
        _ => return Answer::Hang,
    }
    Answer::Parts(due)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever interrupts a watch, its follower has what is stored once the server answers well.
    #[test]
    fn a_follower_has_what_is_stored_after_any_faults(course in prop::collection::vec(disturbances(), 1..8)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let server = Server::scripted([]);
        let (seen, _) = runtime.unwrap().block_on(async {
            let disturbing = async {
                for (changes, fault) in course {
                    server.disturb(changes, fault);
                    tokio::time::sleep(Duration::from_secs(20)).await;
                }
            };
            tokio::join!(server.follow(2400), disturbing).0
        });
        let store = server.0.lock().unwrap();
        prop_assert_eq!(&seen, &store.maps);
        prop_assert!(store.watches.len() < 200, "{} watches", store.watches.len());
    }
}
