//! `metrics.prometheus.queries`: an operator's PromQL in place of built-in queries. A query for
//! nodes may name the one that dates its values: results of computations carry the time of the
//! answer, so a dead exporter would look alive.

use std::fmt;

use evenkeel_objects::yaml_values::YamlText;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer, de};

use crate::config::check::Checker;
use crate::metrics::UsageQuery;
use crate::metrics::prometheus::Queries;

/// The queries as written: some of [`UsageQuery::SETTABLE`], in their order; `None` is the built-in
/// one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct QueriesSection([Option<QuerySection>; UsageQuery::SETTABLE.len()]);

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
        let Self(given) = self;
        let mut queries = Queries::default();
        let given = UsageQuery::SETTABLE.into_iter().zip(given);
        for (query, section) in given.filter_map(|(query, one)| Some((query, one.as_ref()?))) {
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
}

impl Serialize for QueriesSection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = UsageQuery::SETTABLE.into_iter().map(UsageQuery::as_str);
        serializer.collect_map(names.zip(&self.0))
    }
}

impl<'de> Deserialize<'de> for QueriesSection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QueriesVisitor;

        impl<'de> Visitor<'de> for QueriesVisitor {
            type Value = QueriesSection;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping from query names to PromQL")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut queries = QueriesSection::default();
                while let Some(QueryName(position)) = map.next_key()? {
                    queries.0[position] = map.next_value()?;
                }
                Ok(queries)
            }
        }

        deserializer.deserialize_map(QueriesVisitor)
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

/// The name of a query, as its position in [`UsageQuery::SETTABLE`].
struct QueryName(usize);

impl<'de> Deserialize<'de> for QueryName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let mut names = UsageQuery::SETTABLE.into_iter().map(UsageQuery::as_str);
        names
            .position(|known| known == name)
            .map(Self)
            .ok_or_else(|| {
                let known = UsageQuery::SETTABLE.map(|query| format!("`{}`", query.as_str()));
                let known = known.join(", ");
                de::Error::custom(format_args!(
                    "unknown field `{name}`, expected one of {known}"
                ))
            })
    }
}
