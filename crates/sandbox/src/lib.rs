//! `evenkeel dev`: a whole cluster on one machine, for people who want to see what Evenkeel does
//! and for tests that need a cluster without machines.
//!
//! The service that runs in it is the one of `serve`; it meets this cluster over HTTP only and
//! cannot tell it from a real one. Time of the scenario runs `speed` times as fast as the clock:
//! traffic, start-up of Pods, scrapes and the HPA go by the former; objects, measurements and
//! everything in the service carry the latter. So that the service sees as much of the scenario
//! between two looks as it would of a real day, its intervals (metrics, maximum age, relaxing)
//! are divided by the speed, down to what a loopback call takes.

#![forbid(unsafe_code)]

pub mod controllers;
pub mod events;
pub mod faults;
pub mod gate;
pub mod kubelet;
pub mod metrics;
pub mod objects;
pub mod pace;
pub mod parts;
pub mod recorder;
pub mod scheduler;
pub mod simulate;
pub mod store;
pub mod world;

pub use events::{Event, Events};
pub use faults::Fault;
pub use pace::Pace;
