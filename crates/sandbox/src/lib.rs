//! A Kubernetes cluster that is not there: workloads under a load, the machines that they run on,
//! and the parts of a control plane that place and scale them.
//!
//! [`engine`] moves Pods and load in steps: [`machines`] lets it run at the pace of a clock behind
//! an API server, and [`baseline`] runs it alone, as fast as it goes. [`simulation`] compares policies
//! of placement over days and thousands of nodes, from event to event. Scheduler, kubelet and
//! controllers talk to an API server over HTTP only, as those of a real cluster do.

#![forbid(unsafe_code)]

pub mod adapter;
pub mod annotated;
pub mod autoscaler;
pub mod baseline;
pub mod controllers;
pub mod engine;
pub mod events;
pub mod gate;
pub mod kubelet;
pub mod lifecycle;
pub mod load;
pub mod machines;
pub mod objects;
pub mod parallel;
pub mod parts;
pub mod prometheus;
pub mod recorder;
pub mod scenario;
pub mod scheduler;
pub mod scrape;
pub mod simulation;
pub mod store;
pub mod target;
pub mod timeline;

pub use events::{Event, Events};
pub use scenario::faults::Fault;
pub use timeline::Timeline;
