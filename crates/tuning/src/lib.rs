//! In-place tuning: what requests and limits a Pod needs by its usage, and the resizes that lead there.

pub mod decision;
pub mod namespace_limits;
pub mod plan;
pub mod resizable_pod;
pub mod resize;
pub mod resize_record;
pub mod tuning_policy;
pub mod vertical_pod_autoscaler;
