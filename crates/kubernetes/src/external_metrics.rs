//! The External metric that Evenkeel serves (`external.metrics.k8s.io/v1beta1`): the load that the
//! replicas of each target have to be ready for. A plain HPA scales ahead by it.
//!
//! The labels of the one metric, [`EXPECTED_LOAD`], name the target and the signal. Its value is for the
//! whole target, so an HPA with target type `AverageValue` asks for `ceil(value / averageValue)` replicas.
//! An unknown value is an error, never a smaller sum or an empty list: an HPA keeps its replicas on an
//! error, and adds up the values of a list.

mod label;
mod list;
mod refusal;

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
