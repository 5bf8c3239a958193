//! Replaces every name of a record by a number of its kind, the same one everywhere. Texts in
//! which names may stand are left out.

use std::collections::BTreeMap;

use evenkeel_objects::annotations::SCALING;
use evenkeel_objects::kinds::Kind;
use serde_json::{Map, Value, json};

use super::{AutoscalerRecord, ClusterRecord, EventRecord};

/// The replacements of one kind of names, in the order of their first use.
struct ReplacedNames {
    prefix: &'static str,
    known: BTreeMap<String, String>,
}

impl ReplacedNames {
    const fn new(prefix: &'static str) -> Self {
        Self {
            prefix,
            known: BTreeMap::new(),
        }
    }

    fn replace(&mut self, name: &mut String) {
        let next = self.known.len() + 1;
        let prefix = self.prefix;
        let given = self.known.entry(std::mem::take(name));
        name.clone_from(given.or_insert_with(|| format!("{prefix}-{next}")));
    }

    fn of(&mut self, name: &str) -> String {
        let mut name = name.to_owned();
        self.replace(&mut name);
        name
    }
}

struct NameTable {
    namespaces: ReplacedNames,
    nodes: ReplacedNames,
    /// Of all kinds, so that a StatefulSet and a Deployment of one name stay alike.
    workloads: ReplacedNames,
    pods: ReplacedNames,
    autoscalers: ReplacedNames,
    metrics: ReplacedNames,
    others: ReplacedNames,
}

impl ClusterRecord {
    /// The same cluster without any of its names.
    pub fn anonymized(mut self) -> Self {
        let mut names = NameTable {
            namespaces: ReplacedNames::new("namespace"),
            nodes: ReplacedNames::new("node"),
            workloads: ReplacedNames::new("workload"),
            pods: ReplacedNames::new("pod"),
            autoscalers: ReplacedNames::new("hpa"),
            metrics: ReplacedNames::new("metric"),
            others: ReplacedNames::new("object"),
        };
        for node in &mut self.nodes {
            names.nodes.replace(&mut node.name);
        }
        for workload in &mut self.workloads {
            names.namespaces.replace(&mut workload.namespace);
            names.workloads.replace(&mut workload.name);
            workload
                .annotations
                .retain(|key, value| has_no_name(key, value));
        }
        for pod in &mut self.pods {
            names.namespaces.replace(&mut pod.namespace);
            names.pods.replace(&mut pod.name);
            if let Some(node) = &mut pod.node {
                names.nodes.replace(node);
            }
            if let Some((kind, name)) = pod.workload.as_ref().and_then(|one| one.split_once('/')) {
                pod.workload = Some(format!("{kind}/{}", names.workloads.of(name)));
            }
        }
        for autoscaler in &mut self.autoscalers {
            names.autoscaler(autoscaler);
        }
        for event in &mut self.events {
            names.event(event);
        }
        for namespace in &mut self.unread.namespaces {
            names.namespaces.replace(namespace);
        }
        self.is_anonymized = true;
        self
    }
}

impl NameTable {
    fn autoscaler(&mut self, autoscaler: &mut AutoscalerRecord) {
        self.namespaces.replace(&mut autoscaler.namespace);
        self.autoscalers.replace(&mut autoscaler.name);
        autoscaler
            .annotations
            .retain(|key, value| has_no_name(key, value));
        let spec = std::mem::take(&mut autoscaler.spec);
        let target = &spec["scaleTargetRef"];
        let name = target["name"].as_str().unwrap_or_default();
        let kind = known_kind(target["kind"].as_str().unwrap_or_default());
        let metrics = spec["metrics"].as_array().into_iter().flatten();
        let metrics: Vec<Value> = metrics.map(|metric| self.metric(metric)).collect();
        let mut kept = json!({
            "scaleTargetRef": {"kind": kind, "name": self.workloads.of(name)},
            "metrics": metrics,
        });
        for field in ["minReplicas", "maxReplicas", "behavior"] {
            if !spec[field].is_null() {
                kept[field] = without_texts(&spec[field]);
            }
        }
        autoscaler.spec = kept;
    }

