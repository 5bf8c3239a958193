//! Turns the configuration file, the environment and flags into checked settings. Everything is
//! validated once, here, into types that cannot hold a wrong value; no module below knows that
//! there is a file. All problems are reported at once, each with its source, the field's path and
//! what is accepted.

mod agent;
mod capacities;
mod certificates;
mod check;
pub mod environment;
mod error;
mod file;
mod idle_options;
mod layers;
mod lenient_deserializer;
mod metrics;
mod metrics_provider;
mod process;
mod profiles;
mod reload;
mod scaling;
mod scheduling;
mod section;
mod server;
mod tracing;
mod tuning;
mod value;
pub mod yaml;

use std::path::PathBuf;
use std::sync::Arc;

use evenkeel_forecast::Calendar;
use evenkeel_objects::capacities::Capacities;
use evenkeel_objects::scaled_kind::ScaledKind;
use evenkeel_placement::node_table;
use evenkeel_placement::plan::{headroom_wakeup, overload};
use jiff::SignedDuration;
use serde_json::{Map, Value};

pub use check::Checker;
pub use environment::{environment, local_time_zone, no_colour};
pub use profiles::parse_judgement;

pub use error::{ConfigError, ConfigProblem, Origin};
pub use file::{API_VERSION, ConfigFile, KIND};
pub use layers::{ConfigSources, Override};
pub use reload::Reload;

use evenkeel_placement::SchedulingPolicy;
use file::tree;
use layers::ConfigLayers;
use scaling::ScalingSection;
use scheduling::{PolicySections, SchedulingSection};

use crate::cluster;
use crate::controller::Writes;
use crate::controller::scaling::FitSettings;
use crate::controller::{leadership, writer};
use crate::metrics::{MetricsSourceSettings, kubelet};
use crate::telemetry::LogSettings;

/// The ConfigMap that the replicas' configuration is mounted from.
pub const CONFIGURATION_MAP: &str = "evenkeel";

/// The configuration's key in the ConfigMap.
pub const CONFIGURATION_FILE: &str = "config.yaml";

