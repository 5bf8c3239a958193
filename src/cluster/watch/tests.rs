//! Watches on an API server that answers by a script: what a refusal does, and what an end.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::{Request, Response};
use evenkeel_core::placement::node_table;
use evenkeel_core::units::Resources;
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::*;
use crate::cluster::{Settings, WATCHED};
use crate::telemetry;

/// What the server lets everybody do with Pods; all else is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowed {
    All,
    Listing,
    Nothing(u16),
}

#[derive(Debug, Clone)]
struct Api {
    allowed: Arc<Mutex<Allowed>>,
    asked: Arc<Mutex<u32>>,
    /// The seconds at which the second scheduler renews its Lease while it is watched.
    renewals: Arc<Mutex<Vec<u32>>>,
}

impl Api {
    fn new(allowed: Allowed) -> Self {
        Self {
            allowed: Arc::new(Mutex::new(allowed)),
            asked: Arc::default(),
            renewals: Arc::default(),
        }
    }

    fn allow(&self, allowed: Allowed) {
        *self.allowed.lock().unwrap() = allowed;
    }

    fn asked(&self) -> u32 {
        *self.asked.lock().unwrap()
    }

    fn client(&self) -> Client {
        let api = self.clone();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let answer = api.answer(request.uri().path(), request.uri().query());
            async move { Ok::<_, Infallible>(answer) }
        });
        Client::new(service, "default")
    }

    fn answer(&self, path: &str, query: Option<&str>) -> Response<Body> {
        let watches = query.is_some_and(|query| query.contains("watch=true"));
        let allowed = if path.ends_with("/pods") {
            *self.asked.lock().unwrap() += 1;
            *self.allowed.lock().unwrap()
        } else {
            Allowed::All
        };
        let refused = match allowed {
            Allowed::Nothing(code) => Some(code),
            Allowed::Listing if watches => Some(403),
            Allowed::All | Allowed::Listing => None,
        };
        if let Some(code) = refused {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                                "message": "no", "reason": "Forbidden", "code": code});
            return response(code, Body::from(status.to_string()));
        }
        let optional = ["/apis/keda.sh", "/apis/autoscaling.evenkeel.dev"];
        if optional.iter().any(|group| path.starts_with(group)) {
            return response(404, Body::from(not_found().to_string()));
        }
        if path.ends_with("/leases") {
            // Its right is for one name: without the name it would be refused.
            assert!(query.is_some_and(|query| {
                query.contains("fieldSelector=metadata.name%3Devenkeel-scheduler")
            }));
            let renewals = self.renewals.lock().unwrap().clone();
            let events = renewals.into_iter().map(|second| {
                let event = json!({"type": "MODIFIED", "object": lease(second)});
                Ok::<_, Infallible>(format!("{event}\n").into_bytes())
            });
            return if watches {
                let events = stream::iter(events.collect::<Vec<_>>());
                response(200, Body::from_stream(events.chain(stream::pending())))
            } else {
                let list = json!({"kind": "LeaseList", "apiVersion": "coordination.k8s.io/v1",
                                  "metadata": {"resourceVersion": "7"}, "items": [lease(0)]});
                response(200, Body::from(list.to_string()))
            };
        }
        if watches {
            let endless = stream::pending::<Result<Vec<u8>, Infallible>>();
            return response(200, Body::from_stream(endless));
        }
        let list = json!({"kind": "List", "apiVersion": "v1",
                          "metadata": {"resourceVersion": "7"}, "items": []});
        response(200, Body::from(list.to_string()))
    }
}

fn not_found() -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "none",
           "reason": "NotFound", "code": 404})
}

fn lease(second: u32) -> Value {
    let renewed = format!("2026-01-01T00:00:{second:02}.000000Z");
    json!({"kind": "Lease", "apiVersion": "coordination.k8s.io/v1",
           "metadata": {"name": "evenkeel-scheduler", "namespace": "evenkeel-system",
                        "resourceVersion": second.to_string()},
           "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": renewed}})
}

fn response(status: u16, body: Body) -> Response<Body> {
    Response::builder().status(status).body(body).unwrap()
}

struct Watched {
    api: Api,
    state: ClusterState,
    metrics: Metrics,
    _watches: Watches,
}

impl Watched {
    fn start(allowed: Allowed) -> Self {
        Self::on(Api::new(allowed))
    }

    fn on(api: Api) -> Self {
        let state = ClusterState::new(Settings {
            table: node_table::Settings::default(),
            default_capacity: Resources::default(),
            caps_as_demand: false,
            expects_metrics: true,
        });
        let metrics = Metrics::default();
        let lease = LeaseName {
            namespace: "evenkeel-system".to_owned(),
            name: "evenkeel-scheduler".to_owned(),
        };
        let further = Further {
            discovery: DISCOVERY,
            second_scheduler: Some(lease),
            kinds: Vec::new(),
        };
        let watches = Watches::start(&api.client(), &state, &metrics, further);
        Self {
            api,
            state,
            metrics,
            _watches: watches,
        }
    }

    fn shows(&self, name: &str, value: u8) -> bool {
        let mut registry = telemetry::registry();
        self.metrics.register(&mut registry);
        let page = telemetry::encode(&registry).unwrap();
        page.contains(&format!("evenkeel_{name}{{kind=\"pod\"}} {value}\n"))
    }

