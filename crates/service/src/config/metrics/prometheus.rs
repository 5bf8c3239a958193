//! `metrics.prometheus`: its address, access and queries. The effective configuration is shown, so
//! secrets are in named files: a password in the URL and a credential among the headers are
//! refused.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use evenkeel_http_client::header::HeaderName;
use evenkeel_http_client::{HeaderMap, HeaderValue, header};
use evenkeel_objects::yaml_values::YamlText;

use super::queries::QueriesSection;
use crate::config::check::Checker;
use crate::config::section::section;
use crate::metrics::prometheus::{
    ExporterMatchers, Matchers, NodeLabel, PrometheusConnection, Settings,
};
use crate::metrics::{Authorization, BODY_LIMIT, EndpointAccess, IdentityFiles};

section! {
    /// `metrics.prometheus` as it is written.
    PrometheusSection {
        // The name that kube-prometheus-stack and the Prometheus operator give their Service.
        url: YamlText = "http://prometheus-operated.monitoring.svc:9090".into(),
        headers: BTreeMap<String, YamlText> = BTreeMap::new(),
        bearer_token_file: Option<YamlText> = None,
        basic_auth: BasicAuthSection = BasicAuthSection::default(),
        client_certificate: ClientCertificateSection = ClientCertificateSection::default(),
        ca_file: Option<YamlText> = None,
        // Four scrapes at the 30 s that the operator's chart sets.
        window: YamlText = "2m".into(),
        node_label: Option<YamlText> = None,
        matchers: MatchersSection = MatchersSection::default(),
        queries: QueriesSection = QueriesSection::default(),
    }

    /// `metrics.prometheus.basicAuth` as it is written.
    BasicAuthSection {
        username: Option<YamlText> = None,
        password_file: Option<YamlText> = None,
    }

    /// `metrics.prometheus.clientCertificate` as it is written.
    ClientCertificateSection {
        certificate_file: Option<YamlText> = None,
        key_file: Option<YamlText> = None,
    }

    /// `metrics.prometheus.matchers` as it is written.
    MatchersSection {
        all: Option<YamlText> = None,
        node_exporter: Option<YamlText> = None,
        cadvisor: Option<YamlText> = None,
        kube_state_metrics: Option<YamlText> = None,
        dcgm_exporter: Option<YamlText> = None,
        node_agent: Option<YamlText> = None,
    }
}

/// Headers with credentials have fields of their own, and the client sets those of the connection.
const RESERVED: [HeaderName; 9] = [
    header::AUTHORIZATION,
    header::PROXY_AUTHORIZATION,
    header::COOKIE,
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::TRANSFER_ENCODING,
    header::ACCEPT_ENCODING,
];

impl PrometheusSection {
    pub(super) fn check(&self, patience: Duration, check: &mut Checker) -> Settings {
        let Self {
            url,
            headers,
            bearer_token_file,
            basic_auth,
            client_certificate,
            ca_file,
            window,
            node_label,
            matchers,
            queries,
        } = self;
        Settings {
            connection: PrometheusConnection {
                url: check.server_url(
                    "metrics.prometheus.url",
                    url.as_ref(),
                    "http://prometheus.monitoring.svc:9090",
                    "metrics.prometheus.bearerTokenFile for a file with a token, or \
                     metrics.prometheus.basicAuth for a user and a file with a password",
                ),
                headers: check_headers(check, headers),
                access: EndpointAccess {
                    authorization: basic_auth.check(bearer_token_file.as_ref(), check),
                    ca_file: ca_file.as_ref().map(path),
                    identity: client_certificate.check(check),
                },
                timeout: patience,
                body_limit: BODY_LIMIT,
            },
            window: check.duration("metrics.prometheus.window", window),
            node_label: node_label
                .as_ref()
                .map_or(NodeLabel::Automatic, |label| check_label(check, label)),
            matchers: matchers.check(check),
            queries: queries.check(check),
        }
    }
}

