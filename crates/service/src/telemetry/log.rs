//! The log's level filter and format, and the subscriber. Both settings are parsed into types, so
//! that a misspelt one is an error of the call or the configuration, not a silent service.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tracing::Level;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter does not parse.
    #[error(
        "log level {0:?} is not accepted; accepted: off, error, warn, info, debug or trace, \
         or such levels by target as in \"info,evenkeel_service::server=debug\""
    )]
    Filter(String),
    /// The process has a subscriber already.
    #[error("logging is set up already")]
    AlreadySet(#[source] TryInitError),
}

/// The target under which the client of the API server writes out whole answers that it cannot read: with
/// the values of environment variables in them.
const ANSWERS: &str = "kube_client::client";

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
        let part = |part: &str| {
            let (target, level) = match part.rsplit_once('=') {
                Some((target, level)) => (Some(target.trim()), level.trim()),
                None => (None, part.trim()),
            };
            LEVELS.contains(&level).then(|| match target {
                None => level.to_owned(),
                Some(target) => match target.strip_prefix("evenkeel::") {
                    Some(module) => format!("evenkeel_service::{module}={level}"),
                    None => format!("{target}={level}"),
                },
            })
        };
        let parts: Option<Vec<_>> = text.split(',').map(part).collect();
        let parts = parts.ok_or_else(refused)?;
        let targets = parts.join(",").parse().map_err(|_| refused())?;
        Ok(Self {
            text: text.to_owned(),
            targets,
        })
    }
}

impl LogFilter {
    /// The targets that pass: the API server's whole answers only if the filter names their target.
    fn targets(&self) -> Targets {
        let names_it = self.targets.iter().any(|(target, _)| target == ANSWERS);
        if names_it || !self.targets.would_enable(ANSWERS, &Level::WARN) {
            return self.targets.clone();
        }
        let targets = self.targets.clone();
        targets.with_target(ANSWERS, LevelFilter::ERROR)
    }
}

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// A JSON object a line.
    Json,
    /// A line for people.
    #[default]
    Text,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LogSettings {
    pub filter: LogFilter,
    pub format: LogFormat,
}

/// Sends the process's events to standard error.
///
/// # Errors
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
        .with(layer.with_filter(filter.targets()))
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
    fn a_module_is_named_by_its_crate_or_by_the_program() {
        for text in [
            "warn,evenkeel_service::server=debug",
            "warn, evenkeel::server=debug",
            "warn,evenkeel=debug",
            "warn ,evenkeel::server =debug\n",
            " evenkeel_service::server = debug , warn ",
        ] {
            let targets = text.parse::<LogFilter>().unwrap().targets();
            let lets = |target, level| targets.would_enable(target, &level);
            assert!(
                lets("evenkeel_service::server::drain", Level::DEBUG),
                "{text}"
            );
            assert!(!lets("hyper::client", Level::INFO), "{text}");
            assert!(lets("hyper::client", Level::WARN), "{text}");
        }
    }

    /// The harm: an answer that could not be read was logged whole, with all that its objects hold.
    #[test]
    fn whole_answers_are_logged_only_where_their_target_is_named() {
        for (text, warnings, errors) in [
            ("info", false, true),
            ("trace", false, true),
            ("info,kube_client=debug", false, true),
            ("error", false, true),
            ("off", false, false),
            ("info,kube_client::client=warn", true, true),
        ] {
            let targets = text.parse::<LogFilter>().unwrap().targets();
            let lets = |level: Level| targets.would_enable(ANSWERS, &level);
            assert_eq!(
                (lets(Level::WARN), lets(Level::ERROR)),
                (warnings, errors),
                "{text}"
            );
            assert_eq!(
                targets.would_enable("kube_runtime::watcher", &Level::ERROR),
                errors,
                "{text}"
            );
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
        }
    }
}
