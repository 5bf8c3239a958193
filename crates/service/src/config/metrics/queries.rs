//! `metrics.prometheus.queries`: an operator's PromQL in place of built-in queries. A query for
//! nodes may name the one that dates its values: results of computations carry the time of the
//! answer, so a dead exporter would look alive.

use std::fmt;

use evenkeel_objects::yaml_values::YamlText;
use evenkeel_units::Resource;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, de};

use crate::config::check::Checker;
use crate::metrics::UsageQuery;
use crate::metrics::prometheus::Queries;

/// The queries as written, by name; `None` is the built-in one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping from query names to PromQL"
)]
pub(crate) struct QueriesSection {
    node_cpu: Option<QuerySection>,
    node_memory: Option<QuerySection>,
    node_network_io: Option<QuerySection>,
    node_disk_io: Option<QuerySection>,
    node_disk: Option<QuerySection>,
    pod_cpu: Option<QuerySection>,
    pod_memory: Option<QuerySection>,
    pod_network_io: Option<QuerySection>,
    pod_disk_io: Option<QuerySection>,
    pod_disk: Option<QuerySection>,
    network_capacity: Option<QuerySection>,
    node_io_pressure: Option<QuerySection>,
}

/// One query as it is written: a text, or a mapping where its values are dated by another query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum QuerySection {
    Plain(YamlText),
    Dated(DatedSection),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DatedSection {
    value: YamlText,
    time: YamlText,
}

impl QueriesSection {
    pub(super) fn check(&self, check: &mut Checker) -> Queries {
        let mut queries = Queries::default();
        for (query, section) in self.each() {
            let Some(section) = section else { continue };
            let set = match section {
                QuerySection::Plain(YamlText(promql)) => queries.set(query, promql),
                QuerySection::Dated(DatedSection {
                    value: YamlText(value),
                    time: YamlText(time),
                }) => queries.set_dated(query, value, time),
            };
            if let Err(error) = set {
                let path = format!("metrics.prometheus.queries.{}", query.as_str());
                check.refuse(&path, error);
            }
        }
        queries
    }

    const fn each(&self) -> [(UsageQuery, &Option<QuerySection>); 12] {
        use Resource::{Cpu, Disk, DiskIo, Memory, NetworkIo};
        use UsageQuery::{IoPressure, NetworkCapacity, Node, Pod};
        [
            (Node(Cpu), &self.node_cpu),
            (Node(Memory), &self.node_memory),
            (Node(NetworkIo), &self.node_network_io),
            (Node(DiskIo), &self.node_disk_io),
            (Node(Disk), &self.node_disk),
            (Pod(Cpu), &self.pod_cpu),
            (Pod(Memory), &self.pod_memory),
            (Pod(NetworkIo), &self.pod_network_io),
            (Pod(DiskIo), &self.pod_disk_io),
            (Pod(Disk), &self.pod_disk),
            (NetworkCapacity, &self.network_capacity),
            (IoPressure, &self.node_io_pressure),
        ]
    }
}

impl<'de> Deserialize<'de> for QuerySection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QueryVisitor;

        impl<'de> Visitor<'de> for QueryVisitor {
            type Value = QuerySection;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("PromQL, or a mapping with `value` and `time`, both PromQL")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(QuerySection::Plain(text.into()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let fields = de::value::MapAccessDeserializer::new(map);
                DatedSection::deserialize(fields).map(QuerySection::Dated)
            }
        }

        deserializer.deserialize_any(QueryVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_query_has_the_name_of_its_field() {
        let section = QueriesSection::default();
        let names = section
            .each()
            .map(|(query, _)| format!("\"{}\":null", query.as_str()));
        let text = serde_json::to_string(&section).unwrap();
        assert_eq!(text, format!("{{{}}}", names.join(",")));
    }
}
