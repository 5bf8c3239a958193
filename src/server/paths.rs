//! Paths of the HTTPS listener, as they stand in the shipped manifests.

pub const MUTATE: &str = "/mutate";
/// Prefix of the extender's paths: `urlPrefix` in the scheduler's configuration.
pub const SCHEDULER: &str = "/scheduler";
pub const FILTER: &str = "/scheduler/filter";
pub const PRIORITIZE: &str = "/scheduler/prioritize";
