//! The External metric that Evenkeel serves (`external.metrics.k8s.io/v1beta1`): the expected load
//! of each target, by which a plain HPA scales ahead. The labels of the metric, [`EXPECTED_LOAD`],
//! name the target and the signal. The value is for the whole target, so use target type
//! `AverageValue`. An unknown value is an error, never a smaller sum or an empty list: an HPA keeps
//! its replicas on an error, and adds up a list.

mod label;
mod list;
mod refusal;

pub use label::label_value;
pub use list::{KnownLoad, ServedLoad, list};
pub use refusal::ExternalMetricsRefusal;

use evenkeel_metrics::signal::Signal;

pub const EXPECTED_LOAD: &str = "evenkeel-expected-load";

/// True for the metric that is served here. A load that is made of it would feed on itself.
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
