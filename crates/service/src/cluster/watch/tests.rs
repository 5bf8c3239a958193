//! Watches on an API server that answers by a script: what a refusal does, and what an end.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::{Request, Response};
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::*;
use crate::cluster::{Settings, WATCHED};
use crate::telemetry;

/// The rights of all clients to Pods; all else is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowed {
    All,
    Listing,
    Nothing(u16),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rollouts {
    /// The cluster serves none.
    None,
    Listed,
    /// As where a webhook that converts them is broken.
    Failing,
    /// No answer comes.
    Hanging,
    /// One holds what cannot be read.
    Unreadable,
    /// One nests deeper than JSON is read.
    Deep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    /// The cluster serves none.
    None,
    /// One holds something that nests deeper than JSON is read, and one does not.
    Deep,
    /// The list is no JSON.
    Unreadable,
    /// The API server is gone.
    Failing,
}

#[derive(Debug, Clone)]
struct Api {
    rollouts: Arc<Mutex<Rollouts>>,
    own: Arc<Mutex<Own>>,
    own_lists: Arc<Mutex<u32>>,
    /// True once the namespace shop has opted in.
    opted_in: Arc<Mutex<bool>>,
    /// False where no look for a kind is answered.
    tells_of_kinds: Arc<Mutex<bool>>,
    allowed: Arc<Mutex<Allowed>>,
    asked: Arc<Mutex<u32>>,
    /// The seconds at which the second scheduler renews its Lease while it is watched.
    renewals: Arc<Mutex<Vec<u32>>>,
}

impl Api {
    fn new(allowed: Allowed) -> Self {
        Self {
            allowed: Arc::new(Mutex::new(allowed)),
            rollouts: Arc::new(Mutex::new(Rollouts::None)),
            own: Arc::new(Mutex::new(Own::None)),
            own_lists: Arc::default(),
            opted_in: Arc::default(),
            tells_of_kinds: Arc::new(Mutex::new(true)),
            asked: Arc::default(),
            renewals: Arc::default(),
        }
    }

    fn allow(&self, allowed: Allowed) {
        *self.allowed.lock().unwrap() = allowed;
    }

    fn list_rollouts(&self, rollouts: Rollouts) {
        *self.rollouts.lock().unwrap() = rollouts;
    }

    /// The answer for Rollouts and for their definition; `None` for no answer at all.
    fn of_rollouts(&self, path: &str, watches: bool) -> Option<Response<Body>> {
        let is_list = path.ends_with("/rollouts");
        if !is_list && !*self.tells_of_kinds.lock().unwrap() {
            return Some(response(500, Body::from(failure(500).to_string())));
        }
        let answer = match *self.rollouts.lock().unwrap() {
            Rollouts::None => return Some(response(404, Body::from(not_found().to_string()))),
            _ if path.ends_with("/rollouts.argoproj.io") => definition().to_string(),
            _ if !is_list => resources().to_string(),
            Rollouts::Failing => {
                return Some(response(500, Body::from(failure(500).to_string())));
            }
            Rollouts::Hanging => return None,
            _ if watches => {
                let endless = stream::pending::<Result<Vec<u8>, Infallible>>();
                return Some(response(200, Body::from_stream(endless)));
            }
            Rollouts::Listed => list(&rollout("3")),
            Rollouts::Deep => {
                let deep = format!("3, \"deep\": {}1{}", "[".repeat(500), "]".repeat(500));
                list(&rollout(&deep))
            }
            Rollouts::Unreadable => list(&rollout("3").replace("web", "\u{1}")),
        };
        Some(response(200, Body::from(answer)))
    }

    fn list_own(&self, own: Own) {
        *self.own.lock().unwrap() = own;
    }

