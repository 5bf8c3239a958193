//! Measurements of Pods, nodes and targets: the signals, the answers of the metrics APIs, kubelets and
//! Prometheus, and the queries that ask for them. The sources that are asked are in `evenkeel-service`.

pub mod api_reading;
pub mod kubelet_stats;
pub mod load_unit;
pub mod metric_query;
pub mod metric_values;
pub mod metrics_api;
pub mod pod;
mod pod_facts;
pub mod pod_metrics;
pub mod sample;
pub mod series_query;
pub mod series_sum;
pub mod signal;
pub mod usage;
