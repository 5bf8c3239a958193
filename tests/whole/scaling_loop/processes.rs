//! Two processes of the built program: whatever befalls the one that leads, the other takes over,
//! and from its first write on none of the first's is made.
//!
//! Each speaks to the API server through a gate of its own. There is always something to write:
//! the status of the target is taken away as soon as it is there.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use evenkeel_apiserver::Settings;
use evenkeel_clock::{self as clock, Clock};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::direct::directly;
use super::gate::{Gate, Written};
use super::world::{BOUNDS, DEPLOYMENT, HPA, MIN, STATUS, World, least, with_world_on};
use crate::support::control_plane::free_port;
use crate::support::control_plane::page;
use crate::support::control_plane::process::{Process, Signal, report};
use crate::support::control_plane::signer::Signer;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::dev_api::{self, get};

/// The count of the target.
const SCALE: &str = "/apis/apps/v1/namespaces/shop/deployments/web/scale";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/evenkeel-system/leases/evenkeel";

/// A holder may write no longer than this after it renewed its lease last.
const LEASE_DURATION: SignedDuration = SignedDuration::from_secs(10);

#[test]
fn a_leader_that_is_paused_writes_no_more_when_it_wakes() {
    takes_over(
        async |first| first.process.signal(Signal::STOP),
        async |first| first.process.signal(Signal::CONT),
    );
}

#[test]
fn a_leader_that_is_killed_is_followed() {
    takes_over(
        async |first| first.process.signal(Signal::KILL),
        async |_| {},
    );
}

#[test]
fn a_leader_that_is_cut_off_stops_before_another_begins() {
    takes_over(
        async |first| first.gate.set_closed(true),
        async |first| first.gate.set_closed(false),
    );
}

/// In mode direct the leader sets the count, and the next leader goes on from it. No count is set
/// twice, none is left out, and each step is one that the user's rules allow.
#[test]
fn in_mode_direct_a_leader_that_stops_is_followed_without_a_jump_and_without_a_second_write() {
    let plain = Settings {
        tls: false,
        ..dev_api::settings()
    };
    with_world_on(plain, Clock::real(), async |world| {
        // A Pod more every eight seconds.
        let origin = clock::now();
        world.prometheus.handle.set_load(move |at| {
            let seconds = at.duration_since(origin).as_secs_f64();
            2.0 + 0.1 * seconds.max(0.0)
        });
        let _controllers = world.controllers().await;
        directly(world).await;
        let room = json!({"evenkeel.dev/max-replicas": "200"});
        world.annotate(DEPLOYMENT, room).await;
        let _signer = world_signer(world);
        let first = Replica::start(world, "evenkeel-0", SCALE).await;
        first.leads(world).await;
        first.writes(2).await;
        let second = Replica::start(world, "evenkeel-1", SCALE).await;
        second.is_ready().await;
        first.writes(1).await;
        assert!(second.of_the_target().is_empty(), "one leads");
        first.process.signal(Signal::TERM);
        second.leads(world).await;
        second.writes(3).await;
        let (before, after) = (first.of_the_target(), second.of_the_target());
        let last = before.last().expect("the first wrote").at;
        assert!(last < after[0].at, "one after the other");
        let steps: Vec<_> = before.iter().chain(&after).map(step).collect();
        for pair in steps.windows(2) {
            assert_eq!(
                pair[0].1, pair[1].0,
                "each from where the last one was: {steps:?}"
            );
        }
        let rules = steps
            .iter()
            .all(|(from, to)| (1..=2).contains(&(to - from)));
        assert!(rules, "{steps:?}");
    });
}

/// The rights that outlive a deletion, with the finalizer that holds them.
async fn plant_rights(world: &World<'_>) -> [String; 3] {
    let held = json!({"name": "evenkeel-clean-up", "finalizers": ["evenkeel.dev/clean-up"]});
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = format!("{rbac}/clusterroles");
    let binding = format!("{rbac}/clusterrolebindings");
    let accounts = "/api/v1/namespaces/evenkeel-system/serviceaccounts".to_owned();
    let reference = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "evenkeel-clean-up"});
    for (path, object) in [
        (&role, json!({"metadata": held, "rules": []})),
        (
            &binding,
            json!({"metadata": held, "roleRef": reference, "subjects": []}),
        ),
        (
            &accounts,
            json!({"metadata": {"name": "evenkeel", "finalizers": held["finalizers"]}}),
        ),
    ] {
        dev_api::create(world.client, path, &object).await;
    }
    [
        format!("{role}/evenkeel-clean-up"),
        format!("{binding}/evenkeel-clean-up"),
        format!("{accounts}/evenkeel"),
    ]
}

