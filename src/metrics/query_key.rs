//! Identity of a query, by which answers are kept: its source, the signals that it reads, and the
//! objects that it reads them of.

use std::sync::Arc;

use evenkeel_core::scaling::signal::Signal;

/// Key of an answer: two queries with equal keys read the same numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QueryKey {
    /// The name of the source, from the closed set of
    /// [`MetricsSource::name`](super::MetricsSource::name).
    pub source: &'static str,
    pub signals: Signals,
    pub scope: Scope,
}

/// Signals that one query reads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Signals {
    /// All five resources, as a round reads them.
    Resources,
    One(Signal),
}

/// Objects that a query reads its signals of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All nodes and Pods.
    Cluster,
    Namespace(Arc<str>),
}

impl QueryKey {
    /// The query for the usage of all nodes and Pods.
    #[must_use]
    pub const fn round(source: &'static str) -> Self {
        Self {
            source,
            signals: Signals::Resources,
            scope: Scope::Cluster,
        }
    }
}
