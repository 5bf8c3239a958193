//! Pods that have no binding yet, each with what tells the node that it most likely gets.
//!
//! Four things tell it, each better than the one before: the nomination of an earlier attempt, the answer to
//! prioritize, the nomination that follows it, and kube-scheduler's notice of what it chose.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;
use jiff::Timestamp;

use super::near_ties::NearTies;
use super::placement_outcomes::{ChoiceEnd, ChoiceTally};
use crate::placement::usage::PodName;
use crate::units::{Amount, Resources};

/// The awaited Pods, by UID.
#[derive(Debug, Default)]
pub(super) struct PendingBindings {
    pub(super) pods: HashMap<Box<str>, AwaitedPod, RandomState>,
    /// Those of them that time ends something of.
    pub(super) ageing: HashSet<Box<str>, RandomState>,
    /// True where kube-scheduler's notices have been coming: an answer that none follows within the
    /// shorter time has come to nothing.
    pub(super) has_notices: bool,
    /// How choices have ended.
    pub(super) ended: ChoiceTally,
}

/// One Pod that has no binding yet.
#[derive(Debug)]
pub(super) struct AwaitedPod {
    pub(super) name: PodName,
    pub(super) demand: Resources<Amount>,
    /// True where volumes or devices may have to be made for it before it is bound.
    pub(super) provisions: bool,
    /// When it was asked about, while the watch has not shown it.
    pub(super) unseen_since: Option<Timestamp>,
    /// The node that kube-scheduler nominates it for: it preempted others there, or is about to be bound to it.
    pub(super) nominated: Option<Arc<str>>,
    pub(super) choice: Option<TentativeNode>,
}

/// The node that a Pod was given in the present attempt to place it.
#[derive(Debug)]
pub(super) struct TentativeNode {
    pub(super) node: Arc<str>,
    pub(super) since: Timestamp,
    /// `None` once kube-scheduler has told its choice.
    pub(super) doubt: Option<NearTies>,
}

impl AwaitedPod {
    /// The node that it is counted on.
    pub(super) fn node(&self) -> Option<&Arc<str>> {
        let chosen = self.choice.as_ref().map(|choice| &choice.node);
        chosen.or(self.nominated.as_ref())
    }

    /// Its choice as one that ends with its binding, or without; `None` where there is nothing to tell of.
    pub(super) fn end(&self, bound: bool) -> Option<ChoiceEnd> {
        match (&self.choice.as_ref()?.doubt, bound) {
            (None, true) => Some(ChoiceEnd::Told),
            (Some(_), true) => Some(ChoiceEnd::Untold),
            (None, false) => Some(ChoiceEnd::Unbound),
            // It may have been refused elsewhere, so that nothing was chosen.
            (Some(_), false) => None,
        }
    }

    /// Takes the nomination that the watch shows. A new one replaces a choice without a notice from
    /// kube-scheduler.
    pub(super) fn nominate(&mut self, node: Option<Arc<str>>) {
        if node.is_some() && node != self.nominated && self.doubt().is_some() {
            self.choice = None;
        }
        self.nominated = node;
    }

    /// Counts it on the one node that it most likely gets, and as possible on no other any more.
    pub(super) fn trust_guess(&mut self) {
        if let Some(doubt) = self
            .choice
            .as_mut()
            .and_then(|choice| choice.doubt.as_mut())
        {
            *doubt = NearTies::default();
        }
    }

    /// True while it counts as possible on other nodes, too.
    pub(super) fn is_possible_elsewhere(&self) -> bool {
        self.doubt().is_some_and(|near| !near.is_empty())
    }

    pub(super) fn doubt(&self) -> Option<&NearTies> {
        self.choice.as_ref()?.doubt.as_ref()
    }
}
