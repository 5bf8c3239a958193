//! Kapacity's IntelligentHorizontalPodAutoscaler, HorizontalPortrait and ReplicaProfile,
//! `autoscaling.kapacitystack.io/v1alpha1`. Most fields have the same names, so a spec is taken
//! over as it is. Fields that Kapacity's definition lacks are refused, and the result is checked as
//! any user's object.

mod algorithm;
mod checkers;

use evenkeel_api::custom_resources::unknown_fields;
use evenkeel_api::horizontal_portrait::spec::HorizontalPortraitSpec;
use evenkeel_api::ihpa::spec::IhpaSpec;
use evenkeel_api::replica_profile::ReplicaProfileSpec;
use evenkeel_objects::kinds::Kind;
use serde_json::{Value, json};

use self::algorithm::take_algorithm;
use self::checkers::take_checkers;
use super::conversion::{Circumstances, ConvertedManifest, MigrateError, manifest};
use super::document::{ManifestFields, lost};
use super::windows;
use super::windows::Product;
use crate::specs::ihpa::check;

pub(super) fn convert_ihpa(
    document: &Value,
    circumstances: &Circumstances<'_>,
) -> Result<ConvertedManifest, MigrateError> {
    let mut spec = document["spec"].clone();
    let mut notes = vec![
        "if windows of a Cron portrait overlap, the larger count applies; Kapacity reports an \
         error"
            .to_owned(),
        "if a portrait fails, the others still count; in Kapacity a failed portrait stops all"
            .to_owned(),
    ];
    let providers = spec["portraitProviders"].as_array_mut();
    for (place, provider) in providers.into_iter().flatten().enumerate() {
        let path = format!("spec.portraitProviders[{place}]");
        check_windows(&format!("{path}.cron"), &provider["cron"], circumstances)?;
        let path = format!("{path}.dynamic");
        if provider["dynamic"].is_object() {
            take_algorithm(&path, &mut provider["dynamic"], &mut notes);
        }
    }
    take_checkers(&mut spec, &mut notes);
    if let Some(behavior) = spec.get_mut("behavior") {
        take_profile_behavior(behavior, "replicaProfile", "spec.behavior.replicaProfile")?;
    }
    let migrated = finish(Kind::Ihpa, &spec, notes, document)?;
    let spec: IhpaSpec = read(&migrated.manifest["spec"])?;
    check(&spec).map_err(|error| MigrateError::new("as it would be", error.to_string()))?;
    Ok(migrated)
}

pub(super) fn convert_portrait(
    document: &Value,
    _circumstances: &Circumstances<'_>,
) -> Result<ConvertedManifest, MigrateError> {
    let mut spec = document["spec"].clone();
    let mut notes = vec![
        "Evenkeel creates missing HorizontalPortraits of an autoscaler: this one is needed only if \
         it has something that the autoscaler does not have"
            .to_owned(),
    ];
    take_algorithm("spec", &mut spec, &mut notes);
    let migrated = finish(Kind::HorizontalPortrait, &spec, notes, document)?;
    let mut migrated = migrated;
    let spec: HorizontalPortraitSpec = read(&migrated.manifest["spec"])?;
    if spec.portrait.is_built_in() {
        migrated.notes.push(
            "it is not read: Evenkeel makes reactive portraits and its own forecasts in the \
             autoscaler itself and shows them in its status"
                .to_owned(),
        );
    } else if spec.portrait.external_generator_name.is_none() {
        let checked = crate::specs::external_job::check(&spec.portrait);
        checked.map_err(|error| MigrateError::new("as it would be", error.to_string()))?;
    }
    Ok(migrated)
}

pub(super) fn convert_profile(
    document: &Value,
    _circumstances: &Circumstances<'_>,
) -> Result<ConvertedManifest, MigrateError> {
    let mut spec = document["spec"].clone();
    let notes = vec![
        "a Pod takes no traffic for behavior.drainSeconds (30 by default) before it is deleted, \
         and requests of Pods on standby are lowered in place; in Kapacity, standby is only a \
         label"
            .to_owned(),
        "Pods are cut off by the readiness gate and the label of evenkeel.dev: new Pods get the \
         gate automatically, and the label kapacitystack.io/inject-pod-readiness-gate of their \
         template can be removed"
            .to_owned(),
        "an IntelligentHorizontalPodAutoscaler creates its own, so you need not apply it"
            .to_owned(),
    ];
    take_profile_behavior(&mut spec, "behavior", "spec.behavior")?;
    let migrated = finish(Kind::ReplicaProfile, &spec, notes, document)?;
    let spec: ReplicaProfileSpec = read(&migrated.manifest["spec"])?;
    let checked = evenkeel_api::replica_profile::check(&spec);
    checked.map_err(|error| MigrateError::new("as it would be", error.to_string()))?;
    Ok(migrated)
}

/// Takes over the behaviour of a ReplicaProfile, a field of `parent` at a path. External parts are
/// refused: Kapacity declares them and does not implement them either.
fn take_profile_behavior(parent: &mut Value, field: &str, path: &str) -> Result<(), MigrateError> {
    let Some(fields) = parent.as_object_mut() else {
        return Ok(());
    };
    let Some(behavior) = fields.get_mut(field).filter(|found| !found.is_null()) else {
        fields.remove(field);
        return Ok(());
    };
    for part in ["podSorter", "podTrafficController"] {
        if behavior[part]["type"] == "External" {
            let message = "External is not implemented, in Kapacity neither, and cannot be \
                converted; leave it out";
            return Err(MigrateError::new(format!("{path}.{part}.type"), message));
        }
        // Kapacity's own schema says null for what is not external.
        let fields = behavior.get_mut(part).and_then(Value::as_object_mut);
        if let Some(fields) = fields {
            fields.retain(|_, value| !value.is_null());
        }
    }
    Ok(())
}

/// Refuses windows that Kapacity opens at other hours, in the field `crons` at a path.
fn check_windows(
    path: &str,
    cron: &Value,
    circumstances: &Circumstances<'_>,
) -> Result<(), MigrateError> {
    let crons = cron["crons"].as_array();
    for (place, window) in crons.into_iter().flatten().enumerate() {
        let [start, end] = ["start", "end"].map(|field| window[field].as_str());
        if let Some(schedules) = start.zip(end) {
            let known = [
                "name",
                "description",
                "timeZone",
                "start",
                "end",
                "replicas",
            ];
            let fields = ManifestFields::new(format!("{path}.crons[{place}]"), window, &known)?;
            windows::check(Product::Kapacity, &fields, schedules, circumstances.now)?;
        }
    }
    Ok(())
}

fn read<T: serde::de::DeserializeOwned>(spec: &Value) -> Result<T, MigrateError> {
    serde_json::from_value(spec.clone())
        .map_err(|error| MigrateError::new("spec", error.to_string()))
}

pub(super) fn finish(
    kind: Kind,
    spec: &Value,
    notes: Vec<String>,
    document: &Value,
) -> Result<ConvertedManifest, MigrateError> {
    let manifest = manifest(kind, spec, document);
    let known = json!({"spec": manifest["spec"]});
    let unknown = unknown_fields(kind, &known);
    if !unknown.is_empty() {
        return Err(lost(
            &unknown,
            "accepted: the fields of Kapacity's own definition",
        ));
    }
    Ok(ConvertedManifest { manifest, notes })
}
