//! Replica profiles: Pods online, cut off from traffic and on standby, and the steps between them.

pub mod decision;
pub mod online_condition;
pub mod plan;
