//! The service's configuration: an operator's ConfigMap, and the file that kubelet would make of
//! it.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Map, Value, json};
use tracing::warn;

use super::shipped_services::NAMESPACE;
use super::{DevClusterOptions, StartError};
use evenkeel_sandbox::objects::typed;
use evenkeel_service::config::{CONFIGURATION_FILE, CONFIGURATION_MAP};

/// How often the ConfigMap is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The run itself decides where the parts of the cluster are, the certificates and the way to
/// Prometheus.
const OWN: [&str; 7] = [
    "certificates",
    "metrics.prometheus",
    "server.dashboard",
    "server.http",
    "server.https",
    "server.metrics",
    "server.metricsAuthentication",
];

/// True for a field that a run decides by itself.
pub(in crate::dev) fn is_own(path: &str) -> bool {
    let within = |own: &str| {
        path.strip_prefix(own)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    OWN.into_iter().any(within)
}

pub(super) type ConfigFields = Vec<(String, String)>;

/// The text of the file: `given`, with the run's `own` fields over it and `paced` under it, which
/// fit the scenario's pace.
fn text(
    given: &Map<String, Value>,
    own: &ConfigFields,
    paced: &ConfigFields,
) -> Result<String, StartError> {
    let mut file = Value::Object(given.clone());
    for path in OWN {
        remove(&mut file, path);
    }
    put(
        &mut file,
        "apiVersion",
        evenkeel_service::config::API_VERSION.into(),
    );
    put(&mut file, "kind", evenkeel_service::config::KIND.into());
    let pointer = |path: &str| format!("/{}", path.replace('.', "/"));
    let given = file.clone();
    let unsaid = paced
        .iter()
        .filter(|(path, _)| given.pointer(&pointer(path)).is_none());
    for (path, text) in unsaid.chain(own) {
        let value: Value = serde_saphyr::from_str(text)
            .map_err(|error| StartError::Unusable(format!("{path}: {error}")))?;
        put(&mut file, path, value);
    }
    serde_saphyr::to_string(&file)
        .map_err(|error| StartError::Unusable(format!("the configuration: {error}")))
}

fn put(file: &mut Value, path: &str, value: Value) {
    let mut field = file;
    for step in path.split('.') {
        if !field.is_object() {
            *field = Value::Object(Map::new());
        }
        field = &mut field[step];
    }
    *field = value;
}

fn remove(file: &mut Value, path: &str) {
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    let parent = if parent.is_empty() {
        Some(file)
    } else {
        file.get_mut(parent)
    };
    if let Some(Value::Object(fields)) = parent {
        fields.remove(name);
    }
}

/// The file of the ConfigMap, as kubelet keeps it.
pub(super) struct MountedConfigFile {
    client: Client,
    path: PathBuf,
    /// As it was last written; `None` where the ConfigMap has no such file.
    text: Option<String>,
}

impl MountedConfigFile {
    pub(super) async fn write(
        client: &Client,
        options: &DevClusterOptions,
        own: &ConfigFields,
        paced: &ConfigFields,
    ) -> Result<Self, StartError> {
        let text = text(&options.configuration, own, paced)?;
        let map: ConfigMap = typed(json!({
            "metadata": {
                "name": CONFIGURATION_MAP,
                "labels": {"app.kubernetes.io/name": "evenkeel"},
            },
            "data": {CONFIGURATION_FILE: text},
        }));
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
        maps.create(&PostParams::default(), &map).await?;
        let mounted = Self {
            client: client.clone(),
            path: options.folder.join(CONFIGURATION_FILE),
            text: Some(text),
        };
        mounted.bring().map_err(|source| StartError::Io {
            what: "the configuration file cannot be written",
            source,
        })?;
        Ok(mounted)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Brings each change of the ConfigMap to the file, for ever.
    pub(super) async fn follow(mut self) {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), NAMESPACE);
        loop {
            tokio::time::sleep(LOOK).await;
            // While there is no ConfigMap, or no API server, the file stays as it is.
            let Ok(map) = maps.get(CONFIGURATION_MAP).await else {
                continue;
            };
            let text = map.data.unwrap_or_default().remove(CONFIGURATION_FILE);
            if text == self.text {
                continue;
            }
            let before = std::mem::replace(&mut self.text, text);
            if let Err(error) = self.bring() {
                warn!(%error, path = %self.path.display(), "the configuration file cannot be written");
                self.text = before;
            }
        }
    }

    /// Replaces the file with the text of the ConfigMap, atomically for its readers.
    fn bring(&self) -> io::Result<()> {
        let Some(text) = &self.text else {
            return fs::remove_file(&self.path);
        };
        let new = self.path.with_extension("new");
        fs::write(&new, text)?;
        fs::rename(&new, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields<const N: usize>(fields: [(&str, &str); N]) -> ConfigFields {
        let owned = |(path, value): (&str, &str)| (path.to_owned(), value.to_owned());
        fields.map(owned).into()
    }

    #[test]
    fn what_was_given_stands_over_the_pace_and_under_what_is_the_runs_own() {
        let given = json!({
            "writes": "disabled",
            "scheduling": {"headroom": 0.7, "relaxAfter": "1m"},
            "server": {"https": "[::]:8443", "concurrency": 7},
            "certificates": {"mode": "files"},
            "metrics": {"prometheus": {"bearerTokenFile": "/var/token"}, "maxAge": "2m"},
        });
        let own = fields([
            ("server.https", "127.0.0.1:1001"),
            ("certificates.selfManaged.ipAddresses", "[127.0.0.1]"),
            ("metrics.prometheus.url", "http://127.0.0.1:1002"),
        ]);
        assert!(own.iter().all(|(path, _)| is_own(path)));
        let paced = fields([
            ("scheduling.relaxAfter", "5m"),
            ("metrics.maxAge", "100s"),
            ("metrics.timeout", "1s"),
        ]);
        let text = text(given.as_object().unwrap(), &own, &paced).unwrap();
        let file: Value = serde_saphyr::from_str(&text).unwrap();
        let expected = json!({
            "apiVersion": "config.evenkeel.dev/v1alpha1", "kind": "EvenkeelConfiguration",
            "writes": "disabled",
            "scheduling": {"headroom": 0.7, "relaxAfter": "1m"},
            "server": {"https": "127.0.0.1:1001", "concurrency": 7},
            "certificates": {"selfManaged": {"ipAddresses": ["127.0.0.1"]}},
            "metrics": {
                "prometheus": {"url": "http://127.0.0.1:1002"}, "maxAge": "2m", "timeout": "1s",
            },
        });
        assert_eq!(file, expected);
    }

    #[test]
    fn a_fields_neighbours_are_not_the_runs_own() {
        assert!(is_own("metrics.prometheus.queries.nodeCpu") && is_own("certificates"));
        for path in [
            "metrics.source",
            "server.externalMetrics",
            "scheduling",
            "server.httpFoo",
        ] {
            assert!(!is_own(path), "{path}");
        }
    }
}
