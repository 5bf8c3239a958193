//! The outcome of a reconciliation.

use super::status::{EventType, HpaEvent, HpaStatus};

/// The effect of a reconciliation on the replica count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Action {
    /// It changed nothing.
    #[default]
    None,
    /// It added replicas.
    ScaleUp,
    /// It took replicas away.
    ScaleDown,
}

impl Action {
    /// The label of Kubernetes' metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ScaleUp => "scale_up",
            Self::ScaleDown => "scale_down",
        }
    }
}

/// Why a reconciliation failed, or could not use all of its metrics.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReconcileError {
    /// The HPA itself is in error.
    #[error("{0}")]
    Spec(String),
    /// Something that the HPA depends on failed.
    #[error("{0}")]
    Internal(String),
}

impl ReconcileError {
    /// The label of Kubernetes' metrics for the error of a reconciliation.
    pub const fn label(error: Option<&Self>) -> &'static str {
        match error {
            None => "none",
            Some(Self::Spec(_)) => "spec",
            Some(Self::Internal(_)) => "internal",
        }
    }
}

/// The outcome of a reconciliation, after its write of the scale where there was one.
#[derive(Debug, Clone, PartialEq)]
pub struct HpaOutcome {
    /// The status of the HPA from now on.
    pub status: HpaStatus,
    /// True where the status is another than before and has to be written.
    pub is_status_changed: bool,
    /// Events on the HPA, in their order.
    pub events: Vec<HpaEvent>,
    /// The effect on the replica count.
    pub action: Action,
    /// The error of the reconciliation. It does not rule out an action: metrics that work may scale
    /// up while others fail.
    pub error: Option<ReconcileError>,
}

impl HpaOutcome {
    /// The outcome where the write of the status of the HPA `name` failed.
    #[must_use]
    pub fn after_failed_status_write(mut self, name: &str, error: &str) -> Self {
        self.events.push(HpaEvent {
            event_type: EventType::Warning,
            reason: "FailedUpdateStatus",
            message: error.to_owned(),
        });
        let error = format!("failed to update status for {name}: {error}");
        self.error = Some(ReconcileError::Internal(error));
        self
    }
}
