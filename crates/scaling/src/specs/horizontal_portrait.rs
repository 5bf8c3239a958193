//! HorizontalPortraits as read: the portrait of each is checked once for each version of the object.

use std::sync::Arc;

use evenkeel_api::horizontal_portrait::spec::HorizontalPortraitSpec;
use evenkeel_api::horizontal_portrait::status::HorizontalPortraitStatus;
use evenkeel_api::portrait_spec::{EXTERNAL_JOB, ExternalJobAlgorithm};
use evenkeel_objects::json::{lenient, null_is_default};
use evenkeel_objects::meta::Meta;
use serde::Deserialize;

use super::portrait::Portrait;
use super::portrait::check;
use super::portrait::check::PortraitDataError;

/// A HorizontalPortrait as it is watched.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct HorizontalPortrait {
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Meta,
    #[serde(deserialize_with = "null_is_default")]
    pub spec: HorizontalPortraitSpec,
    /// The status from the portrait's maker; `None` if there is none yet, or if it cannot be read.
    #[serde(deserialize_with = "lenient")]
    pub status: Option<HorizontalPortraitStatus>,
}

/// The name of the HorizontalPortrait of an autoscaler, for portraits of a type.
pub(crate) fn portrait_name(ihpa: &str, portrait_type: &str) -> String {
    format!("{ihpa}-{portrait_type}").to_ascii_lowercase()
}

/// A HorizontalPortrait with what it says, checked once for each version of its data.
#[derive(Debug)]
pub struct CheckedHorizontalPortrait {
    pub object: Arc<HorizontalPortrait>,
    portrait: Arc<Option<Result<Portrait, PortraitDataError>>>,
}

impl CheckedHorizontalPortrait {
    /// Checks the data of an object; those of the version `before` stand where they are the same.
    pub fn new(object: Arc<HorizontalPortrait>, before: Option<&Self>) -> Self {
        let portrait =
            if let Some(before) = before.filter(|before| before.object.data() == object.data()) {
                Arc::clone(&before.portrait)
            } else {
                let data = object.data();
                Arc::new(data.map(|data| check::portrait(data, "status.portraitData")))
            };
        Self { object, portrait }
    }

    /// The portrait; `None` if its maker has not written it yet.
    pub fn portrait(&self) -> Option<&Result<Portrait, PortraitDataError>> {
        (*self.portrait).as_ref()
    }
}

impl HorizontalPortrait {
    /// The object reduced to its identity, and to a mark if Evenkeel runs a job for it.
    pub fn outline(&self) -> Self {
        let mut outline = Self {
            metadata: self.metadata.outline(),
            ..Self::default()
        };
        if self.spec.portrait.external_job().is_some() {
            let algorithm = &mut outline.spec.portrait.algorithm;
            EXTERNAL_JOB.clone_into(&mut algorithm.kind);
            algorithm.external_job = Some(ExternalJobAlgorithm::default());
        }
        outline
    }

    fn data(&self) -> Option<&evenkeel_api::portrait_data::PortraitData> {
        self.status.as_ref()?.portrait_data.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(replicas: i32, condition: &str) -> Arc<HorizontalPortrait> {
        let object = json!({
            "metadata": {"name": "web-predictive", "namespace": "shop"},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"},
                "portraitType": "Predictive", "externalGeneratorName": "us",
                "metrics": [{"type": "Pods", "pods": {"metric": {"name": "a"}, "target": {"type": "NA"}}}],
                "algorithm": {"type": "Ours", "config": {"a": [1]}}},
            "status": {"portraitData": {"type": "Static", "static": {"replicas": replicas}},
                "conditions": [{"type": condition, "status": "True", "reason": "a", "message": "b",
                    "lastTransitionTime": "2026-11-22T08:00:00Z"}]},
        });
        Arc::new(serde_json::from_value(object).unwrap())
    }

    #[test]
    fn data_are_checked_anew_where_they_have_changed() {
        let first = CheckedHorizontalPortrait::new(object(3, "a"), None);
        assert!(matches!(first.portrait(), Some(Ok(_))));
        let told = CheckedHorizontalPortrait::new(object(3, "b"), Some(&first));
        assert!(Arc::ptr_eq(&first.portrait, &told.portrait));
        let broken = CheckedHorizontalPortrait::new(object(-3, "b"), Some(&told));
        assert!(matches!(broken.portrait(), Some(Err(_))));
        let nothing = CheckedHorizontalPortrait::new(Arc::default(), Some(&told));
        assert!(nothing.portrait().is_none());
    }

    #[test]
    fn what_is_for_others_is_kept_as_it_is() {
        let spec = &object(3, "a").spec;
        let written = serde_json::to_value(spec).unwrap();
        assert_eq!(written["metrics"][0]["pods"]["target"]["type"], "NA");
        assert_eq!(written["algorithm"]["config"]["a"], json!([1]));
        assert_eq!(portrait_name("Web", "Predictive"), "web-predictive");
    }
}
