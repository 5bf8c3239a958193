//! Comparison of tuning methods, and recommended resources.

pub mod compare;
pub mod recommend;
