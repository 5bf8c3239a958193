//! The cron triggers of KEDA's ScaledObject, `keda.sh/v1alpha1`.
//!
//! The ScaledObject stays, with its other triggers: a CronHPA raises its bounds. One without others has
//! nothing more to do, and the CronHPA sets the replicas of its workload.

use serde_json::Value;

use super::converted::{Circumstances, Converted, MigrateError, Migrated};
use super::document::Fields;
use crate::cron_hpa::{CronHpaSpec, CronRule, HPA, ScaledRef};
use crate::kinds::{KEDA_MAX_REPLICAS, Kind};

pub(super) fn convert(
    document: &Value,
    _circumstances: &Circumstances<'_>,
) -> Result<Migrated, MigrateError> {
    let spec = &document["spec"];
    let name = document["metadata"]["name"].as_str();
    let name = name.ok_or_else(|| MigrateError::new("metadata.name", "is missing"))?;
    let count = |field: &str, default: i32| {
        let count = spec[field]
            .as_i64()
            .and_then(|count| i32::try_from(count).ok());
        count.unwrap_or(default)
    };
    let bounds = (
        count("minReplicaCount", 0),
        count("maxReplicaCount", KEDA_MAX_REPLICAS),
    );
    let triggers = spec["triggers"].as_array().map_or(&[][..], Vec::as_slice);
    let is_cron = |trigger: &&Value| trigger["type"] == "cron";
    let of_crons = triggers.iter().filter(is_cron).count();
    if of_crons == 0 {
        let message = "holds no trigger of type cron, and there is nothing to convert";
        return Err(MigrateError::new("spec.triggers", message));
    }
    let alone = of_crons == triggers.len();
    let mut notes = if alone {
        let min = bounds.0;
        vec![format!(
            "ScaledObject {name} has no other triggers: delete it before the CronHPA is there, which sets \
             the replicas of the workload itself; between windows those are its own, so set its replicas \
             to {min}, the minReplicaCount"
        )]
    } else {
        beside(name, bounds.0)
    };
    let mut crons = Vec::new();
    for (place, trigger) in triggers.iter().enumerate().filter(|(_, one)| is_cron(one)) {
        let path = format!("spec.triggers[{place}]");
        crons.push(rule(&path, trigger, bounds, &mut notes)?);
    }
    let converted = Converted {
        spec: CronHpaSpec {
            scale_target_ref: if alone {
                workload(spec)?
            } else {
                autoscaler(spec, name)
            },
            crons,
            ..CronHpaSpec::default()
        },
        notes,
    };
    converted.finish(document)
}

/// What to know of a CronHPA beside the other triggers of a ScaledObject.
fn beside(name: &str, min: i32) -> Vec<String> {
    let mut notes = vec![format!(
        "take the triggers of type cron out of ScaledObject {name} once the CronHPA is there; until then \
         the larger of both holds"
    )];
    if min == 0 {
        notes.push(
            "with minReplicaCount 0, KEDA scales to zero between windows; so it does with the CronHPA, \
             which puts minReplicaCount back"
                .to_owned(),
        );
    }
    notes
}

/// The HPA that KEDA makes for a ScaledObject of a name.
fn autoscaler(spec: &Value, name: &str) -> ScaledRef {
    let own = "/advanced/horizontalPodAutoscalerConfig/name";
    let hpa = spec.pointer(own).and_then(Value::as_str);
    ScaledRef {
        api_version: Some("autoscaling/v2".to_owned()),
        kind: HPA.to_owned(),
        name: hpa.map_or_else(|| format!("keda-hpa-{name}"), str::to_owned),
    }
}

/// The workload of a ScaledObject, a Deployment unless it says otherwise.
fn workload(spec: &Value) -> Result<ScaledRef, MigrateError> {
    let target = &spec["scaleTargetRef"];
    let text = |field: &str| target[field].as_str().map(str::to_owned);
    let name = text("name");
    Ok(ScaledRef {
        api_version: Some(text("apiVersion").unwrap_or_else(|| "apps/v1".to_owned())),
        kind: text("kind").unwrap_or_else(|| Kind::Deployment.as_str().to_owned()),
        name: name.ok_or_else(|| MigrateError::new("spec.scaleTargetRef.name", "is missing"))?,
    })
}

fn rule(
    path: &str,
    trigger: &Value,
    (min, max): (i32, i32),
    notes: &mut Vec<String>,
) -> Result<CronRule, MigrateError> {
    let known = ["type", "name", "metadata", "metricType", "useCachedMetrics"];
    let trigger = Fields::new(path, trigger, &known)?;
    let known = ["timezone", "start", "end", "desiredReplicas"];
    let metadata = Fields::new(trigger.at("metadata"), trigger.get("metadata"), &known)?;
    let written = metadata.required("desiredReplicas")?;
    let replicas: i32 = written.parse().map_err(|_| {
        let message = format!("{written:?} is no count of replicas");
        MigrateError::new(metadata.at("desiredReplicas"), message)
    })?;
    let held = replicas.min(max).max(min);
    if held != replicas {
        let place = metadata.at("desiredReplicas");
        notes.push(format!(
            "{place}: {replicas} is {held} within the bounds of {min} to {max}"
        ));
    }
    let (start, end) = (metadata.required("start")?, metadata.required("end")?);
    Ok(CronRule {
        name: trigger.text("name")?,
        start: Some(start),
        end: Some(end),
        replicas: Some(held),
        time_zone: Some(metadata.required("timezone")?),
        ..CronRule::default()
    })
}
