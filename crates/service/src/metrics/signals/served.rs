//! Signals that the API server serves: usage by container of `metrics.k8s.io`, and adapters'
//! answers under `custom.metrics.k8s.io` and `external.metrics.k8s.io`.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::metric_query::{CustomNames, QueryError, ServedMetric};
use evenkeel_metrics::signal::ObjectReference;
use evenkeel_objects::group_version::GroupVersion;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::truncate::{OF_VALUE, excerpt};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::metrics::api_call;
use crate::metrics::api_call::{ApiCallBody, ApiCallLimits, LongAnswers};
use crate::metrics::blocking_pool::aside;
use crate::metrics::error::MetricsError;
use crate::metrics::resource_metrics::ResourceMetrics;

/// The versions of `custom.metrics.k8s.io` that are understood, the newer first.
const VERSIONS: [&str; 2] = ["v1beta2", "v1beta1"];

/// Where the usage of containers is asked for, in whatever version it is served.
static USAGE: LazyLock<String> =
    LazyLock::new(|| format!("/apis/{}/", Kind::PodMetrics.api_version()));

/// The time for which the names of a cluster are taken for known, as the HPA controller does.
const NAMES_HOLD: SignedDuration = SignedDuration::from_mins(10);

/// The answers over some hundred kilobytes that are read at once: each may have four megabytes, and
/// as much again for parsing.
const LONG_AT_ONCE: usize = 4;

pub struct ServedSource {
    client: kube::Client,
    bounds: ApiCallLimits,
    usage: ResourceMetrics,
    long: LongAnswers,
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    /// When they were first asked for.
    since: Option<Timestamp>,
    custom_version: Option<&'static str>,
    resources: HashMap<(GroupVersion, String), String>,
    /// By the group.
    api_versions: HashMap<String, String>,
}

impl ServedSource {
    /// A source that reads through `client`.
    pub fn new(client: kube::Client, bounds: ApiCallLimits) -> Self {
        Self {
            usage: ResourceMetrics::new(client.clone(), bounds),
            client,
            bounds,
            long: LongAnswers::at_once(LONG_AT_ONCE),
            names: Mutex::default(),
        }
    }

    /// The values of a metric in `namespace`, asked for at `now`.
    ///
    /// # Errors
    /// It is not answered, or the answer holds no value.
    pub async fn value(
        &self,
        namespace: &str,
        metric: &ServedMetric,
        now: Timestamp,
    ) -> Result<MetricsApiReading, MetricsError> {
        let version = match metric {
            ServedMetric::Pods { .. }
            | ServedMetric::Objects { .. }
            | ServedMetric::Object { .. } => self.custom_version(now).await?,
            ServedMetric::Container { .. }
            | ServedMetric::Usage { .. }
            | ServedMetric::External(_) => "",
        };
        let resource = match metric {
            ServedMetric::Object { object, .. } | ServedMetric::Objects { object, .. } => {
                self.resource(object, now).await?
            }
            _ => String::new(),
        };
        let names = CustomNames {
            version,
            resource: &resource,
        };
        let path = metric.path(namespace, names)?;
        let answer = self.get(&path).await?;
        let metric = metric.clone();
        Ok(aside(move || metric.read(&answer.body, now)).await??)
    }

    /// The `apiVersion` of a group in the version that the cluster prefers.
    ///
    /// # Errors
    /// The cluster does not tell, or serves no such group.
    pub async fn api_version(&self, group: &str, now: Timestamp) -> Result<String, MetricsError> {
        if let Some(known) = self.known(now, |names| names.api_versions.get(group).cloned()) {
            return Ok(known);
        }
        let unnamed = || QueryError::ApiVersion(excerpt(group, OF_VALUE));
        let base = GroupVersion::parse(&format!("{group}/v1")).ok_or_else(unnamed)?;
        let served: ApiGroup = self.discover(&format!("/apis/{}", base.group())).await?;
        let first = served.versions.first();
        let first = first.ok_or_else(|| MetricsError::NotServed {
            excerpt: format!("the group {}", base.group()),
        })?;
        let preferred = served.preferred_version.as_ref().unwrap_or(first);
        let api_version = format!("{}/{}", base.group(), preferred.version);
        GroupVersion::parse(&api_version).ok_or_else(unnamed)?;
        self.learn(|names| {
            names
                .api_versions
                .insert(group.to_owned(), api_version.clone());
        });
        Ok(api_version)
    }