/// The harm: rights and Pods were deleted in one go, and floors were left for ever.
#[test]
fn what_is_deleted_first_is_taken_back_by_the_replicas_before_it_is_gone() {
    let plain = Settings {
        tls: false,
        ..dev_api::settings()
    };
    with_world_on(plain, Clock::real(), async |world| {
        let origin = clock::now();
        world.prometheus.handle.set_load(move |at| {
            let minutes = at.duration_since(origin).as_secs_f64() / 60.0;
            4.0 + 0.5 * minutes.max(-6.0)
        });
        let _controllers = world.controllers().await;
        let _signer = world_signer(world);
        let held = plant_rights(world).await;
        let first = Replica::start(world, "evenkeel-0", HPA).await;
        first.leads(world).await;
        let second = Replica::start(world, "evenkeel-1", HPA).await;
        second.is_ready().await;
        world
            .until_autoscaler("the floor rises", |hpa| least(hpa) > MIN)
            .await;
        for path in &held {
            let (status, answer) = dev_api::ask(world.client, "DELETE", path, &Value::Null).await;
            assert_eq!(status, 200, "{answer}");
        }
        for path in &held {
            eventually("the rights are gone", async || {
                let (status, answer) = dev_api::ask(world.client, "GET", path, &Value::Null).await;
                holds(status == 404, || answer.to_string())
            })
            .await;
        }
        let hpa = get(world.client, HPA).await;
        assert_eq!(least(&hpa), MIN, "{hpa}");
        let annotations = &hpa["metadata"]["annotations"];
        assert!(
            annotations[BOUNDS].is_null() && annotations[STATUS].is_null(),
            "{hpa}"
        );
        // The leader writes nothing any more, although its load still rises and several ticks go by.
        for _ in 0..3 {
            let renewed = get(world.client, LEASE).await["spec"]["renewTime"].clone();
            eventually("the leader goes on", async || {
                let lease = get(world.client, LEASE).await;
                holds(lease["spec"]["renewTime"] != renewed, || lease.to_string())
            })
            .await;
        }
        let later = get(world.client, HPA).await;
        assert_eq!(later["spec"], hpa["spec"]);
        assert_eq!(later["metadata"]["annotations"], *annotations);
    });
}

/// The count that a write was decided on, and the one that it sets.
fn step(written: &Written) -> (i64, i64) {
    let operations = written.body.as_array().expect("a JSON patch");
    let count = |op: &str| {
        let mut all = operations.iter();
        let one = all.find(|one| one["op"] == op && one["path"] == "/spec/replicas");
        one.and_then(|one| one["value"].as_i64())
    };
    let from = count("test").expect("what it was decided on");
    (from, count("add").expect("what it sets"))
}

/// `fault` befalls the leader, and when the other has taken over the leader comes `back`.
fn takes_over(fault: impl AsyncFnOnce(&Replica), back: impl AsyncFnOnce(&Replica)) {
    let plain = Settings {
        tls: false,
        ..dev_api::settings()
    };
    with_world_on(plain, Clock::real(), async |world| {
        // These processes go by the real clock, and so does the load: up by half a core a minute.
        let origin = clock::now();
        world.prometheus.handle.set_load(move |at| {
            let minutes = at.duration_since(origin).as_secs_f64() / 60.0;
            4.0 + 0.5 * minutes.max(-6.0)
        });
        let _controllers = world.controllers().await;
        let _signer = world_signer(world);
        let taking = tokio::spawn(take_status(world.client.clone()));
        let first = Replica::start(world, "evenkeel-0", HPA).await;
        first.leads(world).await;
        first.writes(3).await;
        let second = Replica::start(world, "evenkeel-1", HPA).await;
        second.is_ready().await;
        first.writes(3).await;
        world
            .until_autoscaler("the floor rises", |hpa| least(hpa) > MIN)
            .await;
        let struck = clock::now();
        fault(&first).await;
        second.leads(world).await;
        second.writes(3).await;
        let before = first.gate.passed();
        back(&first).await;
        second.writes(6).await;
        never_both(&first, &second, struck);
        let lease = get(world.client, LEASE).await;
        assert_eq!(lease["spec"]["leaseTransitions"], 1, "{lease}");
        assert!(first.gate.passed() >= before);
        taking.abort();
    });
}

