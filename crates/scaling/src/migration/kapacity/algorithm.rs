//! The algorithm of a dynamic portrait.

use evenkeel_objects::duration;
use jiff::SignedDuration;
use serde_json::{Value, json};

/// Kapacity's image for predictive portraits, the default of its controller.
const IMAGE: &str = "ghcr.io/traas-stack/kapacity-algorithm-horizontal-predictive";

/// The container that it does so for.
const CONTAINER: &str = "algorithm";

/// The HPA algorithm's settings that are the same for all targets here, with their values.
const FIXED: [(&str, SignedDuration); 3] = [
    ("syncPeriod", SignedDuration::from_secs(15)),
    ("cpuInitializationPeriod", SignedDuration::from_mins(5)),
    ("initialReadinessDelay", SignedDuration::from_secs(30)),
];

/// Changes what is otherwise here in the spec of a portrait at a path.
pub(super) fn take_algorithm(path: &str, spec: &mut Value, notes: &mut Vec<String>) {
    let algorithm = &mut spec["algorithm"];
    if let Some(kube_hpa) = algorithm["kubeHPA"].as_object_mut() {
        for (field, fixed) in FIXED {
            let Some(value) = kube_hpa.remove(field) else {
                continue;
            };
            if value.as_str().and_then(duration::parse) != Some(fixed) {
                notes.push(format!(
                    "{path}.algorithm.kubeHPA.{field} {value} is left out: it is {fixed:#} for all \
                     targets, as in Kubernetes"
                ));
            }
        }
        if kube_hpa.is_empty() {
            remove(algorithm, "kubeHPA");
        }
    } else {
        remove_null(algorithm, "kubeHPA");
    }
    remove_null(algorithm, "externalJob");
    remove_null(algorithm, "config");
    if algorithm["type"] == "ExternalJob" {
        take_job(path, algorithm, notes);
    }
    if algorithm.is_null() {
        remove(spec, "algorithm");
    }
}

fn take_job(path: &str, algorithm: &mut Value, notes: &mut Vec<String>) {
    let path = format!("{path}.algorithm.externalJob.job.cronJob.template");
    let pod = "/externalJob/job/cronJob/template/spec/jobTemplate/spec/template/spec";
    let Some(pod) = algorithm.pointer_mut(pod) else {
        return;
    };
    let containers = pod["containers"].as_array_mut();
    for container in containers.into_iter().flatten() {
        if container["name"] == CONTAINER && container["image"].is_null() {
            container["image"] = json!(IMAGE);
            notes.push(format!(
                "{path}: the container {CONTAINER} names no image and gets {IMAGE}, as from \
                 Kapacity's controller: set the version that it ran with"
            ));
        }
    }
    if pod["serviceAccountName"].is_null() {
        notes.push(format!(
            "{path}: the job runs as the default ServiceAccount of the namespace; name one that \
             may read the HorizontalPortrait and write the ConfigMap of its result"
        ));
    }
    notes.push(format!(
        "{path}: the job runs in the namespace of the autoscaler, not in that of the controller: \
         what it mounts must exist there"
    ));
    notes.push(format!(
        "{path}: Kapacity's own algorithm reads the HorizontalPortrait of its own group, {}: keep \
         that object too, or use algorithm type Forecast, which needs no job",
        "autoscaling.kapacitystack.io"
    ));
}

fn remove(value: &mut Value, field: &str) {
    if let Some(fields) = value.as_object_mut() {
        fields.remove(field);
    }
}

fn remove_null(value: &mut Value, field: &str) {
    if value.is_object() && value[field].is_null() {
        remove(value, field);
    }
}
