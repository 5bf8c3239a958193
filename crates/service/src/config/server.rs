//! `server`: addresses to listen on, and the bounds of what is taken at once.

use std::net::SocketAddr;
use std::str::FromStr as _;
use std::time::Duration;

use axum::http::uri::Authority;
use evenkeel_objects::yaml_values::YamlText;
use evenkeel_units::Bytes;

use super::check::Checker;
use super::section::section;
use super::value::Count;
use crate::metrics_provider;
use crate::server::{
    BodyPace, DrainSettings, ListenerSettings, MetricsAuthentication, Settings, handlers,
};

/// Between SIGTERM and the end of accepting: each connection in use gets one more answer, which
/// says that it closes.
const DRAIN_DELAY: Duration = Duration::from_secs(1);

/// A stalled body is dropped before a caller's usual timeout (1 s and 0.2 s); a steady one gets the
/// time of 3 MiB at 2 Mbit/s, which is more than either waits.
const BODY_PACE: BodyPace = BodyPace {
    grace: Duration::from_millis(500),
    rate: Bytes(256 * 1024),
    longest: Duration::from_secs(10),
};

section! {
    /// `server` as it is written.
    ServerSection {
        // All addresses of either family.
        https: YamlText = "[::]:8443".into(),
        http: YamlText = "[::]:8080".into(),
        metrics: YamlText = "[::]:8444".into(),
        metrics_authentication: MetricsAuthentication = MetricsAuthentication::default(),
        dashboard: YamlText = "127.0.0.1:8081".into(),
        dashboard_hosts: Vec<String> = Vec::new(),
        // The group is one for the cluster, which KEDA or another adapter may hold.
        external_metrics: bool = false,
        // The API server takes objects up to 3 MiB.
        admission_body_limit: YamlText = "4Mi".into(),
        // 5,000 whole Node objects are about 30 MB.
        extender_body_limit: YamlText = "64Mi".into(),
        body_budget: BodyBudgetSection = BodyBudgetSection::default(),
        concurrency: ConcurrencySection = ConcurrencySection::default(),
        // Longer than the 90 s after which the callers' client drops an idle connection, so that
        // this side never closes one in use.
        keep_alive: YamlText = "120s".into(),
        drain_timeout: YamlText = "20s".into(),
    }

    /// `server.bodyBudget` as it is written: together a fifth of the memory that the deployment grants.
    BodyBudgetSection {
        // Eight of the largest, and thousands of the usual.
        admission: YamlText = "32Mi".into(),
        // Three with 5,000 whole Node objects.
        extender: YamlText = "96Mi".into(),
    }

    /// `server.concurrency` as it is written.
    ConcurrencySection {
        // A controller creates up to 256 Pods at once. Each takes some 20 µs, so the last of them waits a few
        // milliseconds.
        admission: Count = Count(512),
        extender: Count = Count(16),
    }
}

