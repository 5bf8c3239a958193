//! `values.yaml`, and its schema for Helm.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::{COMPONENTS, IMAGE};

const REPLICAS: u32 = 2;
/// Image tag of kube-scheduler in the component `second-scheduler`.
const SCHEDULER_TAG: &str = "v1.33.0";

/// An image without its tag, and the tag, which a digest may follow.
const REPOSITORY: &str = "^[A-Za-z0-9]([A-Za-z0-9._:/-]*[A-Za-z0-9])?$";
const TAG: &str = "[A-Za-z0-9_][A-Za-z0-9._-]{0,127}(@sha256:[0-9a-f]{64})?";
const NAME: &str = "^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$";
/// For example 1h30m or PT90M; 0 means none.
const DURATION: &str = "^[0-9P]";

pub(super) fn values() -> String {
    let repository = IMAGE.split(':').next().unwrap_or_default();
    let mut text = format!(
        "\
# Generated from the manifests; run `just chart` to regenerate it.

# Replicas of the service; one of them leads and writes, all answer calls.
replicas: {REPLICAS}

image:
  repository: {repository}
  # Default: the version of the chart.
  tag: \"\"

# Fields of EvenkeelConfiguration that differ from files/config.yaml, for example:
#   config:
#     metrics:
#       prometheus:
#         url: http://prometheus-operated.monitoring.svc:9090
# docs/reference/configuration.md names all fields. A field that a component sets keeps the value of the component.
config: {{}}

# More TCP ports that the service may call, in addition to 443, 4318, 6443, 9090 and 10250; for example the port
# of Prometheus.
egressPorts: []

# `helm install --create-namespace` creates the namespace, without labels. Set this for `helm template` only: the
# namespace is then an object like the others, with the strictest Pod security standard.
namespace:
  create: false

# The definitions of Evenkeel's own kinds.
crds:
  install: true
  # `helm uninstall` keeps them, and with them all CronHPAs, ReplicaProfiles and autoscalers.
  keep: true

# kube-scheduler of the component secondScheduler: the minor version of the API server, or one below.
schedulerImage:
  repository: registry.k8s.io/kube-scheduler
  tag: {SCHEDULER_TAG}

components:
"
    );
    for component in &COMPONENTS {
        let _ = write!(
            text,
            "  # {}.\n  {}: false\n",
            component.about,
            component.flag()
        );
    }
    text
}

pub(super) fn schema(configuration: &Value) -> String {
    let image = |tag: &str| {
        object([
            (
                "repository",
                json!({"type": "string", "pattern": REPOSITORY}),
            ),
            ("tag", json!({"type": "string", "pattern": tag})),
        ])
    };
    let boolean = || json!({"type": "boolean"});
    let components = COMPONENTS.iter().map(|component| {
        let about = component.about;
        let flag = json!({"type": "boolean", "default": false, "description": about});
        (component.flag(), flag)
    });
    let mut schema = object([
        (
            "replicas",
            json!({"type": "integer", "minimum": 1, "default": REPLICAS}),
        ),
        ("image", image(&format!("^({TAG})?$"))),
        ("config", fields(configuration)),
        (
            "egressPorts",
            json!({"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 65535}}),
        ),
        ("namespace", object([("create", boolean())])),
        (
            "crds",
            object([("install", boolean()), ("keep", boolean())]),
        ),
        ("schedulerImage", image(&format!("^{TAG}$"))),
        ("components", object(components)),
        // Helm adds it for charts of charts.
        ("global", json!({"type": "object"})),
    ]);
    schema["$schema"] = json!("https://json-schema.org/draft-07/schema#");
    schema["title"] = json!("Values of the chart evenkeel");
    format!("{schema:#}\n")
}

/// With these fields and no others.
fn object<N: Into<String>>(fields: impl IntoIterator<Item = (N, Value)>) -> Value {
    let fields = fields
        .into_iter()
        .map(|(name, schema)| (name.into(), schema));
    let properties: Map<String, Value> = fields.collect();
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

/// For example 10s or 744h.
fn is_duration(text: &str) -> bool {
    let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    unit.len() < text.len() && ["ms", "s", "m", "h"].contains(&unit)
}

/// The service itself checks the values.
fn fields(defaults: &Value) -> Value {
    match defaults {
        Value::Object(defaults) if !defaults.is_empty() => {
            object(defaults.iter().map(|(name, default)| {
                let schema = match default {
                    Value::String(text) if name.ends_with("Name") => {
                        json!({"type": "string", "pattern": NAME, "default": text})
                    }
                    default => fields(default),
                };
                (name, schema)
            }))
        }
        Value::Object(_) => json!({"type": "object"}),
        Value::Array(_) => json!({"type": "array"}),
        Value::Bool(default) => json!({"type": "boolean", "default": default}),
        Value::String(text) if is_duration(text) => {
            json!({"type": ["string", "integer"], "pattern": DURATION, "default": text})
        }
        default => json!({"default": default}),
    }
}
