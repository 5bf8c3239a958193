//! The installed node autoscalers: Karpenter by its API group, cluster-autoscaler by its status
//! ConfigMap or its Lease.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;

use super::api_reader::ClusterReader;
use evenkeel_service::cluster::read_outcome::ReadOutcome;

/// The API group of Karpenter's NodePools, of every provider.
const KARPENTER: &str = "karpenter.sh";
/// The ConfigMap in kube-system in which cluster-autoscaler reports.
const STATUS: &str = "cluster-autoscaler-status";
/// Its Lease in kube-system.
const LEASE: &str = "cluster-autoscaler";

/// The names of those that are installed; `system` reads in kube-system.
pub(super) async fn installed(
    system: &ClusterReader<'_>,
    groups: &ReadOutcome<Vec<String>>,
) -> ReadOutcome<Vec<String>> {
    let (status, lease) = tokio::join!(
        system.annotations::<ConfigMap>(STATUS),
        system.own::<Lease>(LEASE),
    );
    let cluster_autoscaler = match (&status, &lease) {
        (ReadOutcome::There(_), _) | (_, ReadOutcome::There(_)) => ReadOutcome::There(true),
        (ReadOutcome::Unseen(why), _) | (_, ReadOutcome::Unseen(why)) => {
            ReadOutcome::Unseen(why.clone())
        }
        (ReadOutcome::Absent, ReadOutcome::Absent) => ReadOutcome::There(false),
    };
    let groups = groups.there();
    let karpenter = groups.is_some_and(|groups| groups.iter().any(|group| group == KARPENTER));
    let named = |name: &str| name.to_owned();
    match (karpenter, cluster_autoscaler) {
        // One that is known is enough.
        (true, ReadOutcome::There(true)) => {
            ReadOutcome::There(vec![named("Karpenter"), named("cluster-autoscaler")])
        }
        (true, _) => ReadOutcome::There(vec![named("Karpenter")]),
        (false, found) => found.map(|found| {
            let found = found.then(|| named("cluster-autoscaler"));
            found.into_iter().collect()
        }),
    }
}
