//! The documents by which the API server and `kubectl` learn what is served.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    APIGroup, APIResource, APIResourceList, GroupVersionForDiscovery,
};

use crate::kinds::Kind;

const SERVED: Kind = Kind::MetricSeries;

/// The group with its one version: `/apis/metrics.evenkeel.dev`.
#[must_use]
pub fn group() -> APIGroup {
    let version = GroupVersionForDiscovery {
        group_version: SERVED.api_version(),
        version: SERVED.version().to_owned(),
    };
    APIGroup {
        name: SERVED.group().to_owned(),
        preferred_version: Some(version.clone()),
        versions: vec![version],
        ..APIGroup::default()
    }
}

/// The resource of the version: `/apis/metrics.evenkeel.dev/v1alpha1`. Its names are the kinds of
/// query.
#[must_use]
pub fn resources() -> APIResourceList {
    APIResourceList {
        group_version: SERVED.api_version(),
        resources: vec![APIResource {
            name: SERVED.plural().to_owned(),
            namespaced: true,
            kind: SERVED.as_str().to_owned(),
            verbs: vec!["get".to_owned()],
            ..APIResource::default()
        }],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_documents_are_those_of_the_api() {
        let version =
            json!({"groupVersion": "metrics.evenkeel.dev/v1alpha1", "version": "v1alpha1"});
        assert_eq!(
            serde_json::to_value(group()).unwrap(),
            json!({"apiVersion": "v1", "kind": "APIGroup", "name": "metrics.evenkeel.dev",
                "preferredVersion": version, "versions": [version]})
        );
        assert_eq!(
            serde_json::to_value(resources()).unwrap(),
            json!({"apiVersion": "v1", "kind": "APIResourceList",
                "groupVersion": "metrics.evenkeel.dev/v1alpha1",
                "resources": [{"name": "series", "singularName": "", "namespaced": true,
                    "kind": "SeriesList", "verbs": ["get"]}]})
        );
    }
}
