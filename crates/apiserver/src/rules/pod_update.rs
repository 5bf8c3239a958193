//! Allowed changes of a Pod: few by an update, resources by a resize.

use serde_json::Value;

use crate::error::Cause;
use crate::meta;
use crate::rules::pod::qos_class;
use crate::rules::pod_spec;
use crate::rules::pod_spec::CONTAINERS;

const UPDATE: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const RESIZE: &str = "only cpu and memory resources are mutable";

pub(super) fn validate(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let mut allowed = old["spec"].clone();
    let spec = &new["spec"];
    for list in CONTAINERS {
        let images = meta::list(&spec[list], "")
            .iter()
            .map(|c| c["image"].clone());
        for (container, image) in meta::each_mut(&mut allowed, list).zip(images) {
            container["image"] = image;
        }
    }
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        meta::put(&mut allowed, field, spec.get(field).cloned());
    }
    let kept = meta::list(&old["spec"], "/tolerations")
        .iter()
        .all(|toleration| meta::list(spec, "/tolerations").contains(toleration));
    let known = meta::list(spec, "/schedulingGates")
        .iter()
        .all(|gate| meta::list(&old["spec"], "/schedulingGates").contains(gate));
    let gated = !meta::list(&old["spec"], "/schedulingGates").is_empty();
    if gated {
        // A gated Pod may be narrowed further.
        for field in ["nodeSelector", "affinity"] {
            meta::put(&mut allowed, field, spec.get(field).cloned());
        }
    }
    if allowed != *spec || !kept || !known {
        causes.push(Cause::forbidden("spec", UPDATE));
    }
}

/// The specs differ in the containers' resources only.
fn same_but_resources(old: &Value, new: &Value) -> bool {
    let without = |spec: &Value| {
        let mut spec = spec.clone();
        for list in CONTAINERS {
            for container in meta::each_mut(&mut spec, list) {
                meta::remove(container, "resources");
                meta::remove(container, "resizePolicy");
            }
        }
        spec
    };
    without(old) == without(new)
}

pub(crate) fn resize(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let supported = meta::list(old, "/status/containerStatuses")
        .iter()
        .all(|status| status.get("resources").is_some());
    if meta::text(old, "/status/phase") == "Running" && !supported {
        let why = "Pod running on node without support for resize";
        causes.push(Cause::forbidden("", why));
    }
    if !same_but_resources(&old["spec"], &new["spec"]) {
        causes.push(Cause::forbidden("spec", RESIZE));
    }
    let before = meta::list(old, "/spec/containers");
    for (index, (new, old)) in meta::list(new, "/spec/containers")
        .iter()
        .zip(before)
        .enumerate()
    {
        let at = format!("spec.containers[{index}].resources");
        pod_spec::validate_resources(&new["resources"], &at, causes);
        for list in ["requests", "limits"] {
            if others(&old["resources"][list]) != others(&new["resources"][list]) {
                causes.push(Cause::forbidden(format!("{at}.{list}"), RESIZE));
            }
        }
    }
    if qos_class(&old["spec"]) != qos_class(&new["spec"]) {
        let why = "Pod QOS Class may not change as a result of resizing";
        causes.push(Cause::invalid("spec", &qos_class(&new["spec"]).into(), why));
    }
}

/// Beside CPU and memory.
fn others(amounts: &Value) -> Vec<(&String, &Value)> {
    let all = meta::map(amounts, "").into_iter().flatten();
    all.filter(|(name, _)| !matches!(name.as_str(), "cpu" | "memory"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(image: &str, cpu: &str) -> Value {
        json!({"spec": {"containers": [
            {"name": "a", "image": image, "resources": {"requests": {"cpu": cpu}}}]}})
    }

    fn causes(check: fn(&Value, &Value, &mut Vec<Cause>), new: &Value) -> usize {
        let mut causes = Vec::new();
        check(&pod("a:1", "1"), new, &mut causes);
        causes.len()
    }

    #[test]
    fn an_update_changes_images_and_a_resize_changes_resources() {
        assert_eq!(causes(validate, &pod("a:2", "1")), 0);
        assert_eq!(causes(validate, &pod("a:1", "2")), 1);
        assert_eq!(causes(resize, &pod("a:1", "2")), 0);
        assert_eq!(causes(resize, &pod("a:2", "2")), 1);
    }

    #[test]
    fn a_resize_keeps_the_class() {
        let guaranteed = json!({"spec": {"containers": [{"name": "a", "image": "a:1", "resources": {
            "requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "1", "memory": "1"}}}]}});
        assert_eq!(causes(resize, &guaranteed), 1);
    }
}
