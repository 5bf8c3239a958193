//! CronHPAs as read: the rules of each are checked once for each version of the object.

pub mod check;

use std::sync::Arc;

use evenkeel_cron::CronSpec;
use evenkeel_objects::meta::Meta;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::merge::recommendation::Provider;

pub(crate) use check::check_windows;
pub use check::{CronHpaError, check};
use evenkeel_api::cron_hpa::spec::CronHpaSpec;
use evenkeel_api::cron_hpa::status::CronHpaStatus;

/// A CronHPA as it is watched.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CronHpa {
    pub metadata: Meta,
    /// The number of the spec's version.
    pub generation: i64,
    pub spec: CronHpaSpec,
    /// The last status; `None` if there is none, or if it cannot be read.
    pub status: Option<CronHpaStatus>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CronHpaJson {
    metadata: Value,
    spec: CronHpaSpec,
    #[serde(deserialize_with = "evenkeel_objects::json::lenient")]
    status: Option<CronHpaStatus>,
}

impl<'de> Deserialize<'de> for CronHpa {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let CronHpaJson {
            metadata,
            spec,
            status,
        } = CronHpaJson::deserialize(deserializer)?;
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
    pub object: Arc<CronHpa>,
    rules: Arc<Result<CronSpec, CronHpaError>>,
}

impl CheckedCronHpa {
    /// Checks the rules of an object; those of the version `before` stand where its spec is the same,
    /// as it is after each write of the status.
    pub fn new(object: Arc<CronHpa>, before: Option<&Self>) -> Self {
        let same_spec = |before: &&Self| {
            let (old, new) = (&before.object, &object);
            old.metadata.uid == new.metadata.uid
                && old.generation == new.generation
                && old.spec == new.spec
        };
        let rules = before.filter(same_spec).map_or_else(
            || Arc::new(check(&object.spec)),
            |before| Arc::clone(&before.rules),
        );
        Self { object, rules }
    }

    /// True where it may ask for something now or later.
    pub fn is_active(&self) -> bool {
        self.rules().is_ok_and(|rules| !rules.is_suspended())
    }

    /// The name under which it contributes to bounds.
    pub fn contributor(&self) -> Provider {
        let name = self.object.metadata.name.clone();
        Provider::Cron(name.unwrap_or_default())
    }

    /// The rules in the spec.
    ///
    /// # Errors
    /// The reason why the spec is not accepted.
    pub fn rules(&self) -> Result<&CronSpec, &CronHpaError> {
        (*self.rules).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_checked_anew_where_the_spec_has_changed_and_not_for_a_status() {
        let object = |generation: i64, schedule: &str, run: Option<&str>| {
            let object = serde_json::json!({
                "metadata": {"name": "a", "uid": "u", "generation": generation},
                "spec": {"crons": [{"schedule": schedule, "target": 1}]},
                "status": {"lastRun": run.map(|cron| serde_json::json!({"cron": cron,
                    "scheduledTime": "2026-11-22T08:00:00Z", "target": 1, "replicas": 1}))},
            });
            Arc::new(serde_json::from_value::<CronHpa>(object).unwrap())
        };
        let first = CheckedCronHpa::new(object(1, "0 8 * * *", None), None);
        let told = CheckedCronHpa::new(object(1, "0 8 * * *", Some("a")), Some(&first));
        assert!(Arc::ptr_eq(&first.rules, &told.rules));
        assert!(told.object.status.as_ref().unwrap().last_run.is_some());
        let edited = CheckedCronHpa::new(object(2, "0 9 * * *", None), Some(&told));
        assert_eq!(edited.rules().unwrap().rules()[0].name, "0 9 * * *");
        let broken = CheckedCronHpa::new(object(3, "x", None), Some(&edited));
        assert_eq!(broken.rules().unwrap_err().reason(), "Schedule");
        let again = CheckedCronHpa::new(object(3, "x", Some("a")), Some(&broken));
        assert!(
            Arc::ptr_eq(&broken.rules, &again.rules),
            "also what is refused"
        );
    }
}
