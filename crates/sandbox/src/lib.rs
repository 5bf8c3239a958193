//! A simulated Kubernetes cluster: workloads under a load, the machines that they run on, and the
//! parts of a control plane that place and scale them. Three drivers run the same parts:
//!
//! - [`machines`] steps [`engine`] at the pace of a clock behind an API server. `dev` runs the real
//!   service, and its calls take real time.
//! - [`baseline`] steps the same engine in virtual time. The comparison in `dev` then differs in
//!   decisions only: a missed or late step on one side would be a difference.
//! - [`simulation`] goes from event to event. Days of hundreds of nodes, under several policies and
//!   many seeds, must take seconds, and most steps of five seconds would find nothing to do.
//!
//! Loads (`load`, `usage`), Pods' lives ([`lifecycle`]), their ordinals (`ordinals`), placement by
//! requests (`placement`, with kube-scheduler's plugins), scrapes ([`scrape`]) and figures
//! ([`engine::summary`]) are the same code for all. Scheduler, kubelet and controllers talk to an
//! API server over HTTP only, as those of a real cluster do.

#![forbid(unsafe_code)]

pub mod adapter;
pub mod autoscaler;
pub mod baseline;
pub mod blockable_proxy;
pub mod control_plane_context;
pub mod controllers;
mod deletion_order;
pub mod engine;
pub mod events;
pub mod kubelet;
pub mod lifecycle;
pub mod load;
pub mod machines;
pub mod objects;
pub mod opt_in_annotations;
pub mod parallel;
mod placement;
mod pod_ordinals;
pub mod portraits;
pub mod prometheus;
pub mod recorder;
pub mod recording;
mod safe_name;
pub mod scenario;
pub mod scheduler;
pub mod scrape;
pub mod scrape_timing;
mod seasonal_metric;
pub mod simulation;
pub mod store;
pub mod target_replay;
pub mod timeline;
pub mod tuning;
mod usage;

pub use events::{SandboxEvent, SandboxEventSink};
pub use scenario::faults::Fault;
pub use timeline::Timeline;
