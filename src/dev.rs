//! `evenkeel dev`: a whole cluster on one machine, for people who want to see what Evenkeel does
//! and for tests that need a cluster without machines.
//!
//! The service that runs in it is the one of `serve`; it meets this cluster over HTTP only and
//! cannot tell it from a real one.

pub mod api;
