//! The documents by which the API server and `kubectl` learn what is served.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    APIGroup, APIResource, APIResourceList, GroupVersionForDiscovery,
};

use super::EXPECTED_LOAD;
use crate::kinds::Kind;

const SERVED: Kind = Kind::ExternalMetrics;

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

/// The resources of the version, one for each metric. The verb is the one that adapters name.
#[must_use]
pub fn resources() -> APIResourceList {
    APIResourceList {
        group_version: SERVED.api_version(),
        resources: vec![APIResource {
            name: EXPECTED_LOAD.to_owned(),
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
            json!({"groupVersion": "external.metrics.k8s.io/v1beta1", "version": "v1beta1"});
        let group = json!({"apiVersion": "v1", "kind": "APIGroup",
            "name": "external.metrics.k8s.io", "preferredVersion": version, "versions": [version]});
        assert_eq!(serde_json::to_value(super::group()).unwrap(), group);
        assert_eq!(
            serde_json::to_value(resources()).unwrap(),
            json!({"apiVersion": "v1", "kind": "APIResourceList",
                "groupVersion": "external.metrics.k8s.io/v1beta1",
                "resources": [{"name": "evenkeel-expected-load", "singularName": "",
                    "namespaced": true, "kind": "ExternalMetricValueList", "verbs": ["get"]}]})
        );
    }
}
