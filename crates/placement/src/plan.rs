//! Planned writes of placement: labels, warnings, costs of deletion, wake-ups after overload.

pub mod annotation_warning;
pub mod deletion_cost;
pub mod headroom_wakeup;
pub mod opt_in_label;
pub mod overload;
pub mod score_labels;
