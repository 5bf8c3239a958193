//! The scaling loop whole: the service as it is composed, against an API server and a Prometheus
//! that are broken on purpose, in a time that runs faster; and two of its processes, one of which
//! is paused, killed or cut off.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

#[allow(dead_code)] // other test programs use the rest of the harness
mod support {
    pub mod control_plane;
    pub mod dev_api;
    pub mod load;
}

mod scaling_loop {
    mod controllers;
    mod faults;
    mod floor;
    mod gate;
    mod node_lifecycle;
    mod processes;
    mod world;
}
