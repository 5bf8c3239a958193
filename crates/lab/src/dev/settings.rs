//! The configuration of a run: that of `evenkeel serve`, except for the run's own fields.

use evenkeel_units::Ratio;
use serde_json::{Map, Value};

use super::cluster::is_own;
use crate::replay::difference::own_settings;
use evenkeel_sandbox::simulation::policies::OwnSettings;
use evenkeel_service::config::{Config, ConfigSources};
use evenkeel_terminal::output::CliFailure;
use evenkeel_terminal::settings::ConfigArgs;

#[derive(Debug, Clone)]
pub(super) struct DevServiceConfig {
    /// The fields of file, environment and `--set`, as a file would have them.
    pub(super) fields: Map<String, Value>,
    /// Score labels are on.
    pub(super) has_score_labels: bool,
    /// The headroom line that follows.
    pub(super) headroom: Ratio,
    /// The part that replays of a record take.
    pub(super) own: OwnSettings,
    /// The same without fields.
    pub(super) shipped: OwnSettings,
}

pub(super) fn read(args: ConfigArgs) -> Result<DevServiceConfig, CliFailure> {
    let sources = args.sources([]);
    let own = sources.flags.iter().find(|flag| is_own(&flag.path));
    if let Some(own) = own {
        return Err(CliFailure::call(format!(
            "{} {}: dev sets addresses, certificates and the access to Prometheus itself; all \
             other fields can be set (evenkeel serve --check prints them)",
            own.flag, own.path
        )));
    }
    let config = Config::load(&sources)?;
    Ok(DevServiceConfig {
        fields: Config::given(&sources)?,
        has_score_labels: config.policy.score_labels.is_some(),
        headroom: config.policy.headroom,
        own: own_settings(config),
        shipped: own_settings(Config::load(&ConfigSources::default())?),
    })
}
