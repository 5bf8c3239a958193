//! Converts manifests of other products: those that scale by the calendar to CronHPAs, and those of
//! Kapacity to the kinds of the same names. A note reports each difference in behaviour. A manifest
//! that Evenkeel cannot follow, or with an unknown field, is refused with the path, because a
//! silent change would mislead.

mod aliyun;
mod conversion;
mod document;
mod kapacity;
mod keda;
mod volcengine;
mod windows;

use serde_json::Value;

use self::conversion::left_out;
pub use self::conversion::{Circumstances, ConvertedManifest, MigrateError};
use self::document::ManifestFields;

/// The manifests that are converted, for messages.
pub const ACCEPTED: &str = "a CronHPA of vke.volcengine.com/v1alpha1, a CronHorizontalPodAutoscaler of \
    autoscaling.alibabacloud.com/v1beta1, an IntelligentHorizontalPodAutoscaler, a HorizontalPortrait \
    or a ReplicaProfile of autoscaling.kapacitystack.io/v1alpha1, or a ScaledObject of keda.sh/v1alpha1 with cron triggers";

/// Why a manifest is passed over for which [`migrate`] has `None`, for messages.
pub fn passed_over(document: &Value) -> &'static str {
    if is_calendarless(document) {
        "it has no trigger of type cron, so KEDA continues to scale by it"
    } else {
        "this kind is not converted"
    }
}

/// True for a ScaledObject of KEDA without cron triggers.
fn is_calendarless(document: &Value) -> bool {
    let text = |key: &str| document[key].as_str().unwrap_or_default();
    let is_scaled = text("kind") == "ScaledObject" && text("apiVersion").starts_with("keda.sh/");
    is_scaled && keda::is_without_crons(document)
}

/// Converts a manifest; `None` for another product, or a kind without scaling by the calendar.
///
/// # Errors
/// Evenkeel cannot do a part of the manifest as it is meant.
pub fn migrate(
    document: &Value,
    circumstances: &Circumstances<'_>,
) -> Option<Result<ConvertedManifest, MigrateError>> {
    if is_calendarless(document) {
        return None;
    }
    let text = |key: &str| document[key].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or_default();
    let (known, convert): (_, MigrateFunction) = match (group, text("kind")) {
        ("vke.volcengine.com", "CronHPA") => ("v1alpha1", volcengine::convert),
        ("autoscaling.alibabacloud.com", "CronHorizontalPodAutoscaler") => {
            ("v1beta1", aliyun::convert)
        }
        ("autoscaling.kapacitystack.io", "IntelligentHorizontalPodAutoscaler") => {
            ("v1alpha1", kapacity::convert_ihpa)
        }
        ("autoscaling.kapacitystack.io", "HorizontalPortrait") => {
            ("v1alpha1", kapacity::convert_portrait)
        }
        ("autoscaling.kapacitystack.io", "ReplicaProfile") => {
            ("v1alpha1", kapacity::convert_profile)
        }
        ("keda.sh", "ScaledObject") => ("v1alpha1", keda::convert),
        ("keda.sh", "ScaledJob") => {
            let message =
                "a ScaledJob starts Jobs, and a CronHPA sets replicas; accepted: a ScaledObject";
            return Some(Err(MigrateError::new("kind", message)));
        }
        _ => return None,
    };
    let whole = || {
        if version != known {
            let message = format!("{version} is not supported; accepted: {group}/{known}");
            return Err(MigrateError::new("apiVersion", message));
        }
        let parts = ["apiVersion", "kind", "metadata", "spec", "status"];
        ManifestFields::new("", document, &parts)?;
        if document["metadata"]["name"]
            .as_str()
            .is_none_or(str::is_empty)
        {
            return Err(MigrateError::new("metadata.name", "is missing"));
        }
        let mut migrated = convert(document, circumstances)?;
        migrated.notes.extend(left_out(document));
        Ok(migrated)
    };
    Some(whole())
}

type MigrateFunction = fn(&Value, &Circumstances<'_>) -> Result<ConvertedManifest, MigrateError>;

#[cfg(test)]
mod tests;
