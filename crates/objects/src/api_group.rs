//! The documents by which the API server and `kubectl` learn what Evenkeel serves as a group of its own.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    APIGroup, APIResource, APIResourceList, GroupVersionForDiscovery,
};

use crate::kinds::Kind;

/// The group of a kind with its one version: `/apis/GROUP`.
pub fn group(kind: Kind) -> APIGroup {
    let version = GroupVersionForDiscovery {
        group_version: kind.api_version(),
        version: kind.version().to_owned(),
    };
    APIGroup {
        name: kind.group().to_owned(),
        preferred_version: Some(version.clone()),
        versions: vec![version],
        ..APIGroup::default()
    }
}

/// The one resource of the version, as `name`: `/apis/GROUP/VERSION`. The verb is the one that adapters of
/// metrics name; a list is what is got.
pub fn resources(kind: Kind, name: &str) -> APIResourceList {
    APIResourceList {
        group_version: kind.api_version(),
        resources: vec![APIResource {
            name: name.to_owned(),
            namespaced: true,
            kind: kind.as_str().to_owned(),
            verbs: vec!["get".to_owned()],
            ..APIResource::default()
        }],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    const EXPECTED_LOAD: &str = "evenkeel-expected-load";

    #[test]
    fn the_documents_are_those_of_the_api() {
        let series = Kind::MetricSeries.plural();
        for (kind, name, group_name, version, list) in [
            (
                Kind::ExternalMetrics,
                EXPECTED_LOAD,
                "external.metrics.k8s.io",
                "v1beta1",
                "ExternalMetricValueList",
            ),
            (
                Kind::MetricSeries,
                series,
                "metrics.evenkeel.dev",
                "v1alpha1",
                "SeriesList",
            ),
        ] {
            let group_version = format!("{group_name}/{version}");
            let described = json!({"groupVersion": group_version, "version": version});
            assert_eq!(
                serde_json::to_value(group(kind)).unwrap(),
                json!({"apiVersion": "v1", "kind": "APIGroup", "name": group_name,
                    "preferredVersion": described, "versions": [described]})
            );
            assert_eq!(
                serde_json::to_value(resources(kind, name)).unwrap(),
                json!({"apiVersion": "v1", "kind": "APIResourceList",
                    "groupVersion": group_version,
                    "resources": [{"name": name, "singularName": "", "namespaced": true,
                        "kind": list, "verbs": ["get"]}]})
            );
        }
        assert_eq!(
            (EXPECTED_LOAD, series),
            ("evenkeel-expected-load", "series")
        );
    }
}
