//! The cron triggers of KEDA's ScaledObject, `keda.sh/v1alpha1`. A ScaledObject with other triggers
//! stays, and a CronHPA raises its bounds. Otherwise the CronHPA replaces it and sets the
//! workload's replicas. Each field is carried over, named in a note, or refused.

mod annotations;

use evenkeel_api::cron_hpa::spec::{CronHpaSpec, CronRule, HPA, ScaledRef};
use evenkeel_objects::kinds::{KEDA_MAX_REPLICAS, Kind};
use serde_json::Value;

use self::annotations::KedaAnnotations;
use super::conversion::{Circumstances, ConvertedManifest, CronHpaConversion, MigrateError};
use super::document::ManifestFields;
use super::windows;
use super::windows::Product;

pub(super) fn is_without_crons(document: &Value) -> bool {
    let triggers = document["spec"]["triggers"].as_array();
    let is_other = |trigger: &Value| trigger["type"].as_str().is_some_and(|kind| kind != "cron");
    triggers.is_some_and(|triggers| !triggers.is_empty() && triggers.iter().all(is_other))
}

pub(super) fn convert(
    document: &Value,
    circumstances: &Circumstances<'_>,
) -> Result<ConvertedManifest, MigrateError> {
    let scaled = ScaledObject::read(document)?;
    let crons = scaled.triggers.iter().filter(|trigger| trigger.is_cron);
    let mut notes = scaled.notes()?;
    let crons = crons.map(|trigger| rule(trigger, scaled.bounds, circumstances, &mut notes));
    let crons = crons.collect::<Result<_, _>>()?;
    let converted = CronHpaConversion {
        spec: CronHpaSpec {
            scale_target_ref: if scaled.is_alone() {
                scaled.workload()?
            } else {
                scaled.autoscaler()?
            },
            crons,
            suspend: scaled.annotations.paused.as_ref().map(|_| true),
            ..CronHpaSpec::default()
        },
        notes,
    };
    converted.finish(document)
}

struct ScaledObject<'a> {
    name: &'a str,
    annotations: KedaAnnotations,
    spec: ManifestFields<'a>,
    target: ManifestFields<'a>,
    advanced: ManifestFields<'a>,
    hpa: ManifestFields<'a>,
    bounds: (i32, i32),
    idle: Option<i32>,
    triggers: Vec<Trigger<'a>>,
}

struct Trigger<'a> {
    is_cron: bool,
    fields: ManifestFields<'a>,
}

impl<'a> ScaledObject<'a> {
    fn read(document: &'a Value) -> Result<Self, MigrateError> {
        let known = [
            "scaleTargetRef",
            "pollingInterval",
            "initialCooldownPeriod",
            "cooldownPeriod",
            "idleReplicaCount",
            "minReplicaCount",
            "maxReplicaCount",
            "advanced",
            "triggers",
            "fallback",
        ];
        let spec = ManifestFields::new("spec", &document["spec"], &known)?;
        let known = ["name", "apiVersion", "kind", "envSourceContainerName"];
        let target = spec.object("scaleTargetRef", &known)?;
        let known = [
            "horizontalPodAutoscalerConfig",
            "restoreToOriginalReplicaCount",
            "scalingModifiers",
        ];
        let advanced = spec.object("advanced", &known)?;
        let hpa = advanced.object("horizontalPodAutoscalerConfig", &["behavior", "name"])?;
        spec.object("fallback", &["failureThreshold", "replicas", "behavior"])?;
        let known = ["formula", "target", "activationTarget", "metricType"];
        let modifiers = advanced.object("scalingModifiers", &known)?;
        if modifiers
            .text("formula")?
            .is_some_and(|formula| !formula.is_empty())
        {
            let message = "combines all triggers into one number, and the hours of a cron trigger \
                           cannot be separated from it; accepted: triggers without a formula";
            return Err(MigrateError::new(modifiers.at("formula"), message));
        }
        let min = spec.count("minReplicaCount")?.unwrap_or(0);
        let max = spec.count("maxReplicaCount")?.unwrap_or(KEDA_MAX_REPLICAS);
        if min > max {
            let message = format!("{min} is above maxReplicaCount, {max}");
            return Err(MigrateError::new(spec.at("minReplicaCount"), message));
        }
        let triggers = triggers(&spec)?;
        Ok(Self {
            name: document["metadata"]["name"].as_str().unwrap_or_default(),
            annotations: KedaAnnotations::read(document)?,
            target,
            hpa,
            bounds: (min, max),
            idle: spec.count("idleReplicaCount")?,
            triggers,
            advanced,
            spec,
        })
    }

