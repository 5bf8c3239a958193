//! One series: its load as the replay takes it, and the workload that the load is put on.

use std::path::Path;

use evenkeel_sandbox::target_replay::{ReplayLoad, ReplayTarget, with_noise};
use evenkeel_scaling::tracker::fit_times::daily_hour;
use evenkeel_terminal::output::CliFailure;
use evenkeel_units::Resource;
use evenkeel_units::random::RandomSource;
use jiff::{SignedDuration, Timestamp};

use super::args::Args;
use super::own_models::OwnPast;
use crate::forecast::csv_load::CsvSelection;
use crate::forecast::file_workload::base_units;
use crate::forecast::grid::TraceSample;
use crate::forecast::{csv_load, file_workload, grid};

/// The longest distance of samples: beyond it, what a Pod has to be ready for is not in them.
const LONGEST_STEP: SignedDuration = SignedDuration::from_hours(1);

/// The most that is judged where no time is given.
const JUDGED: SignedDuration = SignedDuration::from_hours(3 * 24);

#[derive(Debug)]
pub(crate) struct Entrant {
    /// The name of the file without `.csv`.
    pub name: String,
    pub step: SignedDuration,
    pub target: ReplayTarget,
    pub load: ReplayLoad,
    /// The hour of the day at which the service would fit it.
    pub fit_hour: i64,
    pub own: OwnPast,
    pub gaps: usize,
}

impl Entrant {
    pub(super) fn read(path: &Path, args: &Args) -> Result<Self, CliFailure> {
        let named = |error: String| CliFailure::call(format_args!("{}: {error}", path.display()));
        let wanted = CsvSelection {
            column: args.load.column.as_deref(),
            from: None,
            to: None,
        };
        let mut samples = csv_load::read(path, &wanted)?;
        scale(&mut samples, args)?.map_err(named)?;
        let gridded = grid::on_grid(&samples).map_err(named)?;
        if gridded.step > LONGEST_STEP {
            return Err(named(format!(
                "its samples are {:#} apart; accepted: up to an hour",
                gridded.step
            )));
        }
        let target = args.workload(gridded.step).target()?;
        if args.load.unit.is_none() && args.load.peak.is_none() {
            file_workload::unambiguous(&samples, &target).map_err(named)?;
        }
        let name = name(path);
        let source = RandomSource::new(args.load.seed).stream(&name);
        let load = with_noise(gridded.load, args.load.noise, source);
        let count_from = args.load.count_from.or_else(|| last_days(&samples));
        let count_from = count_from.unwrap_or(load.start());
        let load = ReplayLoad::new(load, count_from)
            .map_err(|error| named(format!("--count-from: {error}")))?;
        Ok(Self {
            fit_hour: daily_hour("", "", &name),
            name,
            step: gridded.step,
            target,
            load,
            own: OwnPast::default(),
            gaps: gridded.gaps,
        })
    }
}

/// Puts samples into millicores. The inner error is the file's.
fn scale(samples: &mut [TraceSample], args: &Args) -> Result<Result<(), String>, CliFailure> {
    let Some(peak) = args.load.peak else {
        let factor = file_workload::factor(Resource::Cpu, args.load.unit)?;
        file_workload::scale(samples, factor);
        return Ok(Ok(()));
    };
    if base_units(Resource::Cpu, peak) <= 0.0 {
        return Err(CliFailure::call(
            "--peak is 0; accepted: cores above 0, such as 6 or 500m",
        ));
    }
    let values = samples.iter().filter_map(|sample| sample.value);
    let largest = values.fold(0.0, f64::max);
    if largest <= 0.0 {
        return Ok(Err(
            "no sample is above 0, so --peak cannot scale it".to_owned()
        ));
    }
    let factor = base_units(Resource::Cpu, peak) / largest;
    file_workload::scale(samples, factor);
    Ok(Ok(()))
}

/// The first sample of the last 30 %, or of the last three days where these are more.
pub(crate) fn last_days(samples: &[TraceSample]) -> Option<Timestamp> {
    let first = samples.get(samples.len() * 7 / 10)?.at;
    let days = samples.last()?.at.checked_sub(JUDGED).ok()?;
    Some(first.max(days))
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    let name = name.to_string_lossy();
    name.strip_suffix(".csv").unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_called_as_its_file() {
        for (path, expected) in [
            ("traces/nasa_jul95.csv", "nasa_jul95"),
            ("load.txt", "load.txt"),
            ("-", "-"),
        ] {
            assert_eq!(name(Path::new(path)), expected);
        }
    }

    #[test]
    fn the_last_30_percent_and_at_most_three_days_are_judged() {
        let samples = |count: i64, step: i64| {
            let at = |index| Timestamp::from_second(index * step).unwrap();
            let samples = (0..count).map(|index| TraceSample {
                at: at(index),
                value: Some(1.0),
            });
            last_days(&samples.collect::<Vec<_>>()).map(Timestamp::as_second)
        };
        assert_eq!(samples(11, 60), Some(7 * 60));
        assert_eq!(samples(20_000, 300), Some((19_999 - 3 * 288) * 300));
        assert_eq!(samples(0, 300), None);
    }
}
