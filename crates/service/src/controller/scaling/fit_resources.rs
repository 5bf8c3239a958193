//! The settings of fits, and the resources that all of them share.

use std::path::PathBuf;

use evenkeel_forecast::ResidualChecks;
use evenkeel_units::Ratio;

use super::fit_core::FitCore;
use super::swish_networks::SwishNetworks;

/// The settings of fits, as they are configured.
#[derive(Debug, Clone, PartialEq)]
pub struct FitSettings {
    /// The file with the network of `swish-net`; without it, one is trained.
    pub swish_net: Option<PathBuf>,
    pub residual_checks: ResidualChecks,
    /// The share of a core that fits take; they rest for the other part of the time.
    pub share: Ratio,
}

impl Default for FitSettings {
    fn default() -> Self {
        Self {
            swish_net: None,
            residual_checks: ResidualChecks::default(),
            share: Ratio::share(0.25).expect("a quarter is a share"),
        }
    }
}

/// The resources of fits; clones share the core and the networks.
#[derive(Debug, Clone)]
pub struct FitResources {
    pub core: FitCore,
    pub networks: SwishNetworks,
    pub residual_checks: ResidualChecks,
}

impl FitResources {
    pub fn new(settings: &FitSettings) -> Self {
        Self {
            core: FitCore::new(settings.share),
            networks: SwishNetworks::new(settings.swish_net.clone()),
            residual_checks: settings.residual_checks,
        }
    }
}
