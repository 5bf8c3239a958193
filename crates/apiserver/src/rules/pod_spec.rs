//! Defaults and checks of a Pod's spec, alone or in a template.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::error::Cause;
use crate::meta;
use crate::rules::names;
use evenkeel_quantity::Quantity;

pub(crate) const CONTAINERS: [&str; 2] = ["initContainers", "containers"];

pub(crate) fn defaults(spec: &mut Value) {
    for (field, value) in [
        ("restartPolicy", json!("Always")),
        ("dnsPolicy", json!("ClusterFirst")),
        ("schedulerName", json!("default-scheduler")),
        ("securityContext", json!({})),
        ("terminationGracePeriodSeconds", json!(30)),
    ] {
        meta::default(spec, field, value);
    }
    for list in CONTAINERS {
        for container in meta::each_mut(spec, list) {
            container_defaults(container);
        }
    }
    for volume in meta::each_mut(spec, "volumes") {
        volume_defaults(volume);
    }
}

fn container_defaults(container: &mut Value) {
    let policy = pull_policy(meta::text(container, "/image"));
    for (field, value) in [
        ("terminationMessagePath", json!("/dev/termination-log")),
        ("terminationMessagePolicy", json!("File")),
        ("imagePullPolicy", json!(policy)),
        ("resources", json!({})),
    ] {
        meta::default(container, field, value);
    }
    for port in meta::each_mut(container, "ports") {
        meta::default(port, "protocol", "TCP");
    }
    for variable in meta::each_mut(container, "env") {
        if let Some(reference) = variable.pointer_mut("/valueFrom/fieldRef") {
            meta::default(reference, "apiVersion", "v1");
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if container[probe].is_object() {
            probe_defaults(&mut container[probe]);
        } else {
            meta::remove(container, probe);
        }
    }
}

fn pull_policy(image: &str) -> &'static str {
    let name = image.rsplit('/').next().unwrap_or_default();
    let pinned = name.contains('@');
    match name.split_once(':') {
        Some((_, tag)) if tag != "latest" || pinned => "IfNotPresent",
        None if pinned => "IfNotPresent",
        _ => "Always",
    }
}

fn probe_defaults(probe: &mut Value) {
    for (field, value) in [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ] {
        meta::default(probe, field, value);
    }
    if probe.get("httpGet").is_some_and(Value::is_object) {
        meta::default(&mut probe["httpGet"], "path", "/");
        meta::default(&mut probe["httpGet"], "scheme", "HTTP");
    }
}

fn volume_defaults(volume: &mut Value) {
    for source in ["configMap", "secret", "downwardAPI", "projected"] {
        if volume.get(source).is_some_and(Value::is_object) {
            meta::default(&mut volume[source], "defaultMode", 0o644);
        }
    }
    if volume.get("hostPath").is_some_and(Value::is_object) {
        meta::default(&mut volume["hostPath"], "type", "");
    }
    if volume.as_object().is_some_and(|fields| fields.len() == 1) {
        volume["emptyDir"] = json!({});
    }
}

/// `at` is the spec's field path.
pub(crate) fn validate(spec: &Value, at: &str, causes: &mut Vec<Cause>) {
    if meta::list(spec, "/containers").is_empty() {
        causes.push(Cause::required(format!("{at}.containers"), ""));
    }
    let mut seen = BTreeSet::new();
    for list in CONTAINERS {
        for (index, container) in meta::list(&spec[list], "").iter().enumerate() {
            let at = format!("{at}.{list}[{index}]");
            if !seen.insert(meta::text(container, "/name")) {
                let field = format!("{at}.name");
                causes.push(Cause::invalid(field, &container["name"], "must be unique"));
            }
            validate_container(container, &at, causes);
        }
    }
    let policy = &spec["restartPolicy"];
    if !matches!(policy.as_str(), Some("Always" | "OnFailure" | "Never")) {
        let accepted = "\"Always\", \"Never\", \"OnFailure\"";
        causes.push(Cause::unsupported(
            format!("{at}.restartPolicy"),
            policy,
            accepted,
        ));
    }
}

fn validate_container(container: &Value, at: &str, causes: &mut Vec<Cause>) {
    let name = meta::text(container, "/name");
    if name.is_empty() {
        causes.push(Cause::required(format!("{at}.name"), ""));
    } else if !names::is_label(name) {
        let why = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
        causes.push(Cause::invalid(format!("{at}.name"), &name.into(), why));
    }
    if meta::text(container, "/image").is_empty() {
        causes.push(Cause::required(format!("{at}.image"), ""));
    }
    validate_resources(&container["resources"], &format!("{at}.resources"), causes);
}

/// Requests and limits; `at` is their field path.
pub(crate) fn validate_resources(resources: &Value, at: &str, causes: &mut Vec<Cause>) {
    for list in ["limits", "requests"] {
        for (name, amount) in meta::map(&resources[list], "").into_iter().flatten() {
            let field = format!("{at}.{list}[{name}]");
            if !is_resource(name) {
                let why = "must be a standard resource for containers";
                let field = format!("{at}.{list}");
                causes.push(Cause::invalid(field, &name.as_str().into(), why));
            }
            if quantity(amount).is_some_and(|q| q < zero()) {
                let why = "must be greater than or equal to 0";
                causes.push(Cause::invalid(field, amount, why));
            }
        }
    }
    for (name, request) in meta::map(resources, "/requests").into_iter().flatten() {
        let limit = resources["limits"].get(name);
        if quantity(request) > limit.and_then(quantity) && limit.is_some() {
            let text = limit.and_then(Value::as_str).unwrap_or_default();
            causes.push(Cause::invalid(
                format!("{at}.requests"),
                request,
                &format!("must be less than or equal to {name} limit of {text}"),
            ));
        }
    }
}

fn is_resource(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage")
        || name.starts_with("hugepages-")
        || (name.contains('/') && names::is_qualified(name))
}

fn zero() -> Quantity {
    "0".parse().expect("0 is a quantity")
}

fn quantity(value: &Value) -> Option<Quantity> {
    value.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_without_a_version_are_pulled_always() {
        for (image, policy) in [
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("nginx:1.27", "IfNotPresent"),
            ("host:5000/nginx", "Always"),
            ("nginx@sha256:ab", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }

    #[test]
    fn resources_are_checked() {
        for (resources, mistakes) in [
            (
                json!({"requests": {"cpu": "1"}, "limits": {"cpu": "1000m"}}),
                0,
            ),
            (json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}), 1),
            (json!({"requests": {"fish": "2"}}), 1),
            (
                json!({"limits": {"vendor.io/fish": "2", "memory": "-1"}}),
                1,
            ),
        ] {
            let mut causes = Vec::new();
            validate_resources(&resources, "r", &mut causes);
            assert_eq!(causes.len(), mistakes, "{resources}: {causes:?}");
        }
    }
}
