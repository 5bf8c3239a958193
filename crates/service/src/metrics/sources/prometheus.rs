//! Usage of all nodes and Pods from a Prometheus, or anything else with its query API. A round is
//! at most one instant query for each resource of nodes and of Pods, whatever the size of the
//! cluster; a few run and are in memory at once. Prometheus evaluates each at its own present; ages
//! come from queries for the exporters' scrape times. A failed query leaves only its part absent.

mod answer;
mod client;
mod containers;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod grid;
mod label_matchers;
mod look_back;
mod matchers;
mod names;
mod network;
mod queries;
mod range;
mod reader;
mod selectors;
mod series;
mod series_choice;
mod settings;
mod source;
mod value;

pub use client::PrometheusConnection;
pub use containers::Harm;
pub use grid::Grid;
pub(crate) use label_matchers::literal;
pub use label_matchers::{LabelMatchers, UnfitLabel};
pub use matchers::{ExporterMatchers, Matchers, MatchersError};
pub use names::{LabelName, LabelNameError, NodeLabel};
pub use queries::{NodeQuery, Queries, QueryTimeError};
pub use range::{WorkloadSums, Workloads, settled_by_workload};
pub use selectors::{reads_series, series_names, without_comments};
pub use series::{PodSelection, PodsAsked, PromSeriesError, SeriesTimes};
pub use settings::Settings;
pub use source::PrometheusSource;
