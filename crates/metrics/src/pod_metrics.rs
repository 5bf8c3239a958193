//! The answer of `metrics.k8s.io` for Pods: the usage of each container with its own time. An
//! unreadable item does not affect the others. A namespace's list is kept; a cluster's is read item
//! by item, because the texts of a hundred thousand Pods would take more memory than all else.

use std::collections::BTreeMap;
use std::fmt;

use evenkeel_objects::json::{list, null_is_default};
use evenkeel_objects::lenient_object::{LenientObject, UnreadableItems};
use evenkeel_objects::yaml_values::YamlText;
use evenkeel_quantity::Quantity;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::pod::ResourceRequests;
use crate::sample::{ContainerMetrics, PodMetrics};

#[derive(Debug, Deserialize)]
pub struct PodMetricsList {
    #[serde(default, deserialize_with = "list")]
    items: Vec<Item>,
}

#[derive(Debug)]
pub struct PodUsage {
    pub namespace: String,
    pub metrics: PodMetrics,
    /// The amounts that are no quantity, and left out.
    pub unreadable: usize,
}

/// Reads a `PodMetricsList`, hands over Pod by Pod, and returns the unreadable items.
///
/// # Errors
/// The body is no such list; items before the fault have been handed over.
pub fn for_each(body: &[u8], take: impl FnMut(PodUsage)) -> serde_json::Result<UnreadableItems> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let mut unreadable = UnreadableItems::default();
    List(take, &mut unreadable).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(unreadable)
}

struct List<'u, F>(F, &'u mut UnreadableItems);

impl<'de, F: FnMut(PodUsage)> DeserializeSeed<'de> for List<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, F: FnMut(PodUsage)> Visitor<'de> for List<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a PodMetricsList")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(field) = map.next_key::<String>()? {
            if field == "items" {
                map.next_value_seed(Items(&mut self.0, self.1))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct Items<'f, F>(&'f mut F, &'f mut UnreadableItems);

impl<'de, F: FnMut(PodUsage)> DeserializeSeed<'de> for Items<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: FnMut(PodUsage)> Visitor<'de> for Items<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of PodMetrics")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(LenientObject(item)) = items.next_element::<LenientObject<Item>>()? {
            let item = match item {
                Ok(item) => item,
                Err(unreadable) => {
                    self.1.add(unreadable);
                    continue;
                }
            };
            let metrics = item.read();
            let amounts = item.containers.iter().flat_map(|one| one.usage.values());
            let unreadable = amounts.filter(|text| text.0.parse::<Quantity>().is_err());
            (self.0)(PodUsage {
                unreadable: unreadable.count(),
                namespace: item.metadata.namespace,
                metrics,
            });
        }
        Ok(())
    }
}

#[derive(Debug, Deserialize)]
struct Item {
    metadata: PodMetricsMeta,
    timestamp: Option<Timestamp>,
    #[serde(default)]
    window: String,
    #[serde(default, deserialize_with = "list")]
    containers: Vec<ContainerMetricsJson>,
}

#[derive(Debug, Deserialize)]
struct PodMetricsMeta {
    name: String,
    #[serde(default)]
    namespace: String,
}

#[derive(Debug, Deserialize)]
struct ContainerMetricsJson {
    name: String,
    #[serde(default, deserialize_with = "null_is_default")]
    usage: BTreeMap<String, YamlText>,
}

