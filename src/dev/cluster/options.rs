//! What a cluster is started with.

use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;

use crate::dev::Fault;
use crate::simulate::plain;
use crate::simulate::trace::Trace;
use crate::simulate::{Scenario, Summary};
use crate::units::Ratio;

/// What a cluster is started with.
#[derive(Debug, Clone)]
pub struct Options {
    /// Nodes and workloads.
    pub scenario: Scenario,
    /// Decides noise, ties and names.
    pub seed: u64,
    /// Seconds of the scenario a second.
    pub speed: Ratio,
    /// What breaks when.
    pub faults: Vec<Fault>,
    /// The headroom line that loads are compared with.
    pub line: Ratio,
    /// Where the kubeconfig is written.
    pub folder: PathBuf,
    /// How long the webhook and the extender may take, in place of the shipped second and 200 ms,
    /// on machines too busy to keep them.
    pub patience: Option<Duration>,
}

impl Options {
    /// The shipped scenario at a minute a second.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self {
            scenario: Scenario::mixed(),
            seed: 1,
            speed: Ratio::new(60.0).expect("60 is finite"),
            faults: Vec::new(),
            line: Ratio::new(0.8).expect("0.8 is finite"),
            folder,
            patience: None,
        }
    }

    /// What the same seed comes to without Evenkeel, in virtual time.
    #[must_use]
    pub fn plain(&self, duration: SignedDuration) -> Summary {
        plain::run(&plain::Run {
            scenario: &self.scenario,
            trace: Trace::web(),
            seed: self.seed,
            duration,
            line: self.line,
        })
    }
}
