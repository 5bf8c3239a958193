//! The custom resource CronHPA (`autoscaling.evenkeel.dev/v1alpha1`): replicas by the calendar. The schema is
//! derived from spec and status: their comments are what `kubectl explain` shows.

pub mod spec;
pub mod status;