impl BasicAuthSection {
    /// The one way to authenticate, of the two.
    fn check(&self, bearer_token_file: Option<&YamlText>, check: &mut Checker) -> Authorization {
        const PATH: &str = "metrics.prometheus.basicAuth";
        let Self {
            username,
            password_file,
        } = self;
        let basic = match (username, password_file) {
            (None, None) => None,
            (Some(YamlText(username)), Some(file)) if !username.contains(':') => {
                Some(Authorization::Basic {
                    username: username.clone(),
                    password_file: path(file),
                })
            }
            (Some(YamlText(username)), Some(_)) => {
                let path = format!("{PATH}.username");
                check.refuse_value(&path, username, "a name without a colon");
                None
            }
            (Some(_), None) | (None, Some(_)) => {
                check.refuse(PATH, "needs both username and passwordFile");
                None
            }
        };
        match (basic, bearer_token_file) {
            (Some(_), Some(_)) => {
                check.refuse(
                    PATH,
                    "is not accepted together with metrics.prometheus.bearerTokenFile: use one of \
                     the two",
                );
                Authorization::None
            }
            (Some(basic), None) => basic,
            (None, Some(file)) => Authorization::Bearer(path(file)),
            (None, None) => Authorization::None,
        }
    }
}

impl ClientCertificateSection {
    fn check(&self, check: &mut Checker) -> Option<IdentityFiles> {
        let Self {
            certificate_file,
            key_file,
        } = self;
        match (certificate_file, key_file) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some(IdentityFiles {
                certificate: path(certificate),
                key: path(key),
            }),
            (Some(_), None) | (None, Some(_)) => {
                check.refuse(
                    "metrics.prometheus.clientCertificate",
                    "needs both certificateFile and keyFile",
                );
                None
            }
        }
    }
}

impl MatchersSection {
    fn check(&self, check: &mut Checker) -> ExporterMatchers {
        let Self {
            all,
            node_exporter,
            cadvisor,
            kube_state_metrics,
            dcgm_exporter,
            node_agent,
        } = self;
        let mut parse = |name, text: &Option<YamlText>, unsaid: Matchers| match text {
            None => unsaid,
            Some(text) => {
                let path = format!("metrics.prometheus.matchers.{name}");
                check.take(&path, text.as_ref().parse(), unsaid)
            }
        };
        let unsaid = ExporterMatchers::default();
        ExporterMatchers {
            all: parse("all", all, unsaid.all),
            node_exporter: parse("nodeExporter", node_exporter, unsaid.node_exporter),
            cadvisor: parse("cadvisor", cadvisor, unsaid.cadvisor),
            kube_state_metrics: parse(
                "kubeStateMetrics",
                kube_state_metrics,
                unsaid.kube_state_metrics,
            ),
            dcgm_exporter: parse("dcgmExporter", dcgm_exporter, unsaid.dcgm_exporter),
            node_agent: parse("nodeAgent", node_agent, unsaid.node_agent),
        }
    }
}

fn path(text: &YamlText) -> PathBuf {
    PathBuf::from(text.as_ref())
}

fn check_headers(check: &mut Checker, given: &BTreeMap<String, YamlText>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, YamlText(value)) in given {
        let path = format!("metrics.prometheus.headers.{name}");
        let Ok(parsed) = HeaderName::try_from(name) else {
            check.refuse(&path, "is not the name of an HTTP header");
            continue;
        };
        if RESERVED.contains(&parsed) {
            check.refuse(
                &path,
                "is not accepted: set credentials with metrics.prometheus.bearerTokenFile, \
                 basicAuth or clientCertificate; headers of the connection are set automatically",
            );
            continue;
        }
        match HeaderValue::try_from(value) {
            Ok(value) => drop(headers.insert(parsed, value)),
            Err(_) => check.refuse(&path, "holds characters that no HTTP header can hold"),
        }
    }
    headers
}

fn check_label(check: &mut Checker, YamlText(label): &YamlText) -> NodeLabel {
    let label = label.parse().map(NodeLabel::Named);
    check.take("metrics.prometheus.nodeLabel", label, NodeLabel::Automatic)
}
