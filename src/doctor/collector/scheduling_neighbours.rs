//! Programs that read labels of nodes and preferences of Pods: cluster-autoscaler and Karpenter by
//! the labels of their Deployments, the descheduler by its policy.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;

use super::api_reader::ClusterReader;
use evenkeel_service::cluster::read_outcome::ReadOutcome;

/// The label of cluster-autoscaler in its example manifests.
const AUTOSCALER: &str = "app=cluster-autoscaler";
/// The labels of the charts. That of cluster-autoscaler begins with the name of the provider.
const CHARTS: &str = "app.kubernetes.io/name in (karpenter,cluster-autoscaler,\
     aws-cluster-autoscaler,azure-cluster-autoscaler,gce-cluster-autoscaler,\
     clusterapi-cluster-autoscaler)";
/// The label of the descheduler's chart.
const DESCHEDULER: &str = "app.kubernetes.io/name=descheduler";
/// The descheduler's policy in its example manifests, in kube-system.
const POLICY: &str = "descheduler-policy-configmap";

/// The Deployments of node autoscalers.
pub(super) async fn node_autoscalers(reader: &ClusterReader<'_>) -> ReadOutcome<Vec<Deployment>> {
    let (plain, charts) = tokio::join!(
        reader.all::<Deployment>(AUTOSCALER),
        reader.all::<Deployment>(CHARTS),
    );
    both(plain, charts)
}

/// The ConfigMaps that may hold a policy of the descheduler; `system` reads in kube-system.
pub(super) async fn descheduler_policies(
    reader: &ClusterReader<'_>,
    system: &ClusterReader<'_>,
) -> ReadOutcome<Vec<ConfigMap>> {
    let (charts, plain) = tokio::join!(
        reader.all::<ConfigMap>(DESCHEDULER),
        system.own::<ConfigMap>(POLICY),
    );
    both(charts, plain.map(|policy| vec![policy]))
}

fn both<T>(one: ReadOutcome<Vec<T>>, other: ReadOutcome<Vec<T>>) -> ReadOutcome<Vec<T>> {
    match (one, other) {
        (ReadOutcome::Unseen(why), _) | (_, ReadOutcome::Unseen(why)) => ReadOutcome::Unseen(why),
        (ReadOutcome::There(mut found), ReadOutcome::There(more)) => {
            found.extend(more);
            ReadOutcome::There(found)
        }
        (ReadOutcome::There(found), ReadOutcome::Absent)
        | (ReadOutcome::Absent, ReadOutcome::There(found)) => ReadOutcome::There(found),
        (ReadOutcome::Absent, ReadOutcome::Absent) => ReadOutcome::There(Vec::new()),
    }
}
