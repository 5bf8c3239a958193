//! The configuration file as written: every section with its default, unchecked. Each section is
//! defined beside its check, in the file of its name.

use serde::Serialize;
use serde_json::Value;

use super::agent::AgentSection;
use super::certificates::CertificatesSection;
use super::metrics::MetricsSection;
use super::metrics_provider::MetricsProviderSection;
use super::process::{LeaderElectionSection, LogSection, WakeSection, WriterSection};
use super::scaling::ScalingSection;
use super::scheduling::{AdmissionSection, DiskSection, NetworkSection, SchedulingSection};
use super::section::section;
use super::server::ServerSection;
use super::tracing::TracingSection;
use super::tuning::TuningSection;
use crate::controller::Writes;

/// The version that the file has to name, when it names one.
pub const API_VERSION: &str = "config.evenkeel.dev/v1alpha1";
/// The kind that the file has to name, when it names one.
pub const KIND: &str = "EvenkeelConfiguration";

section! {
    /// The whole file, section by section.
    ConfigFile {
        api_version: String = API_VERSION.to_owned(),
        kind: String = KIND.to_owned(),
        writes: Writes = Writes::default(),
        server: ServerSection = ServerSection::default(),
        certificates: CertificatesSection = CertificatesSection::default(),
        scheduling: SchedulingSection = SchedulingSection::default(),
        scaling: ScalingSection = ScalingSection::default(),
        tuning: TuningSection = TuningSection::default(),
        admission: AdmissionSection = AdmissionSection::default(),
        network: NetworkSection = NetworkSection::default(),
        disk: DiskSection = DiskSection::default(),
        metrics: MetricsSection = MetricsSection::default(),
        metrics_provider: MetricsProviderSection = MetricsProviderSection::default(),
        leader_election: LeaderElectionSection = LeaderElectionSection::default(),
        writer: WriterSection = WriterSection::default(),
        wake: WakeSection = WakeSection::default(),
        agent: AgentSection = AgentSection::default(),
        log: LogSection = LogSection::default(),
        tracing: TracingSection = TracingSection::default(),
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
