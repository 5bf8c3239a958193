//! Paths of the listeners, as they stand in the shipped manifests.

pub const MUTATE: &str = "/mutate";
/// Prefix of the extender's paths: `urlPrefix` in the scheduler's configuration.
pub const SCHEDULER: &str = "/scheduler";
pub const FILTER: &str = "/scheduler/filter";
pub const PRIORITIZE: &str = "/scheduler/prioritize";
pub const LIVEZ: &str = "/livez";
pub const READYZ: &str = "/readyz";
pub const METRICS: &str = "/metrics";

/// Header with the token of a reader of the metrics who comes through the API server's proxy, which
/// takes `Authorization` away.
pub const FORWARDED_TOKEN: &str = "x-evenkeel-token";
