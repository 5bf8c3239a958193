//! The paths that others call, as they stand in the shipped manifests.

/// The mutating webhook.
pub const MUTATE: &str = "/mutate";
/// What the paths of the extender begin with: `urlPrefix` in the scheduler's configuration.
pub const SCHEDULER: &str = "/scheduler";
/// The extender's filter.
pub const FILTER: &str = "/scheduler/filter";
/// The extender's prioritize.
pub const PRIORITIZE: &str = "/scheduler/prioritize";
/// Explanations, on the dashboard's listener.
pub const EXPLAIN: &str = "/api/v1/explain";
/// Targets of scaling, on the dashboard's listener.
pub const SCALING: &str = "/api/v1/scaling";
/// The recent past of one of them, on the dashboard's listener.
pub const SCALING_HISTORY: &str = "/api/v1/scaling/history";
