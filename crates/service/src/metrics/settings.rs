//! Settings of the measuring, as the configuration gives them.

use evenkeel_units::Bytes;

use super::sources::MetricsSourceSettings;
use super::{kubelet, poller, signals};

/// The longest answer that a source reads: one for 150,000 Pods is some 30 MB.
pub(crate) const BODY_LIMIT: Bytes = Bytes(256 * 1024 * 1024);

/// The source of measured usage, and how often it is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub source: MetricsSourceSettings,
    pub poller: poller::Settings,
    /// How to ask kubelets for disk usage; `None` if the source reports it, or if unmeasured.
    pub kubelet: Option<kubelet::Settings>,
    /// The bounds of what is asked for single targets.
    pub signals: signals::Settings,
}
