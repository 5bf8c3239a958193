//! Pods without a binding, counted on the nodes that they most likely get. kube-scheduler adds sums
//! of its own to an answer to prioritize: until its notice or the binding, the Pod may be on
//! another node that was scored almost as high. The set keeps these nodes ([`NearTies`]) for the
//! headroom rule.

use std::sync::Arc;

use evenkeel_objects::bound_pod::BoundPod;
use jiff::{SignedDuration, Timestamp};

use super::NodeTable;
use super::group_trials::group_key;
use super::near_ties::NearTies;
use super::pending_bindings::{AwaitedPod, TentativeNode};
use super::placement_outcomes::ChoiceTally;

/// `limit` has passed. A request may have read its time just before `since`; only a clock that was
/// set back lies further behind, and that ends the wait too.
fn is_over(since: Timestamp, now: Timestamp, limit: SignedDuration) -> bool {
    now.duration_since(since).abs() >= limit
}

/// The part of a wait for a binding that ends by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BindingTimeout {
    /// The doubt: it counts only on its most likely node.
    Guess,
    Choice,
    Pod,
}

impl NodeTable {
    /// A Pod without a binding from the watch. It counts on `facts.node`, its nominated node, until
    /// it is bound or loses the nomination. A nomination replaces a choice without a notice.
    pub fn wait(&mut self, uid: &str, facts: &BoundPod<'_>, now: Timestamp) {
        self.know(uid, facts, now, |pod, nominated| {
            pod.unseen_since = None;
            pod.nominate(nominated);
        });
    }

    /// A Pod that kube-scheduler is about to place. A guess from an earlier attempt is dropped; its
    /// nomination stays.
    pub fn ask(&mut self, uid: &str, facts: &BoundPod<'_>, now: Timestamp) {
        let before = self.awaited.pods.get(uid);
        let failed = before.and_then(|pod| pod.end(false));
        if let Some(end) = failed {
            self.awaited.ended.count(end, now);
        }
        self.know(uid, facts, now, |pod, _| pod.choice = None);
    }

    /// The same for the first question in an attempt, before any node is judged. If it begins another
    /// trial of the Pod's group, the guesses of the last one are dropped. So are those of other groups
    /// whose trial has failed: they would take the room of this Pod between trials.
    pub fn ask_first(&mut self, uid: &str, facts: &BoundPod<'_>, now: Timestamp) {
        let group = group_key(facts);
        let (pods, limit) = (&self.awaited.pods, self.settings.unnoticed);
        let found_node = |uid: &str| pods.get(uid).is_none_or(|pod| pod.choice.is_some());
        let trials = &mut self.awaited.trials;
        for failed in trials.end_failed(group.as_deref(), found_node, now, limit) {
            self.drop_guesses(&failed, now);
        }
        if let Some(group) = group
            && self.awaited.trials.begins(&group, uid, now)
        {
            self.drop_guesses(&group, now);
        }
        self.ask(uid, facts, now);
    }

    fn drop_guesses(&mut self, group: &str, now: Timestamp) {
        let is_guessed =
            |pod: &AwaitedPod| pod.doubt().is_some() && pod.group.as_deref() == Some(group);
        let pods = self.awaited.pods.iter();
        let guessed = pods.filter(|(_, pod)| is_guessed(pod));
        let guessed: Vec<Box<str>> = guessed.map(|(uid, _)| uid.clone()).collect();
        for uid in guessed {
            if let Some(mut pod) = self.take_awaited(&uid, now) {
                pod.choice = None;
                self.await_pod(&uid, pod, now);
            }
        }
    }

    pub const fn choices(&self) -> &ChoiceTally {
        &self.awaited.ended
    }

    /// Counts a Pod that was asked about on the node with its highest score, and marks the others
    /// it may get, until kube-scheduler's notice or the binding, the next question, or its timeout:
    /// [`Settings::unnoticed`] or [`Settings::provisional`], or if volumes or devices may have to
    /// be made first, [`Settings::provisioning`] on the one node.
    ///
    /// [`Settings::unnoticed`]: super::Settings::unnoticed
    /// [`Settings::provisional`]: super::Settings::provisional
    /// [`Settings::provisioning`]: super::Settings::provisioning
    pub fn place(&mut self, uid: &str, node: &str, near: NearTies, now: Timestamp) {
        self.choose(uid, node, Some(near), now);
    }

