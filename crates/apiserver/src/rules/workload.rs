//! Workloads: defaults of workloads and Pod templates, and the check that a selector selects its
//! template.

use serde_json::{Value, json};

use crate::error::Cause;
use crate::meta;
use crate::rules::pod_spec;
use crate::selector::ListSelector;

fn template(object: &mut Value) -> &mut Value {
    let spec = meta::child(object, "spec");
    let template = meta::child(meta::child(spec, "template"), "spec");
    pod_spec::defaults(template);
    spec
}

fn fill(spec: &mut Value, values: &[(&str, Value)]) {
    for (field, value) in values {
        meta::default(spec, field, value.clone());
    }
}

pub(super) fn deployment_defaults(deployment: &mut Value) {
    let spec = template(deployment);
    fill(
        spec,
        &[
            ("replicas", json!(1)),
            ("revisionHistoryLimit", json!(10)),
            ("progressDeadlineSeconds", json!(600)),
        ],
    );
    let strategy = meta::child(spec, "strategy");
    meta::default(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        let rolling = meta::child(strategy, "rollingUpdate");
        fill(
            rolling,
            &[("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))],
        );
    }
}

pub(super) fn replica_set_defaults(replica_set: &mut Value) {
    meta::default(template(replica_set), "replicas", 1);
}

pub(super) fn stateful_set_defaults(stateful_set: &mut Value) {
    let spec = template(stateful_set);
    fill(
        spec,
        &[
            ("replicas", json!(1)),
            ("revisionHistoryLimit", json!(10)),
            ("podManagementPolicy", json!("OrderedReady")),
            (
                "persistentVolumeClaimRetentionPolicy",
                json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
            ),
        ],
    );
    let strategy = meta::child(spec, "updateStrategy");
    meta::default(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        meta::default(meta::child(strategy, "rollingUpdate"), "partition", 0);
    }
}

pub(super) fn daemon_set_defaults(daemon_set: &mut Value) {
    let spec = template(daemon_set);
    meta::default(spec, "revisionHistoryLimit", 10);
    let strategy = meta::child(spec, "updateStrategy");
    meta::default(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        let rolling = meta::child(strategy, "rollingUpdate");
        fill(
            rolling,
            &[("maxUnavailable", json!(1)), ("maxSurge", json!(0))],
        );
    }
}

pub(super) fn job_defaults(job: &mut Value) {
    job_spec(template(job));
}

/// A Job selects its Pods by its UID.
pub(super) fn job_complete(job: &mut Value) {
    let uid = meta::uid(job).to_owned();
    let name = meta::name(job).to_owned();
    let spec = meta::child(job, "spec");
    if spec["manualSelector"] == true {
        return;
    }
    spec["selector"] = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}});
    let labels = meta::child(meta::child(&mut spec["template"], "metadata"), "labels");
    for prefix in ["batch.kubernetes.io/", ""] {
        labels[format!("{prefix}controller-uid")] = uid.as_str().into();
        labels[format!("{prefix}job-name")] = name.as_str().into();
    }
}

fn job_spec(spec: &mut Value) {
    fill(
        spec,
        &[
            ("parallelism", json!(1)),
            ("backoffLimit", json!(6)),
            ("completionMode", json!("NonIndexed")),
            ("suspend", json!(false)),
            ("manualSelector", json!(false)),
            ("podReplacementPolicy", json!("TerminatingOrFailed")),
        ],
    );
    let parallelism = spec["parallelism"].clone();
    if parallelism == 1 {
        meta::default(spec, "completions", parallelism);
    }
}

pub(super) fn cron_job_defaults(cron_job: &mut Value) {
    let spec = meta::child(cron_job, "spec");
    fill(
        spec,
        &[
            ("concurrencyPolicy", json!("Allow")),
            ("suspend", json!(false)),
            ("successfulJobsHistoryLimit", json!(3)),
            ("failedJobsHistoryLimit", json!(1)),
        ],
    );
    template(meta::child(spec, "jobTemplate"));
}

pub(super) fn validate(workload: &Value, causes: &mut Vec<Cause>) {
    let spec = &workload["spec"];
    pod_spec::validate(&spec["template"]["spec"], "spec.template.spec", causes);
    let replicas = meta::number(spec, "/replicas").unwrap_or_default();
    if replicas < 0 {
        let why = "must be greater than or equal to 0";
        causes.push(Cause::invalid("spec.replicas", &replicas.into(), why));
    }
    let labels = meta::map(spec, "/template/metadata/labels");
    let selection = ListSelector::from_object(&spec["selector"]);
    if selection.is_everything() {
        causes.push(Cause::required("spec.selector", ""));
    } else if !selection.matches_labels(labels) {
        let why = "`selector` does not match template `labels`";
        let labels = &spec["template"]["metadata"]["labels"];
        causes.push(Cause::invalid("spec.template.metadata.labels", labels, why));
    }
    let policy = &spec["template"]["spec"]["restartPolicy"];
    if policy != "Always" {
        let field = "spec.template.spec.restartPolicy";
        causes.push(Cause::unsupported(field, policy, "\"Always\""));
    }
}

pub(super) fn validate_update(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    if old["spec"]["selector"] != new["spec"]["selector"] {
        let why = "field is immutable";
        causes.push(Cause::invalid(
            "spec.selector",
            &new["spec"]["selector"],
            why,
        ));
    }
}

pub(super) fn validate_job(job: &Value, causes: &mut Vec<Cause>) {
    let spec = &job["spec"]["template"]["spec"];
    pod_spec::validate(spec, "spec.template.spec", causes);
    if spec["restartPolicy"] == "Always" {
        let field = "spec.template.spec.restartPolicy";
        causes.push(Cause::required(
            field,
            "valid values: \"OnFailure\", \"Never\"",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(label: &str) -> Value {
        let mut deployment = json!({"spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": label}}, "spec": {"containers": [
                {"name": "a", "image": "a"}]}},
        }});
        deployment_defaults(&mut deployment);
        deployment
    }

    #[test]
    fn deployments_are_filled_in() {
        let spec = &deployment("web")["spec"];
        assert_eq!(spec["replicas"], 1);
        assert_eq!(spec["strategy"]["rollingUpdate"]["maxSurge"], "25%");
        assert_eq!(spec["template"]["spec"]["dnsPolicy"], "ClusterFirst");
    }

    #[test]
    fn a_selector_selects_its_template_and_stays() {
        for (label, mistakes) in [("web", 0), ("api", 1)] {
            let mut causes = Vec::new();
            validate(&deployment(label), &mut causes);
            assert_eq!(causes.len(), mistakes, "{causes:?}");
        }
        let mut other = deployment("web");
        other["spec"]["selector"]["matchLabels"]["app"] = "api".into();
        let mut causes = Vec::new();
        validate_update(&deployment("web"), &other, &mut causes);
        assert_eq!(causes.len(), 1);
    }
}
