//! `agent`: what the agent of each node limits, and how often it looks.

use std::time::Duration;

use evenkeel_objects::yaml_values::YamlText;
use evenkeel_units::BytesPerSecond;

use super::check::Checker;
use super::section::section;
use crate::agent::{DiskLimitMode, Settings};

section! {
    /// `agent` as it is written.
    AgentSection {
        limits: DiskLimitMode = DiskLimitMode::default(),
        // Below it containers take minutes to start, and others that share the filesystem wait.
        least_limit: YamlText = "1MiB/s".into(),
        // As long as a volume that is mounted late may be without its limit.
        interval: YamlText = "10s".into(),
    }
}

const LEAST: &str = "agent.leastLimit";
/// The longest `agent.interval`: tuned limits need a rate for each minute.
const LONGEST: Duration = Duration::from_mins(2);

impl AgentSection {
    pub(super) fn check(&self, check: &mut Checker) -> Settings {
        let Self {
            limits,
            least_limit,
            interval,
        } = self;
        let least = check.rate(LEAST, Some(least_limit));
        let least = least.unwrap_or(BytesPerSecond(1));
        if least.0 == 0 {
            check.refuse_value(LEAST, least_limit, "a rate above zero");
        }
        let period = check.period("agent.interval", interval);
        if period > LONGEST {
            check.refuse_value(
                "agent.interval",
                interval.as_ref(),
                "a duration of at most 2m",
            );
        }
        Settings {
            limits: *limits,
            least,
            interval: period,
        }
    }
}
