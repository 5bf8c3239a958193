//! `--replay` of `dev` and `simulate`: a record of `evenkeel record`, or a trace of SimKube. A record
//! holds a scenario, which is read by the one reader of scenarios.

pub(crate) mod difference;
mod edited_hpa;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use evenkeel_sandbox::recording::{RECORD, REPLICAS, RecordManifest, RecordedCounts};
use evenkeel_sandbox::scenario::Scenario;
use evenkeel_terminal::output::CliFailure;
use evenkeel_units::Ratio;

use crate::record::archive;
use crate::record::archive::{ArchiveFiles, MOST_BYTES};
use crate::scenario_file;

/// Place and text of what marks a tar archive.
const TAR: (usize, &[u8]) = (257, b"ustar");
/// The share of its demand that a Pod of a trace of SimKube uses by default.
const LOAD_FACTOR: f64 = 0.7;

/// The first bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ReplayArgs {
    /// A record of `evenkeel record`, which has its own nodes and workloads, or a trace of SimKube
    /// (version 2), which replaces the workloads of --scenario; `-` reads standard input
    #[arg(long, value_name = "FILE", visible_alias = "simkube")]
    replay: Option<PathBuf>,

    /// Share of its demand that each Pod of a trace of SimKube uses [default: 0.7]
    #[arg(long, value_name = "SHARE", value_parser = parse_factor, requires = "replay")]
    load_factor: Option<f64>,

    /// A manifest with HPAs in place of those of a record, to compare both; may be repeated
    #[arg(long = "hpa", value_name = "FILE", requires = "replay")]
    hpas: Vec<PathBuf>,
}

fn parse_factor(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok();
    factor
        .filter(|factor| (0.0..=10.0).contains(factor))
        .ok_or_else(|| "accepted: a number from 0 to 10, such as 0.7".to_owned())
}

/// A scenario, with what a replay adds to it.
#[derive(Debug, Clone)]
pub(crate) struct ReplayInput {
    /// With the edited HPAs.
    pub(crate) scenario: Scenario,
    /// The same as it was recorded; `None` if no HPA is edited.
    pub(crate) unedited: Option<Scenario>,
    /// `None` for a scenario or a trace of SimKube.
    pub(crate) record: Option<ReplayRecord>,
}

/// The parts of a record beside its scenario.
#[derive(Debug, Clone)]
pub(crate) struct ReplayRecord {
    pub(crate) manifest: RecordManifest,
    pub(crate) counts: RecordedCounts,
}

impl ReplayInput {
    /// The scenario as it was recorded.
    pub(crate) fn recorded(&self) -> &Scenario {
        self.unedited.as_ref().unwrap_or(&self.scenario)
    }

    /// The gaps in the record, in sentences.
    pub(crate) fn missing(&self) -> Vec<String> {
        let record = self.record.as_ref();
        record.map_or_else(Vec::new, |record| record.manifest.missing.clone())
    }
}

impl ReplayArgs {
    /// The scenario of a file, of the program itself, or of what is to be replayed.
    ///
    /// # Errors
    /// A file that cannot be read, with its name, its fault and what is accepted.
    pub(crate) fn load(&self, scenario: Option<&Path>) -> Result<ReplayInput, CliFailure> {
        let Some(path) = &self.replay else {
            return Ok(ReplayInput {
                scenario: scenario_file::read(scenario)?,
                unedited: None,
                record: None,
            });
        };
        let refuse = |what: String| CliFailure::call(format_args!("{}: {what}", path.display()));
        let bytes = bounded(path).map_err(refuse)?;
        let mut input = if is_tar(&bytes) {
            if scenario.is_some() {
                return Err(refuse(
                    "a record has nodes and workloads of its own; accepted: --replay without --scenario"
                        .to_owned(),
                ));
            }
            if self.load_factor.is_some() {
                return Err(refuse(
                    "a record has the use of its Pods; accepted: --load-factor with a trace of SimKube"
                        .to_owned(),
                ));
            }
            let files = archive::read(&bytes).map_err(|error| refuse(error.to_string()))?;
            of_record(&files).map_err(refuse)?
        } else {
            if !self.hpas.is_empty() {
                return Err(refuse(
                    "a trace of SimKube has no HPAs to compare with; accepted: --hpa with a record"
                        .to_owned(),
                ));
            }
            let nodes = scenario_file::read(scenario)?;
            let factor =
                Ratio::new(self.load_factor.unwrap_or(LOAD_FACTOR)).map_err(CliFailure::call)?;
            let scenario = nodes.with_simkube(&bytes, factor);
            ReplayInput {
                scenario: scenario.map_err(|error| {
                    refuse(format!(
                        "it is not a record of `evenkeel record` (a tar archive), and {error}"
                    ))
                })?,
                unedited: None,
                record: None,
            }
        };
        if !self.hpas.is_empty() {
            let recorded = input.scenario.clone();
            for file in &self.hpas {
                edited_hpa::apply(file, &mut input.scenario)?;
            }
            input.unedited = Some(recorded);
        }
        Ok(input)
    }
}

fn bounded(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin()
            .lock()
            .take(MOST_BYTES + 1)
            .read_to_end(&mut bytes)
    } else {
        let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes)
    };
    read.map_err(|error| error.to_string())?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MOST_BYTES {
        return Err(archive::ArchiveError::TooLarge.to_string());
    }
    if bytes.starts_with(GZIP) {
        return Err("it is compressed; accepted: the same without compression (gunzip)".to_owned());
    }
    Ok(bytes)
}

fn is_tar(bytes: &[u8]) -> bool {
    let (place, mark) = TAR;
    let is_marked = bytes
        .get(place..)
        .is_some_and(|rest| rest.starts_with(mark));
    // A record that is cut within its first block.
    is_marked || bytes.starts_with(RECORD.as_bytes())
}

fn of_record(files: &ArchiveFiles) -> Result<ReplayInput, String> {
    let file = |name: &str| files.get(name).map(String::as_str).unwrap_or_default();
    let within = |name: &str, error: &dyn std::fmt::Display| format!("{name}: {error}");
    let manifest = RecordManifest::read(file(RECORD)).map_err(|error| within(RECORD, &error))?;
    let scenario = archive::scenario(files);
    let counts = serde_json::from_str(file(REPLICAS));
    Ok(ReplayInput {
        scenario: scenario?,
        unedited: None,
        record: Some(ReplayRecord {
            manifest,
            counts: counts.map_err(|error| within(REPLICAS, &error))?,
        }),
    })
}

#[cfg(test)]
pub(crate) mod tests;
