//! The configuration file as it is written: every field with its default, nothing checked yet.
//!
//! Each section stands beside its own check, in the file of its name; here is only the whole.

use serde::{Deserialize, Serialize};

use super::certificates::CertificatesFile;
use super::process::{LeaderElectionFile, LogFile, WakeFile, WriterFile};
use super::scaling::ScalingFile;
use super::scheduling::{AdmissionFile, DiskFile, NetworkFile, SchedulingFile};
use super::server::ServerFile;
use super::sources::MetricsFile;

/// The version that the file has to name, when it names one.
pub const API_VERSION: &str = "config.evenkeel.dev/v1alpha1";
/// The kind that the file has to name, when it names one.
pub const KIND: &str = "EvenkeelConfiguration";

/// Whether Evenkeel changes anything in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Writes {
    /// It does what it decides.
    #[default]
    Enabled,
    /// It decides, answers and reports, and writes nothing.
    Disabled,
}

/// The whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct File {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) writes: Writes,
    pub(crate) server: ServerFile,
    pub(crate) certificates: CertificatesFile,
    pub(crate) scheduling: SchedulingFile,
    pub(crate) scaling: ScalingFile,
    pub(crate) admission: AdmissionFile,
    pub(crate) network: NetworkFile,
    pub(crate) disk: DiskFile,
    pub(crate) metrics: MetricsFile,
    pub(crate) leader_election: LeaderElectionFile,
    pub(crate) writer: WriterFile,
    pub(crate) wake: WakeFile,
    pub(crate) log: LogFile,
}

impl Default for File {
    fn default() -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            writes: Writes::default(),
            server: ServerFile::default(),
            certificates: CertificatesFile::default(),
            scheduling: SchedulingFile::default(),
            scaling: ScalingFile::default(),
            admission: AdmissionFile::default(),
            network: NetworkFile::default(),
            disk: DiskFile::default(),
            metrics: MetricsFile::default(),
            leader_election: LeaderElectionFile::default(),
            writer: WriterFile::default(),
            wake: WakeFile::default(),
            log: LogFile::default(),
        }
    }
}