    async fn get(&self, path: &str) -> Result<ApiCallBody, MetricsError> {
        let long = Some(&self.long);
        match path.strip_prefix(&*USAGE) {
            Some(path) => self.usage.get_among(path, long).await,
            None => api_call::get_among(&self.client, path, self.bounds, long).await,
        }
    }

    /// Reads a list of served APIs. Errors repeat nothing of the answer, because errors show in the
    /// status of an HPA.
    async fn discover<T>(&self, path: &str) -> Result<T, MetricsError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let told = || format!("{path}, the list of served APIs");
        let answer = self.get(path).await.map_err(|error| match error {
            MetricsError::NotServed { .. } => MetricsError::NotServed { excerpt: told() },
            MetricsError::Status { status, .. } => MetricsError::Status {
                status,
                excerpt: told(),
            },
            other => other,
        })?;
        let read = aside(move || serde_json::from_slice(&answer.body)).await?;
        read.map_err(|_| MetricsError::Undiscovered {
            path: path.to_owned(),
        })
    }

    /// The newest version of the custom metrics API that both sides understand.
    async fn custom_version(&self, now: Timestamp) -> Result<&'static str, MetricsError> {
        if let Some(known) = self.known(now, |names| names.custom_version) {
            return Ok(known);
        }
        let path = format!("/apis/{}", Kind::CustomMetrics.group());
        let group: ApiGroup = self.discover(&path).await?;
        let served = |version: &&str| group.versions.iter().any(|one| one.version == **version);
        let version = VERSIONS.into_iter().find(|version| served(version));
        let version = version.ok_or_else(|| MetricsError::NotServed {
            excerpt: format!("{} in a version that is known", Kind::CustomMetrics.group()),
        })?;
        self.learn(|names| names.custom_version = Some(version));
        Ok(version)
    }

    /// The resource of an object, such as `ingresses.networking.k8s.io`.
    async fn resource(
        &self,
        object: &ObjectReference,
        now: Timestamp,
    ) -> Result<String, MetricsError> {
        let ObjectReference {
            api_version, kind, ..
        } = object;
        if let Some(kind) = Kind::of(api_version, kind) {
            return Ok(kind.qualified());
        }
        let group_version = GroupVersion::parse(api_version)
            .ok_or_else(|| QueryError::ApiVersion(excerpt(api_version, OF_VALUE)))?;
        let key = (group_version, kind.clone());
        if let Some(known) = self.known(now, |names| names.resources.get(&key).cloned()) {
            return Ok(known);
        }
        let list: ResourceList = self.discover(&key.0.path()).await?;
        let mut resources = list.resources.into_iter();
        let found = resources.find(|one| one.kind == *kind && !one.name.contains('/'));
        let found = found.ok_or_else(|| MetricsError::NotServed {
            excerpt: format!("the kind {} of {}", excerpt(kind, OF_VALUE), key.0),
        })?;
        let name = key.0.qualified(&found.name);
        self.learn(|names| drop(names.resources.insert(key, name.clone())));
        Ok(name)
    }

    /// A value that is known, unless it was learned too long ago.
    fn known<T>(&self, now: Timestamp, of: impl FnOnce(&Names) -> Option<T>) -> Option<T> {
        let mut names = self.lock();
        let held = |since: Timestamp| now.duration_since(since).abs() < NAMES_HOLD;
        if !names.since.is_some_and(held) {
            *names = Names {
                since: Some(now),
                ..Names::default()
            };
        }
        of(&names)
    }

    fn learn(&self, learn: impl FnOnce(&mut Names)) {
        learn(&mut self.lock());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Names> {
        self.names
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ApiGroup {
    versions: Vec<ServedVersion>,
    preferred_version: Option<ServedVersion>,
}

#[derive(Deserialize)]
struct ServedVersion {
    version: String,
}

#[derive(Deserialize)]
struct ResourceList {
    resources: Vec<ApiResource>,
}

#[derive(Deserialize)]
struct ApiResource {
    name: String,
    kind: String,
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::time::Duration;

    use evenkeel_metrics::signal::MetricIdentifier;
    use evenkeel_units::Bytes;
    use hyper::{Request, Response};
    use kube::client::Body;

    use super::*;

    const PODS: &str =
        include_str!("../../../../../tests/fixtures/metrics/prometheus-adapter-pods.json");
    const KEDA: &str = include_str!("../../../../../tests/fixtures/metrics/keda-external.json");

    fn now() -> Timestamp {
        "2026-03-01T10:00:00Z".parse().unwrap()
    }

    /// A source with an API server that answers by `answer`, and the requested paths.
    fn source(
        answer: impl Fn(&str) -> (u16, String) + Send + Sync + 'static,
    ) -> (ServedSource, Arc<Mutex<Vec<String>>>) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&asked), Arc::new(answer));
        let service = tower::service_fn(move |request: Request<Body>| {
            let path = request.uri().to_string();
            let (status, body) = answer(&path);
            seen.lock().unwrap().push(path);
            let response = Response::builder().status(status);
            let response = response.body(Body::from(body.into_bytes())).unwrap();
            async move { Ok::<_, Infallible>(response) }
        });
        let bounds = ApiCallLimits {
            timeout: Duration::from_secs(5),
            body_limit: Bytes(64 * 1024),
        };
        let client = kube::Client::new(service, "default");
        (ServedSource::new(client, bounds), asked)
    }

    fn pods() -> ServedMetric {
        ServedMetric::Pods {
            selector: "app=web".into(),
            metric: MetricIdentifier::named("http_requests"),
        }
    }

    fn external() -> ServedMetric {
        ServedMetric::External(MetricIdentifier::named("s0-prometheus"))
    }

    fn group(versions: &[&str]) -> String {
        let versions: Vec<_> = versions
            .iter()
            .map(|version| serde_json::json!({"version": version}))
            .collect();
        serde_json::json!({"kind": "APIGroup", "versions": versions}).to_string()
    }

    #[tokio::test]
    async fn the_newest_version_that_both_know_is_asked_for_once_in_a_while() {
        for (versions, version) in [
            (&["v1beta1"][..], "v1beta1"),
            (&["v1beta1", "v1beta2"], "v1beta2"),
        ] {
            let (source, asked) = source(move |path| match path {
                "/apis/custom.metrics.k8s.io" => (200, group(versions)),
                _ => (200, PODS.to_owned()),
            });
            for seconds in [0, 15, 615] {
                let at = now() + SignedDuration::from_secs(seconds);
                let MetricsApiReading::Pods(pods) =
                    source.value("shop", &pods(), at).await.unwrap()
                else {
                    panic!("no Pods");
                };
                assert_eq!(pods.len(), 2);
            }
            let asked = asked.lock().unwrap();
            let values = format!(
                "/apis/custom.metrics.k8s.io/{version}/namespaces/shop/pods/%2A/http_requests\
                 ?labelSelector=app%3Dweb"
            );
            let group = "/apis/custom.metrics.k8s.io".to_owned();
            let expected = [&group, &values, &values, &group, &values];
            assert_eq!(asked.iter().collect::<Vec<_>>(), expected);
        }
    }

    #[tokio::test]
    async fn an_object_is_asked_for_by_the_resource_that_serves_its_kind() {
        let list = r#"{"resources": [{"name": "ingresses/status", "kind": "Ingress"},
            {"name": "ingresses", "kind": "Ingress"}]}"#;
        let value = r#"{"items": [{"value": "7"}]}"#;
        let (source, asked) = source(move |path| match path {
            "/apis/custom.metrics.k8s.io" => (200, group(&["v1beta2"])),
            "/apis/networking.k8s.io/v1" => (200, list.to_owned()),
            _ => (200, value.to_owned()),
        });
        let object = |api_version: &str, kind: &str| ServedMetric::Object {
            object: Box::new(ObjectReference {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                name: "web".to_owned(),
            }),
            metric: MetricIdentifier::named("rps"),
        };
        for _ in 0..2 {
            let ingress = object("networking.k8s.io/v1", "Ingress");
            source.value("shop", &ingress, now()).await.unwrap();
        }
        let service = object("v1", "Service");
        source.value("shop", &service, now()).await.unwrap();
        let unknown = object("networking.k8s.io/v1", "Egress");
        let error = source.value("shop", &unknown, now()).await.unwrap_err();
        assert_eq!(error.reason(), "NotServed");
        let base = "/apis/custom.metrics.k8s.io";
        let of = |resource: &str| format!("{base}/v1beta2/namespaces/shop/{resource}/web/rps");
        let expected = [
            base.to_owned(),
            "/apis/networking.k8s.io/v1".to_owned(),
            of("ingresses.networking.k8s.io"),
            of("ingresses.networking.k8s.io"),
            of("services"),
            "/apis/networking.k8s.io/v1".to_owned(),
        ];
        assert_eq!(*asked.lock().unwrap(), expected);
    }

    /// The harm: a tenant's own path was asked with the service's token, and the answer stood in
    /// the status of the tenant's HPA.
    #[tokio::test]
    async fn an_api_version_leads_nowhere_but_to_the_kinds_of_its_group() {
        const SECRET: &str = "of-another-namespace";
        for (api_version, kind, status, reason) in [
            ("v1%2Fpods?fieldSelector=a%3Db", "Web", 200, "InvalidName"),
            (
                "external.metrics.k8s.io/v1beta1%2Fnamespaces%2Fother%2Fqueue",
                "Web",
                200,
                "InvalidName",
            ),
            ("a/b/c", "Web", 200, "InvalidName"),
            ("apps/v1", "Web", 200, "Malformed"),
            ("apps/v1", "Web", 404, "NotServed"),
            ("apps/v1", "Web", 500, "HttpStatus"),
        ] {
            let (source, asked) = source(move |path| match path {
                "/apis/custom.metrics.k8s.io" => (200, group(&["v1beta2"])),
                _ => (
                    status,
                    format!("{{\"items\": {SECRET:?}, \"resources\": {SECRET:?}}}"),
                ),
            });
            let metric = ServedMetric::Object {
                object: Box::new(ObjectReference {
                    api_version: api_version.to_owned(),
                    kind: kind.to_owned(),
                    name: "web".to_owned(),
                }),
                metric: MetricIdentifier::named("rps"),
            };
            let error = source.value("shop", &metric, now()).await.unwrap_err();
            assert_eq!(error.reason(), reason, "{api_version} {error}");
            assert!(!error.to_string().contains(SECRET), "{error}");
            let asked = asked.lock().unwrap();
            let known = ["/apis/custom.metrics.k8s.io", "/apis/apps/v1"];
            assert!(
                asked.iter().all(|path| known.contains(&&**path)),
                "{asked:?}"
            );
        }
    }

    #[tokio::test]
    async fn every_fault_is_an_error_with_its_reason_and_never_a_value() {
        for (status, body, reason) in [
            (403, "{}", "Unauthorized"),
            (404, "{}", "NotServed"),
            (500, "{}", "HttpStatus"),
            (503, "service unavailable", "HttpStatus"),
            (200, "{\"items\": []}", "NoValues"),
            (200, "{}", "NoValues"),
            (200, "<html>", "Malformed"),
            (200, "", "Malformed"),
        ] {
            let (source, _) = source(move |_| (status, body.to_owned()));
            let error = source.value("shop", &external(), now()).await.unwrap_err();
            assert_eq!(error.reason(), reason, "{status} {body}");
        }
        let (long, _) = source(|_| (200, " ".repeat(65 * 1024) + KEDA));
        let error = long.value("shop", &external(), now()).await.unwrap_err();
        assert_eq!(error.reason(), "TooLarge");
    }

    #[tokio::test]
    async fn an_external_metric_of_keda_is_read() {
        let (source, asked) = source(|_| (200, KEDA.to_owned()));
        let found = source.value("nim", &external(), now()).await.unwrap();
        let MetricsApiReading::Series(series) = found else {
            panic!("no series");
        };
        assert_eq!(series[0].value, 1);
        let path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/nim/s0-prometheus";
        assert_eq!(*asked.lock().unwrap(), [path]);
    }
}
