//! An Evenkeel that runs outside the cluster: its Services have no selector, and hand-written
//! EndpointSlices lead them to it. Checks of Pods and their ServiceAccount do not apply.

use super::evidence::{Evidence, OUTSIDE};

/// Advice for users that want it in the cluster.
pub(super) const OWN_RIGHTS: &str = "nothing to do on a test cluster; otherwise evenkeel install \
     [your options] | kubectl apply -f -";

/// Address of the service; `None` where Pods run it, or nothing does.
pub(super) fn address<'a>(evidence: &Evidence<'a>) -> Option<&'a str> {
    let seen = evidence.seen;
    let pods = !seen.replicas.there()?.is_empty();
    if pods || seen.deployment.there().is_some() {
        return None;
    }
    let of_service = seen.endpoints.there()?.iter().filter(|slice| {
        let labels = slice.metadata.labels.as_ref();
        let service = labels.and_then(|labels| labels.get("kubernetes.io/service-name"));
        service.is_some_and(|service| service == OUTSIDE)
    });
    let mut endpoints = of_service.flat_map(|slice| &slice.endpoints);
    let outside = endpoints.find(|endpoint| endpoint.target_ref.is_none())?;
    outside.addresses.first().map(String::as_str)
}
