//! The state of an HPA's target at the time of a reconciliation.

use evenkeel_metrics::pod::PodFacts;

use super::readings::Readings;

#[derive(Debug, Clone, Copy)]
pub struct ObservedTarget<'a> {
    pub scale: Result<TargetScale<'a>, &'a ScaleError>,
    pub readings: &'a Readings,
}

/// With the Pods that its selector selects.
#[derive(Debug, Clone, Copy)]
pub struct TargetScale<'a> {
    pub spec_replicas: i32,
    pub status_replicas: i32,
    /// As text.
    pub selector: &'a str,
    /// In the order of their listing; the parser's error for an invalid selector.
    pub pods: Result<&'a [PodFacts], &'a str>,
    /// HPAs whose target's selector selects any of these Pods, this HPA included, as
    /// `namespace/name`.
    pub autoscalers: &'a [String],
}

/// Why a target's scale cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScaleError {
    /// The reference has no valid API version.
    #[error("unexpected GroupVersion string: {0}")]
    ApiVersion(String),
    #[error("no matches for kind {kind:?} in group {group:?}")]
    NoMatch {
        /// Empty for the core group.
        group: String,
        kind: String,
    },
    #[error("{0}")]
    Get(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScaleWriteError {
    /// Another writer was faster: the scale must be read and written again.
    #[error("{0}")]
    Conflict(String),
    /// The API server refused it.
    #[error("{0}")]
    Failed(String),
}
