//! What the flags of `forecast plot` take, and what is said of a value that is not accepted.

use std::path::PathBuf;

use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::cli::output::Format;
use evenkeel_core::units::{Ratio, Resource};

/// One thing to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Output {
    Numbers(Format),
    Svg(PathBuf),
    Png(PathBuf),
}

pub(super) fn parse_output(text: &str) -> Result<Output, String> {
    let path = PathBuf::from(text);
    let ending = path.extension().and_then(|ending| ending.to_str());
    match (text, ending) {
        ("table", _) => Ok(Output::Numbers(Format::Table)),
        ("json", _) => Ok(Output::Numbers(Format::Json)),
        ("yaml", _) => Ok(Output::Numbers(Format::Yaml)),
        (_, Some("svg")) => Ok(Output::Svg(path)),
        (_, Some("png")) => Ok(Output::Png(path)),
        _ => Err("accepted: table, json, yaml, or a file that ends in .svg or .png".to_owned()),
    }
}

pub(super) fn parse_zone(text: &str) -> Result<TimeZone, String> {
    match text {
        "UTC" => Ok(TimeZone::UTC),
        "local" => Ok(crate::config::local_time_zone()),
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

pub(super) fn parse_duration(text: &str) -> Result<SignedDuration, String> {
    let parsed = text.parse::<SignedDuration>().ok();
    let most = SignedDuration::from_hours(1);
    parsed
        .filter(|time| !time.is_negative() && *time <= most)
        .ok_or_else(|| "accepted: a time of up to an hour, such as 40s or 2m".to_owned())
}