/// The whole configuration, checked: the settings of each part of the service.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The switch in front of all writes to the cluster; the one field that is reloaded.
    pub writes: Writes,
    /// Addresses to listen on, and the end of the service.
    pub server: crate::server::Settings,
    /// Bounds of the requests that are taken.
    pub handlers: crate::server::handlers::Settings,
    pub certificates: crate::certificates::Settings,
    /// Rules by which Pods are placed.
    pub policy: SchedulingPolicy,
    /// Taints on overloaded nodes.
    pub overload: overload::Settings,
    /// Ages and capacities that the record of the cluster goes by.
    pub cluster: cluster::Settings,
    pub scaling: evenkeel_scaling::targets::settings::Settings,
    pub tuning: crate::controller::tuning::Settings,
    /// The kinds of custom resources that are scaled.
    pub kinds: Vec<ScaledKind>,
    /// The calendar that loads live by.
    pub calendar: Calendar,
    /// How models are fitted.
    pub fits: FitSettings,
    /// The jobs of external algorithms.
    pub external_algorithms: ExternalAlgorithms,
    /// The URLs that external checks may call beside Services; `None` if none is called.
    pub external_checks: Option<crate::external_checks::Settings>,
    pub metrics: crate::metrics::Settings,
    /// The settings of the metrics provider; `None` if it is off.
    pub metrics_provider: Option<crate::metrics_provider::Settings>,
    pub leader_election: leadership::Settings,
    pub writer: writer::Settings,
    /// Pauses between the wakes of Pods that were refused.
    pub wake: headroom_wakeup::Settings,
    /// Limits that the agents of the nodes set.
    pub agent: crate::agent::Settings,
    pub log: LogSettings,
    /// The collector of spans; `None` if none are recorded.
    pub tracing: Option<crate::span_export::Settings>,
    /// The way to the cluster; from the command line, not from the file.
    pub connection: ClusterConnection,
    /// Variables with our prefix that name no field, for a warning.
    pub unknown_variables: Vec<String>,
    /// Options without effect, because a stronger source turns their component off, for a warning.
    pub idle_options: Vec<ConfigProblem>,
    effective: ConfigFile,
    sources: ConfigSources,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExternalAlgorithms {
    /// True where they are run at all.
    pub are_run: bool,
    /// The most in one namespace.
    pub most_jobs: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterConnection {
    /// A kubeconfig file; without one, the Pod's service account or the user's own file.
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; without one, its current context.
    pub context: Option<String>,
    /// The namespace of Evenkeel's own objects; without one, that of the service account.
    pub namespace: Option<String>,
}

impl Config {
    /// Reads and checks the configuration.
    ///
    /// # Errors
    /// Every problem that was found.
    pub fn load(sources: &ConfigSources) -> Result<Self, ConfigError> {
        let layered = ConfigLayers::read(sources, &tree(&ConfigFile::default()))?;
        Self::of(&layered, sources)
    }

    /// Checks the text of a file from elsewhere, such as a ConfigMap; `sources` name it and the
    /// layers over it.
    ///
    /// # Errors
    /// Every problem that was found.
    pub fn parse(text: &str, sources: &ConfigSources) -> Result<Self, ConfigError> {
        let layered = ConfigLayers::parse(text, sources, &tree(&ConfigFile::default()))?;
        Self::of(&layered, sources)
    }

    /// The fields that the sources give, merged, without defaults. They are not checked, see
    /// [`Self::load`].
    ///
    /// # Errors
    /// A file that cannot be read, and variables or flags that are no values of fields.
    pub fn given(sources: &ConfigSources) -> Result<Map<String, Value>, ConfigError> {
        Ok(ConfigLayers::read(sources, &tree(&ConfigFile::default()))?.tree)
    }

    /// The fields of a file that lies elsewhere, with those that the sources lay over it.
    ///
    /// # Errors
    /// A text that is no file, and variables or flags that are no values of fields.
    pub fn given_in(
        text: &str,
        sources: &ConfigSources,
    ) -> Result<Map<String, Value>, ConfigError> {
        Ok(ConfigLayers::parse(text, sources, &tree(&ConfigFile::default()))?.tree)
    }

    /// Every field with its default.
    pub fn defaults() -> Value {
        tree(&ConfigFile::default())
    }

    fn of(layered: &ConfigLayers, sources: &ConfigSources) -> Result<Self, ConfigError> {
        let (file, mut problems) = lenient_deserializer::read(layered);
        let mut checker = Checker::default();
        let config = Self::check(file, layered, sources, &mut checker);
        // Unreadable fields were removed, so a check may miss them for that reason only.
        let misread: Vec<String> = problems
            .iter()
            .map(|problem| problem.path.clone())
            .collect();
        let own = checker
            .findings
            .into_iter()
            .filter(|finding| !misread.iter().any(|path| path.starts_with(&finding.path)));
        problems.extend(own.map(|finding| ConfigProblem {
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

    /// Every field with its value in force, for printing; nothing secret, because secrets are in
    /// named files.
    pub const fn effective(&self) -> &ConfigFile {
        &self.effective
    }

    /// Warnings in words: variables that name no field, and options that have no effect.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let unknown = self.unknown_variables.iter();
        let unknown = unknown
            .map(|name| format!("environment variable {name} is not a field of the configuration"));
        unknown.chain(self.idle_options.iter().map(ConfigProblem::to_string))
    }

    /// The environment variables that set a field, with the paths of the fields.
    pub fn variables() -> Vec<(String, String)> {
        layers::leaves(&tree(&ConfigFile::default()))
            .into_iter()
            .map(|leaf| (leaf.variable(), leaf.path))
            .collect()
    }

    fn check(
        file: ConfigFile,
        layered: &ConfigLayers,
        sources: &ConfigSources,
        check: &mut Checker,
    ) -> Self {
        let ConfigFile {
            api_version,
            kind,
            writes,
            server,
            certificates,
            scheduling,
            scaling,
            tuning,
            admission: _,
            network: _,
            disk: _,
            metrics,
            metrics_provider,
            leader_election,
            writer,
            wake,
            agent,
            log,
            tracing,
        } = &file;
        check.equal("apiVersion", api_version, API_VERSION);
        check.equal("kind", kind, KIND);
        let max_age = check.duration("metrics.maxAge", &metrics.max_age);
        let policy = policy_sections(&file, max_age).check(check);
        let metrics = metrics.check(max_age, check);
        let leader_election = leader_election.check(check);
        let metrics_provider = metrics_provider.check(check);
        let has_past = metrics.source.prometheus().is_some();
        let (server, handlers) = server.check(metrics_provider.as_ref(), check);
        Self {
            writes: *writes,
            server,
            handlers,
            certificates: certificates.check(check),
            scaling: scaling.check(max_age, has_past, check),
            kinds: scaling.kinds(check),
            tuning: tuning.check(check),
            calendar: scaling.calendar(check),
            fits: scaling.fits(check),
            external_algorithms: external_algorithms(scaling),
            external_checks: scaling.external_checks(check),
            cluster: cluster_settings(scheduling, &policy, &metrics, check),
            overload: scheduling.overload.check(check),
            policy,
            metrics,
            metrics_provider,
            writer: writer.check(&leader_election.timing, check),
            leader_election,
            wake: wake.check(check),
            agent: agent.check(check),
            log: log.check(check),
            tracing: tracing.check(check),
            connection: ClusterConnection::default(),
            unknown_variables: layered.unknown_variables.clone(),
            idle_options: idle_options::check(&file, layered, check),
            effective: file,
            sources: sources.clone(),
        }
    }
}

const fn policy_sections(file: &ConfigFile, max_age: SignedDuration) -> PolicySections<'_> {
    PolicySections {
        scheduling: &file.scheduling,
        admission: &file.admission,
        network: &file.network,
        disk: &file.disk,
        max_age,
    }
}

fn external_algorithms(scaling: &ScalingSection) -> ExternalAlgorithms {
    ExternalAlgorithms {
        are_run: scaling.runs_external_algorithms(),
        most_jobs: scaling.external_jobs(),
    }
}

fn cluster_settings(
    scheduling: &SchedulingSection,
    policy: &SchedulingPolicy,
    metrics: &crate::metrics::Settings,
    check: &mut Checker,
) -> cluster::Settings {
    cluster::Settings {
        table: node_table::Settings {
            disk_max_age: match &metrics.kubelet {
                Some(_) => policy.max_age.max(kubelet::MAX_AGE),
                None => policy.max_age,
            },
            ..scheduling.table(policy.max_age, check)
        },
        capacities: Capacities::new(scheduling.capacities(check), policy.default_capacity),
        caps_as_demand: policy.caps_as_demand,
        expects_metrics: metrics.source != MetricsSourceSettings::None,
        balances_scale_in: scheduling.balances_scale_in(),
        shape_policy: policy
            .score_labels
            .is_some()
            .then(|| Arc::new(policy.clone())),
    }
}

#[cfg(test)]
mod tests;
