//! Paths of the HTTPS listener, as they stand in the shipped manifests.

/// The mutating webhook.
pub const MUTATE: &str = "/mutate";
/// Prefix of the paths of the extender: `urlPrefix` in the scheduler's configuration.
pub const SCHEDULER: &str = "/scheduler";
/// The extender's filter.
pub const FILTER: &str = "/scheduler/filter";
/// The extender's prioritize.
pub const PRIORITIZE: &str = "/scheduler/prioritize";
