//! Clears the cluster of the previous test's objects.

use std::collections::BTreeSet;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod, ServiceAccount};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client, ResourceExt};

use super::wait::{eventually, holds};

/// Deletes webhooks, Deployments, Pods and nodes. Namespaces stay: tests use names of their own,
/// and the end of a namespace takes seconds.
pub(crate) async fn clear(client: &Client) {
    let all = ListParams::default();
    let now = DeleteParams::default().grace_period(0);
    let webhooks: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    webhooks
        .delete_collection(&now, &all)
        .await
        .expect("webhooks are deleted");
    // Deployments first: they would create their Pods again.
    let deployments: Api<Deployment> = Api::all(client.clone());
    let deployments = deployments.list(&all).await.expect("they are listed").items;
    for namespace in namespaces(&deployments) {
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
        deployments
            .delete_collection(&DeleteParams::foreground(), &all)
            .await
            .expect("Deployments are deleted");
    }
    let pods: Api<Pod> = Api::all(client.clone());
    let pods = pods.list(&all).await.expect("Pods are listed").items;
    for namespace in namespaces(&pods) {
        delete_pods(client, &namespace).await;
    }
    let nodes: Api<Node> = Api::all(client.clone());
    nodes
        .delete_collection(&now, &all)
        .await
        .expect("nodes are deleted");
}

fn namespaces(objects: &[impl ResourceExt]) -> BTreeSet<String> {
    objects.iter().filter_map(ResourceExt::namespace).collect()
}

/// Waits until the Pods are gone.
pub(crate) async fn delete_pods(client: &Client, namespace: &str) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let now = DeleteParams::default().grace_period(0);
    let all = ListParams::default();
    pods.delete_collection(&now, &all)
        .await
        .expect("Pods are deleted");
    eventually(&format!("the Pods of {namespace} are gone"), async || {
        let left = pods.list(&all).await.map_err(|error| error.to_string())?;
        holds(left.items.is_empty(), || {
            format!("{} left", left.items.len())
        })
    })
    .await;
}

/// Pods are refused until the namespace has its `default` ServiceAccount.
pub(crate) async fn await_service_account(client: &Client, namespace: &str) {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let what = format!("the default ServiceAccount of {namespace} exists");
    eventually(&what, async || match accounts.get_opt("default").await {
        Ok(account) => holds(account.is_some(), || "not there".to_owned()),
        Err(error) => Err(error.to_string()),
    })
    .await;
}