fn world_signer(world: &World<'_>) -> Signer {
    let configuration = configured(world, "signer", free_port());
    let kubeconfig = world.kubeconfig();
    Signer::start(
        world.folder(),
        "evenkeel-system",
        &kubeconfig,
        configuration,
    )
}

/// From the second's first write on there is none of the first's, nor is there one after its lease.
fn never_both(first: &Replica, second: &Replica, struck: jiff::Timestamp) {
    let begun = second.of_the_target().first().expect("the second wrote").at;
    let last = first.of_the_target().last().expect("the first wrote").at;
    assert!(
        last < begun,
        "the first wrote at {last}, the second from {begun}"
    );
    assert!(
        last <= struck + LEASE_DURATION,
        "{last} is beyond the lease, struck {struck}"
    );
}

/// Removes what is told of the target, so that the leader tells it again.
async fn take_status(client: kube::Client) {
    loop {
        let gone = json!({"metadata": {"annotations": {STATUS: null}}});
        dev_api::patch(&client, HPA, "merge", &gone).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

/// One replica behind its gate.
struct Replica {
    name: &'static str,
    /// The path of what its writes are looked for in.
    target: &'static str,
    gate: Gate,
    process: Process,
    http: u16,
}

impl Replica {
    async fn start(world: &World<'_>, name: &'static str, target: &'static str) -> Self {
        let folder: PathBuf = world.folder().join(name);
        std::fs::create_dir(&folder).expect("the folder is ours");
        let gate = Gate::start(world.server.url()).await;
        let kubeconfig = world
            .server
            .kubeconfig()
            .replace(&world.server.url(), &gate.url);
        let http = free_port();
        let write = |file: &str, text: String| {
            let path = folder.join(file);
            std::fs::write(&path, text).expect("the folder is ours");
            path
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command
            .arg("serve")
            .arg("--config")
            .arg(write(
                "config.yaml",
                configured(world, name, http).to_string(),
            ))
            .arg("--kubeconfig")
            .arg(write("kubeconfig", kubeconfig))
            .args(["--namespace", "evenkeel-system"]);
        Self {
            name,
            target,
            gate,
            process: Process::spawn(name, &mut command, &folder),
            http,
        }
    }

    async fn leads(&self, world: &World<'_>) {
        eventually(&format!("{} leads", self.name), async || {
            let (_, lease) = dev_api::ask(world.client, "GET", LEASE, &Value::Null).await;
            let holder = &lease["spec"]["holderIdentity"];
            holds(holder == self.name, || holder.to_string())
        })
        .await;
    }

    async fn is_ready(&self) {
        let url = format!("http://127.0.0.1:{}/readyz", self.http);
        eventually("it is ready", async || {
            let status = page::status(&url)
                .await
                .map_err(|error| error.to_string())?;
            holds(status.is_success(), || status.to_string())
        })
        .await;
    }

    /// Waits until so many more writes to the target have been made.
    async fn writes(&self, more: usize) {
        let wanted = self.of_the_target().len() + more;
        eventually(&format!("{} writes", self.name), async || {
            let found = self.of_the_target().len();
            holds(found >= wanted, || format!("{found} writes"))
        })
        .await;
    }

    /// Its writes on the target.
    fn of_the_target(&self) -> Vec<Written> {
        let mut written = self.gate.written();
        written.retain(|written| written.path.starts_with(self.target));
        written
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        if std::thread::panicking() {
            report(&self.process.log_tail(40));
        }
    }
}

fn configured(world: &World<'_>, name: &str, http: u16) -> Value {
    json!({
        "server": {
            "https": format!("127.0.0.1:{}", free_port()),
            "http": format!("127.0.0.1:{http}"),
            "metrics": format!("127.0.0.1:{}", free_port()),
            "dashboard": format!("127.0.0.1:{}", free_port()),
        },
        "leaderElection": {"identity": name},
        "certificates": {"selfManaged": {"services": [], "ipAddresses": ["127.0.0.1"]}},
        "metrics": {"source": "prometheus", "interval": "1s", "maxAge": "2m", "timeout": "1s",
            "prometheus": {"url": world.prometheus.url, "window": "2s", "nodeLabel": "node",
                "queries": {"podCpu": "pod_cpu", "podMemory": "pod_memory",
                    "nodeCpu": "node_cpu", "nodeMemory": "node_memory"}}},
        "scaling": {"interval": "1s"},
    })
}
