//! From the sections of the configuration to the settings of the parts.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};
use kube::config::KubeConfigOptions;

use super::Parts;
use crate::cluster;
use crate::config::{self, Certificates, Config, SelfManaged, Source};
use crate::controller::{certificates, leadership, scaling, writer};
use crate::metrics::{metrics_api, poller, prometheus, replay};
use crate::server::certificates::{Names, Validity};
use crate::server::tls::{self, Authority, FileWatch, ServerFiles};
use crate::server::{DrainSettings, ListenerSettings, api};
use crate::telemetry::{LogFormat, LogSettings};
use evenkeel_clock::Clock;
use evenkeel_core::placement::node_table;
use evenkeel_core::units::{Bytes, Ratio};
use evenkeel_kubernetes::plan::{self, election::Timing, wake};

/// Between SIGTERM and the end of accepting: one answer more on each connection in use, which says
/// that it closes.
const DRAIN_DELAY: Duration = Duration::from_secs(1);

/// How long a request's body may take to arrive: longer than either caller waits for an answer.
const BODY_TIME: Duration = Duration::from_secs(10);

/// An answer for 150,000 Pods is some 30 MB.
const METRICS_BODY: Bytes = Bytes(256 * 1024 * 1024);

/// How often a file with the scheduler's CA is looked at.
const FILE_INTERVAL: Duration = Duration::from_secs(10);

/// Each API request has this long; watches are renewed by the server before that.
const READ_TIMEOUT: Duration = Duration::from_secs(295);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn log(config: &Config) -> anyhow::Result<LogSettings> {
    let config::Log { level, format } = &config.log;
    Ok(LogSettings {
        filter: level.parse()?,
        format: match format {
            config::LogFormat::Json => LogFormat::Json,
            config::LogFormat::Text => LogFormat::Text,
        },
    })
}

pub(super) fn drain(config: &Config) -> DrainSettings {
    DrainSettings {
        delay: DRAIN_DELAY,
        timeout: config.server.drain_timeout.unsigned_abs(),
    }
}

pub(super) fn listener(config: &Config) -> ListenerSettings {
    ListenerSettings {
        idle_timeout: config.server.keep_alive.unsigned_abs(),
        ..ListenerSettings::new("https")
    }
}

pub(super) fn api(config: &Config) -> api::Settings {
    let server = &config.server;
    let count = |number: u32| {
        usize::try_from(number)
            .ok()
            .and_then(NonZeroUsize::new)
            .unwrap_or(NonZeroUsize::MIN)
    };
    api::Settings {
        admission_body: server.admission_body_limit,
        extender_body: server.extender_body_limit,
        admission_concurrency: count(server.admission_concurrency),
        extender_concurrency: count(server.extender_concurrency),
        body_time: BODY_TIME,
        body_budget: server.body_budget,
    }
}

pub(super) fn cluster(config: &Config) -> cluster::Settings {
    let policy = &config.policy;
    cluster::Settings {
        table: node_table::Settings {
            max_age: policy.max_age,
            provisional: config.in_flight_timeout,
        },
        default_capacity: policy.default_capacity,
        caps_as_demand: policy.caps_as_demand,
        expects_metrics: config.metrics.source != Source::None,
    }
}

/// Where the API server is and who we are: the kubeconfig that is named, else the Pod's service
/// account, else the user's own kubeconfig.
pub(super) async fn kubernetes(config: &Config) -> anyhow::Result<kube::Config> {
    let mut kubernetes = match &config.connection.kubeconfig {
        None => kube::Config::infer().await.context(
            "no way to reach a cluster was found: give --kubeconfig, or run in a Pod with a service account",
        )?,
        Some(file) => {
            let name = file.display();
            let read = kube::config::Kubeconfig::read_from(file)
                .with_context(|| format!("the kubeconfig {name} cannot be read"))?;
            kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
                .await
                .with_context(|| format!("the kubeconfig {name} cannot be used"))?
        }
    };
    // Watches, election and writer try again by themselves, at their own times; a client that does
    // so for minutes behind their backs would outlast the lease.
    kubernetes.default_retry = false;
    kubernetes.connect_timeout = Some(CONNECT_TIMEOUT);
    kubernetes.read_timeout = Some(READ_TIMEOUT);
    Ok(kubernetes)
}

pub(super) fn namespace(config: &Config, kubernetes: &kube::Config) -> String {
    let given = config.connection.namespace.clone();
    given.unwrap_or_else(|| kubernetes.default_namespace.clone())
}

/// This replica's name: unique among Pods by the host name, among processes of one host by the
/// process ID.
pub(super) fn identity(config: &Config) -> anyhow::Result<String> {
    let given = config.leader_election.identity.clone();
    given.map_or_else(
        || {
            let host = hostname::get().context("the host name cannot be read")?;
            Ok(format!("{}_{}", host.to_string_lossy(), std::process::id()))
        },
        Ok,
    )
}

pub(super) fn leadership(parts: &Parts) -> leadership::Settings {
    let config::LeaderElection {
        lease_name,
        lease_duration,
        renew_deadline,
        retry_period,
        identity: _,
    } = &parts.config.leader_election;
    leadership::Settings {
        namespace: parts.namespace.clone(),
        name: lease_name.clone(),
        identity: parts.identity.clone(),
        timing: Timing {
            lease_duration: lease_duration.unsigned_abs(),
            renew_deadline: renew_deadline.unsigned_abs(),
            retry_period: retry_period.unsigned_abs(),
        },
    }
}

