//! The objects that a calendar shows: schedules, portraits, and workloads with a status of tuning.

use std::sync::Arc;

use evenkeel_objects::annotations::TUNING_STATUS;
use evenkeel_objects::workload::Workload;
use evenkeel_scaling::specs::cron_hpa::CheckedCronHpa;
use evenkeel_scaling::specs::horizontal_portrait::CheckedHorizontalPortrait;
use evenkeel_scaling::specs::ihpa::CheckedIhpa;
use evenkeel_tuning::plan::TuningStatus;

use super::{ScalingStore, within};

/// Those of namespaces that have opted in, by namespace and name.
#[derive(Debug, Clone, Default)]
pub(crate) struct CalendarObjects {
    pub(crate) crons: Vec<Arc<CheckedCronHpa>>,
    pub(crate) ihpas: Vec<Arc<CheckedIhpa>>,
    pub(crate) portraits: Vec<Arc<CheckedHorizontalPortrait>>,
    /// Workloads with an annotation for the status of tuning.
    tuned: Vec<Arc<Workload>>,
}

impl CalendarObjects {
    /// Workloads with their status of tuning, without those whose annotation Evenkeel did not write.
    pub(crate) fn tuning(&self) -> impl Iterator<Item = (&Workload, TuningStatus)> {
        self.tuned.iter().filter_map(|workload| {
            let text = workload.metadata.annotation(TUNING_STATUS)?;
            Some((&**workload, serde_json::from_str(text).ok()?))
        })
    }
}

impl ScalingStore {
    pub(crate) fn calendar_objects(&self) -> CalendarObjects {
        let opted_in = self.namespaces.iter().filter(|(_, policy)| policy.enabled);
        let mut namespaces: Vec<&Arc<str>> = opted_in.map(|(namespace, _)| namespace).collect();
        namespaces.sort_unstable();
        let workloads = namespaces.into_iter().flat_map(|namespace| {
            let kinds = self.workloads.values();
            kinds.flat_map(move |workloads| within(workloads, namespace))
        });
        // The store is locked meanwhile, so that texts are read later.
        let tuned =
            workloads.filter(|workload| workload.metadata.annotation(TUNING_STATUS).is_some());
        CalendarObjects {
            crons: self.crons.checked().cloned().collect(),
            ihpas: self.ihpas.checked().cloned().collect(),
            portraits: self.portraits.checked().cloned().collect(),
            tuned: tuned.collect(),
        }
    }
}
