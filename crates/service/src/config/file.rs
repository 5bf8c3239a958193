//! The configuration file as written: every section with its default, unchecked. Each section is
//! defined beside its check, in the file of its name.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agent::AgentSection;
use super::certificates::CertificatesSection;
use super::metrics::MetricsSection;
use super::metrics_provider::MetricsProviderSection;
use super::process::{LeaderElectionSection, LogSection, WakeSection, WriterSection};
use super::scaling::ScalingSection;
use super::scheduling::{AdmissionSection, DiskSection, NetworkSection, SchedulingSection};
use super::server::ServerSection;
use super::tuning::TuningSection;
use crate::controller::Writes;

/// The version that the file has to name, when it names one.
pub const API_VERSION: &str = "config.evenkeel.dev/v1alpha1";
/// The kind that the file has to name, when it names one.
pub const KIND: &str = "EvenkeelConfiguration";

/// The whole file, section by section.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct ConfigFile {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) writes: Writes,
    pub(super) server: ServerSection,
    pub(super) certificates: CertificatesSection,
    pub(super) scheduling: SchedulingSection,
    pub(super) scaling: ScalingSection,
    pub(super) tuning: TuningSection,
    pub(super) admission: AdmissionSection,
    pub(super) network: NetworkSection,
    pub(super) disk: DiskSection,
    pub(super) metrics: MetricsSection,
    pub(super) metrics_provider: MetricsProviderSection,
    pub(super) leader_election: LeaderElectionSection,
    pub(super) writer: WriterSection,
    pub(super) wake: WakeSection,
    pub(super) agent: AgentSection,
    pub(super) log: LogSection,
}

impl Default for ConfigFile {
    fn default() -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            writes: Writes::default(),
            server: ServerSection::default(),
            certificates: CertificatesSection::default(),
            scheduling: SchedulingSection::default(),
            scaling: ScalingSection::default(),
            tuning: TuningSection::default(),
            admission: AdmissionSection::default(),
            network: NetworkSection::default(),
            disk: DiskSection::default(),
            metrics: MetricsSection::default(),
            metrics_provider: MetricsProviderSection::default(),
            leader_election: LeaderElectionSection::default(),
            writer: WriterSection::default(),
            wake: WakeSection::default(),
            agent: AgentSection::default(),
            log: LogSection::default(),
        }
    }
}

pub(super) fn tree(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("the file's types are plain data with texts as keys")
}

/// The paths at which two configurations differ, `writes` left out.
pub(super) fn changes(old: &ConfigFile, new: &ConfigFile) -> Vec<String> {
    fn compare(path: &str, old: &Value, new: &Value, found: &mut Vec<String>) {
        match (old, new) {
            (Value::Object(before), Value::Object(after)) => {
                let added = after.keys().filter(|key| !before.contains_key(*key));
                for key in before.keys().chain(added) {
                    let path = if path.is_empty() {
                        key.clone()
                    } else {
                        format!("{path}.{key}")
                    };
                    let of = |fields: &serde_json::Map<String, Value>| {
                        fields.get(key).cloned().unwrap_or_default()
                    };
                    compare(&path, &of(before), &of(after), found);
                }
            }
            _ if old != new && path != "writes" => found.push(path.to_owned()),
            _ => {}
        }
    }
    let mut found = Vec::new();
    compare("", &tree(old), &tree(new), &mut found);
    found
}