    /// Counts a Pod on the node of kube-scheduler's notice, which it is about to be bound to. False
    /// if the Pod or the node is unknown.
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
            start_up: facts.start_up,
            provisions: facts.provisions,
            group: None,
            unseen_since: Some(now),
            nominated: None,
            choice: None,
        });
        pod.demand = facts.demand;
        pod.start_up = facts.start_up;
        pod.provisions = facts.provisions;
        pod.group = group_key(facts);
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
        if let Some(group) = pod.group.as_deref().filter(|_| doubt.is_none()) {
            self.awaited.trials.keep(group);
        }
        self.forget_ended(&pod.name, now);
        pod.choice = Some(TentativeNode {
            node: self.intern(node),
            since: now,
            doubt,
        });
        self.await_pod(uid, pod, now);
        true
    }

    pub(super) fn see_bound(&mut self, uid: &str, now: Timestamp) {
        if let Some(pod) = self.take_awaited(uid, now) {
            // Bound without a notice: kube-scheduler no longer sends any.
            self.awaited.has_notices &= pod.doubt().is_none();
            if let Some(group) = &pod.group {
                self.awaited.trials.keep(group);
            }
            if let Some(end) = pod.end(true) {
                self.awaited.ended.count(end, now);
            }
        }
    }

    /// Also gives up Pods that the watch never showed.
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
        self.awaited.trials.forget(now);
    }

    /// `None` if nothing is due at `now`.
    fn due(&self, pod: &AwaitedPod, now: Timestamp) -> Option<BindingTimeout> {
        let Some(choice) = &pod.choice else {
            return (pod.nominated.is_none() && self.is_lost(pod, now))
                .then_some(BindingTimeout::Pod);
        };
        let expected = self.expected_within(pod);
        let limit = if pod.doubt().is_some() && pod.provisions && pod.group.is_none() {
            expected.max(self.settings.provisioning)
        } else {
            expected
        };
        // No Pod of a group is bound before all of them have been asked about.
        let trial = pod.group.as_deref().filter(|_| pod.doubt().is_some());
        let trial = trial.and_then(|group| self.awaited.trials.last_question(group));
        let since = trial.map_or(choice.since, |last| last.max(choice.since));
        let is_late = |limit| is_over(since, now, limit);
        if is_late(limit) {
            Some(BindingTimeout::Choice)
        } else {
            (pod.is_possible_elsewhere() && is_late(expected)).then_some(BindingTimeout::Guess)
        }
    }

    /// The watch has not shown it for too long.
    fn is_lost(&self, pod: &AwaitedPod, now: Timestamp) -> bool {
        let unseen = pod.unseen_since;
        unseen.is_some_and(|since| is_over(since, now, self.settings.provisional))
    }

    /// Time for the notice or binding, unless something has to be made first. A Pod of a group waits
    /// for the others; from 1.35 on, it is nominated before anything is made for it.
    fn expected_within(&self, pod: &AwaitedPod) -> SignedDuration {
        if pod.doubt().is_some() && self.awaited.has_notices && pod.group.is_none() {
            self.settings.unnoticed
        } else {
            self.settings.provisional
        }
    }

    /// For a complete list.
    pub(super) fn retain_awaited(&mut self, keep: impl Fn(&str) -> bool, now: Timestamp) {
        let pods = self.awaited.pods.iter();
        let gone = pods.filter(|(uid, pod)| pod.choice.is_none() && !keep(uid));
        let gone: Vec<Box<str>> = gone.map(|(uid, _)| uid.clone()).collect();
        for uid in gone {
            self.take_awaited(&uid, now);
        }
        // A Pod with a recent choice may be newer than the list; else time ends it.
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
                entry.attach_awaited(&pod);
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
                entry.detach_awaited(&pod);
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
