//! The setters of an HPA's bounds beside its user, in sentences for `explain hpa`: floors and
//! CronHPAs by the record of the bounds, KEDA and other owners by the owner reference.

use evenkeel_api::cron_hpa::spec::ScaledRef;
use evenkeel_hpa::autoscaler::{Autoscaler, ScaleTarget};
use evenkeel_objects::annotations::{BOUNDS, MAX_REPLICAS, MIN_REPLICAS};
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use evenkeel_objects::truncate::{OF_VALUE, excerpt};
use jiff::Timestamp;

use super::scaled_object::ScaledObject;
use crate::bounds_record::BoundsRecord;
use crate::bounds_record::annotation::BoundsAnnotation;
use crate::merge::recommendation::{Ask, Provider, Recommendation};
use crate::specs::cron_hpa::CronHpa;
use crate::specs::ihpa::Ihpa;

/// The objects of one namespace that may set an HPA's bounds.
#[derive(Debug, Default)]
pub struct BoundSetters {
    /// The ScaledObject that controls the HPA, if it was read.
    pub scaled_object: Option<ScaledObject>,
    pub cron_hpas: Vec<CronHpa>,
    pub ihpas: Vec<Ihpa>,
}

impl BoundSetters {
    /// A sentence for each setter of the bounds of `hpa`.
    pub fn sentences(&self, hpa: &Autoscaler, now: Timestamp) -> Vec<String> {
        let mut all = contributions(&hpa.metadata, now);
        for (key, field) in [(MIN_REPLICAS, "minReplicas"), (MAX_REPLICAS, "maxReplicas")] {
            let value = hpa.metadata.annotation(key);
            let value = value.map(|value| excerpt(value, OF_VALUE));
            all.extend(value.map(|value| format!("The annotation {key} sets {field} to {value}.")));
        }
        all.extend(self.owner(hpa, now));
        all.extend(self.crons(hpa, now));
        all.extend(self.portraits(hpa));
        all
    }

    fn owner(&self, hpa: &Autoscaler, now: Timestamp) -> Vec<String> {
        let Some(owner) = hpa.metadata.controller() else {
            return Vec::new();
        };
        let name = &owner.name;
        if Kind::of(&owner.api_version, &owner.kind) != Some(Kind::ScaledObject) {
            let kind = &owner.kind;
            return vec![format!(
                "{kind} {name} controls the HPA, and may set its bounds."
            )];
        }
        let mut all = vec![format!("KEDA sets both bounds from ScaledObject {name}.")];
        if let Some(scaled_object) = &self.scaled_object {
            all.extend(contributions(&scaled_object.metadata, now));
            if scaled_object.is_paused() {
                all.push(format!("ScaledObject {name} is paused."));
            }
        }
        all
    }

    /// The records of the bounds that count: of the HPA, and of the ScaledObject that controls it.
    fn records(&self, hpa: &Autoscaler) -> Vec<BoundsRecord> {
        let scaled_object = self.scaled_object.iter().map(|one| &one.metadata);
        let carriers = std::iter::once(&hpa.metadata).chain(scaled_object);
        let found = carriers.filter_map(|one| BoundsAnnotation::of(one)?.ok());
        found.map(|annotation| annotation.record).collect()
    }

    /// CronHPAs that name the HPA and ask for nothing at present.
    fn crons(&self, hpa: &Autoscaler, now: Timestamp) -> Vec<String> {
        let records = self.records(hpa);
        let contributes = |name: &str| {
            let provider = Provider::Cron(name.to_owned());
            let contributions = records.iter().map(|record| &record.contributions);
            let mut own = contributions.filter_map(|all| all.of(&provider));
            own.any(|contribution| contribution.counts(now))
        };
        let scaling = self.cron_hpas.iter().filter(|cron| {
            let target = &cron.spec.scale_target_ref;
            let is_hpa = target.is_hpa() && Some(&target.name) == hpa.metadata.name.as_ref();
            is_hpa || is_target(target, &hpa.spec.scale_target_ref)
        });
        let names = scaling.filter_map(|cron| cron.metadata.name.as_deref());
        let silent = names.filter(|name| !contributes(name));
        silent
            .map(|name| format!("CronHPA {name} scales this target, and sets no bound now."))
            .collect()
    }

