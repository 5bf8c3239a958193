//! The service's own router on loopback, over TLS, with a cluster that needs no API server.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use evenkeel_certificates::bundle::Bundle;
use evenkeel_certificates::rotation_plan::Validity;
use evenkeel_certificates::subject_alt_names::Names;
use evenkeel_clock as clock;
use evenkeel_http_client::{TrustAnchors, tls_config};
use evenkeel_metrics::usage::{NodeSample, UsageSample};
use evenkeel_objects::capacities::Capacities;
use evenkeel_placement::node_table;
use evenkeel_units::{Amount, Bytes, Resources};
use jiff::Timestamp;
use serde_json::json;
use tokio::runtime::Runtime;

use super::load::BenchTarget;
use super::request_bodies::{NAMESPACE, node_name};
use evenkeel_service::cluster;
use evenkeel_service::cluster::ClusterState;
use evenkeel_service::config::{Config, ConfigSources};
use evenkeel_service::controller::{WriteSwitch, Writes};
use evenkeel_service::server::handlers::Handlers;
use evenkeel_service::server::tls::{CertificateStore, CertificateUpdate, ServerCertificate};
use evenkeel_service::server::{
    BodyPace, Drain, DrainSettings, Listener, ListenerMetrics, ListenerSettings, Transport,
    handlers,
};

/// A service that answers until it is dropped.
pub(super) struct LoopbackService {
    address: SocketAddr,
    authorities: String,
    runtime: Option<Runtime>,
    _drain: Drain,
}

impl LoopbackService {
    /// Starts it on threads of its own, with `nodes` measured nodes.
    pub(super) fn start(nodes: u32, threads: usize) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("service")
            .enable_all()
            .build()?;
        let now = clock::now();
        let names = Names::new(["localhost".to_owned()], [Ipv4Addr::LOCALHOST.into()])?;
        let bundle = Bundle::generate(now, &names, &Validity::default())?;
        let metrics = ListenerMetrics::default();
        let store = CertificateStore::new(
            CertificateUpdate {
                server: Some(ServerCertificate::from_pem(
                    bundle.server_certificate().as_bytes(),
                    bundle.server_key().as_bytes(),
                )?),
                authorities: None,
            },
            metrics.clone(),
        )?;
        let within = runtime.enter();
        let listener = Listener::bind(
            SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            ListenerSettings::new("bench"),
            Transport::tls(Arc::new(store)),
            metrics.clone(),
        )?;
        drop(within);
        let address = listener.local_address()?;
        let drain = Drain::new(DrainSettings {
            delay: Duration::ZERO,
            timeout: Duration::from_secs(1),
        });
        let router = handlers(nodes, now)?
            .routes(&limits(), metrics)
            .into_router();
        runtime.spawn(listener.serve(router, drain.part()));
        Ok(Self {
            address,
            authorities: bundle.ca_bundle(),
            runtime: Some(runtime),
            _drain: drain,
        })
    }

    pub(super) fn target(&self, path: &str) -> anyhow::Result<BenchTarget> {
        Ok(BenchTarget {
            host: self.address.ip().to_string(),
            port: self.address.port(),
            path: path.to_owned(),
            tls: Arc::new(tls_config(
                TrustAnchors::Authorities(self.authorities.as_bytes()),
                None,
            )?),
        })
    }
}

impl Drop for LoopbackService {
    fn drop(&mut self) {
        // The benchmark does not use the connections any more.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// No bound that the load could meet.
fn limits() -> handlers::Settings {
    let many = const { NonZeroUsize::new(4096).expect("not zero") };
    handlers::Settings {
        admission_budget: Bytes(4 << 30),
        extender_budget: Bytes(4 << 30),
        admission_body: Bytes(4 << 20),
        extender_body: Bytes(64 << 20),
        admission_concurrency: many,
        extender_concurrency: many,
        body_pace: BodyPace {
            grace: Duration::from_secs(10),
            rate: Bytes(1 << 20),
            longest: Duration::from_secs(10),
        },
    }
}

fn handlers(nodes: u32, now: Timestamp) -> anyhow::Result<Handlers> {
    let policy = Config::load(&ConfigSources::default())?.policy;
    let state = ClusterState::new(cluster::Settings {
        table: node_table::Settings::default(),
        capacities: Capacities::new(Vec::new(), policy.default_capacity),
        caps_as_demand: policy.caps_as_demand,
        expects_metrics: true,
        balances_scale_in: false,
        shape_policy: None,
    });
    let namespace = json!({
        "metadata": {"name": NAMESPACE, "annotations": {"evenkeel.dev/enabled": "true"}},
    });
    state.apply_namespace(&serde_json::from_str(&namespace.to_string())?, now);
    let mut sample = UsageSample::default();
    for index in 0..nodes {
        let name = node_name(index);
        let node = json!({
            "metadata": {
                "name": name,
                "annotations": {
                    "evenkeel.dev/network-capacity": "10Gbps",
                    "evenkeel.dev/disk-io-capacity": "500MB/s",
                },
            },
            "spec": {},
            "status": {
                "allocatable": {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "200Gi"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        });
        let node = serde_json::from_str(&node.to_string()).context("a node of the benchmark")?;
        state.apply_node(&node, now);
        sample.insert_node(name, &usage(index, now));
    }
    state.apply_sample(Arc::new(sample), now);
    for kind in state.unsynced() {
        state.set_synced(kind);
    }
    let metrics = handlers::HandlerMetrics::default();
    let switch = WriteSwitch::new(Writes::Enabled);
    Ok(Handlers::new(state, Arc::new(policy), metrics, switch))
}

/// Between a tenth and nine tenths of each resource, so that some nodes pass and some do not.
fn usage(index: u32, now: Timestamp) -> Resources<Option<NodeSample>> {
    let parts = Resources::new([7, 11, 13, 17, 19]);
    let capacity = Resources::new([16_000, 64 << 30, 1_250_000_000, 500_000_000, 200 << 30]);
    Resources::from_fn(|resource| {
        let hundredths = 10 + u64::from(index.wrapping_mul(parts[resource]) % 80);
        let capacity: u64 = capacity[resource];
        Some(NodeSample {
            value: Amount::new(capacity / 100 * hundredths),
            at: now,
            window: jiff::SignedDuration::from_secs(30),
        })
    })
}
