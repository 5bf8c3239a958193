//! The node autoscalers that are installed: Karpenter by the API group that it defines, cluster-autoscaler by the
//! ConfigMap that it reports its status in, or by its Lease.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;

use super::read::Reader;
use crate::doctor::observation::Seen;

/// The API group of Karpenter's NodePools, of every provider.
const KARPENTER: &str = "karpenter.sh";
/// The ConfigMap in kube-system in which cluster-autoscaler reports.
const STATUS: &str = "cluster-autoscaler-status";
/// Its Lease in kube-system.
const LEASE: &str = "cluster-autoscaler";

/// The names of those that are installed; `system` reads in kube-system.
pub(super) async fn installed(
    system: &Reader<'_>,
    groups: &Seen<Vec<String>>,
) -> Seen<Vec<String>> {
    let (status, lease) = tokio::join!(
        system.annotations::<ConfigMap>(STATUS),
        system.own::<Lease>(LEASE),
    );
    let cluster_autoscaler = match (&status, &lease) {
        (Seen::There(_), _) | (_, Seen::There(_)) => Seen::There(true),
        (Seen::Unseen(why), _) | (_, Seen::Unseen(why)) => Seen::Unseen(why.clone()),
        (Seen::Absent, Seen::Absent) => Seen::There(false),
    };
    let groups = groups.there();
    let karpenter = groups.is_some_and(|groups| groups.iter().any(|group| group == KARPENTER));
    let named = |name: &str| name.to_owned();
    match (karpenter, cluster_autoscaler) {
        // One that is known is enough.
        (true, Seen::There(true)) => {
            Seen::There(vec![named("Karpenter"), named("cluster-autoscaler")])
        }
        (true, _) => Seen::There(vec![named("Karpenter")]),
        (false, found) => found.map(|found| {
            let found = found.then(|| named("cluster-autoscaler"));
            found.into_iter().collect()
        }),
    }
}