    /// Lets so much time pass that everything has come to rest within it.
    async fn pass(&self, seconds: u64) {
        for _ in 0..seconds {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_refused_is_told_and_tried_again_with_pauses() {
    for code in [401, 403] {
        let watched = Watched::start(Allowed::Nothing(code));
        watched.pass(1).await;
        assert!(watched.shows("watch_refused", 1), "{code}");
        assert_eq!(watched.state.unsynced(), [Kind::Pod], "{code}");
        watched.pass(3600).await;
        assert!(watched.api.asked() < 150, "{}", watched.api.asked());
        watched.api.allow(Allowed::All);
        watched.pass(60).await;
        assert!(watched.shows("watch_refused", 0) && watched.shows("watch_synced", 1));
        assert!(watched.state.unsynced().is_empty(), "{code}");
        assert!(watched.state.snapshot().synced);
    }
}

/// The harm of a right that is taken away: a picture that nobody corrects, and that is believed.
#[tokio::test(start_paused = true)]
async fn a_right_that_is_taken_away_ends_the_belief_in_what_was_seen() {
    let watched = Watched::start(Allowed::All);
    watched.pass(1).await;
    assert!(watched.state.snapshot().synced && watched.state.scaling_view().synced);
    assert!(watched.shows("watch_refused", 0));
    // The stream of a watch ends after some minutes; the next one is refused.
    watched.api.allow(Allowed::Nothing(403));
    watched.pass(340).await;
    assert!(watched.shows("watch_refused", 1));
    watched.pass(120).await;
    assert_eq!(watched.state.unsynced(), [Kind::Pod]);
    assert!(!watched.state.snapshot().synced && !watched.state.scaling_view().synced);
    assert!(watched.shows("watch_synced", 0));
    watched.api.allow(Allowed::All);
    watched.pass(60).await;
    assert!(watched.state.snapshot().synced && watched.state.scaling_view().synced);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_lasts_for_moments_costs_nothing() {
    let watched = Watched::start(Allowed::All);
    watched.pass(1).await;
    watched.api.allow(Allowed::Nothing(403));
    while !watched.shows("watch_refused", 1) {
        watched.pass(1).await;
    }
    watched.pass(20).await;
    assert!(watched.state.snapshot().synced);
    watched.api.allow(Allowed::All);
    watched.pass(60).await;
    assert!(watched.shows("watch_refused", 0) && watched.state.snapshot().synced);
}

#[tokio::test(start_paused = true)]
async fn who_may_list_and_not_watch_is_refused() {
    let watched = Watched::start(Allowed::Listing);
    watched.pass(600).await;
    assert!(watched.shows("watch_refused", 1));
    assert_eq!(watched.state.unsynced(), [Kind::Pod]);
    watched.api.allow(Allowed::All);
    watched.pass(60).await;
    assert!(watched.state.unsynced().is_empty() && watched.shows("watch_refused", 0));
}

#[tokio::test(start_paused = true)]
async fn a_second_scheduler_is_alive_once_its_lease_is_seen_to_be_renewed() {
    for (renewals, is_alive) in [(vec![], false), (vec![1], true), (vec![1, 3], true)] {
        let api = Api::new(Allowed::All);
        *api.renewals.lock().unwrap() = renewals;
        let watched = Watched::on(api);
        watched.pass(2).await;
        let second = watched.state.second_scheduler(watched.state.now()).unwrap();
        assert_eq!(
            (second.name.as_str(), second.is_alive),
            ("evenkeel-scheduler", is_alive)
        );
        let lease = watched.state.snapshot().second_scheduler.clone().unwrap();
        assert_eq!(lease.is_fresh(watched.state.now()), is_alive);
        watched.metrics.observe(&watched.state);
        let mut registry = telemetry::registry();
        watched.metrics.register(&mut registry);
        let page = telemetry::encode(&registry).unwrap();
        let value = u8::from(is_alive);
        let name = "evenkeel_second_scheduler_alive";
        let line = format!("{name}{{scheduler=\"evenkeel-scheduler\"}} {value}\n");
        assert!(page.contains(&line), "{page}");
    }
}

#[tokio::test]
async fn a_watch_that_ends_or_panics_is_named() {
    for (broken, reason, text) in [
        (false, "WatchEnded", "the watch of node ended"),
        (true, "WatchBrokeOff", "the watch of node broke off"),
    ] {
        let mut watches = Watches::default();
        watches.add(Kind::Pod, |_| std::future::pending());
        watches.add(Kind::Node, |_| async move {
            assert!(!broken, "an object that breaks the reader");
        });
        let error = watches.ended().await;
        assert_eq!((error.reason(), error.to_string().as_str()), (reason, text));
    }
}

#[tokio::test(start_paused = true)]
async fn every_kind_that_is_waited_for_is_watched() {
    let watched = Watched::start(Allowed::All);
    watched.pass(1).await;
    let mut registry = telemetry::registry();
    watched.metrics.register(&mut registry);
    let page = telemetry::encode(&registry).unwrap();
    for kind in WATCHED {
        let line = format!("evenkeel_watch_refused{{kind=\"{}\"}} 0\n", kind.singular());
        let optional = [Kind::ScaledObject, Kind::CronHpa].contains(&kind);
        assert_eq!(page.contains(&line), !optional, "{line}{page}");
    }
}