pub(super) fn writer(config: &Config) -> writer::Settings {
    let config::Writer {
        queue,
        timeout,
        qps,
    } = &config.writer;
    writer::Settings {
        queue: usize::try_from(*queue).unwrap_or(usize::MAX),
        timeout: timeout.unsigned_abs(),
        pause: Duration::from_secs(1) / (*qps).max(1),
    }
}

pub(super) fn wake(config: &Config) -> wake::Settings {
    let config::Wake { min_interval } = &config.wake;
    wake::Settings {
        min_interval: *min_interval,
        ..wake::Settings::default()
    }
}

pub(super) fn self_managed(
    parts: &Parts,
    own: &SelfManaged,
    own_scheduler_authority: bool,
) -> anyhow::Result<certificates::Settings> {
    let SelfManaged {
        secret_name,
        dns_names,
        services,
        ip_addresses,
        ca_validity,
        leaf_validity,
        rotate_before,
    } = own;
    Ok(certificates::Settings {
        namespace: parts.namespace.clone(),
        secret: secret_name.clone(),
        names: Names::new(dns_names.iter().cloned(), ip_addresses.iter().copied())?,
        services: services.clone(),
        validity: Validity::new(*ca_validity, *leaf_validity, *rotate_before)?,
        own_scheduler_authority,
    })
}

pub(super) fn certificate_files(
    certificates: &Certificates,
    server: Option<&config::CertificateFiles>,
) -> FileWatch {
    let authorities: BTreeMap<Authority, PathBuf> = certificates
        .scheduler_ca
        .iter()
        .map(|file| (Authority::Scheduler, file.clone()))
        .collect();
    let files = tls::CertificateFiles {
        server: server.map(|files| ServerFiles {
            certificate: files.certificate.clone(),
            key: files.key.clone(),
        }),
        authorities,
    };
    let interval = server.map_or(FILE_INTERVAL, |files| files.reload_interval.unsigned_abs());
    FileWatch::new(files, interval)
}

/// Half of the age that a measurement may have is left to it for being scraped and asked for; the
/// other half it may stand. A round holds until the one after the next should be there.
pub(super) fn scaling(parts: &Parts) -> scaling::Settings {
    let config::Scaling {
        mode,
        predict,
        interval,
        max_age,
    } = parts.config.scaling;
    let max_age = max_age / 2;
    let rounds = parts.config.metrics.interval.saturating_mul(2);
    scaling::Settings {
        plan: plan::scaling::Settings {
            mode,
            predict,
            interval,
            max_age,
        },
        hold: rounds.min(max_age),
    }
}

pub(super) fn poller(config: &Config, clock: Clock) -> poller::Settings {
    poller::Settings {
        clock,
        interval: config.metrics.interval,
        timeout: round_timeout(config),
    }
}

/// A round asks some ten questions, each with its own timeout; none may still be under way when
/// its answer would be too old to be used.
fn round_timeout(config: &Config) -> Duration {
    (config.metrics.timeout.unsigned_abs() * 4).min(config.policy.max_age.unsigned_abs())
}

pub(super) fn metrics_api(config: &Config) -> metrics_api::Settings {
    metrics_api::Settings {
        timeout: config.metrics.timeout.unsigned_abs(),
        body_limit: METRICS_BODY,
    }
}

pub(super) fn replay(
    replay: &config::Replay,
    trace: replay::Trace,
    started_at: Timestamp,
) -> anyhow::Result<replay::Settings> {
    Ok(replay::Settings {
        trace,
        speed: Ratio::new(replay.speed)?,
        started_at,
    })
}

pub(super) fn prometheus(
    config: &Config,
    given: &config::Prometheus,
) -> anyhow::Result<prometheus::Settings> {
    let config::Prometheus {
        url,
        bearer_token_file,
        ca_file,
        window,
        node_label,
        queries,
    } = given;
    let window: SignedDuration = *window;
    Ok(prometheus::Settings {
        connection: prometheus::Connection {
            url: url
                .parse()
                .with_context(|| format!("metrics.prometheus.url {url:?}"))?,
            bearer_token_file: bearer_token_file.clone(),
            ca_file: ca_file.clone(),
            timeout: config.metrics.timeout.unsigned_abs(),
            body_limit: METRICS_BODY,
        },
        window,
        node_label: match node_label {
            None => prometheus::NodeLabel::Automatic,
            Some(label) => prometheus::NodeLabel::Named(label.parse()?),
        },
        queries: with_own(queries),
    })
}

/// The built-in queries, with the configured ones in their places.
fn with_own(queries: &config::Queries) -> prometheus::Queries {
    let config::Queries {
        node_cpu,
        node_memory,
        node_network_io,
        node_disk_io,
        node_disk,
        pod_cpu,
        pod_memory,
        pod_network_io,
        pod_disk_io,
        pod_disk,
        network_capacity,
    } = queries;
    let mut merged = prometheus::Queries::default();
    let nodes = [
        node_cpu,
        node_memory,
        node_network_io,
        node_disk_io,
        node_disk,
    ];
    let pods = [pod_cpu, pod_memory, pod_network_io, pod_disk_io, pod_disk];
    for (resource, own) in evenkeel_core::units::Resource::ALL.into_iter().zip(nodes) {
        if let Some(promql) = own {
            merged.nodes[resource] = Some(prometheus::NodeQuery::of(promql));
        }
    }
    for (resource, own) in evenkeel_core::units::Resource::ALL.into_iter().zip(pods) {
        if let Some(promql) = own {
            merged.pods[resource] = Some(promql.as_str().into());
        }
    }
    if let Some(promql) = network_capacity {
        merged.network_capacity = Some(promql.as_str().into());
    }
    merged
}
