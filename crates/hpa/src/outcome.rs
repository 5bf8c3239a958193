//! The outcome of a reconciliation.

use evenkeel_units::words;

use super::status::{EventType, HpaEvent, HpaStatus};
use super::trace::DecisionTrace;

words! {
    /// On the replica count.
    #[derive(Default)]
    pub enum Action {
        #[default]
        None = "none",
        ScaleUp = "scale_up",
        ScaleDown = "scale_down",
    }
}

/// Why a reconciliation failed, or could not use all of its metrics.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReconcileError {
    #[error("{0}")]
    Spec(String),
    #[error("{0}")]
    Internal(String),
}

impl ReconcileError {
    /// The label of Kubernetes' metrics.
    pub const fn label(error: Option<&Self>) -> &'static str {
        match error {
            None => "none",
            Some(Self::Spec(_)) => "spec",
            Some(Self::Internal(_)) => "internal",
        }
    }
}

/// After the write of the scale, if there was one.
#[derive(Debug, Clone, PartialEq)]
pub struct HpaOutcome {
    pub status: HpaStatus,
    /// The status must be written.
    pub is_status_changed: bool,
    pub events: Vec<HpaEvent>,
    pub action: Action,
    /// Does not rule out an action: working metrics may scale up while others fail.
    pub error: Option<ReconcileError>,
    /// How the count was decided; `None` unless it was asked for.
    pub trace: Option<Box<DecisionTrace>>,
}

impl HpaOutcome {
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
