//! `scaling`: how targets are scaled that do not say it themselves, and how often they are looked
//! at.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::check::Checker;
use super::value::Text;
use evenkeel_core::scaling::Mode;
use evenkeel_kubernetes::scaling_policy::Predict;

/// `scaling` as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct ScalingFile {
    mode: Text,
    predict: Text,
    interval: Text,
    max_age: Option<Text>,
}

impl Default for ScalingFile {
    fn default() -> Self {
        Self {
            mode: Mode::default().as_str().into(),
            predict: Predict::default().as_str().into(),
            interval: "15s".into(),
            max_age: None,
        }
    }
}

/// How targets are scaled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scaling {
    /// How decisions act where neither the target nor its namespace says.
    pub mode: Mode,
    /// What loads are predicted with where the target does not say.
    pub predict: Predict,
    /// How often targets are looked at.
    pub interval: SignedDuration,
    /// Measurements older than this move nothing.
    pub max_age: SignedDuration,
}

/// Measurements come no more often than this, and the shortest horizon is no longer.
const INTERVALS: std::ops::RangeInclusive<SignedDuration> =
    SignedDuration::from_secs(1)..=SignedDuration::from_secs(60);

impl ScalingFile {
    /// `metrics_age` is how long measurements count elsewhere.
    pub(crate) fn check(&self, metrics_age: SignedDuration, check: &mut Checker) -> Scaling {
        let Self {
            mode,
            predict,
            interval,
            max_age,
        } = self;
        let (own, given) = ("scaling.maxAge", interval);
        let mode = check.take("scaling.mode", mode.as_ref().parse(), Mode::default());
        let predict = check.take(
            "scaling.predict",
            predict.as_ref().parse(),
            Predict::default(),
        );
        let interval = check.duration("scaling.interval", given);
        if interval.is_positive() && !INTERVALS.contains(&interval) {
            let accepted = "a duration from 1s to 1m";
            check.refuse_value("scaling.interval", given.as_ref(), accepted);
        }
        let (path, max_age) = match max_age {
            Some(text) => (own, check.duration(own, text)),
            None => ("metrics.maxAge", metrics_age),
        };
        check.shorter(("scaling.interval", interval), (path, max_age));
        Scaling {
            mode,
            predict,
            interval,
            max_age,
        }
    }
}
