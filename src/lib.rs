//! Evenkeel keeps a Kubernetes cluster on an even keel: it classifies Pods at admission, steers
//! kube-scheduler by real load over five resources, and runs the loops around both.
//!
//! Modules stand in tiers; a tier uses itself and the ones above it in this file, never one below
//! (`tests/layers.rs` holds the rule). Decisions are pure functions of what they are given: the
//! clock, the network and the Kubernetes client live in the lower tiers only.

#![forbid(unsafe_code)]

// Tier 1, numbers: no Kubernetes types, no tokio, no serde_json, no clock.
pub mod ahp;
pub mod forecast;
pub mod plot;
pub mod units;

// Tier 2, decisions: pure functions of state, observation, policy and time.
pub mod placement;
pub mod profile;
pub mod scaling;

// Tier 3, translation: Kubernetes types, synchronous, no client.
pub mod admission;
pub mod extender;
pub mod kubernetes;
pub mod plan;
pub mod simulate;
pub mod snapshot;

// Tier 4, I/O: clients, sockets, async; no decisions.
pub mod clock;
pub mod cluster;
pub mod controller;
pub mod dev;
pub mod metrics;
pub mod server;
pub mod telemetry;

// Tier 5, composition: configuration, wiring, command line.
pub mod cli;
pub mod config;
pub mod doctor;
pub mod service;
pub mod uninstall;