    /// Type, target and a number for the name; selectors and objects are left out.
    fn metric(&mut self, metric: &Value) -> Value {
        let kind = metric["type"].as_str().unwrap_or_default();
        let (field, is_resource) = match kind {
            "Resource" => ("resource", true),
            "ContainerResource" => ("containerResource", true),
            "Pods" => ("pods", false),
            "Object" => ("object", false),
            "External" => ("external", false),
            _ => return json!({"type": "Other"}),
        };
        let given = &metric[field];
        let mut kept = json!({"target": without_texts(&given["target"])});
        if is_resource {
            let name = given["name"].as_str().unwrap_or_default();
            let is_plain = ["cpu", "memory"].contains(&name);
            kept["name"] = if is_plain {
                name.into()
            } else {
                self.metrics.of(name).into()
            };
            if let Some(container) = given["container"].as_str() {
                kept["container"] = self.others.of(container).into();
            }
        } else {
            let name = given["metric"]["name"].as_str().unwrap_or_default();
            kept["metric"] = json!({"name": self.metrics.of(name)});
        }
        json!({"type": kind, field: kept})
    }

    fn event(&mut self, event: &mut EventRecord) {
        if !event.namespace.is_empty() {
            self.namespaces.replace(&mut event.namespace);
        }
        event.kind = known_kind(&event.kind).to_owned();
        let names = match event.kind.as_str() {
            "Pod" => &mut self.pods,
            "Node" => &mut self.nodes,
            "HorizontalPodAutoscaler" => &mut self.autoscalers,
            "Deployment" | "StatefulSet" => &mut self.workloads,
            _ => &mut self.others,
        };
        names.replace(&mut event.name);
        if !REASONS.contains(&event.reason.as_str()) {
            "Other".clone_into(&mut event.reason);
        }
        event.message = None;
    }
}

/// Reasons of Kubernetes' own Events; controllers of a user may have others.
const REASONS: [&str; 27] = [
    "BackOff",
    "Created",
    "Evicted",
    "Failed",
    "FailedComputeMetricsReplicas",
    "FailedCreate",
    "FailedGetResourceMetric",
    "FailedMount",
    "FailedScheduling",
    "Killing",
    "NodeHasDiskPressure",
    "NodeHasInsufficientMemory",
    "NodeNotReady",
    "NodeReady",
    "OOMKilling",
    "Preempted",
    "Pulled",
    "Pulling",
    "Rebooted",
    "ScalingReplicaSet",
    "Scheduled",
    "Started",
    "SuccessfulCreate",
    "SuccessfulDelete",
    "SuccessfulRescale",
    "Unhealthy",
    "NodeNotSchedulable",
];

fn known_kind(kind: &str) -> &str {
    let mut known = Kind::ALL.iter().map(|one| one.as_str());
    if known.any(|one| one == kind) {
        kind
    } else {
        "Other"
    }
}

/// The mode of scaling is a word of Evenkeel, and a number is no name.
fn has_no_name(key: &str, value: &str) -> bool {
    use evenkeel_objects::scaling_mode::ScalingMode;
    let is_number = value.parse::<f64>().is_ok();
    let is_own = key.starts_with(evenkeel_objects::annotations::PREFIX);
    is_own && (is_number || (key == SCALING && ScalingMode::named(value).is_some()))
}

/// Numbers, quantities and the words of the HPA's API; other texts are left out.
fn without_texts(value: &Value) -> Value {
    const WORDS: [&str; 8] = [
        "Utilization",
        "AverageValue",
        "Value",
        "Max",
        "Min",
        "Disabled",
        "Pods",
        "Percent",
    ];
    match value {
        Value::Object(fields) => {
            let kept = fields
                .iter()
                .map(|(name, field)| (name.clone(), without_texts(field)));
            Value::Object(kept.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(without_texts).collect(),
        Value::String(text) => {
            let is_quantity = text.parse::<evenkeel_quantity::Quantity>().is_ok();
            if is_quantity || WORDS.contains(&text.as_str()) {
                value.clone()
            } else {
                Value::Null
            }
        }
        other => other.clone(),
    }
}
