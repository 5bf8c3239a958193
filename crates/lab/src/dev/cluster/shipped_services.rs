//! The shipped Services and the account for external checks, in the cluster although the service
//! runs outside it. The Services have no selector, and EndpointSlices lead them to this machine, so
//! the API server calls the webhook as in production. The account's rights are left out, because
//! this API server allows every request.

use std::net::SocketAddr;

use evenkeel_sandbox::objects::typed;
use k8s_openapi::api::core::v1::{Service, ServiceAccount};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use super::StartError;
use super::addresses::LoopbackAddresses;

pub(super) const NAMESPACE: &str = "evenkeel-system";

const SERVICES: &str = include_str!("../../../../../deploy/base/services.yaml");

const CHECKS: &str = include_str!("../../../../../deploy/components/external-checks/rbac.yaml");

/// Writes it; `called` is where the Services lead.
pub(super) async fn write(client: &Client, called: LoopbackAddresses) -> Result<(), StartError> {
    let post = PostParams::default();
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
    for account in shipped_accounts()? {
        accounts.create(&post, &account).await?;
    }
    let services: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), NAMESPACE);
    for service in shipped_services()? {
        let made = services.create(&post, &service).await?;
        slices.create(&post, &slice(&made, called)).await?;
    }
    Ok(())
}

fn shipped_accounts() -> Result<Vec<ServiceAccount>, StartError> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(CHECKS)
        .map_err(|error| StartError::Unusable(format!("the shipped accounts: {error}")))?;
    let is_account = |object: &Value| object["kind"] == "ServiceAccount";
    Ok(objects.into_iter().filter(is_account).map(typed).collect())
}

/// The shipped Services, which select no Pods here.
fn shipped_services() -> Result<Vec<Service>, StartError> {
    let unusable =
        |error: serde_saphyr::Error| StartError::Unusable(format!("the shipped Services: {error}"));
    let mut services: Vec<Service> = serde_saphyr::from_multiple(SERVICES).map_err(unusable)?;
    for spec in services
        .iter_mut()
        .filter_map(|service| service.spec.as_mut())
    {
        spec.selector = None;
    }
    Ok(services)
}

/// Leads the ports of a Service to this machine, by their names.
fn slice(service: &Service, addresses: LoopbackAddresses) -> EndpointSlice {
    let name = service.name_any();
    let ports = service
        .spec
        .iter()
        .flat_map(|spec| spec.ports.iter().flatten());
    let ports: Vec<Value> = ports
        .map(|port| {
            let to = address(port.name.as_deref(), addresses).port();
            json!({"name": port.name, "port": to, "protocol": "TCP"})
        })
        .collect();
    typed(json!({
        "metadata": {
            "name": format!("{name}-outside"),
            "labels": {
                "kubernetes.io/service-name": name,
                "endpointslice.kubernetes.io/managed-by": "evenkeel-dev",
            },
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": true}}],
        "ports": ports,
    }))
}

fn address(port: Option<&str>, addresses: LoopbackAddresses) -> SocketAddr {
    let LoopbackAddresses {
        https,
        metrics,
        http: _,
        dashboard: _,
    } = addresses;
    if port == Some("metrics") {
        metrics
    } else {
        https
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses() -> LoopbackAddresses {
        let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
        LoopbackAddresses {
            https: local(1001),
            http: local(1002),
            dashboard: local(1003),
            metrics: local(1004),
        }
    }

    #[test]
    fn every_port_of_the_shipped_services_leads_here() {
        let services = shipped_services().unwrap();
        let ports = services.iter().flat_map(|service| {
            let slice = slice(service, addresses());
            let ports = slice.ports.unwrap_or_default();
            ports
                .into_iter()
                .filter_map(|port| Some((port.name?, port.port?)))
        });
        let mut ports: Vec<(String, i32)> = ports.collect();
        ports.sort();
        let (metrics, https) = (("metrics".to_owned(), 1004), ("https".to_owned(), 1001));
        assert_eq!(ports, [https.clone(), https, metrics]);
    }

    #[test]
    fn the_shipped_account_of_checks_is_there_and_nothing_else_that_is_shipped_with_it() {
        let accounts = shipped_accounts().unwrap();
        let names = accounts
            .iter()
            .map(|account| account.metadata.name.as_deref());
        assert!(names.eq([Some("evenkeel-checks")]));
    }
}
