//! The custom resource IntelligentHorizontalPodAutoscaler (`autoscaling.evenkeel.dev/v1alpha1`): a workload
//! that is scaled by portraits of several providers, in stages, between stability checks.

pub mod spec;
pub mod status;