impl ServerSection {
    /// Settings of the listeners and their requests. The metrics provider listens beside them.
    pub(super) fn check(
        &self,
        provider: Option<&metrics_provider::Settings>,
        check: &mut Checker,
    ) -> (Settings, handlers::Settings) {
        let Self {
            https,
            http,
            metrics,
            metrics_authentication,
            dashboard,
            dashboard_hosts,
            external_metrics,
            admission_body_limit,
            extender_body_limit,
            body_budget:
                BodyBudgetSection {
                    admission: admission_budget,
                    extender: extender_budget,
                },
            concurrency:
                ConcurrencySection {
                    admission,
                    extender,
                },
            keep_alive,
            drain_timeout,
        } = self;
        let listeners = Settings {
            dashboard: loopback("server.dashboard", dashboard, check),
            dashboard_hosts: hosts("server.dashboardHosts", dashboard_hosts, check),
            https: check.listen("server.https", https),
            http: check.listen("server.http", http),
            metrics: check.listen("server.metrics", metrics),
            metrics_authentication: *metrics_authentication,
            external_metrics: *external_metrics,
            webhook: ListenerSettings {
                idle_timeout: check.period("server.keepAlive", keep_alive),
                ..ListenerSettings::new("https")
            },
            drain: DrainSettings {
                delay: DRAIN_DELAY,
                timeout: check.period("server.drainTimeout", drain_timeout),
            },
        };
        apart(&listeners, provider, check);
        let requests = handlers::Settings {
            admission_body: check.size("server.admissionBodyLimit", admission_body_limit),
            extender_body: check.size("server.extenderBodyLimit", extender_body_limit),
            admission_concurrency: check.at_least_one("server.concurrency.admission", *admission),
            extender_concurrency: check.at_least_one("server.concurrency.extender", *extender),
            body_pace: BODY_PACE,
            admission_budget: check.size("server.bodyBudget.admission", admission_budget),
            extender_budget: check.size("server.bodyBudget.extender", extender_budget),
        };
        let (budget, body) = (requests.admission_budget, requests.admission_body);
        holds_one("admission", budget, body, check);
        let (budget, body) = (requests.extender_budget, requests.extender_body);
        holds_one("extender", budget, body, check);
        (listeners, requests)
    }
}

/// Host names, each as it stands in a `Host` header, less its port.
fn hosts(path: &str, given: &[String], check: &mut Checker) -> Vec<String> {
    for (index, host) in given.iter().enumerate() {
        let whole = Authority::from_str(host).is_ok_and(|authority| authority.host() == host);
        if !whole {
            check.refuse_value(
                &format!("{path}[{index}]"),
                host,
                "a name or an address without a port, such as keel.example.org",
            );
        }
    }
    given.to_vec()
}

/// Refuses a budget into which the largest body of its caller would never fit.
fn holds_one(caller: &str, budget: Bytes, limit: Bytes, check: &mut Checker) {
    // A single byte is the stand-in of a size that was refused already.
    if (Bytes(2)..limit).contains(&budget) {
        check.refuse(
            &format!("server.bodyBudget.{caller}"),
            format_args!(
                "{} bytes are not accepted; accepted: at least server.{caller}BodyLimit, which is \
                 {} bytes",
                budget.0, limit.0
            ),
        );
    }
}

/// Refuses addresses of which two cannot be listened on together.
fn apart(settings: &Settings, provider: Option<&metrics_provider::Settings>, check: &mut Checker) {
    let mut listeners = vec![
        ("server.https", settings.https),
        ("server.http", settings.http),
        ("server.metrics", settings.metrics),
        ("server.dashboard", settings.dashboard),
    ];
    if let Some(provider) = provider {
        let grpc = provider.grpc;
        let plaintext = provider.plaintext_grpc;
        listeners.extend(grpc.map(|grpc| ("metricsProvider.grpc", grpc)));
        listeners.extend(plaintext.map(|grpc| ("metricsProvider.plaintextGrpc", grpc)));
    }
    for (position, (path, address)) in listeners.iter().copied().enumerate() {
        let mut before = listeners[..position].iter();
        if let Some((other, taken)) = before.find(|(_, taken)| collide(address, *taken)) {
            let accepted = format!("a port other than that of {other}, which listens on {taken}");
            check.refuse_value(path, address, &accepted);
        }
    }
}

/// True where one process cannot listen on both. Port 0 stands for any free one.
fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    // The unspecified address of IPv6 takes connections of either family.
    let covers = |wide: SocketAddr, narrow: SocketAddr| {
        wide.ip().is_unspecified() && (wide.is_ipv6() || narrow.is_ipv4())
    };
    let same = one.ip() == other.ip() || covers(one, other) || covers(other, one);
    one.port() == other.port() && one.port() != 0 && same
}

fn loopback(path: &str, text: &YamlText, check: &mut Checker) -> SocketAddr {
    let address = check.listen(path, text);
    if !address.ip().is_loopback() {
        check.refuse_value(
            path,
            address,
            "a loopback address such as 127.0.0.1:8081, because it does not authenticate callers",
        );
    }
    address
}
