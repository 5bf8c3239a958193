//! A workload and its containers, as `tune recommend` looks at them.

use evenkeel_objects::kinds::Kind;
use evenkeel_tuning::tuning_policy::TuningPolicy;
use evenkeel_units::cpu_memory::CpuMemory;
use evenkeel_units::request_and_limit::RequestAndLimit;

pub(super) struct TuneCandidate {
    pub(super) namespace: String,
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) replicas: u32,
    pub(super) policy: TuningPolicy,
    pub(super) scaled_by: CpuMemory<bool>,
    pub(super) containers: Vec<TemplateContainer>,
}

pub(super) struct TemplateContainer {
    pub(super) name: String,
    /// The list of the Pod's spec that it stands in.
    pub(super) list: &'static str,
    /// False for an init container that ends before the others begin: it only affects the Pod's
    /// class.
    pub(super) is_shown: bool,
    pub(super) values: CpuMemory<RequestAndLimit>,
    pub(super) used: CpuMemory<Vec<Vec<f64>>>,
    pub(super) throttled: Option<f64>,
    pub(super) oom_kills: Option<f64>,
}