    fn of_own(&self, path: &str, watches: bool) -> Response<Body> {
        let own = *self.own.lock().unwrap();
        let plural = path.rsplit('/').next().unwrap_or_default();
        let deep = format!("{}1{}", r#"{"a":"#.repeat(500), "}".repeat(500));
        let spec = match plural {
            _ if own == Own::None => return response(404, Body::from(not_found().to_string())),
            "v1alpha1" => return response(200, Body::from(own_resources().to_string())),
            "horizontalportraits" => format!(
                r#"{{"externalGeneratorName": "us", "algorithm": {{"type": "Ours", "config": {deep}}}}}"#
            ),
            _ => format!(
                r#"{{"scaleTargetRef": {{"kind": "Deployment", "name": "web"}}, "portraitProviders": [{{"type": "Dynamic",
                    "dynamic": {{"externalGeneratorName": "us", "algorithm": {{"type": "Ours", "config": {deep}}}}}}}]}}"#
            ),
        };
        if watches {
            let endless = stream::pending::<Result<Vec<u8>, Infallible>>();
            return response(200, Body::from_stream(endless));
        }
        *self.own_lists.lock().unwrap() += 1;
        let object = |name: &str, spec: &str| {
            format!(
                r#"{{"metadata": {{"name": "{name}", "namespace": "shop", "uid": "{name}"}}, "spec": {spec}}}"#
            )
        };
        match own {
            Own::Failing => response(500, Body::from(failure(500).to_string())),
            Own::Unreadable => response(200, Body::from(list("{"))),
            Own::None | Own::Deep => {
                let items = format!("{}, {}", object("deep", &spec), object("plain", "{}"));
                response(200, Body::from(list(&items)))
            }
        }
    }

    fn shop(&self) -> Value {
        let enabled = self.opted_in.lock().unwrap().to_string();
        let annotations = json!({"evenkeel.dev/enabled": enabled});
        json!({"metadata": {"name": "shop", "annotations": annotations}})
    }

    fn asked(&self) -> u32 {
        *self.asked.lock().unwrap()
    }

    fn client(&self) -> Client {
        let api = self.clone();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let (path, query) = (request.uri().path(), request.uri().query());
            let watches = query.is_some_and(|query| query.contains("watch=true"));
            let answer = if path.contains("argoproj.io") {
                api.of_rollouts(path, watches)
            } else {
                Some(api.answer(path, query))
            };
            async move {
                match answer {
                    Some(answer) => Ok::<_, Infallible>(answer),
                    None => std::future::pending().await,
                }
            }
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
        if path.starts_with("/apis/keda.sh") {
            return response(404, Body::from(not_found().to_string()));
        }
        if path.starts_with("/apis/autoscaling.evenkeel.dev") {
            return self.of_own(path, watches);
        }
        if path.ends_with("/leases") {
            // Its right is for one name: without the name it would be refused.
            assert!(query.is_some_and(|query| {
                query.contains("fieldSelector=metadata.name%3Devenkeel-scheduler")
            }));
            let renewals = self.renewals.lock().unwrap().clone();
            let events = renewals.into_iter().map(|second| {
                let lease = lease(second);
                let event = format!("{{\"type\": \"MODIFIED\", \"object\": {lease}}}\n");
                Ok::<_, Infallible>(event.into_bytes())
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
        let items = if path.ends_with("/namespaces") {
            vec![self.shop()]
        } else {
            Vec::new()
        };
        let list = json!({"kind": "List", "apiVersion": "v1",
                          "metadata": {"resourceVersion": "7"}, "items": items});
        response(200, Body::from(list.to_string()))
    }
}

fn resources() -> Value {
    let resource = |name: &str, kind: &str| json!({"name": name, "kind": kind, "namespaced": true, "singularName": "", "verbs": []});
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "argoproj.io/v1alpha1",
           "resources": [resource("rollouts", "Rollout"), resource("rollouts/scale", "Scale")]})
}

fn own_resources() -> Value {
    let resource = |name: &str| json!({"name": name, "kind": "A", "namespaced": true, "singularName": "", "verbs": []});
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "autoscaling.evenkeel.dev/v1alpha1",
           "resources": [resource("horizontalportraits"), resource("intelligenthorizontalpodautoscalers")]})
}

fn definition() -> Value {
    let paths =
        json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
    json!({"spec": {"versions": [{"name": "v1alpha1", "subresources": {"scale": paths}}]}})
}

fn rollout(replicas: &str) -> String {
    format!(
        r#"{{"metadata": {{"name": "web", "namespace": "shop", "uid": "r", "resourceVersion": "1",
            "annotations": {{"evenkeel.dev/bounds": "x"}}}}, "spec": {{"replicas": {replicas}}}}}"#
    )
}

