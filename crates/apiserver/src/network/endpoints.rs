//! The address that connections to a Service end at: its external name, or the first ready endpoint
//! of its EndpointSlices. No proxy spreads connections, and unlike in a real cluster no address is
//! refused: everything is on loopback.
//! cluster everything is on loopback.

use std::net::SocketAddr;

use serde_json::Value;

use crate::meta;
use crate::store::{ObjectKey, ObjectStore};

pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";

const SLICES: &str = "endpointslices.discovery.k8s.io";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostPort {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// # Errors
/// The host name is unknown.
pub(crate) async fn resolve(place: &HostPort) -> Result<Vec<SocketAddr>, String> {
    let HostPort { host, port } = place;
    let found = tokio::net::lookup_host((host.as_str(), *port)).await;
    let found = found.map_err(|error| format!("lookup {host}: {error}"))?;
    Ok(found.collect())
}

/// The endpoint behind `port` of a Service, a number or a name; empty stands for the only port.
///
/// # Errors
/// There is no such Service or port, or no endpoint is ready.
pub(crate) fn of_service(
    store: &ObjectStore,
    key: &ObjectKey,
    port: &str,
) -> Result<HostPort, String> {
    let name = &key.name;
    let service = store.get("services", key);
    let service = service.ok_or_else(|| format!("service {name:?} not found"))?;
    let spec = &service.value["spec"];
    let port = service_port(spec, port)
        .ok_or_else(|| format!("no service port {port:?} found for service {name:?}"))?;
    if spec["type"] == "ExternalName" {
        let number = port["port"].as_u64().and_then(|port| port.try_into().ok());
        let host = meta::text(spec, "/externalName").to_owned();
        let port = number.ok_or_else(|| format!("service {name:?} has no such port"))?;
        return Ok(HostPort { host, port });
    }
    let (slices, _) = store.list(SLICES, Some(&key.namespace));
    let of_service =
        |slice: &Value| slice["metadata"]["labels"][SERVICE_NAME].as_str() == Some(name);
    let mut places = slices
        .iter()
        .filter(|slice| of_service(&slice.value))
        .filter_map(|slice| ready(&slice.value, meta::text(&port, "/name")));
    let nobody = || format!("no endpoints available for service {name:?}");
    places.next().ok_or_else(nobody)
}

/// By number or name. An ExternalName need not list any.
fn service_port(spec: &Value, wanted: &str) -> Option<Value> {
    let ports = meta::list(spec, "/ports");
    let number: Option<u64> = wanted.parse().ok();
    let named = |port: &&Value| match number {
        Some(number) => port["port"].as_u64() == Some(number),
        None => meta::text(port, "/name") == wanted,
    };
    let listed = match ports {
        [only] if wanted.is_empty() => Some(only),
        ports => ports.iter().find(named),
    };
    let unlisted = number.filter(|_| spec["type"] == "ExternalName");
    listed
        .cloned()
        .or_else(|| unlisted.map(|number| serde_json::json!({"port": number})))
}

/// The first ready endpoint of a slice, at the port of that name.
fn ready(slice: &Value, port: &str) -> Option<HostPort> {
    let mut ports = meta::list(slice, "/ports").iter();
    let port = ports.find(|listed| meta::text(listed, "/name") == port)?;
    let endpoints = meta::list(slice, "/endpoints").iter();
    let mut ready = endpoints.filter(|endpoint| endpoint["conditions"]["ready"] != false);
    let host = ready.find_map(|endpoint| endpoint["addresses"][0].as_str())?;
    Some(HostPort {
        host: host.to_owned(),
        port: port["port"].as_u64()?.try_into().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ports_are_found_by_number_by_name_or_alone() {
        let spec = json!({"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 443}]});
        for (wanted, found) in [
            ("443", Some("b")),
            ("a", Some("a")),
            ("", None),
            ("9", None),
        ] {
            let port = service_port(&spec, wanted);
            let name = port.as_ref().and_then(|port| port["name"].as_str());
            assert_eq!(name, found, "{wanted}");
        }
        let one = json!({"ports": [{"port": 80}]});
        assert_eq!(service_port(&one, "").expect("the only one")["port"], 80);
        let alias = json!({"type": "ExternalName", "externalName": "x"});
        assert_eq!(service_port(&alias, "8443").expect("any")["port"], 8443);
    }

    #[test]
    fn only_ready_endpoints_take_connections() {
        let slice = json!({
            "ports": [{"name": "https", "port": 8443}],
            "endpoints": [
                {"addresses": ["10.0.0.1"], "conditions": {"ready": false}},
                {"addresses": ["10.0.0.2"]},
            ],
        });
        let place = ready(&slice, "https").expect("one is ready");
        assert_eq!((place.host.as_str(), place.port), ("10.0.0.2", 8443));
        assert_eq!(ready(&slice, "http"), None);
    }
}