    fn portraits(&self, hpa: &Autoscaler) -> Vec<String> {
        let same = self
            .ihpas
            .iter()
            .filter(|ihpa| is_target(&ihpa.spec.scale_target_ref, &hpa.spec.scale_target_ref));
        let names = same.filter_map(|ihpa| ihpa.metadata.name.as_deref());
        names
            .map(|name| {
                format!("IntelligentHorizontalPodAutoscaler {name} scales the same workload.")
            })
            .collect()
    }
}

fn is_target(named: &ScaledRef, target: &ScaleTarget) -> bool {
    let group = |api_version: &str| match api_version.split_once('/') {
        Some((group, _)) => group.to_owned(),
        None => String::new(),
    };
    named.kind == target.kind
        && named.name == target.name
        && group(named.api_version()) == group(&target.api_version)
}

/// The contributions in the record of the bounds.
fn contributions(metadata: &Meta, now: Timestamp) -> Vec<String> {
    let record = match BoundsAnnotation::of(metadata) {
        Some(Ok(annotation)) => annotation.record,
        Some(Err(error)) => return vec![format!("The annotation {BOUNDS} is ignored: {error}.")],
        None => return Vec::new(),
    };
    let counting = record.contributions.iter().filter(|one| one.counts(now));
    let mut all: Vec<_> = counting.filter_map(contribution).collect();
    if all.is_empty() {
        return all;
    }
    if record.contested {
        return vec![
            "Another writer reverts the bounds, so Evenkeel leaves them to it (FloorContested)."
                .to_owned(),
        ];
    }
    let min = record.user.min.unwrap_or(1);
    let max = record.user.max;
    all.push(format!("The user's own bounds are {min} and {max}."));
    all
}