    fn is_alone(&self) -> bool {
        self.triggers.iter().all(|trigger| trigger.is_cron)
    }

    /// The notes on a CronHPA in place of it, or beside its other triggers.
    fn notes(&self) -> Result<Vec<String>, MigrateError> {
        let mut notes: Vec<String> = self.annotations.paused.iter().cloned().collect();
        notes.extend(self.annotations.left_out.iter().cloned());
        if self.is_alone() {
            self.notes_in_place(&mut notes)?;
        } else {
            self.notes_beside(&mut notes)?;
        }
        Ok(notes)
    }

    fn notes_in_place(&self, notes: &mut Vec<String>) -> Result<(), MigrateError> {
        let (rest, of) = match self.idle {
            Some(idle) => (idle, "idleReplicaCount"),
            None => (self.bounds.0, "minReplicaCount"),
        };
        let (rest, of) = if self.annotations.is_forced && rest < self.bounds.0.max(1) {
            (
                self.bounds.0.max(1),
                "least of a ScaledObject that is kept active",
            )
        } else {
            (rest, of)
        };
        let name = self.name;
        notes.push(format!(
            "ScaledObject {name} has no other triggers: delete it before you create the CronHPA, \
             which sets the replicas of the workload itself; between windows the workload has its \
             own replicas, so set them to {rest}, the {of}"
        ));
        let restores = self
            .advanced
            .flag("restoreToOriginalReplicaCount")?
            .unwrap_or(false);
        if restores {
            notes.push(
                "spec.advanced.restoreToOriginalReplicaCount: KEDA puts the replicas back to those before the \
                 ScaledObject when it is deleted: set them after that"
                    .to_owned(),
            );
        }
        notes.extend(self.left_out());
        Ok(())
    }

    /// Notes on the fields of a ScaledObject that goes which say nothing to a CronHPA.
    fn left_out(&self) -> Vec<String> {
        let left_out = [
            (
                self.spec.at("pollingInterval"),
                self.spec.get("pollingInterval"),
                "a CronHPA acts within its tick",
            ),
            (
                self.spec.at("cooldownPeriod"),
                self.spec.get("cooldownPeriod"),
                "the replicas are put back as soon as a window closes",
            ),
            (
                self.spec.at("initialCooldownPeriod"),
                self.spec.get("initialCooldownPeriod"),
                "the replicas are put back as soon as a window closes",
            ),
            (
                self.spec.at("fallback"),
                self.spec.get("fallback"),
                "no metric can fail",
            ),
            (
                self.hpa.at("behavior"),
                self.hpa.get("behavior"),
                "a CronHPA sets the replicas at once",
            ),
            (self.hpa.at("name"), self.hpa.get("name"), "no HPA is made"),
            (
                self.target.at("envSourceContainerName"),
                self.target.get("envSourceContainerName"),
                "a CronHPA reads no environment",
            ),
        ];
        let left_out = left_out
            .into_iter()
            .filter(|(_, value, _)| !value.is_null());
        let notes = left_out.map(|(path, _, why)| format!("{path} is left out: {why}"));
        notes.collect()
    }

