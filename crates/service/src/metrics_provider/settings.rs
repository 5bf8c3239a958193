//! Settings of the metrics provider.

use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_metrics::series_query::RangeLimits;

use crate::metrics::prometheus;

#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The address of gRPC over TLS, for callers with a token; `None` if it is not served.
    pub grpc: Option<SocketAddr>,
    /// gRPC without TLS, to Pods about their own namespace; `None` where it is not served.
    pub plaintext_grpc: Option<SocketAddr>,
    /// The most that a question may ask of the past.
    pub limits: RangeLimits,
    /// The longest that a question may wait and take.
    pub timeout: Duration,
    /// The metrics that are read from Prometheus, by their names.
    pub queries: Vec<ConfiguredQuery>,
}

/// A metric that is read by an operator's own query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredQuery {
    pub name: String,
    /// PromQL without the namespace: that and other conditions are added to each of its selectors.
    pub promql: String,
    /// The label by which series name the object that they describe, where they describe one.
    pub object_label: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConfiguredQueryError {
    #[error("has no name")]
    NoName,
    /// Whatever it gives, it would give every namespace.
    #[error(
        "names no metric: PromQL that reads one, such as sum(rate(http_requests_total[$window]))"
    )]
    NoSeries,
    #[error("the label of the object: letters, digits and underscores, such as ingress")]
    Label,
}

impl ConfiguredQuery {
    /// The query, checked.
    ///
    /// # Errors
    /// A query without a name, one that reads no series, and a label that is none.
    pub fn new(
        name: &str,
        promql: &str,
        object_label: Option<&str>,
    ) -> Result<Self, ConfiguredQueryError> {
        if name.is_empty() {
            return Err(ConfiguredQueryError::NoName);
        }
        if !prometheus::reads_series(promql) {
            return Err(ConfiguredQueryError::NoSeries);
        }
        let is_label = |label: &str| {
            label.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        if object_label.is_some_and(|label| !is_label(label)) {
            return Err(ConfiguredQueryError::Label);
        }
        Ok(Self {
            name: name.to_owned(),
            promql: promql.to_owned(),
            object_label: object_label.map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_reads_nothing_would_be_everybodys() {
        let new = |name: &str, promql: &str, label: Option<&str>| {
            ConfiguredQuery::new(name, promql, label).map(|query| query.name)
        };
        assert_eq!(
            new("rps", "sum(rate(a[5m]))", Some("ingress")),
            Ok("rps".to_owned())
        );
        for (name, promql, label, expected) in [
            ("", "a", None, ConfiguredQueryError::NoName),
            ("rps", "vector(1)", None, ConfiguredQueryError::NoSeries),
            ("rps", "", None, ConfiguredQueryError::NoSeries),
            ("rps", "a", Some("a-b"), ConfiguredQueryError::Label),
            ("rps", "a", Some(""), ConfiguredQueryError::Label),
        ] {
            assert_eq!(new(name, promql, label), Err(expected), "{name} {promql}");
        }
    }
}
