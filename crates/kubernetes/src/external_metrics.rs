//! The External metric that Evenkeel serves (`external.metrics.k8s.io/v1beta1`): the load that the
//! replicas of each target have to be ready for, by which a plain HPA scales ahead.
//!
//! One metric, [`EXPECTED_LOAD`], whose labels tell target and signal. The value is that of the whole
//! target, so that an HPA with target type `AverageValue` asks for `ceil(value / averageValue)`
//! replicas. What is not known is an error and never a smaller sum or nothing: an HPA takes an error as
//! a reason to stay, and adds up what a list holds.

mod discovery;
mod label;
mod list;
mod refusal;

pub use discovery::{group, resources};
pub use label::label_value;
pub use list::{KnownLoad, ServedLoad, list};
pub use refusal::ExternalMetricsRefusal;

use evenkeel_core::scaling::signal::Signal;

/// The name of the metric.
pub const EXPECTED_LOAD: &str = "evenkeel-expected-load";

/// True for the metric that is served here. A load that is made of it would feed on itself.
#[must_use]
pub fn is_own(signal: &Signal) -> bool {
    match signal {
        // The HPA controller asks for it in lower case.
        Signal::External(metric) => metric.name.eq_ignore_ascii_case(EXPECTED_LOAD),
        Signal::Resource(_)
        | Signal::ContainerResource { .. }
        | Signal::Pods(_)
        | Signal::Object { .. }
        | Signal::PromQl(_) => false,
    }
}
