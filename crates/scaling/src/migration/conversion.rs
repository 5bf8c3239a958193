//! The result of a conversion, and its circumstances.

use evenkeel_api::cron_hpa::spec::CronHpaSpec;
use evenkeel_objects::kinds::Kind;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::specs::cron_hpa::check;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct MigrateError {
    /// The place of what is not converted, such as `spec.jobs[0].schedule`.
    pub path: String,
    pub message: String,
}

impl MigrateError {
    pub(super) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ConvertedManifest {
    pub manifest: Value,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    pub now: Timestamp,
    /// The zone in which schedules were read that name none, where the caller knows it.
    pub time_zone: Option<&'a str>,
}

/// The spec of a CronHPA with what there is to know of it.
pub(super) struct CronHpaConversion {
    pub(super) spec: CronHpaSpec,
    pub(super) notes: Vec<String>,
}

impl CronHpaConversion {
    /// Its manifest, with the source's name, labels and annotations.
    pub(super) fn finish(self, document: &Value) -> Result<ConvertedManifest, MigrateError> {
        let Self { spec, notes } = self;
        check(&spec).map_err(|error| MigrateError::new("as a CronHPA", error.to_string()))?;
        let spec = serde_json::to_value(spec);
        let spec = spec.map_err(|error| MigrateError::new("spec", error.to_string()))?;
        let manifest = manifest(Kind::CronHpa, &spec, document);
        Ok(ConvertedManifest { manifest, notes })
    }

    /// Says in which zone schedules count that name none.
    pub(super) fn with_zone(mut self, circumstances: &Circumstances<'_>, product: &str) -> Self {
        let own = |text: &Option<String>| {
            text.as_deref().is_none_or(|text| {
                let text = text.trim_start();
                text.starts_with("CRON_TZ=") || text.starts_with("TZ=")
            })
        };
        let crons = &self.spec.crons;
        if crons.iter().all(|cron| own(&cron.schedule)) && self.spec.exclude_dates.is_empty() {
            return self;
        }
        let zone = circumstances.time_zone.unwrap_or("UTC");
        self.spec.time_zone = Some(zone.to_owned());
        if circumstances.time_zone.is_none() {
            self.notes.push(format!(
                "schedules without a time zone are in UTC; {product} reads them in the zone of its \
                 controller's process: if that is another zone, set --time-zone"
            ));
        }
        self
    }
}

/// The manifest of a kind of Evenkeel's, with the source's name, labels and annotations.
pub(super) fn manifest(kind: Kind, spec: &Value, document: &Value) -> Value {
    let mut metadata = json!({});
    for key in ["name", "namespace", "labels", "annotations"] {
        let value = &document["metadata"][key];
        if !value.is_null() {
            metadata[key] = value.clone();
        }
    }
    if let Some(annotations) = metadata["annotations"].as_object_mut() {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        annotations.retain(|name, _| !is_kedas(name));
    }
    let empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
    if let Some(fields) = metadata.as_object_mut() {
        fields.retain(|_, value| !value.is_null() && !empty(value));
    }
    json!({
        "apiVersion": kind.api_version(),
        "kind": kind.as_str(),
        "metadata": metadata,
        "spec": spec,
    })
}

/// The notes on metadata that has a meaning and is not carried over, a sentence each.
pub(super) fn left_out(document: &Value) -> Vec<String> {
    let metadata = &document["metadata"];
    let names = |field: &str, name: fn(&Value) -> Option<&str>| -> Vec<String> {
        let all = metadata[field].as_array().into_iter().flatten();
        all.filter_map(name).map(str::to_owned).collect()
    };
    let owners = names("ownerReferences", |owner| owner["name"].as_str());
    let finalizers = names("finalizers", |name| {
        name.as_str().filter(|name| !name.contains("keda.sh"))
    });
    let mut notes = Vec::new();
    if !owners.is_empty() {
        notes.push(format!(
            "metadata.ownerReferences is left out: its owner ({}) creates the original and does \
             not know this object",
            owners.join(", ")
        ));
    }
    if !finalizers.is_empty() {
        let names = finalizers.join(", ");
        notes.push(format!(
            "metadata.finalizers is left out: only the other product removes {names}"
        ));
    }
    notes
}

/// The note for every product with runs that set bounds or replicas for good.
pub(super) const PUT_BACK: &str = "the change of a run holds until the next run, or until the \
    CronHPA is suspended or deleted, and is then put back; the other product leaves bounds and \
    replicas as the run set them";

/// True for an annotation that says something to KEDA alone.
pub(in crate::migration) fn is_kedas(name: &str) -> bool {
    let domain = name.split_once('/').map_or("", |(domain, _)| domain);
    domain == "keda.sh" || domain.ends_with(".keda.sh")
}
