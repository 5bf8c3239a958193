//! The Cron portraits of Kapacity's IntelligentHorizontalPodAutoscaler,
//! `autoscaling.kapacitystack.io/v1alpha1`.

use serde_json::Value;

use super::converted::{Circumstances, Converted, MigrateError, Migrated};
use super::document::Fields;
use crate::cron_hpa::{CronHpaSpec, CronRule};

const SPEC: [&str; 8] = [
    "scaleTargetRef",
    "paused",
    "minReplicas",
    "maxReplicas",
    "scaleMode",
    "portraitProviders",
    "behavior",
    "stabilityCheckers",
];

pub(super) fn convert(
    document: &Value,
    _circumstances: &Circumstances<'_>,
) -> Result<Migrated, MigrateError> {
    let spec = Fields::new("spec", &document["spec"], &SPEC)?;
    let target = spec.reference("scaleTargetRef")?;
    let target =
        target.ok_or_else(|| MigrateError::new(spec.at("scaleTargetRef"), "is missing"))?;
    let mut portrait = Portrait {
        bounds: (
            spec.count("minReplicas")?.unwrap_or(0),
            spec.count("maxReplicas")?.unwrap_or(i32::MAX),
        ),
        crons: Vec::new(),
        notes: vec![format!(
            "a portrait sets the replicas of {target} within its bounds; a CronHPA sets them too, and where a \
             HorizontalPodAutoscaler scales it, which is not made from this manifest, raises the bounds of \
             that: there are at least the replicas of a window then"
        )],
    };
    for (place, provider) in spec.list("portraitProviders")?.iter().enumerate() {
        portrait.take(&spec.at(&format!("portraitProviders[{place}]")), provider)?;
    }
    for field in ["behavior", "stabilityCheckers"] {
        if !spec.get(field).is_null() {
            let note = format!(
                "{} is not carried over: it is no part of the calendar",
                spec.at(field)
            );
            portrait.notes.push(note);
        }
    }
    let preview = spec
        .text("scaleMode")?
        .is_some_and(|mode| mode == "Preview");
    if preview {
        let message = "Preview scales nothing, and a CronHPA has no such mode; accepted: Auto";
        return Err(MigrateError::new(spec.at("scaleMode"), message));
    }
    if portrait.crons.is_empty() {
        let message = "holds no portrait of type Cron, and there is nothing to convert";
        return Err(MigrateError::new(spec.at("portraitProviders"), message));
    }
    let converted = Converted {
        spec: CronHpaSpec {
            scale_target_ref: target,
            crons: portrait.crons,
            suspend: spec.flag("paused")?.filter(|paused| *paused),
            ..CronHpaSpec::default()
        },
        notes: portrait.notes,
    };
    converted.finish(document)
}

struct Portrait {
    bounds: (i32, i32),
    crons: Vec<CronRule>,
    notes: Vec<String>,
}

impl Portrait {
    fn take(&mut self, path: &str, provider: &Value) -> Result<(), MigrateError> {
        let known = ["type", "priority", "static", "cron", "dynamic"];
        let provider = Fields::new(path, provider, &known)?;
        let kind = provider.required("type")?;
        if kind != "Cron" {
            let note =
                format!("{path} of type {kind} is not carried over: it is no part of the calendar");
            self.notes.push(note);
            return Ok(());
        }
        let cron = Fields::new(provider.at("cron"), provider.get("cron"), &["crons"])?;
        for (place, one) in cron.list("crons")?.iter().enumerate() {
            let rule = self.rule(&cron.at(&format!("crons[{place}]")), one)?;
            self.crons.push(rule);
        }
        Ok(())
    }

    fn rule(&mut self, path: &str, one: &Value) -> Result<CronRule, MigrateError> {
        let known = [
            "name",
            "description",
            "timeZone",
            "start",
            "end",
            "replicas",
        ];
        let one = Fields::new(path, one, &known)?;
        let replicas = one.count("replicas")?;
        let replicas =
            replicas.ok_or_else(|| MigrateError::new(one.at("replicas"), "is missing"))?;
        let (min, max) = self.bounds;
        let held = replicas.min(max).max(min);
        if held != replicas {
            let note = format!(
                "{}: {replicas} is {held} within the bounds of {min} to {max}",
                one.at("replicas")
            );
            self.notes.push(note);
        }
        if one.text("description")?.is_some() {
            let note = format!(
                "{} is left out: a cron has its name alone",
                one.at("description")
            );
            self.notes.push(note);
        }
        Ok(CronRule {
            name: Some(one.required("name")?),
            start: Some(one.required("start")?),
            end: Some(one.required("end")?),
            replicas: Some(held),
            // Kapacity's own default.
            time_zone: Some(one.text("timeZone")?.unwrap_or_else(|| "UTC".to_owned())),
            ..CronRule::default()
        })
    }
}
