//! Discovery of the served resources, as one document with everything, or as lists of groups and of
//! their resources.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::apis::{authorization, custom_metrics, metrics};
use crate::error::ApiError;
use crate::resources::resource::{Resource, Subresource, api_version};
use crate::state::Api;
use crate::wire::path::Route;
use crate::wire::reply::Reply;
use crate::wire::response_form;

/// The version of the compiled API types.
pub(crate) const MAJOR: &str = "1";
pub(crate) const MINOR: &str = "33";

/// For both forms.
#[derive(Debug, Clone)]
pub(crate) struct DiscoveryResource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    singular: String,
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
    verbs: Vec<&'static str>,
    short_names: Vec<String>,
    categories: Vec<String>,
    parts: Vec<(Subresource, Vec<&'static str>)>,
}

const ALL_VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

impl DiscoveryResource {
    fn of(resource: &Resource) -> Self {
        let parts = resource.subresources.iter().filter_map(|part| {
            let verbs = match part {
                Subresource::Refused(_) => return None,
                Subresource::Binding | Subresource::Eviction | Subresource::Token => vec!["create"],
                Subresource::Finalize => vec!["update"],
                _ => vec!["get", "patch", "update"],
            };
            Some((*part, verbs))
        });
        Self {
            group: resource.group.clone(),
            version: resource.version.clone(),
            plural: resource.plural.clone(),
            singular: resource.singular.clone(),
            kind: resource.kind.clone(),
            namespaced: resource.namespaced,
            verbs: ALL_VERBS.to_vec(),
            short_names: resource.short_names.clone(),
            categories: resource.categories.clone(),
            parts: parts.collect(),
        }
    }

    /// A resource that is not stored.
    fn virtual_one(group: &str, version: &str, plural: &str, kind: &str) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            singular: kind.to_lowercase(),
            kind: kind.to_owned(),
            namespaced: false,
            verbs: vec!["create"],
            short_names: Vec::new(),
            categories: Vec::new(),
            parts: Vec::new(),
        }
    }
}

pub(crate) type Groups = BTreeMap<String, BTreeMap<String, Vec<DiscoveryResource>>>;

pub(crate) fn groups(api: &Api) -> Groups {
    let mut entries: Vec<DiscoveryResource> = api
        .registry
        .all()
        .iter()
        .map(|r| DiscoveryResource::of(r))
        .collect();
    for (plural, kind) in authorization::REVIEWS {
        entries.push(DiscoveryResource::virtual_one(
            authorization::GROUP,
            "v1",
            plural,
            kind,
        ));
    }
    if api.metrics.is_some() {
        for (plural, kind, namespaced) in [
            ("nodes", "NodeMetrics", false),
            ("pods", "PodMetrics", true),
        ] {
            let mut entry =
                DiscoveryResource::virtual_one(metrics::GROUP, metrics::VERSION, plural, kind);
            entry.verbs = vec!["get", "list"];
            entry.namespaced = namespaced;
            entries.push(entry);
        }
    }
    for (group, version, name, kind) in custom_metrics::resources(api) {
        let mut entry = DiscoveryResource::virtual_one(group, version, &name, kind);
        entry.singular.clear();
        entry.verbs = vec!["get"];
        entry.namespaced = true;
        entries.push(entry);
    }
    let mut groups = Groups::new();
    for entry in entries {
        let versions = groups.entry(entry.group.clone()).or_default();
        versions
            .entry(entry.version.clone())
            .or_default()
            .push(entry);
    }
    groups
}

pub(crate) fn answer(api: &Api, route: &Route, accepts: &str) -> Result<Reply, ApiError> {
    let groups = groups(api);
    let aggregated = response_form::discovery(accepts);
    match (route, aggregated) {
        (Route::Core | Route::Groups, Some(form)) => {
            let core = *route == Route::Core;
            let shown = groups.iter().filter(|(name, _)| name.is_empty() == core);
            let items: Vec<Value> = shown
                .map(|(name, versions)| aggregate(name, versions))
                .collect();
            let body = json!({
                "kind": "APIGroupDiscoveryList",
                "apiVersion": format!("apidiscovery.k8s.io/{form}"),
                "metadata": {}, "items": items,
            });
            let media = match form {
                "v2" => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
                _ => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
            };
            Ok(Reply::value(&body).with_media(media))
        }
        (Route::Core, None) => Ok(Reply::value(&json!({
            "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [],
        }))),
        (Route::Groups, None) => {
            let named = groups.iter().filter(|(name, _)| !name.is_empty());
            let list: Vec<Value> = named
                .map(|(name, versions)| group(name, versions))
                .collect();
            Ok(Reply::value(
                &json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": list}),
            ))
        }
        (Route::Group(name), _) => {
            let versions = groups.get(name).ok_or_else(ApiError::no_such_path)?;
            let mut body = group(name, versions);
            body["kind"] = "APIGroup".into();
            body["apiVersion"] = "v1".into();
            Ok(Reply::value(&body))
        }
        (Route::Resources { group, version }, _) => {
            let found = groups.get(group).and_then(|versions| versions.get(version));
            let entries = found.ok_or_else(ApiError::no_such_path)?;
            Ok(Reply::value(&json!({
                "kind": "APIResourceList", "apiVersion": "v1",
                "groupVersion": api_version(group, version),
                "resources": entries.iter().flat_map(legacy).collect::<Vec<Value>>(),
            })))
        }
        _ => Err(ApiError::no_such_path()),
    }
}

