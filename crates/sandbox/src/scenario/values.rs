//! Values of a scenario file: amounts, durations and shares. A refusal has the place and the
//! accepted values.

use std::fmt;

use evenkeel_objects::yaml_values::{AmountTexts, YamlText};
use evenkeel_units::{Amount, Ratio, Resources};
use jiff::SignedDuration;

use super::error::ScenarioError;

/// A percentage of the request.
pub(super) fn percentage(path: &str, text: &str) -> Result<Ratio, ScenarioError> {
    let percent = text
        .strip_suffix('%')
        .and_then(|percent| percent.parse::<f64>().ok());
    let ratio = percent.and_then(|percent| Ratio::share(percent / 100.0).ok());
    let accepted = "a percentage of the request, such as 60%";
    ratio.ok_or_else(|| refused(path, text, accepted))
}

/// Missing amounts are zero.
pub(super) fn amounts(texts: &AmountTexts, path: &str) -> Result<Resources<Amount>, ScenarioError> {
    Ok(told(texts, path)?.map(Option::unwrap_or_default))
}

pub(super) fn told(
    texts: &AmountTexts,
    path: &str,
) -> Result<Resources<Option<Amount>>, ScenarioError> {
    let mut amounts = Resources::default();
    for (resource, parsed) in texts.parse().iter() {
        amounts[resource] = match parsed {
            None => None,
            Some(Ok(amount)) => Some(*amount),
            Some(Err((error, text))) => {
                return Err(refused(&format!("{path}.{resource}"), text, error));
            }
        };
    }
    Ok(amounts)
}

pub(super) fn optional(
    path: &str,
    text: Option<YamlText>,
) -> Result<SignedDuration, ScenarioError> {
    text.map_or(Ok(SignedDuration::ZERO), |text| duration(path, &text))
}

pub(super) fn duration(
    path: &str,
    YamlText(text): &YamlText,
) -> Result<SignedDuration, ScenarioError> {
    let parsed = text.parse::<SignedDuration>().ok();
    let parsed = parsed.filter(|duration| !duration.is_negative());
    parsed.ok_or_else(|| refused(path, text, "a duration such as 90s or 5m"))
}

pub(super) fn refused(
    path: &str,
    given: impl fmt::Display,
    accepted: impl fmt::Display,
) -> ScenarioError {
    ScenarioError::Value {
        path: path.to_owned(),
        given: given.to_string(),
        accepted: accepted.to_string(),
    }
}
