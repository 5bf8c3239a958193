//! The log's level filter and format, and setting up the subscriber.
//!
//! Both settings are parsed into types, so that a misspelt one is an error of the call or of the
//! configuration, not a silent service.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// A log that could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter does not parse.
    #[error(
        "log level {0:?} is not accepted: off, error, warn, info, debug or trace, \
         or such levels by target as in \"info,evenkeel::server=debug\""
    )]
    Filter(String),
    /// The process has a subscriber already.
    #[error("logging is set up already")]
    AlreadySet(#[source] TryInitError),
}

impl LogError {
    /// A short name for metrics and conditions.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Filter(_) => "InvalidLogLevel",
            Self::AlreadySet(_) => "LoggingAlreadySet",
        }
    }
}

/// A filter of events: a level, or levels by target.
#[derive(Debug, Clone, PartialEq)]
pub struct LogFilter {
    text: String,
    targets: Targets,
}

impl Default for LogFilter {
    fn default() -> Self {
        "info".parse().expect("a level is a filter")
    }
}

impl FromStr for LogFilter {
    type Err = LogError;

    fn from_str(text: &str) -> Result<Self, LogError> {
        let refused = || LogError::Filter(text.to_owned());
        // A bare word that is no level would be taken for a target, and would silence all others.
        let known = text.split(',').all(|part| {
            let level = part.rsplit_once('=').map_or(part, |(_, level)| level);
            LEVELS.contains(&level.trim())
        });
        if !known {
            return Err(refused());
        }
        let targets = text.parse().map_err(|_| refused())?;
        Ok(Self {
            text: text.to_owned(),
            targets,
        })
    }
}

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The form in which an event is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// A JSON object a line.
    Json,
    /// A line for people.
    #[default]
    Text,
}

/// Filter and form of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogSettings {
    pub filter: LogFilter,
    pub format: LogFormat,
}

/// Sends the process's events to standard error.
///
/// # Errors
///
/// The process has a subscriber already.
pub fn init(settings: &LogSettings) -> Result<(), LogError> {
    let LogSettings { filter, format } = settings;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let layer = match format {
        // Colours would be control characters in a Pod's log.
        LogFormat::Text => lines.with_ansi(false).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry()
        .with(layer.with_filter(filter.targets.clone()))
        .try_init()
        .map_err(LogError::AlreadySet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_levels_by_target_parse_back() {
        for text in [
            "info",
            "off",
            "warn,evenkeel::server=debug",
            "info, hyper=error",
        ] {
            let filter: LogFilter = text.parse().unwrap();
            assert_eq!(filter.to_string(), text);
        }
    }

    #[test]
    fn a_misspelt_level_is_refused_and_the_accepted_ones_are_named() {
        for text in [
            "inof",
            "",
            "info,debgu",
            "evenkeel=loud",
            "info,",
            "evenkeel",
        ] {
            let error = text.parse::<LogFilter>().unwrap_err();
            assert!(
                error.to_string().contains("error, warn, info"),
                "{text:?}: {error}"
            );
            assert_eq!(error.reason(), "InvalidLogLevel");
        }
    }
}
