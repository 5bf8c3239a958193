//! Flag values of `forecast plot` and `forecast replay`, and the errors for invalid ones.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use evenkeel_forecast::{HOURS_AHEAD_STEP, HOURS_AHEAD_STEPS, ModelSet};
use evenkeel_units::{Ratio, Resource};
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use evenkeel_terminal::output::Format;

/// One result of a call: the numbers in a format, or a picture in a file (`-` is standard output).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ForecastOutput {
    Numbers(Format),
    Svg(PathBuf),
}

pub(crate) fn parse_output(text: &str) -> Result<ForecastOutput, String> {
    let path = PathBuf::from(text);
    let ending = path.extension().and_then(|ending| ending.to_str());
    match (text, ending) {
        ("table", _) => Ok(ForecastOutput::Numbers(Format::Table)),
        ("json", _) => Ok(ForecastOutput::Numbers(Format::Json)),
        ("yaml", _) => Ok(ForecastOutput::Numbers(Format::Yaml)),
        ("svg", _) => Ok(ForecastOutput::Svg(PathBuf::from("-"))),
        (_, Some("svg")) => Ok(ForecastOutput::Svg(path)),
        (_, Some("png")) => Err(
            "PNG is not supported; accepted: a file that ends in .svg, which browsers show and \
             rsvg-convert turns into a PNG"
                .to_owned(),
        ),
        _ => Err("accepted: table, json, yaml, svg, or a file that ends in .svg".to_owned()),
    }
}

/// The most steps ahead: a day of 5-minute steps.
const FARTHEST: usize = 288;

pub(super) fn parse_horizon(text: &str) -> Result<NonZeroUsize, String> {
    let steps = text.parse::<NonZeroUsize>().ok();
    steps
        .filter(|steps| steps.get() <= FARTHEST)
        .ok_or_else(|| format!("accepted: a number of steps from 1 to {FARTHEST}"))
}

/// How far ahead a backtest judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BacktestHorizon {
    /// In steps of the file.
    Steps(NonZeroUsize),
    /// In steps of ten minutes, each with its highest value.
    Time(NonZeroUsize),
}

impl BacktestHorizon {
    pub(super) const fn steps(self) -> NonZeroUsize {
        match self {
            Self::Steps(steps) | Self::Time(steps) => steps,
        }
    }
}

impl fmt::Display for BacktestHorizon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => steps.fmt(f),
            Self::Time(steps) => {
                let steps = i32::try_from(steps.get()).unwrap_or(i32::MAX);
                write!(f, "{:#}", HOURS_AHEAD_STEP * steps)
            }
        }
    }
}

pub(super) fn parse_backtest_horizon(text: &str) -> Result<BacktestHorizon, String> {
    let step = HOURS_AHEAD_STEP.as_secs();
    let time = text.parse::<SignedDuration>().ok();
    let time = time.filter(|time| time.subsec_nanos() == 0 && time.as_secs() % step == 0);
    let steps = time.and_then(|time| usize::try_from(time.as_secs() / step).ok());
    let steps = steps.and_then(NonZeroUsize::new);
    if let Some(steps) = steps.filter(|steps| *steps <= HOURS_AHEAD_STEPS) {
        return Ok(BacktestHorizon::Time(steps));
    }
    let steps = parse_horizon(text).map(BacktestHorizon::Steps);
    steps.map_err(|error| format!("{error}, or a time from 10m to 24h in steps of ten minutes"))
}

pub(super) fn parse_zone(text: &str) -> Result<TimeZone, String> {
    match text {
        "UTC" => Ok(TimeZone::UTC),
        "local" => Ok(evenkeel_service::config::local_time_zone()),
        name => TimeZone::get(name).map_err(|_| {
            "accepted: UTC, local, or a name of the time zone database such as Europe/Berlin"
                .to_owned()
        }),
    }
}

pub(super) fn parse_resource(text: &str) -> Result<Resource, String> {
    let resource = text.parse().ok();
    let scaled = resource.filter(|resource| matches!(resource, Resource::Cpu | Resource::Memory));
    scaled.ok_or_else(|| "accepted: cpu or memory".to_owned())
}

pub(super) fn parse_target(text: &str) -> Result<Ratio, String> {
    let percent = text
        .strip_suffix('%')
        .and_then(|number| number.trim().parse::<f64>().ok());
    let good = percent.filter(|percent| *percent > 0.0 && *percent <= 1000.0);
    good.and_then(|percent| Ratio::new(percent / 100.0).ok())
        .ok_or_else(|| "accepted: a percentage above 0 %, such as 60%".to_owned())
}

/// The first of `values` that was there before.
pub(super) fn given_twice<T: PartialEq>(values: &[T]) -> Option<&T> {
    let mut each = values.iter().enumerate();
    let twice = each.find(|(index, value)| values[..*index].contains(value));
    twice.map(|(_, value)| value)
}

/// Models that follow the 15-second steps of a target as they come.
pub(super) fn parse_followed(text: &str) -> Result<ModelSet, String> {
    let followed = ModelSet::ALL.iter().filter(|model| !model.is_fitted());
    let followed: Vec<_> = followed.map(|model| model.as_str()).collect();
    let accepted = followed.join(", ");
    match text.parse::<ModelSet>() {
        Ok(model) if !model.is_fitted() => Ok(model),
        Ok(model) => Err(format!(
            "{model} needs a longer history than is kept in steps of 15 s (see `forecast \
             backtest`); accepted: {accepted}"
        )),
        Err(_) => Err(format!("{text:?} is no model; accepted: {accepted}")),
    }
}

pub(crate) fn parse_duration(text: &str) -> Result<SignedDuration, String> {
    let parsed = text.parse::<SignedDuration>().ok();
    let most = SignedDuration::from_hours(1);
    parsed
        .filter(|time| !time.is_negative() && *time <= most)
        .ok_or_else(|| "accepted: a time of up to an hour, such as 40s or 2m".to_owned())
}

pub(super) fn parse_noise(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok();
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "accepted: a share from 0 to 1, such as 0.03".to_owned())
}
