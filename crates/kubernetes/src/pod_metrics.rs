//! The answer of `metrics.k8s.io/v1beta1` for Pods, as the HPA algorithm reads it.

use std::collections::BTreeMap;

use evenkeel_core::scaling::pod::Requests;
use evenkeel_core::scaling::sample::{ContainerMetrics, PodMetrics};
use evenkeel_core::units::Quantity;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::json::list;

/// A `PodMetricsList`.
#[derive(Debug, Deserialize)]
pub struct PodMetricsList {
    #[serde(default, deserialize_with = "list")]
    items: Vec<Item>,
}

#[derive(Debug, Deserialize)]
struct Item {
    metadata: Name,
    timestamp: Timestamp,
    window: String,
    #[serde(default, deserialize_with = "list")]
    containers: Vec<Container>,
}

#[derive(Debug, Deserialize)]
struct Name {
    name: String,
    #[serde(default)]
    namespace: String,
}

#[derive(Debug, Deserialize)]
struct Container {
    name: String,
    #[serde(default)]
    usage: BTreeMap<String, String>,
}

impl PodMetricsList {
    /// The usage of the Pods of a namespace that `is_wanted` names.
    pub fn of(&self, namespace: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<PodMetrics> {
        let ours = self
            .items
            .iter()
            .filter(|item| item.metadata.namespace == namespace && is_wanted(&item.metadata.name));
        ours.map(Item::read).collect()
    }
}

impl Item {
    /// A window that does not parse is none: the usage is then that of one moment.
    fn read(&self) -> PodMetrics {
        let window: Option<SignedDuration> = self.window.parse().ok();
        PodMetrics {
            pod: self.metadata.name.clone(),
            timestamp: self.timestamp,
            window: window.unwrap_or_default(),
            containers: self.containers.iter().map(Container::read).collect(),
        }
    }
}

impl Container {
    /// A quantity that does not parse is as good as absent.
    fn read(&self) -> ContainerMetrics {
        let amount = |(name, text): (&String, &String)| {
            let quantity: Quantity = text.parse().ok()?;
            Some((name.as_str().into(), quantity.milli_value()))
        };
        let usage: Requests = self.usage.iter().filter_map(amount).collect();
        ContainerMetrics {
            name: self.name.clone(),
            usage,
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_core::scaling::signal::ResourceName;
    use serde_json::json;

    use super::*;

    #[test]
    fn usage_is_read_of_each_container_of_the_pods_that_are_wanted() {
        let item = |namespace: &str, name: &str| {
            json!({"metadata": {"name": name, "namespace": namespace}, "window": "1m0s",
                "timestamp": "2026-03-01T10:00:00Z", "containers": [
                    {"name": "app", "usage": {"cpu": "250m", "memory": "1Mi"}},
                    {"name": "side", "usage": {"cpu": "50123456n"}}]})
        };
        let items = [item("shop", "a"), item("shop", "b"), item("other", "a")];
        let list: PodMetricsList = serde_json::from_value(json!({"items": items})).unwrap();
        let found = list.of("shop", |name| name == "a");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].window, SignedDuration::from_mins(1));
        for (resource, container, value) in [
            (ResourceName::Cpu, None, Some(301)),
            (ResourceName::Cpu, Some("side"), Some(51)),
            (ResourceName::Memory, Some("app"), Some(1_048_576_000)),
            // A container without the resource makes the whole Pod one without it.
            (ResourceName::Memory, None, None),
            (ResourceName::Cpu, Some("none"), None),
        ] {
            let measured = found[0].measurement(&resource, container);
            assert_eq!(
                measured.map(|one| one.value),
                value,
                "{resource} {container:?}"
            );
        }
    }
}
