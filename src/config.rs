//! Turns the configuration file, the environment and flags into checked settings.
//!
//! Everything is validated once, here, into types that cannot hold a wrong value; no module below
//! knows that there is a file. All problems that can be found are reported at once, each with what
//! brought the value, the path of the field and what is accepted.

mod certificates;
mod check;
mod environment;
mod error;
mod file;
mod layers;
mod process;
mod profiles;
mod reload;
mod scaling;
mod scheduling;
mod server;
mod shape;
mod sources;
mod value;
pub(crate) mod yaml;

use std::path::PathBuf;

use jiff::SignedDuration;
use serde::Serialize;
use serde_json::Value;

pub(crate) use check::Checker;
#[cfg(feature = "sandbox")]
pub(crate) use environment::local_time_zone;
pub(crate) use environment::{environment, no_colour};
pub(crate) use profiles::parse_judgement;
pub(crate) use value::Text;

pub use certificates::{CertificateFiles, Certificates, SelfManaged, Serving};
pub use error::{ConfigError, Origin, Problem};
pub use file::{API_VERSION, File, KIND, Writes};
pub use layers::{ENVIRONMENT_PREFIX, Override, Sources};
pub use process::{LeaderElection, Log, LogFormat, Wake, Writer};
pub use reload::Reload;
pub use scaling::Scaling;
pub use server::Server;
pub use sources::{Metrics, Prometheus, Queries, Replay, Source};

use evenkeel_core::placement::Policy;
use layers::Layered;

/// The whole configuration, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Whether anything is written to the cluster; the one field that is reloaded.
    pub writes: Writes,
    /// Listeners and limits.
    pub server: Server,
    /// Where certificates come from.
    pub certificates: Certificates,
    /// How Pods are placed.
    pub policy: Policy,
    /// How workloads are scaled.
    pub scaling: Scaling,
    /// How long a Pod counts on the node that was proposed for it while its binding is not seen.
    pub in_flight_timeout: SignedDuration,
    /// Where usage is measured.
    pub metrics: Metrics,
    /// Which replica writes.
    pub leader_election: LeaderElection,
    /// How it writes.
    pub writer: Writer,
    /// How refused Pods are woken.
    pub wake: Wake,
    /// What is logged.
    pub log: Log,
    /// How the cluster is reached; from the command line, not from the file.
    pub connection: Connection,
    /// Variables with our prefix that name no field, for a warning.
    pub unknown_variables: Vec<String>,
    effective: File,
    sources: Sources,
}

/// How the cluster is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Connection {
    /// A kubeconfig file; without one, the Pod's service account or the user's own file.
    pub kubeconfig: Option<PathBuf>,
    /// The namespace of Evenkeel's own objects; without one, that of the service account.
    pub namespace: Option<String>,
}

impl Config {
    /// Reads and checks the configuration.
    ///
    /// # Errors
    /// Every problem that was found.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        let layered = Layered::read(sources, &tree(&File::default()))?;
        Self::of(&layered, sources)
    }

    /// Checks the text of a file that lies elsewhere, such as in a ConfigMap; `sources` name it and
    /// what is laid over it.
    ///
    /// # Errors
    /// Every problem that was found.
    pub fn parse(text: &str, sources: &Sources) -> Result<Self, ConfigError> {
        let path = sources.file.clone().unwrap_or_default();
        let fields = layers::parse_file(&path, text)?;
        let layered = Layered::over(fields, sources, &tree(&File::default()))?;
        Self::of(&layered, sources)
    }

    fn of(layered: &Layered, sources: &Sources) -> Result<Self, ConfigError> {
        let (file, mut problems) = shape::read(layered);
        let mut checker = Checker::default();
        let config = Self::check(file, layered, sources, &mut checker);
        // What could not be read was taken out, and may only be missed for that reason.
        let misread: Vec<String> = problems
            .iter()
            .map(|problem| problem.path.clone())
            .collect();
        let own = checker
            .findings
            .into_iter()
            .filter(|finding| !misread.iter().any(|path| path.starts_with(&finding.path)));
        problems.extend(own.map(|finding| Problem {
            origin: layered.origin(&finding.path),
            path: finding.path,
            message: finding.message,
        }));
        if problems.is_empty() {
            Ok(config)
        } else {
            Err(ConfigError { problems })
        }
    }

    /// Every field with the value that is in force, for printing; it holds nothing secret, because
    /// the configuration only names files that do.
    #[must_use]
    pub const fn effective(&self) -> &File {
        &self.effective
    }

    /// The environment variables that set a field, with the paths of the fields.
    #[must_use]
    pub fn variables() -> Vec<(String, String)> {
        layers::leaves(&tree(&File::default()))
            .into_iter()
            .map(|leaf| (leaf.variable(), leaf.path))
            .collect()
    }

    fn check(file: File, layered: &Layered, sources: &Sources, check: &mut Checker) -> Self {
        for (path, given, accepted) in [
            ("apiVersion", &file.api_version, API_VERSION),
            ("kind", &file.kind, KIND),
        ] {
            if given != accepted {
                check.refuse_value(path, given, accepted);
            }
        }
        let leader_election = file.leader_election.check(check);
        let (policy, in_flight_timeout) = scheduling::check(&file, check);
        Self {
            writes: file.writes,
            server: file.server.check(check),
            certificates: file.certificates.check(check),
            scaling: file.scaling.check(policy.max_age, check),
            policy,
            in_flight_timeout,
            metrics: file.metrics.check(check),
            writer: file.writer.check(&leader_election, check),
            leader_election,
            wake: file.wake.check(check),
            log: file.log.check(check),
            connection: Connection::default(),
            unknown_variables: layered.unknown_variables.clone(),
            effective: file,
            sources: sources.clone(),
        }
    }
}

fn tree(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("the file's types are plain data with texts as keys")
}

#[cfg(test)]
mod tests;
