//! How much of one object Evenkeel follows.

/// The most metrics of one target that are followed. Kubernetes takes as many as an object holds, some
/// 28,000, and each that is followed costs questions, memory and a series of its own.
pub const FOLLOWED: usize = 16;
