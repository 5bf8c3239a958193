//! Selects the webhooks for a request.

use std::sync::Arc;

use serde_json::Value;

use crate::admission::webhooks::request::AdmissionRequest;
use crate::api_request::ApiRequest;
use crate::meta;
use crate::resources::resource::{Resource, Subresource};
use crate::selector::ListSelector;
use crate::store::ObjectKey;

/// The version of the resource for the webhook: the request's own, or, if the webhook wants more
/// than exact matches, another one of the same objects. `None` if its rules or selectors do not
/// match.
pub(super) fn matched(
    call: &ApiRequest,
    request: &AdmissionRequest<'_>,
    webhook: &Value,
) -> Option<Arc<Resource>> {
    let selected = namespace_matches(call, request, &webhook["namespaceSelector"])
        && object_matches(request, &webhook["objectSelector"]);
    let rules = meta::list(webhook, "/rules");
    let wants = |resource: &Arc<Resource>| {
        let mut rules = rules.iter();
        rules.any(|rule| rule_matches(call, resource, request, rule))
    };
    let mut versions = vec![Arc::clone(&call.resource)];
    if webhook["matchPolicy"] != "Exact" {
        versions.extend(call.api.registry.versions(&call.resource.collection));
    }
    versions.into_iter().find(wants).filter(|_| selected)
}

fn rule_matches(
    call: &ApiRequest,
    resource: &Resource,
    request: &AdmissionRequest<'_>,
    rule: &Value,
) -> bool {
    let has = |list: &str, word: &str| {
        meta::list(rule, list)
            .iter()
            .any(|item| item == word || item == "*")
    };
    let scope = match meta::text(rule, "/scope") {
        "Namespaced" => resource.namespaced,
        "Cluster" => !resource.namespaced,
        _ => true,
    };
    scope
        && has("/operations", request.operation.as_str())
        && has("/apiGroups", &resource.group)
        && has("/apiVersions", &resource.version)
        && meta::list(rule, "/resources")
            .iter()
            .filter_map(Value::as_str)
            .any(|wanted| resource_matches(wanted, &resource.plural, call.subresource))
}

/// `pods`, `pods/binding`, `pods/*`, `*/scale`, `*` (no subresources), `*/*`.
fn resource_matches(wanted: &str, plural: &str, subresource: Option<Subresource>) -> bool {
    let (wanted, part) = match wanted.split_once('/') {
        Some((wanted, part)) => (wanted, Some(part)),
        None => (wanted, None),
    };
    let part_matches = match (part, subresource) {
        (None | Some("*"), None) | (Some("*"), Some(_)) => true,
        (Some(part), Some(is)) => part == is.name(),
        _ => false,
    };
    (wanted == "*" || wanted == plural) && part_matches
}

fn namespace_matches(call: &ApiRequest, request: &AdmissionRequest<'_>, selector: &Value) -> bool {
    let selection = ListSelector::from_object(selector);
    if selection.is_everything() {
        return true;
    }
    if call.resource.kind == "Namespace" {
        let object = request.object.or(request.old);
        return object.is_some_and(|namespace| selection.matches(namespace));
    }
    let Some(name) = call.namespace.as_deref() else {
        return true;
    };
    let found = call.api.store.get("namespaces", &ObjectKey::new("", name));
    found.is_some_and(|namespace| selection.matches(&namespace.value))
}

fn object_matches(request: &AdmissionRequest<'_>, selector: &Value) -> bool {
    let selection = ListSelector::from_object(selector);
    let mut objects = [request.object, request.old].into_iter().flatten();
    selection.is_everything() || objects.any(|object| selection.matches(object))
}

/// A Binding or an Eviction, not the resource's kind.
pub(super) fn is_binding(call: &ApiRequest) -> bool {
    matches!(
        call.subresource,
        Some(Subresource::Binding | Subresource::Eviction)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_and_their_parts_are_told_apart() {
        let binding = Some(Subresource::Binding);
        for (wanted, part, matches) in [
            ("pods", None, true),
            ("pods", binding, false),
            ("pods/binding", binding, true),
            ("pods/*", binding, true),
            ("*/*", None, true),
            ("*", binding, false),
            ("*/status", binding, false),
            ("nodes", None, false),
        ] {
            assert_eq!(
                resource_matches(wanted, "pods", part),
                matches,
                "{wanted} {part:?}"
            );
        }
    }
}
