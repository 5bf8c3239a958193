//! Volcengine's CronHPA, `vke.volcengine.com/v1alpha1`, as `[CronHPA]` shows it.

use evenkeel_api::cron_hpa::spec::{CronHpaSpec, CronRule};
use serde_json::Value;

use super::conversion::{
    Circumstances, ConvertedManifest, CronHpaConversion, MigrateError, PUT_BACK,
};
use super::document::ManifestFields;

pub(super) fn convert(
    document: &Value,
    circumstances: &Circumstances<'_>,
) -> Result<ConvertedManifest, MigrateError> {
    let known = ["crons", "scaleTargetRef", "scaleWorkloadRef"];
    let spec = ManifestFields::new("spec", &document["spec"], &known)?;
    let target = spec.reference("scaleTargetRef")?;
    let target =
        target.ok_or_else(|| MigrateError::new(spec.at("scaleTargetRef"), "is missing"))?;
    let crons = spec.list("crons")?.iter().enumerate().map(|(place, cron)| {
        let cron = ManifestFields::new(
            spec.at(&format!("crons[{place}]")),
            cron,
            &["schedule", "target"],
        )?;
        let replicas = cron.count("target")?;
        Ok(CronRule {
            schedule: Some(cron.required("schedule")?),
            target: Some(
                replicas.ok_or_else(|| MigrateError::new(cron.at("target"), "is missing"))?,
            ),
            ..CronRule::default()
        })
    });
    let converted = CronHpaConversion {
        spec: CronHpaSpec {
            // If the target is the workload itself, the second name adds nothing.
            scale_workload_ref: spec
                .reference("scaleWorkloadRef")?
                .filter(|_| target.is_hpa()),
            scale_target_ref: target,
            crons: crons.collect::<Result<_, _>>()?,
            ..CronHpaSpec::default()
        },
        notes: vec![PUT_BACK.to_owned()],
    };
    converted
        .with_zone(circumstances, "Volcengine")
        .finish(document)
}
