//! Translation between Kubernetes objects and the decisions of Evenkeel: objects cut down to the
//! fields that a rule reads, the bodies of webhook and extender, and plans that end in writes.
//!
//! Pods and nodes arrive by the thousand, so the types here keep a few hundred bytes of each, and
//! everything else is skipped while it is parsed. `null` equals absent everywhere, as Go writes it.
//! Fields that no rule reads may be malformed; a malformed quantity is an error with its path.

#![forbid(unsafe_code)]

pub mod admission;
pub mod annotated_object;
pub mod annotation_check;
pub mod annotations;
pub mod api_group;
pub mod api_service;
pub mod api_status;
pub mod autoscaler;
mod behavior_text;
pub mod bounds_annotation;
pub mod capacities;
pub mod condition;
pub mod controller_key;
pub mod cron_hpa;
pub mod custom_kind;
pub mod custom_resources;
pub mod demand;
pub mod disk_io_limit;
pub mod disruption_budget;
pub mod duration;
pub mod extender;
pub mod external_check;
pub mod external_metrics;
pub mod group_version;
pub mod horizontal_portrait;
pub mod ihpa;
pub mod json;
pub mod kinds;
pub mod kubelet_stats;
pub mod lease;
pub mod lenient_object;
pub mod list_text;
pub mod load_query;
pub mod managed_fields;
pub mod meta;
pub mod metric_query;
mod metric_values;
pub mod migration;
pub mod namespace_limits;
pub mod namespace_policy;
pub mod node;
pub mod node_pod;
pub mod object_ref;
pub mod plan;
pub mod pod;
pub mod pod_cgroup;
pub mod pod_facts;
pub mod pod_metrics;
pub mod pod_names;
pub mod pod_requests;
pub mod portrait_data;
pub mod portrait_job;
pub mod portrait_spec;
pub mod qos_class;
pub mod raw_json;
pub mod removable_pod;
pub mod replica_profile;
pub mod request_header;
pub mod resizable_pod;
pub mod resize_record;
pub mod resource_list;
pub mod rolling_update;
mod rollout_progress;
pub mod scaled_kind;
pub mod scaled_object;
pub mod scaling_policy;
pub mod scheduler_lease;
mod selector;
pub mod serde_message;
pub mod series_query;
pub mod shallow_object;
pub mod snapshot;
pub mod suggestion;
pub mod taint;
mod target_metrics;
pub mod traffic_query;
pub mod truncate;
pub mod tuning_policy;
pub mod vertical_pod_autoscaler;
pub mod watched_types;
pub mod workload;
pub mod yaml_values;
