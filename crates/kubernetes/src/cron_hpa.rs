//! The custom resource CronHPA (`autoscaling.evenkeel.dev/v1alpha1`): replicas by the calendar.
//!
//! [`CronHpaSpec`] is what a user writes, [`CheckedCronHpa`] the same with its rules checked, once for
//! each version of the object, and [`CronHpaStatus`] what is told of it and remembered from one tick to
//! the next. Its schema, with the descriptions that `kubectl explain` shows, stands in
//! [`crate::custom_resources`].

mod check;
mod spec;
mod status;

use evenkeel_core::scaling::cron::CronSpec;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::meta::Meta;

pub use check::{CronHpaError, check};
pub use spec::{CronHpaSpec, CronRule, HPA, ScaledRef};
pub use status::{ActiveCron, CronHpaStatus, CronStatus, HeldCron, LastRun, NextRun};

/// A CronHPA as it is watched.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CronHpa {
    pub metadata: Meta,
    /// The number of the spec's version.
    pub generation: i64,
    pub spec: CronHpaSpec,
    /// What was last told of it; `None` where nothing was, or where it cannot be read.
    pub status: Option<CronHpaStatus>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Written {
    metadata: Value,
    spec: CronHpaSpec,
    #[serde(deserialize_with = "crate::json::lenient")]
    status: Option<CronHpaStatus>,
}

impl<'de> Deserialize<'de> for CronHpa {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written {
            metadata,
            spec,
            status,
        } = Written::deserialize(deserializer)?;
        let generation = metadata.get("generation").and_then(Value::as_i64);
        let metadata = Option::<Meta>::deserialize(metadata).map_err(serde::de::Error::custom)?;
        Ok(Self {
            metadata: metadata.unwrap_or_default(),
            generation: generation.unwrap_or_default(),
            spec,
            status,
        })
    }
}

/// A CronHPA with its rules, or with the reason why it has none.
#[derive(Debug)]
pub struct CheckedCronHpa {
    pub object: CronHpa,
    /// The rules in the spec.
    pub rules: Result<CronSpec, CronHpaError>,
}

impl CheckedCronHpa {
    /// Checks the rules of an object.
    #[must_use]
    pub fn new(object: CronHpa) -> Self {
        let rules = check(&object.spec);
        Self { object, rules }
    }

    /// True where it may ask for something now or later.
    #[must_use]
    pub fn is_active(&self) -> bool {
        let rules = self.rules.as_ref();
        rules.is_ok_and(|rules| !rules.is_suspended())
    }
}
