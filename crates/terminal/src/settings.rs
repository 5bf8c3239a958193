//! From arguments and the environment to the sources of a configuration.

use std::path::PathBuf;

use evenkeel_service::config::{ClusterConnection, Config, ConfigSources, Override};

use super::output::CliFailure;
use super::runtime::runtime;

/// Sources of the configuration; shared by the subcommands that read it.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigArgs {
    /// The configuration file; without one, every field has its default
    #[arg(long, short, value_name = "FILE", env = "EVENKEEL_CONFIG")]
    config: Option<PathBuf>,

    /// Set one field; overrides the environment and the file; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = parse_assignment)]
    assignments: Vec<(String, String)>,
}

/// The way to the API server of a process that runs in the cluster, or beside it.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ConnectionArgs {
    /// Use this kubeconfig instead of the Pod's service account or ~/.kube/config
    #[arg(long, value_name = "FILE", env = "EVENKEEL_KUBECONFIG")]
    kubeconfig: Option<PathBuf>,

    /// Use this context of the kubeconfig instead of its current one
    #[arg(long, value_name = "NAME", env = "EVENKEEL_CONTEXT")]
    context: Option<String>,

    /// The namespace of Evenkeel's own Lease, Secrets and Services; by default the one it runs in
    #[arg(long, short, value_name = "NAME", env = "EVENKEEL_NAMESPACE")]
    namespace: Option<String>,
}

impl From<ConnectionArgs> for ClusterConnection {
    fn from(args: ConnectionArgs) -> Self {
        Self {
            kubeconfig: args.kubeconfig,
            context: args.context,
            namespace: args.namespace,
        }
    }
}

/// The arguments of a process beside the replicas, with the same configuration.
#[derive(Debug, clap::Args)]
pub struct ProcessArgs {
    #[command(flatten)]
    connection: ConnectionArgs,

    #[command(flatten)]
    config: ConfigArgs,
}

impl ProcessArgs {
    /// Runs the process with the configuration, to which it adds the way to the API server.
    pub fn run<F>(self, process: impl FnOnce(Config) -> F) -> Result<(), CliFailure>
    where
        F: Future<Output = anyhow::Result<()>>,
    {
        let mut config = Config::load(&self.config.sources([]))?;
        config.connection = self.connection.into();
        runtime()?
            .block_on(process(config))
            .map_err(CliFailure::Work)
    }
}

/// Variables that name arguments rather than fields of the configuration.
const ARGUMENT_VARIABLES: [&str; 5] = [
    "EVENKEEL_CONFIG",
    "EVENKEEL_KUBECONFIG",
    "EVENKEEL_CONTEXT",
    "EVENKEEL_NAMESPACE",
    "EVENKEEL_NODE",
];

impl ConfigArgs {
    /// The sources of the configuration, with `flags` over all others.
    pub fn sources(self, flags: impl IntoIterator<Item = Override>) -> ConfigSources {
        let Self {
            config,
            assignments,
        } = self;
        let assigned = assignments.into_iter().map(|(path, value)| Override {
            flag: "--set".to_owned(),
            path,
            value,
        });
        let mut environment = evenkeel_service::config::environment();
        environment.retain(|(name, _)| !ARGUMENT_VARIABLES.contains(&&**name));
        ConfigSources {
            file: config,
            environment,
            flags: assigned.chain(flags).collect(),
        }
    }
}

pub fn parse_assignment(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(path, value)| (path.to_owned(), value.to_owned()))
        .ok_or_else(|| "accepted: a path and a value, such as scheduling.headroom=0.7".to_owned())
}
