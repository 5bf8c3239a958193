//! An Evenkeel that no Pod runs: its Services have no selector, and EndpointSlices that somebody
//! wrote lead them to where it is.
//!
//! Checks of Pods, and of the ServiceAccount that Pods run as, say nothing about it.

use super::Sight;

/// What it is called where a Pod would have a name.
pub(super) const NAME: &str = "evenkeel";

/// What to do for those who would rather have it in the cluster.
pub(super) const OWN_RIGHTS: &str =
    "nothing, on a cluster for trying things out; else kubectl apply -k deploy/";

/// Where it is; `None` where Pods run it, or nothing does.
pub(super) fn address<'a>(sight: &Sight<'a>) -> Option<&'a str> {
    let seen = sight.seen;
    let pods = !seen.replicas.there()?.is_empty();
    if pods || seen.deployment.there().is_some() {
        return None;
    }
    let of_service = seen.endpoints.there()?.iter().filter(|slice| {
        let labels = slice.metadata.labels.as_ref();
        let service = labels.and_then(|labels| labels.get("kubernetes.io/service-name"));
        service.is_some_and(|service| service == NAME)
    });
    let mut endpoints = of_service.flat_map(|slice| &slice.endpoints);
    let outside = endpoints.find(|endpoint| endpoint.target_ref.is_none())?;
    outside.addresses.first().map(String::as_str)
}