/// The preferred version first: stable before beta before alpha, newer before older.
fn by_preference(
    versions: &BTreeMap<String, Vec<DiscoveryResource>>,
) -> Vec<(&String, &Vec<DiscoveryResource>)> {
    let mut all: Vec<_> = versions.iter().collect();
    let rank = |version: &str| {
        let stage = if version.contains("alpha") {
            2
        } else {
            i32::from(version.contains("beta"))
        };
        (stage, std::cmp::Reverse(version.to_owned()))
    };
    all.sort_by_key(|(version, _)| rank(version));
    all
}

fn group(name: &str, versions: &BTreeMap<String, Vec<DiscoveryResource>>) -> Value {
    let named =
        |version: &str| json!({"groupVersion": api_version(name, version), "version": version});
    let ordered = by_preference(versions);
    let all: Vec<Value> = ordered.iter().map(|(version, _)| named(version)).collect();
    json!({"name": name, "preferredVersion": all.first(), "versions": all})
}

fn aggregate(name: &str, versions: &BTreeMap<String, Vec<DiscoveryResource>>) -> Value {
    let versions: Vec<Value> = by_preference(versions)
        .into_iter()
        .map(|(version, entries)| {
            let resources: Vec<Value> = entries.iter().map(aggregated).collect();
            json!({"version": version, "resources": resources, "freshness": "Current"})
        })
        .collect();
    json!({"metadata": {"name": name, "creationTimestamp": null}, "versions": versions})
}

fn aggregated(entry: &DiscoveryResource) -> Value {
    let mut value = json!({
        "resource": entry.plural, "singularResource": entry.singular, "verbs": entry.verbs,
        "scope": if entry.namespaced { "Namespaced" } else { "Cluster" },
        "responseKind": {"group": entry.group, "version": entry.version, "kind": entry.kind},
        "shortNames": entry.short_names, "categories": entry.categories,
    });
    let parts: Vec<Value> = entry
        .parts
        .iter()
        .map(|(part, verbs)| {
            let (group, version, kind) = part_kind(entry, *part);
            json!({"subresource": part.name(), "verbs": verbs,
                "responseKind": {"group": group, "version": version, "kind": kind}})
        })
        .collect();
    if !parts.is_empty() {
        value["subresources"] = Value::Array(parts);
    }
    value
}

fn part_kind(entry: &DiscoveryResource, part: Subresource) -> (&str, &str, &str) {
    match part {
        Subresource::Scale => ("autoscaling", "v1", "Scale"),
        Subresource::Binding => ("", "v1", "Binding"),
        Subresource::Eviction => ("policy", "v1", "Eviction"),
        Subresource::Token => ("authentication.k8s.io", "v1", "TokenRequest"),
        _ => (&entry.group, &entry.version, &entry.kind),
    }
}

fn legacy(entry: &DiscoveryResource) -> Vec<Value> {
    let mut own = json!({
        "name": entry.plural, "singularName": entry.singular, "namespaced": entry.namespaced,
        "kind": entry.kind, "verbs": entry.verbs,
    });
    for (field, names) in [
        ("shortNames", &entry.short_names),
        ("categories", &entry.categories),
    ] {
        if !names.is_empty() {
            own[field] = json!(names);
        }
    }
    let parts = entry.parts.iter().map(|(part, verbs)| {
        let (group, version, kind) = part_kind(entry, *part);
        json!({
            "name": format!("{}/{}", entry.plural, part.name()), "singularName": "",
            "namespaced": entry.namespaced, "kind": kind, "verbs": verbs,
            "group": group, "version": version,
        })
    });
    std::iter::once(own).chain(parts).collect()
}

pub(crate) fn version() -> Reply {
    Reply::value(&json!({
        "major": MAJOR, "minor": MINOR, "gitVersion": format!("v{MAJOR}.{MINOR}.0+in-memory"),
        "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "", "compiler": "rustc", "platform": "",
    }))
}