fn contribution(contribution: &Recommendation) -> Option<String> {
    let Recommendation { by, ask, until, .. } = contribution;
    let who = match by {
        Provider::Prediction => "Evenkeel's floor".to_owned(),
        Provider::Cron(name) => format!("CronHPA {name}"),
        Provider::Other(name) => name.to_string(),
    };
    let bounds = match ask {
        Ask::AtLeast { min, max } => {
            let min = min.map(|min| format!("minReplicas to {min}"));
            let max = max.map(|max| format!("maxReplicas to {max}"));
            min.into_iter().chain(max).collect::<Vec<_>>().join(" and ")
        }
        Ask::Exactly(replicas) => format!("the count to {replicas}"),
        Ask::Unavailable(_) => return None,
    };
    let until = until.map(|until| format!(" until {until:.0}"));
    let until = until.unwrap_or_default();
    Some(format!("{who} sets {bounds}{until}."))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn now() -> Timestamp {
        "2026-03-01T10:00:00Z".parse().unwrap()
    }

    fn hpa(annotations: &Value, owners: &Value) -> Autoscaler {
        serde_json::from_value(json!({
            "metadata": {"name": "web", "namespace": "shop", "annotations": annotations,
                "ownerReferences": owners, "managedFields": [{"manager": "evenkeel",
                    "fieldsV1": {"f:metadata": {"f:annotations": {"f:evenkeel.dev/bounds": {}}}}}]},
            "spec": {"maxReplicas": 20, "scaleTargetRef":
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
        }))
        .unwrap()
    }

    fn record_text(contested: bool) -> String {
        json!({"user": {"min": 2, "max": 20}, "written": {"min": 9, "max": 20},
            "contributions": {
                "prediction": {"min": 9, "until": "2026-03-01T10:05:00Z"},
                "cron/day": {"min": 4, "max": 25, "until": "2026-03-01T18:00:00Z"},
                "cron/night": {"min": 3, "until": "2026-03-01T09:00:00Z"}},
            "contested": contested})
        .to_string()
    }

    #[test]
    fn contributions_that_count_are_named_with_their_end() {
        let floored = hpa(&json!({BOUNDS: record_text(false)}), &json!([]));
        assert_eq!(
            BoundSetters::default().sentences(&floored, now()),
            [
                "CronHPA day sets minReplicas to 4 and maxReplicas to 25 until \
                 2026-03-01T18:00:00Z.",
                "Evenkeel's floor sets minReplicas to 9 until 2026-03-01T10:05:00Z.",
                "The user's own bounds are 2 and 20.",
            ]
        );
        let contested = hpa(&json!({BOUNDS: record_text(true)}), &json!([]));
        let told = BoundSetters::default().sentences(&contested, now());
        assert!(
            told.len() == 1 && told[0].contains("FloorContested"),
            "{told:?}"
        );
        let free = hpa(&json!({}), &json!([]));
        assert!(BoundSetters::default().sentences(&free, now()).is_empty());
    }

    #[test]
    fn owners_and_objects_of_the_same_target_are_named() {
        let keda = json!([{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "name": "web", "uid": "u", "controller": true}]);
        let cron = |kind: &str| {
            let target = json!({"apiVersion": "autoscaling/v2", "kind": kind, "name": "web"});
            serde_json::from_value(json!({"metadata": {"name": "day"},
                "spec": {"scaleTargetRef": target, "crons": []}}))
            .unwrap()
        };
        let setters = BoundSetters {
            scaled_object: None,
            cron_hpas: vec![cron("HorizontalPodAutoscaler"), cron("Deployment")],
            ihpas: Vec::new(),
        };
        let annotated = json!({MIN_REPLICAS: "3"});
        assert_eq!(
            setters.sentences(&hpa(&annotated, &keda), now()),
            [
                "The annotation evenkeel.dev/min-replicas sets minReplicas to 3.",
                "KEDA sets both bounds from ScaledObject web.",
                "CronHPA day scales this target, and sets no bound now.",
            ]
        );
    }

    #[test]
    fn a_record_of_another_writer_is_named() {
        let mut copied = hpa(&json!({BOUNDS: record_text(false)}), &json!([]));
        copied.metadata.own_records.bounds = false;
        let told = BoundSetters::default().sentences(&copied, now());
        assert!(told[0].contains("was not written by evenkeel"), "{told:?}");
    }

    /// CronHPAs contribute to the record of the HPA, or of the ScaledObject that controls it.
    #[test]
    fn a_cron_hpa_is_silent_only_if_no_record_that_counts_has_it() {
        let keda = json!([{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "name": "web", "uid": "u", "controller": true}]);
        let carrier = |is_own: bool| {
            let recorded = hpa(&json!({BOUNDS: record_text(false)}), &json!([]));
            let mut metadata = recorded.metadata;
            metadata.own_records.bounds = is_own;
            metadata
        };
        for (cron, on_hpa, on_scaled_object, is_silent) in [
            ("day", None, Some(true), false),
            ("day", Some(true), None, false),
            ("day", None, Some(false), true),
            ("day", Some(false), None, true),
            ("day", None, None, true),
            ("night", None, Some(true), true),
            ("night", Some(true), None, true),
        ] {
            let mut autoscaler = hpa(&json!({}), &keda);
            if let Some(is_own) = on_hpa {
                let owners = autoscaler.metadata.owner_references.clone();
                autoscaler.metadata = carrier(is_own);
                autoscaler.metadata.owner_references = owners;
            }
            let cron_hpa = json!({"metadata": {"name": cron}, "spec": {"crons": [],
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
            let setters = BoundSetters {
                scaled_object: on_scaled_object.map(|is_own| ScaledObject {
                    metadata: carrier(is_own),
                    ..ScaledObject::default()
                }),
                cron_hpas: vec![serde_json::from_value(cron_hpa).unwrap()],
                ihpas: Vec::new(),
            };
            let silent = format!("CronHPA {cron} scales this target, and sets no bound now.");
            let told = setters.sentences(&autoscaler, now());
            assert_eq!(told.contains(&silent), is_silent, "{cron}: {told:?}");
        }
    }
}
