//! The annotation with a workload's tuning status: recommended resources with reasons, and pending
//! resizes.

use std::collections::BTreeMap;

use evenkeel_objects::annotations::TUNING_STATUS;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::conditional_patch::ConditionalPatch;
use evenkeel_objects::plan::write::{Purpose, Write, WriteOperation};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::workload::TunedWorkload;

/// The most resizes that wait that are named; a workload may have thousands of Pods.
const NAMED: usize = 5;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TuningStatus {
    /// How far tuning goes: `recommend` or `on`.
    pub mode: String,
    /// Why nothing is resized at present, where nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// By container: the newest decision of a Pod among the highest of its node.
    pub containers: BTreeMap<String, TunedContainer>,
    pub resized: usize,
    /// The resizes that kubelet has not done, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<PendingResize>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TunedContainer {
    /// `resources` as the template of the workload would have them.
    pub resources: serde_json::Value,
    /// By resource: what moved the limit away from its target, or why it stays.
    pub reasons: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingResize {
    pub pod: String,
    /// `Unseen`, `Deferred`, `Infeasible`, `InProgress` or `Error`.
    pub phase: String,
    pub since: Timestamp,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl TuningStatus {
    /// The write of the status on its workload, or its removal; `None` if nothing changes.
    pub fn write(
        status: Option<Self>,
        workload: &TunedWorkload,
        purpose: Purpose,
    ) -> Option<Write> {
        let text = status.map(|mut status| {
            status.pending.sort_by_key(|pending| pending.since);
            status.pending.truncate(NAMED);
            // Only a map with keys that are no texts cannot be written.
            serde_json::to_string(&status).unwrap_or_default()
        });
        let metadata = &workload.object.metadata;
        let found = metadata.annotation(TUNING_STATUS);
        if text.as_deref() == found {
            return None;
        }
        let mut patch = ConditionalPatch::of(metadata);
        patch.expect_annotation(TUNING_STATUS, found);
        patch.annotate(TUNING_STATUS, found.is_some(), text);
        let name = metadata.name.clone().unwrap_or_default();
        let namespace = metadata.namespace.clone().unwrap_or_default();
        let target = ObjectRef::in_namespace(workload.object.kind, namespace, name);
        Some(Write::new(
            purpose,
            target,
            WriteOperation::Conditional(patch),
        ))
    }
}
