//! The state of an HPA's target at the time of a reconciliation.

use super::readings::Readings;
use crate::scaling::pod::PodFacts;

/// The state of a target.
#[derive(Debug, Clone, Copy)]
pub struct ObservedTarget<'a> {
    /// The `scale` subresource of the target.
    pub scale: Result<TargetScale<'a>, &'a ScaleError>,
    /// The measurements.
    pub readings: &'a Readings,
}

/// The `scale` subresource of a target, with the Pods that its selector selects.
#[derive(Debug, Clone, Copy)]
pub struct TargetScale<'a> {
    pub spec_replicas: i32,
    pub status_replicas: i32,
    /// `status.selector`, as text.
    pub selector: &'a str,
    /// The Pods of the namespace that the selector selects, in the order of their listing; the
    /// parser's error where the selector is none.
    pub pods: Result<&'a [PodFacts], &'a str>,
    /// The HPAs with a target selector that selects any of these Pods, this HPA among them, each as
    /// `namespace/name`.
    pub autoscalers: &'a [String],
}

/// Why the scale of a target cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScaleError {
    /// The API version of the reference is none.
    #[error("unexpected GroupVersion string: {0}")]
    ApiVersion(String),
    /// The cluster has no such kind.
    #[error("no matches for kind {kind:?} in group {group:?}")]
    NoMatch {
        /// The group; empty for the core group.
        group: String,
        kind: String,
    },
    /// The API server did not return the scale.
    #[error("{0}")]
    Get(String),
}

/// Why a scale could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScaleWriteError {
    /// Another writer was faster: the scale has to be read and written again.
    #[error("{0}")]
    Conflict(String),
    /// The API server did not take it.
    #[error("{0}")]
    Failed(String),
}
