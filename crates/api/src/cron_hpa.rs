//! TODO header.

pub mod spec;
pub mod status;