fn list(items: &str) -> String {
    format!(
        r#"{{"kind": "RolloutList", "apiVersion": "argoproj.io/v1alpha1",
            "metadata": {{"resourceVersion": "7"}}, "items": [{items}]}}"#
    )
}

fn failure(code: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no webhook",
           "reason": "InternalError", "code": code})
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
    metrics: ClusterMetrics,
    _watches: Watches,
}

impl Watched {
    fn start(allowed: Allowed) -> Self {
        Self::on(Api::new(allowed))
    }

    fn on(api: Api) -> Self {
        let state = ClusterState::new(Settings {
            expects_metrics: true,
            ..Settings::default()
        });
        let metrics = ClusterMetrics::default();
        let lease = LeaseName {
            namespace: "evenkeel-system".to_owned(),
            name: "evenkeel-scheduler".to_owned(),
        };
        let further = OptionalWatches {
            discovery: DISCOVERY,
            second_scheduler: Some(lease),
            kinds: vec![ScaledKind::new("argoproj.io/v1alpha1", "Rollout").unwrap()],
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
        self.has(&format!("{name}{{kind=\"pod\"}} {value}"))
    }

    fn has(&self, line: &str) -> bool {
        let mut registry = telemetry::registry();
        self.metrics.register(&mut registry);
        let page = telemetry::encode(&registry).unwrap();
        page.contains(&format!("evenkeel_{line}\n"))
    }

    fn lists_rollouts(&self, listed: bool) -> bool {
        let listed = u8::from(listed);
        self.has(&format!(
            "watch_synced{{kind=\"rollout.argoproj.io\"}} {listed}"
        ))
    }

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

/// The harm of a revoked right: Evenkeel trusted data that no update corrected any more.
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

/// The harm: one kind that could not be listed stopped the scaling of every other, in silence.
#[tokio::test(start_paused = true)]
async fn custom_resources_that_cannot_be_listed_hold_up_others_for_a_minute() {
    for broken in [Rollouts::Failing, Rollouts::Hanging, Rollouts::Unreadable] {
        let api = Api::new(Allowed::All);
        api.list_rollouts(broken);
        let watched = Watched::on(api);
        watched.pass(10).await;
        assert!(!watched.state.scaling_view().synced, "{broken:?}");
        assert!(watched.lists_rollouts(false), "{broken:?}");
        watched.pass(80).await;
        let view = watched.state.scaling_view();
        assert!(view.synced && view.targets.is_empty(), "{broken:?}");
        assert!(watched.lists_rollouts(false), "{broken:?}");
        assert!(watched.has("watch_refused{kind=\"rollout.argoproj.io\"} 0"));
        watched.api.list_rollouts(Rollouts::Listed);
        watched.pass(120).await;
        let view = watched.state.scaling_view();
        assert!(view.synced, "{broken:?}");
        assert_eq!(view.targets.len(), 1, "{broken:?}");
        assert!(watched.lists_rollouts(true), "{broken:?}");
    }
}

/// The harm: one object of one tenant made the list of all of them fail.
#[tokio::test(start_paused = true)]
async fn an_object_that_nests_deep_is_listed_with_all_others() {
    let api = Api::new(Allowed::All);
    api.list_rollouts(Rollouts::Deep);
    let watched = Watched::on(api);
    watched.pass(10).await;
    let view = watched.state.scaling_view();
    assert!(view.synced && watched.lists_rollouts(true));
    let [target] = view.targets.as_slice() else {
        panic!("{:?}", view.targets);
    };
    assert_eq!(target.workload.as_ref().unwrap().replicas, 3);
}

impl Watched {
    fn opt_in(&self, enabled: bool) {
        *self.api.opted_in.lock().unwrap() = enabled;
        let namespace = serde_json::from_value(self.api.shop()).unwrap();
        self.state.apply_namespace(&namespace, self.state.now());
    }

    /// The IntelligentHorizontalPodAutoscalers and HorizontalPortraits that are known whole.
    fn own(&self) -> (usize, usize) {
        let objects = self.state.scaling().portrait_objects().unwrap_or_default();
        (objects.ihpas.len(), objects.portraits.len())
    }
}

/// The harm: one small object of any tenant, in a kind with free fields, ended all scaling of the
/// cluster with the next list.
#[tokio::test(start_paused = true)]
async fn own_objects_that_nest_deep_are_listed_with_all_others() {
    let api = Api::new(Allowed::All);
    api.list_own(Own::Deep);
    *api.opted_in.lock().unwrap() = true;
    let watched = Watched::on(api);
    watched.pass(10).await;
    assert!(watched.state.scaling_view().synced);
    assert_eq!(watched.own(), (2, 2));
    assert_eq!(*watched.api.own_lists.lock().unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn own_kinds_whose_list_cannot_be_read_hold_up_others_for_a_minute() {
    let api = Api::new(Allowed::All);
    api.list_own(Own::Unreadable);
    *api.opted_in.lock().unwrap() = true;
    let watched = Watched::on(api);
    watched.pass(10).await;
    assert!(!watched.state.scaling_view().synced);
    watched.pass(80).await;
    assert!(watched.state.scaling_view().synced);
    watched.api.list_own(Own::Deep);
    watched.pass(60).await;
    assert_eq!(watched.own(), (2, 2));
}

/// The possible harm: without an API server, bounds held by calendars would be restored.
#[tokio::test(start_paused = true)]
async fn own_kinds_are_waited_for_while_nobody_answers() {
    let api = Api::new(Allowed::All);
    api.list_own(Own::Failing);
    let watched = Watched::on(api);
    watched.pass(600).await;
    assert!(!watched.state.scaling_view().synced);
    watched.api.list_own(Own::Deep);
    watched.pass(60).await;
    assert!(watched.state.scaling_view().synced);
}

#[tokio::test(start_paused = true)]
async fn what_was_not_kept_is_listed_when_its_namespace_opts_in() {
    let api = Api::new(Allowed::All);
    api.list_own(Own::Deep);
    let watched = Watched::on(api);
    watched.pass(10).await;
    assert_eq!(watched.own(), (0, 0));
    watched.opt_in(true);
    watched.pass(10).await;
    assert_eq!(watched.own(), (2, 2));
    assert_eq!(*watched.api.own_lists.lock().unwrap(), 4);
    watched.opt_in(false);
    assert_eq!(watched.own(), (0, 0));
}

/// The harm: after one look without an answer the kind was shown as unknown for ever.
#[tokio::test(start_paused = true)]
async fn a_look_without_an_answer_is_forgotten_with_the_next_that_has_one() {
    let api = Api::new(Allowed::All);
    api.list_rollouts(Rollouts::Listed);
    let watched = Watched::on(api);
    let is = |state: &str| {
        watched.has(&format!(
            "scaling_kinds{{kind=\"rollout.argoproj.io\",state=\"{state}\"}} 1"
        ))
    };
    watched.pass(1).await;
    assert!(is("served"));
    *watched.api.tells_of_kinds.lock().unwrap() = false;
    watched.pass(DISCOVERY.as_secs()).await;
    assert!(is("unknown") && !is("served"));
    *watched.api.tells_of_kinds.lock().unwrap() = true;
    watched.pass(DISCOVERY.as_secs()).await;
    assert!(is("served") && !is("unknown"));
    watched.api.list_rollouts(Rollouts::None);
    watched.pass(DISCOVERY.as_secs()).await;
    assert!(is("absent"));
    assert!(!watched.lists_rollouts(true) && !watched.lists_rollouts(false));
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
    for (broken, text) in [
        (false, "the watch of node ended"),
        (true, "the watch of node was interrupted"),
    ] {
        let mut watches = Watches::default();
        watches.add(Kind::Pod, |_| std::future::pending());
        watches.add(Kind::Node, |_| async move {
            assert!(!broken, "an object that breaks the reader");
        });
        let error = watches.ended().await;
        assert_eq!(matches!(error, WatchError::BrokeOff { .. }), broken);
        assert_eq!(error.to_string(), text);
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
        let optional = [
            Kind::ScaledObject,
            Kind::CronHpa,
            Kind::ReplicaProfile,
            Kind::Ihpa,
            Kind::HorizontalPortrait,
        ];
        let optional = optional.contains(&kind);
        assert_eq!(page.contains(&line), !optional, "{line}{page}");
    }
}
