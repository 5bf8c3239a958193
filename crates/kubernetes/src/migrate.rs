//! From the manifests of other products to Evenkeel's: of those that scale by the calendar to CronHPAs, of
//! Kapacity to the kinds of the same names.
//!
//! What a manifest says and Evenkeel does otherwise is told in a note; what it says and Evenkeel cannot
//! do is refused, with its place, rather than changed in silence. A field that is not known here counts
//! as such.

mod aliyun;
mod converted;
mod document;
mod kapacity;
mod keda;
mod volcengine;

use serde_json::Value;

pub use self::converted::{Circumstances, MigrateError, Migrated};

/// The manifests that are converted, for messages.
pub const ACCEPTED: &str = "a CronHPA of vke.volcengine.com/v1alpha1, a CronHorizontalPodAutoscaler of \
    autoscaling.alibabacloud.com/v1beta1, an IntelligentHorizontalPodAutoscaler, a HorizontalPortrait \
    or a ReplicaProfile of autoscaling.kapacitystack.io/v1alpha1, or a ScaledObject of keda.sh/v1alpha1 with cron triggers";

/// Converts a manifest; `None` for one of another kind.
///
/// # Errors
/// The first thing in it that Evenkeel cannot do as it is meant.
pub fn migrate(
    document: &Value,
    circumstances: &Circumstances<'_>,
) -> Option<Result<Migrated, MigrateError>> {
    let text = |key: &str| document[key].as_str().unwrap_or_default();
    let group = text("apiVersion").split('/').next().unwrap_or_default();
    let convert = match (group, text("kind")) {
        ("vke.volcengine.com", "CronHPA") => volcengine::convert,
        ("autoscaling.alibabacloud.com", "CronHorizontalPodAutoscaler") => aliyun::convert,
        ("autoscaling.kapacitystack.io", "IntelligentHorizontalPodAutoscaler") => {
            kapacity::convert_ihpa
        }
        ("autoscaling.kapacitystack.io", "HorizontalPortrait") => kapacity::convert_portrait,
        ("autoscaling.kapacitystack.io", "ReplicaProfile") => kapacity::convert_profile,
        ("keda.sh", "ScaledObject") => keda::convert,
        _ => return None,
    };
    Some(convert(document, circumstances))
}

#[cfg(test)]
mod tests;
