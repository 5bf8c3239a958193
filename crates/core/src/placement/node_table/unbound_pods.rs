//! Pods without a binding, counted on the nodes that they most likely get.
//!
//! An answer to prioritize leaves a doubt, since kube-scheduler adds sums of its own: until its notice
//! or the binding, the Pod may as well be on a node that was scored almost as high. These nodes are
//! told to the set ([`NearTies`]), for the headroom rule to be careful about.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::NodeTable;
use super::near_ties::NearTies;
use super::pending_bindings::{AwaitedPod, TentativeNode};
use super::placement_outcomes::ChoiceTally;
use super::pod::BoundPod;

/// True once `limit` has passed. A request may have read its time just before `since`; only a clock
/// that was set back lies further behind, and nothing may count for ever by it.
fn is_over(since: Timestamp, now: Timestamp, limit: SignedDuration) -> bool {
    now.duration_since(since).abs() >= limit
}

/// The part of a Pod without a binding that ends by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BindingTimeout {
    /// The doubt about its node: it counts on the one that it most likely gets alone.
    Guess,
    /// Its choice.
    Choice,
    /// All that is known of it.
    Pod,
}

impl NodeTable {
    /// Takes a Pod without a binding as the watch shows it. It counts on `facts.node`, its
    /// nominated node, until it is bound or loses the nomination. A nomination replaces a choice
    /// without a notice.
    pub fn wait(&mut self, uid: &str, facts: &BoundPod<'_>, now: Timestamp) {
        self.know(uid, facts, now, |pod, nominated| {
            pod.unseen_since = None;
            pod.nominate(nominated);
        });
    }

    /// Takes a Pod that is about to be placed as kube-scheduler shows it. Where an earlier attempt put it
    /// is not where it went; its nomination stays.
    pub fn ask(&mut self, uid: &str, facts: &BoundPod<'_>, now: Timestamp) {
        let before = self.awaited.pods.get(uid);
        let failed = before.and_then(|pod| pod.end(false));
        if let Some(end) = failed {
            self.awaited.ended.count(end, now);
        }
        self.know(uid, facts, now, |pod, _| pod.choice = None);
    }

    /// How the choices of kube-scheduler have ended so far.
    #[must_use]
    pub const fn choices(&self) -> &ChoiceTally {
        &self.awaited.ended
    }

    /// Counts a Pod that was asked about on the node that was scored highest for it, and tells the
    /// set which others it may get, until kube-scheduler's notice or the binding is seen, it is asked
    /// about again, or its time has passed: that of [`Settings::unnoticed`] or [`Settings::provisional`], or of
    /// [`Settings::provisioning`] where its volumes or devices may have to be made first, on the one node.
    ///
    /// [`Settings::unnoticed`]: super::Settings::unnoticed
    /// [`Settings::provisional`]: super::Settings::provisional
    /// [`Settings::provisioning`]: super::Settings::provisioning
    pub fn place(&mut self, uid: &str, node: &str, near: NearTies, now: Timestamp) {
        self.choose(uid, node, Some(near), now);
    }

    /// Counts a Pod on the node that kube-scheduler tells it has chosen and is about to bind it to.
    /// False where nothing is known of the Pod or the node.
    pub fn notice(&mut self, uid: &str, node: &str, now: Timestamp) -> bool {
        self.awaited.has_notices = true;
        self.choose(uid, node, None, now)
    }

    fn know(
        &mut self,
        uid: &str,
        facts: &BoundPod<'_>,
        now: Timestamp,
        change: impl FnOnce(&mut AwaitedPod, Option<Arc<str>>),
    ) {
        if self.pods.contains_key(uid) {
            return;
        }
        let nominated = facts.node.filter(|node| self.nodes.contains_key(*node));
        let nominated = nominated.map(|node| self.intern(node));
        let mut pod = self.take_awaited(uid, now).unwrap_or_else(|| AwaitedPod {
            name: facts.name.clone(),
            demand: facts.demand,
            provisions: facts.provisions,
            unseen_since: Some(now),
            nominated: None,
            choice: None,
        });
        pod.demand = facts.demand;
        pod.provisions = facts.provisions;
        change(&mut pod, nominated);
        self.await_pod(uid, pod, now);
    }

    fn choose(&mut self, uid: &str, node: &str, doubt: Option<NearTies>, now: Timestamp) -> bool {
        if !self.nodes.contains_key(node) || self.pods.contains_key(uid) {
            return false;
        }
        let Some(mut pod) = self.take_awaited(uid, now) else {
            return false;
        };
        self.forget_ended(&pod.name, now);
        pod.choice = Some(TentativeNode {
            node: self.intern(node),
            since: now,
            doubt,
        });
        self.await_pod(uid, pod, now);
        true
    }