impl PodMetricsList {
    pub fn of(&self, namespace: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<PodMetrics> {
        let ours = self
            .items
            .iter()
            .filter(|item| item.metadata.namespace == namespace && is_wanted(&item.metadata.name));
        ours.map(Item::read).collect()
    }
}

impl Item {
    /// An unparsable window counts as none: the usage is of one moment. A missing time is long
    /// past, as in Go.
    fn read(&self) -> PodMetrics {
        let window: Option<SignedDuration> = self.window.parse().ok();
        PodMetrics {
            pod: self.metadata.name.clone(),
            timestamp: self.timestamp.unwrap_or(Timestamp::MIN),
            window: window.unwrap_or_default(),
            containers: self
                .containers
                .iter()
                .map(ContainerMetricsJson::read)
                .collect(),
        }
    }
}

impl ContainerMetricsJson {
    /// A quantity that does not parse is as good as absent.
    fn read(&self) -> ContainerMetrics {
        let amount = |(name, text): (&String, &YamlText)| {
            let quantity: Quantity = text.0.parse().ok()?;
            Some((name.as_str().into(), quantity.milli_value()))
        };
        let usage: ResourceRequests = self.usage.iter().filter_map(amount).collect();
        ContainerMetrics {
            name: self.name.clone(),
            usage,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::signal::ResourceName;

    #[test]
    fn usage_is_read_of_each_container_of_the_pods_that_are_wanted() {
        let item = |namespace: &str, name: &str| {
            json!({"metadata": {"name": name, "namespace": namespace}, "window": "1m0s",
                "timestamp": "2026-03-01T10:00:00Z", "containers": [
                    {"name": "app", "usage": {"cpu": 0.25, "memory": 1_048_576}},
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

    /// The harm: one Pod without a measurement left all the Pods of the cluster without one.
    #[test]
    fn an_item_that_cannot_be_read_is_named_and_leaves_the_others() {
        let good = |name: &str| {
            json!({"metadata": {"name": name, "namespace": "shop"}, "window": "10s",
                "timestamp": "2026-03-01T10:00:00Z",
                "containers": [{"name": "app", "usage": {"cpu": "1"}}]})
        };
        for (field, broken) in [
            ("timestamp", json!("now")),
            (
                "containers",
                json!([{"name": "app", "usage": {"cpu": null}}]),
            ),
            ("containers", json!(7)),
            ("window", json!(null)),
        ] {
            let mut bad = good("bad");
            bad[field] = broken;
            let body = json!({"items": [good("a"), bad, null, good("b")]}).to_string();
            let mut found = Vec::new();
            let unreadable = for_each(body.as_bytes(), |pod| found.push(pod.metrics.pod)).unwrap();
            assert_eq!(found, ["a", "b"], "{field}");
            assert_eq!(unreadable.count, 2);
            let text = unreadable.to_string();
            assert!(
                text.contains("2 of its items cannot be read, the first is shop/bad: "),
                "{text}"
            );
        }
        let mut unmeasured = good("bad");
        unmeasured["containers"][0]["usage"] = json!(null);
        let body = json!({"items": [unmeasured]}).to_string();
        let unreadable = for_each(body.as_bytes(), |pod| {
            assert_eq!(pod.metrics.measurement(&ResourceName::Cpu, None), None);
        });
        assert_eq!(unreadable.unwrap().count, 0);
    }

    #[test]
    fn a_list_is_read_one_pod_after_another() {
        let body = json!({"kind": "PodMetricsList", "items": [
            {"metadata": {"name": "a", "namespace": "shop"}, "timestamp": null, "window": "10s",
                "containers": [{"name": "app", "usage": {"cpu": "lots", "memory": "1Mi"}}]},
            {"metadata": {"name": "b", "namespace": "shop"}, "timestamp": "2026-03-01T10:00:00Z",
                "window": "10s", "containers": null}], "metadata": {}});
        let mut found = Vec::new();
        for_each(body.to_string().as_bytes(), |pod| found.push(pod)).unwrap();
        let names: Vec<&str> = found.iter().map(|pod| &*pod.metrics.pod).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(found[0].metrics.timestamp, Timestamp::MIN);
        assert_eq!((found[0].unreadable, found[1].unreadable), (1, 0));
        for (body, good) in [
            (r#"{"items":null}"#, true),
            (r"{}", true),
            (r#"{"items":[{}]}"#, true),
            (r#"{"items":5}"#, false),
            ("[]", false),
            (r#"{"items":[]} more"#, false),
        ] {
            assert_eq!(for_each(body.as_bytes(), |_| {}).is_ok(), good, "{body}");
        }
    }
}
