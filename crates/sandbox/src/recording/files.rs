//! The files of a record: `record.json` says what it is, `scenario.yaml` is a scenario of the kind
//! that `dev` and `simulate` read, and the others are the raw parts.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ClusterRecord, RecordSpan};

/// The version that is written, and the only one that is read.
pub const VERSION: u32 = 1;
const FORMAT: &str = "evenkeel-record";

pub const RECORD: &str = "record.json";
pub const SCENARIO: &str = "scenario.yaml";
/// Recorded counts of ready Pods by workload, one for each step.
pub const REPLICAS: &str = "replicas.json";

/// `record.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordManifest {
    format: String,
    version: u32,
    pub from: Timestamp,
    pub until: Timestamp,
    pub step_seconds: i64,
    /// The first part, which is not replayed.
    pub learn_seconds: i64,
    pub anonymized: bool,
    /// The gaps in the record, in sentences.
    pub missing: Vec<String>,
    /// The workloads whose HPA Evenkeel could raise while it was recorded.
    #[serde(default)]
    pub with_floors: Vec<String>,
}

/// By `namespace/name` as the scenario has it.
pub type RecordedCounts = BTreeMap<String, Vec<Option<f64>>>;

impl RecordManifest {
    /// # Errors
    /// Another text, or another version, with what is accepted.
    pub fn read(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct ManifestHead {
            format: String,
            version: u32,
        }
        let head: ManifestHead = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if head.format != FORMAT {
            return Err(format!(
                "format {:?} is not accepted; accepted: {FORMAT}",
                head.format
            ));
        }
        if head.version != VERSION {
            return Err(format!(
                "version {} is not accepted; accepted: {VERSION}, which this version of evenkeel writes",
                head.version
            ));
        }
        let read: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let span = read.span();
        if read.step_seconds < 1
            || read.learn_seconds < 0
            || span.replayed() <= SignedDuration::ZERO
        {
            return Err("the times are not in order: from, from + learnSeconds, until".to_owned());
        }
        Ok(read)
    }

    pub fn span(&self) -> RecordSpan {
        RecordSpan {
            from: self.from,
            until: self.until,
            step: SignedDuration::from_secs(self.step_seconds),
            learn: SignedDuration::from_secs(self.learn_seconds),
        }
    }
}

impl ClusterRecord {
    /// Names and texts of all files, `record.json` first.
    ///
    /// # Errors
    /// There is no node or no workload to replay, or a text cannot be written.
    pub fn files(&self) -> Result<Vec<(String, String)>, String> {
        if !self.nodes.iter().any(super::NodeRecord::is_used) {
            return Err(
                "there is no node that is Ready and takes Pods, so nothing can be replayed"
                    .to_owned(),
            );
        }
        let known = |one: &super::WorkloadRecord| one.load.iter().any(Option::is_some);
        if !self.workloads.iter().any(known) {
            return Err(
                "Prometheus has no cpu series of any Deployment or StatefulSet in this time, so nothing \
                 can be replayed; see `evenkeel doctor` for the labels that are expected"
                    .to_owned(),
            );
        }
        let RecordSpan {
            from,
            until,
            step,
            learn,
        } = self.span;
        let manifest = RecordManifest {
            format: FORMAT.to_owned(),
            version: VERSION,
            from,
            until,
            step_seconds: step.as_secs(),
            learn_seconds: learn.as_secs(),
            anonymized: self.is_anonymized,
            missing: self.gaps(),
            with_floors: self.with_floors(),
        };
        let json = |value: &serde_json::Value| {
            serde_json::to_string_pretty(value).map_err(|error| error.to_string())
        };
        let (scenario, traces) = self.scenario();
        let counts = self.recorded_counts(&scenario);
        let scenario = serde_saphyr::to_string(&scenario).map_err(|error| error.to_string())?;
        let mut files = vec![
            (RECORD.to_owned(), json(&json!(manifest))?),
            (SCENARIO.to_owned(), scenario),
            (REPLICAS.to_owned(), json!(counts).to_string()),
            ("nodes.json".to_owned(), json(&json!(self.nodes))?),
            ("pods.json".to_owned(), json(&json!(self.pods))?),
            (
                "autoscalers.json".to_owned(),
                json(&json!(self.autoscalers))?,
            ),
            ("events.json".to_owned(), json(&json!(self.events))?),
        ];
        files.extend(traces.into_iter().map(|trace| (trace.name, trace.text)));
        Ok(files)
    }

    /// By the names of the scenario.
    fn with_floors(&self) -> Vec<String> {
        let raised = |workload: &super::WorkloadRecord| {
            let mut own = self.autoscalers.iter().filter(|one| one.scales(workload));
            own.any(|one| one.had_floors)
        };
        let named = self.workloads.iter().zip(self.unique_names());
        let raised = named.filter(|(workload, _)| raised(workload));
        raised
            .map(|(workload, name)| format!("{}/{name}", workload.namespace))
            .collect()
    }

    /// By the names of the scenario.
    fn recorded_counts(&self, scenario: &serde_json::Value) -> RecordedCounts {
        let named = scenario["workloads"].as_array().into_iter().flatten();
        let named = named.filter_map(|one| {
            Some(format!(
                "{}/{}",
                one["namespace"].as_str()?,
                one["name"].as_str()?
            ))
        });
        let counts = self.workloads.iter().map(|one| one.ready.clone());
        named.zip(counts).collect()
    }
}
