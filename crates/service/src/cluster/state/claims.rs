//! Claims of bound Pods in their annotations, kept so that they can be counted anew when a namespace
//! opts in or out, or when the largest node is another one.
//!
//! A claim counts as high as it was when the Pod's binding was first seen: the node was judged by
//! that, and by nothing that is written later.

use std::sync::Arc;

use evenkeel_placement::demand::CompactDemand;

use crate::cluster::grouped_pods::{GroupedPod, GroupedPods, PodGroup};

/// A bound Pod with claims.
#[derive(Debug)]
pub(super) struct Claimant {
    pub(super) uid: Arc<str>,
    pub(super) namespace: Arc<str>,
    pub(super) counting: CompactDemand,
}

impl GroupedPod for Claimant {
    fn uid(&self) -> &Arc<str> {
        &self.uid
    }

    fn groups(&self) -> impl Iterator<Item = PodGroup> {
        std::iter::once(PodGroup::Namespace((*self.namespace).into()))
    }
}

/// Keeps the claims of a Pod in place of those before; a Pod without any is forgotten.
pub(super) fn update(
    claims: &mut GroupedPods<Claimant>,
    uid: &str,
    namespace: &str,
    counting: CompactDemand,
) {
    if claims
        .get(uid)
        .is_some_and(|known| known.counting == counting)
    {
        return;
    }
    claims.remove(uid);
    if counting.is_without_claims() {
        return;
    }
    let other = claims.of(&PodGroup::Namespace(namespace.into())).next();
    let namespace = other.map_or_else(|| namespace.into(), |other| Arc::clone(&other.namespace));
    claims.insert(Claimant {
        uid: uid.into(),
        namespace,
        counting,
    });
}
