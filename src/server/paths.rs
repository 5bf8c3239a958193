//! The paths that others call, as they stand in the shipped manifests.

pub const MUTATE: &str = "/mutate";
/// Prefix of the extender's paths: `urlPrefix` in the scheduler's configuration.
pub const SCHEDULER: &str = "/scheduler";
pub const FILTER: &str = "/scheduler/filter";
pub const PRIORITIZE: &str = "/scheduler/prioritize";
/// Explanations, on the dashboard's listener.
pub const EXPLAIN: &str = "/api/v1/explain";
/// Targets of scaling, on the dashboard's listener.
pub const SCALING: &str = "/api/v1/scaling";
/// The recent past of one of them, on the dashboard's listener.
pub const SCALING_HISTORY: &str = "/api/v1/scaling/history";
