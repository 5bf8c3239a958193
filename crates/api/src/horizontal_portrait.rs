//! The custom resource HorizontalPortrait (`autoscaling.evenkeel.dev/v1alpha1`): a portrait that another
//! program makes for an IntelligentHorizontalPodAutoscaler.
//!
//! Its maker writes its status. If Evenkeel runs a job for it, Evenkeel writes the job's result there.
//! If its algorithm is Forecast, Evenkeel writes the load of the next hours there. Portraits that
//! Evenkeel computes for an autoscaler have no object: they are in the status of the autoscaler.

pub mod hours_ahead;
pub mod spec;
pub mod status;
