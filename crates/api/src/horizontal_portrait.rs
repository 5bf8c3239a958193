//! The custom resource HorizontalPortrait (`autoscaling.evenkeel.dev/v1alpha1`): a portrait that another
//! program makes for an IntelligentHorizontalPodAutoscaler.
//!
//! Its maker writes its status. If Evenkeel runs a job for it, Evenkeel writes the job's result there.
//! Portraits that Evenkeel computes itself have no object: they are in the status of the autoscaler.

pub mod spec;
pub mod status;
