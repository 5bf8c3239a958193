//! The HorizontalPodAutoscaler of Kubernetes in virtual time.

pub mod autoscaler;
pub mod hpa;
