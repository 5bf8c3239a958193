//! The scaling loop whole: the service as it is composed, against an API server and a Prometheus
//! that are broken on purpose, in a time that runs faster; and two of its processes, one of which
//! is paused, killed or cut off.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

mod checks;
mod controllers;
mod cron;
mod custom;
mod direct;
mod faults;
mod floor;
mod gate;
mod ihpa;
mod models;
mod opt_in;
mod overload;
mod processes;
mod scale_in;
mod signals;
mod spans;
mod traffic;
mod world;
