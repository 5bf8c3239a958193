//! The CronJob that Evenkeel runs for a HorizontalPortrait, made from the template in its spec.
//!
//! It runs in the namespace of the HorizontalPortrait, by the ServiceAccount that the template names or the
//! default one there, and is owned by the HorizontalPortrait, with which it goes. It is compared by a hash of what
//! it was made from: the API server fills in defaults, which are no change.

use evenkeel_api::portrait_spec::{JobTemplate, TemplateMeta};
use evenkeel_objects::kinds::Kind;
use evenkeel_units::fnv::fnv1a;
use serde_json::{Value, json};

use crate::specs::external_job::{JobError, check};
use crate::specs::horizontal_portrait::HorizontalPortrait;

/// On a CronJob, written: the hash of what it was made from.
pub const TEMPLATE_HASH: &str = "evenkeel.dev/template-hash";

/// The container that is told for which HorizontalPortrait it works.
const ALGORITHM: &str = "algorithm";

/// The longest name of a CronJob: its Jobs have eleven characters more.
const LONGEST_NAME: usize = 52;

/// The characters of a hash in a name.
const HASH: usize = 8;

/// The name of the CronJob of a HorizontalPortrait: its own, or the begin of a longer one with a hash of the whole.
pub fn job_name(portrait: &str) -> String {
    if portrait.len() <= LONGEST_NAME {
        return portrait.to_owned();
    }
    let hash = format!("{:016x}", fnv1a(portrait.as_bytes()));
    let begin: String = portrait.chars().take(LONGEST_NAME - HASH - 1).collect();
    format!("{}-{}", begin.trim_end_matches(['-', '.']), &hash[..HASH])
}

/// The CronJob of a HorizontalPortrait, with the hash of what it is made from.
///
/// # Errors
/// A template that is not accepted.
pub(super) fn cron_job(portrait: &HorizontalPortrait) -> Result<Value, JobError> {
    let (JobTemplate { metadata, .. }, mut spec) = check(&portrait.spec.portrait)?;
    let name = portrait.metadata.name.as_deref().unwrap_or_default();
    let namespace = portrait.metadata.namespace.as_deref().unwrap_or_default();
    if spec["concurrencyPolicy"].is_null() {
        // Two that work on one result would undo each other.
        spec["concurrencyPolicy"] = json!("Forbid");
    }
    tell(&mut spec, namespace, name);
    let TemplateMeta {
        mut labels,
        mut annotations,
    } = metadata.clone().unwrap_or_default();
    labels.insert(
        "app.kubernetes.io/managed-by".to_owned(),
        "evenkeel".to_owned(),
    );
    let made_from = json!([spec, labels, annotations]).to_string();
    let hash = format!("{:016x}", fnv1a(made_from.as_bytes()));
    annotations.insert(TEMPLATE_HASH.to_owned(), hash);
    let owner = Kind::HorizontalPortrait;
    Ok(json!({
        "apiVersion": Kind::CronJob.api_version(),
        "kind": Kind::CronJob.as_str(),
        "metadata": {
            "name": job_name(name),
            "namespace": namespace,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [{
                "apiVersion": owner.api_version(),
                "kind": owner.as_str(),
                "name": name,
                "uid": portrait.metadata.uid,
                "controller": true,
            }],
        },
        "spec": spec,
    }))
}

/// Tells the container of the algorithm for which HorizontalPortrait it works, where its author does not.
fn tell(spec: &mut Value, namespace: &str, name: &str) {
    let pod = &mut spec["jobTemplate"]["spec"]["template"]["spec"];
    let containers = pod["containers"].as_array_mut().into_iter().flatten();
    for container in containers.filter(|one| one["name"] == ALGORITHM) {
        if !container["env"].is_array() {
            container["env"] = json!([]);
        }
        let Some(env) = container["env"].as_array_mut() else {
            continue;
        };
        for (variable, value) in [("HP_NAMESPACE", namespace), ("HP_NAME", name)] {
            if !env.iter().any(|one| one["name"] == variable) {
                env.push(json!({"name": variable, "value": value}));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn portrait(edit: impl FnOnce(&mut Value)) -> HorizontalPortrait {
        let mut object = json!({
            "metadata": {"name": "web-predictive", "namespace": "shop", "uid": "u"},
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "web"},
                "portraitType": "Predictive",
                "algorithm": {"type": "ExternalJob", "externalJob": {
                    "job": {"type": "CronJob", "cronJob": {"template": {
                        "metadata": {"labels": {"team": "a"}},
                        "spec": {"schedule": "0/30 * * * *", "jobTemplate": {"spec": {"template": {"spec": {
                            "serviceAccountName": "algorithm", "restartPolicy": "OnFailure",
                            "containers": [{"name": "algorithm", "image": "example.com/algorithm:1"}],
                        }}}}}}}},
                    "resultSource": {"type": "ConfigMap"},
                }},
            },
        });
        edit(&mut object["spec"]["algorithm"]["externalJob"]);
        serde_json::from_value(object).unwrap()
    }

    fn hash(portrait: &HorizontalPortrait) -> Value {
        cron_job(portrait).unwrap()["metadata"]["annotations"][TEMPLATE_HASH].clone()
    }

    #[test]
    fn the_job_is_the_template_with_an_owner_and_the_name_of_its_portrait() {
        let job = cron_job(&portrait(|_| ())).unwrap();
        assert_eq!(
            job["metadata"]["ownerReferences"][0]["kind"],
            "HorizontalPortrait"
        );
        assert_eq!(job["metadata"]["labels"]["team"], "a");
        assert_eq!(job["spec"]["concurrencyPolicy"], "Forbid");
        let pod = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
        assert_eq!(pod["serviceAccountName"], "algorithm");
        assert_eq!(
            pod["containers"][0]["env"],
            json!([{"name": "HP_NAMESPACE", "value": "shop"}, {"name": "HP_NAME", "value": "web-predictive"}])
        );
    }

    #[test]
    fn another_template_has_another_hash_and_the_same_the_same() {
        let first = portrait(|_| ());
        assert_eq!(hash(&first), hash(&portrait(|_| ())));
        let other = portrait(|job| {
            job["job"]["cronJob"]["template"]["spec"]["schedule"] = json!("0 * * * *");
        });
        assert_ne!(hash(&first), hash(&other));
    }

    #[test]
    fn what_cannot_run_is_refused_with_its_place() {
        let refused = |edit: fn(&mut Value)| cron_job(&portrait(edit)).unwrap_err().to_string();
        let error = refused(|job| job["job"]["type"] = json!("Job"));
        assert!(error.contains("externalJob.job: accepted"), "{error}");
        let error = refused(|job| job["resultSource"]["type"] = json!("S3"));
        assert!(error.contains(".resultSource.type"), "{error}");
        let error = refused(|job| job["job"]["cronJob"]["template"]["spec"] = json!({}));
        assert!(error.contains(".template.spec.schedule"), "{error}");
        let error = refused(|job| {
            let pod =
                &mut job["job"]["cronJob"]["template"]["spec"]["jobTemplate"]["spec"]["template"];
            pod["spec"]["containers"][0]["image"] = Value::Null;
        });
        assert!(error.contains(".containers: accepted"), "{error}");
    }

    #[test]
    fn names_fit_and_differ() {
        assert_eq!(job_name("web-predictive"), "web-predictive");
        let [a, b] = ["a", "b"].map(|end| job_name(&("x".repeat(60) + end)));
        assert!(a.len() <= 52 && b.len() <= 52 && a != b, "{a} {b}");
    }
}