    fn notes_beside(&self, notes: &mut Vec<String>) -> Result<(), MigrateError> {
        if self.idle.is_some() {
            let message = "without its cron trigger KEDA scales to idleReplicaCount while no other trigger is active, \
                           also in a window, whatever minReplicaCount says; accepted: a ScaledObject without it, or \
                           with cron triggers alone";
            return Err(MigrateError::new(self.spec.at("idleReplicaCount"), message));
        }
        let name = self.name;
        notes.push(format!(
            "remove the triggers of type cron from ScaledObject {name} once the CronHPA exists; \
             until then the larger of both counts applies"
        ));
        if self.bounds.0 == 0 {
            notes.push(
                "with minReplicaCount 0, KEDA scales to zero between windows; so it does with the CronHPA, \
                 which puts minReplicaCount back"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn autoscaler(&self) -> Result<ScaledRef, MigrateError> {
        let own = self.hpa.text("name")?;
        Ok(ScaledRef {
            api_version: Some("autoscaling/v2".to_owned()),
            kind: HPA.to_owned(),
            name: own.unwrap_or_else(|| format!("keda-hpa-{}", self.name)),
        })
    }

    /// Its workload, a Deployment unless it says otherwise.
    fn workload(&self) -> Result<ScaledRef, MigrateError> {
        let target = &self.target;
        let version = target.text("apiVersion")?;
        let kind = target.text("kind")?;
        Ok(ScaledRef {
            api_version: Some(version.unwrap_or_else(|| "apps/v1".to_owned())),
            kind: kind.unwrap_or_else(|| Kind::Deployment.as_str().to_owned()),
            name: target.required("name")?,
        })
    }
}

fn triggers<'a>(spec: &ManifestFields<'a>) -> Result<Vec<Trigger<'a>>, MigrateError> {
    let known = [
        "type",
        "name",
        "metadata",
        "metricType",
        "useCachedMetrics",
        "authenticationRef",
    ];
    let each = spec.list("triggers")?.iter().enumerate();
    let triggers = each.map(|(place, trigger)| {
        let fields = ManifestFields::new(spec.at(&format!("triggers[{place}]")), trigger, &known)?;
        let is_cron = fields.required("type")? == "cron";
        Ok(Trigger { is_cron, fields })
    });
    triggers.collect()
}

fn rule(
    trigger: &Trigger<'_>,
    (min, max): (i32, i32),
    circumstances: &Circumstances<'_>,
    notes: &mut Vec<String>,
) -> Result<CronRule, MigrateError> {
    let trigger = &trigger.fields;
    let known = ["timezone", "start", "end", "desiredReplicas"];
    let metadata = trigger.object("metadata", &known)?;
    if let Some(metric) = trigger.text("metricType")?
        && metric != "AverageValue"
    {
        let message = format!(
            "{metric} sets replicas other than desiredReplicas, which a window cannot do; \
             accepted: AverageValue"
        );
        return Err(MigrateError::new(trigger.at("metricType"), message));
    }
    if trigger.flag("useCachedMetrics")?.unwrap_or(false) {
        let message = "is refused by KEDA for a trigger of type cron; leave it out";
        return Err(MigrateError::new(trigger.at("useCachedMetrics"), message));
    }
    if !trigger.get("authenticationRef").is_null() {
        let place = trigger.at("authenticationRef");
        notes.push(format!("{place} is left out: a calendar does not need it"));
    }
    let written = metadata.required("desiredReplicas")?;
    let replicas: Option<i64> = written.parse().ok();
    let replicas = replicas.filter(|count| *count > 0).ok_or_else(|| {
        let message = format!("{written:?} is not a replica count; accepted: 1 or more");
        MigrateError::new(metadata.at("desiredReplicas"), message)
    })?;
    let held = i32::try_from(replicas)
        .unwrap_or(i32::MAX)
        .min(max)
        .max(min);
    if i64::from(held) != replicas {
        let place = metadata.at("desiredReplicas");
        notes.push(format!(
            "{place}: {replicas} is {held} within the bounds of {min} to {max}"
        ));
    }
    let (start, end) = (metadata.required("start")?, metadata.required("end")?);
    windows::check(Product::Keda, &metadata, (&start, &end), circumstances.now)?;
    Ok(CronRule {
        name: trigger.text("name")?.filter(|name| !name.is_empty()),
        start: Some(start),
        end: Some(end),
        replicas: Some(held),
        time_zone: Some(metadata.required("timezone")?),
        ..CronRule::default()
    })
}
