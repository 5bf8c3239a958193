//! Under construction.
pub mod certificates;
