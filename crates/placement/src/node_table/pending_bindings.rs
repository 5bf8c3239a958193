//! Pods without a binding, each with the node that it most likely gets. Four sources say so, each
//! better than the one before: the nomination of an earlier attempt, the answer to prioritize, the
//! nomination after it, and kube-scheduler's notice of its choice.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use evenkeel_objects::pod_name::PodName;
use evenkeel_units::{Amount, Resources};
use foldhash::fast::RandomState;
use jiff::Timestamp;

use super::group_trials::GroupTrials;
use super::near_ties::NearTies;
use super::placement_outcomes::{ChoiceEnd, ChoiceTally};

/// By UID.
#[derive(Debug, Default)]
pub(super) struct PendingBindings {
    pub(super) pods: HashMap<Box<str>, AwaitedPod, RandomState>,
    /// UIDs of Pods with a pending timeout.
    pub(super) ageing: HashSet<Box<str>, RandomState>,
    /// kube-scheduler's notices have been coming: an answer without one within the shorter time
    /// came to nothing.
    pub(super) has_notices: bool,
    pub(super) ended: ChoiceTally,
    pub(super) trials: GroupTrials,
}

#[derive(Debug)]
pub(super) struct AwaitedPod {
    pub(super) name: PodName,
    pub(super) demand: Resources<Amount>,
    pub(super) start_up: Resources<Amount>,
    /// Volumes or devices may have to be made for it before it is bound.
    pub(super) provisions: bool,
    /// The key of the group that it is scheduled with.
    pub(super) group: Option<Box<str>>,
    /// When it was asked about, until the watch shows it.
    pub(super) unseen_since: Option<Timestamp>,
    /// By kube-scheduler: it preempted others there, or is about to be bound to it.
    pub(super) nominated: Option<Arc<str>>,
    pub(super) choice: Option<TentativeNode>,
}

/// The node of a Pod in the present attempt to place it.
#[derive(Debug)]
pub(super) struct TentativeNode {
    pub(super) node: Arc<str>,
    pub(super) since: Timestamp,
    /// `None` once kube-scheduler has sent its choice.
    pub(super) doubt: Option<NearTies>,
}

impl AwaitedPod {
    pub(super) fn node(&self) -> Option<&Arc<str>> {
        let chosen = self.choice.as_ref().map(|choice| &choice.node);
        chosen.or(self.nominated.as_ref())
    }

    /// The end of its choice, with or without a binding; `None` if there was no choice.
    pub(super) fn end(&self, bound: bool) -> Option<ChoiceEnd> {
        match (&self.choice.as_ref()?.doubt, bound) {
            (None, true) => Some(ChoiceEnd::Told),
            (Some(_), true) => Some(ChoiceEnd::Untold),
            (None, false) => Some(ChoiceEnd::Unbound),
            // It may have been refused elsewhere, so that nothing was chosen.
            (Some(_), false) => None,
        }
    }

    /// The watch's nomination. A new one replaces a choice without a notice from kube-scheduler.
    pub(super) fn nominate(&mut self, node: Option<Arc<str>>) {
        if node.is_some() && node != self.nominated && self.doubt().is_some() {
            self.choice = None;
        }
        self.nominated = node;
    }

    /// Counts it on its most likely node only.
    pub(super) fn trust_guess(&mut self) {
        if let Some(doubt) = self
            .choice
            .as_mut()
            .and_then(|choice| choice.doubt.as_mut())
        {
            *doubt = NearTies::default();
        }
    }

    pub(super) fn is_possible_elsewhere(&self) -> bool {
        self.doubt().is_some_and(|near| !near.is_empty())
    }

    pub(super) fn doubt(&self) -> Option<&NearTies> {
        self.choice.as_ref()?.doubt.as_ref()
    }
}