    /// Ends the wait for a Pod that is bound now.
    pub(super) fn see_bound(&mut self, uid: &str, now: Timestamp) {
        if let Some(pod) = self.take_awaited(uid, now) {
            // Seen bound without a notice: kube-scheduler gives none any more.
            self.awaited.has_notices &= pod.doubt().is_none();
            if let Some(end) = pod.end(true) {
                self.awaited.ended.count(end, now);
            }
        }
    }

    /// Gives up choices that led to no binding, and Pods that the watch never showed.
    pub(super) fn give_up_choices(&mut self, now: Timestamp) {
        let ageing = self.awaited.ageing.iter();
        let due = ageing.filter_map(|uid| {
            let pod = self.awaited.pods.get(uid)?;
            Some((uid.clone(), self.due(pod, now)?))
        });
        for (uid, due) in due.collect::<Vec<_>>() {
            let Some(mut pod) = self.take_awaited(&uid, now) else {
                continue;
            };
            match due {
                BindingTimeout::Guess => pod.trust_guess(),
                BindingTimeout::Choice => {
                    if let Some(end) = pod.end(false) {
                        self.awaited.ended.count(end, now);
                    }
                    pod.choice = None;
                }
                BindingTimeout::Pod => {}
            }
            if pod.node().is_some() || !self.is_lost(&pod, now) {
                self.await_pod(&uid, pod, now);
            }
        }
    }

    /// The part of a Pod that is due to end at `now`; `None` if there is none.
    fn due(&self, pod: &AwaitedPod, now: Timestamp) -> Option<BindingTimeout> {
        let Some(choice) = &pod.choice else {
            return (pod.nominated.is_none() && self.is_lost(pod, now))
                .then_some(BindingTimeout::Pod);
        };
        let expected = self.expected_within(pod);
        let limit = if pod.doubt().is_some() && pod.provisions {
            expected.max(self.settings.provisioning)
        } else {
            expected
        };
        let is_late = |limit| is_over(choice.since, now, limit);
        if is_late(limit) {
            Some(BindingTimeout::Choice)
        } else {
            (pod.is_possible_elsewhere() && is_late(expected)).then_some(BindingTimeout::Guess)
        }
    }

    /// True for a Pod that the watch has not shown for too long.
    fn is_lost(&self, pod: &AwaitedPod, now: Timestamp) -> bool {
        let unseen = pod.unseen_since;
        unseen.is_some_and(|since| is_over(since, now, self.settings.provisional))
    }

    /// The time in which a Pod's notice or binding is to be seen, unless something has to be made for it first.
    fn expected_within(&self, pod: &AwaitedPod) -> SignedDuration {
        if pod.doubt().is_some() && self.awaited.has_notices {
            self.settings.unnoticed
        } else {
            self.settings.provisional
        }
    }

    /// Forgets Pods that are gone, after a complete list was received.
    pub(super) fn retain_awaited(&mut self, keep: impl Fn(&str) -> bool, now: Timestamp) {
        let pods = self.awaited.pods.iter();
        let gone = pods.filter(|(uid, pod)| pod.choice.is_none() && !keep(uid));
        let gone: Vec<Box<str>> = gone.map(|(uid, _)| uid.clone()).collect();
        for uid in gone {
            self.take_awaited(&uid, now);
        }
        // A Pod with a recent choice may be newer than the list; if it is not, time ends it.
        for (uid, pod) in &mut self.awaited.pods {
            if !keep(uid) {
                pod.unseen_since.get_or_insert(now);
            }
        }
    }

    fn await_pod(&mut self, uid: &str, pod: AwaitedPod, now: Timestamp) {
        if let Some(near) = pod.doubt() {
            self.set.doubt(near, &pod.demand);
        }
        if pod.choice.is_some() || pod.unseen_since.is_some() {
            self.awaited.ageing.insert(uid.into());
        }
        if let Some(node) = pod.node().cloned() {
            if let Some(entry) = self.nodes.get_mut(&node) {
                entry.attach_awaited(&pod.demand);
            }
            self.resolve(&node, now);
        }
        self.awaited.pods.insert(uid.into(), pod);
    }

    pub(super) fn take_awaited(&mut self, uid: &str, now: Timestamp) -> Option<AwaitedPod> {
        let pod = self.awaited.pods.remove(uid)?;
        self.awaited.ageing.remove(uid);
        if let Some(near) = pod.doubt() {
            self.set.settle(near, &pod.demand);
        }
        if let Some(node) = pod.node().cloned() {
            if let Some(entry) = self.nodes.get_mut(&node) {
                entry.detach_awaited(&pod.demand);
            }
            self.resolve(&node, now);
            self.forget_if_unused(&node);
        }
        Some(pod)
    }

    #[cfg(test)]
    pub(super) fn has_choice(&self, uid: &str) -> bool {
        let pod = self.awaited.pods.get(uid);
        pod.is_some_and(|pod| pod.choice.is_some())
    }
}
