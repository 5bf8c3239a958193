//! Settings of the source.

use jiff::SignedDuration;

use super::client::PrometheusConnection;
use super::matchers::ExporterMatchers;
use super::names::NodeLabel;
use super::queries::Queries;

/// Address, queries, and names of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub connection: PrometheusConnection,
    /// The span of rates, in place of `$window`: at least four scrape intervals, so that a failed
    /// scrape leaves enough points.
    pub window: SignedDuration,
    pub node_label: NodeLabel,
    /// Label matchers of the series that are believed, in the queries that have a place for them.
    pub matchers: ExporterMatchers,
    pub queries: Queries,
}
