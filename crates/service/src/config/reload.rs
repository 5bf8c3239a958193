//! Reads the configuration again while the service runs. Only `writes` takes effect; the paths of
//! all other changes are reported, for a restart. `writes: disabled` and `writes: restore` are
//! obeyed even in an otherwise refused file: a switch that stops everything must not wait for a
//! typo elsewhere.

use super::file::{changes, tree};
use super::layers::ConfigLayers;
use super::{Config, ConfigError, ConfigFile, ConfigSources};
use crate::controller::switch::Writes;

/// Effect of a changed file.
#[derive(Debug, Clone, PartialEq)]
pub struct Reload {
    /// Takes effect at once.
    pub writes: Writes,
    /// The paths of fields that have changed and take effect after a restart.
    pub needs_restart: Vec<String>,
    /// Cause for which the rest of the file is refused, where only `writes` was taken from it.
    pub refused: Option<ConfigError>,
}

impl Config {
    /// Reads the same file again, under the same environment and flags.
    ///
    /// # Errors
    /// A file that is refused; then nothing changes.
    pub(crate) fn reload(&self) -> Result<Reload, ConfigError> {
        match Self::load(&self.sources) {
            Ok(new) => Ok(Reload {
                writes: new.writes,
                needs_restart: changes(&self.effective, &new.effective),
                refused: None,
            }),
            Err(error) => match stopped(&self.sources) {
                Some(writes) => Ok(Reload {
                    writes,
                    needs_restart: Vec::new(),
                    refused: Some(error),
                }),
                None => Err(error),
            },
        }
    }

    /// The position of the kill switch by these sources, and why the rest of them is refused. A
    /// missing or unreadable file does not stop writes: an operator must be able to undo writes
    /// when nothing else works.
    pub fn switch(sources: &ConfigSources) -> (Writes, Option<ConfigError>) {
        Self::position(
            ConfigLayers::read(sources, &tree(&ConfigFile::default())),
            sources,
        )
    }

    /// The same for a file's text from elsewhere, such as a ConfigMap; `sources` name it and the
    /// layers over it.
    pub fn switch_in(text: &str, sources: &ConfigSources) -> (Writes, Option<ConfigError>) {
        Self::position(
            ConfigLayers::parse(text, sources, &tree(&ConfigFile::default())),
            sources,
        )
    }

    fn position(
        layered: Result<ConfigLayers, ConfigError>,
        sources: &ConfigSources,
    ) -> (Writes, Option<ConfigError>) {
        match layered {
            Err(error) => (Writes::default(), Some(error)),
            Ok(layered) => match Self::of(&layered, sources) {
                Ok(config) => (config.writes, None),
                Err(error) => (stop(&layered).unwrap_or_default(), Some(error)),
            },
        }
    }
}

/// The position in which the sources want the writes stopped, if they do.
fn stopped(sources: &ConfigSources) -> Option<Writes> {
    let layered = ConfigLayers::read(sources, &tree(&ConfigFile::default()));
    stop(&layered.ok()?)
}

/// The position in which the layers want the writes stopped, if they do.
fn stop(layered: &ConfigLayers) -> Option<Writes> {
    let asked = layered.tree.get("writes")?;
    let mut stops = [Writes::Disabled, Writes::Restore].into_iter();
    stops.find(|stop| *asked == stop.as_str())
}
