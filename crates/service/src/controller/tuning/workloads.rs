//! Workloads as the parts of tuning look for them.

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::tuning_mode::TuningMode;
use evenkeel_tuning::plan::TunedWorkload;

pub(super) type WorkloadId = (Arc<str>, &'static str, String);

pub(super) fn id_of(workload: &TunedWorkload) -> WorkloadId {
    let name = workload.object.metadata.name.clone();
    (
        Arc::clone(&workload.namespace),
        workload.object.kind.as_str(),
        name.unwrap_or_default(),
    )
}

pub(super) fn tuned(workloads: &[TunedWorkload]) -> impl Iterator<Item = &TunedWorkload> {
    let is_tuned = |workload: &&TunedWorkload| workload.mode != TuningMode::Off;
    workloads.iter().filter(is_tuned)
}

pub(super) fn by_controller(
    workloads: &[TunedWorkload],
) -> HashMap<&ControllerKey, &TunedWorkload> {
    let all = workloads.iter();
    let all = all.flat_map(|workload| {
        let controllers = workload.controllers.iter();
        controllers.map(move |controller| (controller, workload))
    });
    all.collect()
}
