//! Waiting for kube-scheduler's choice if the next answer depends on it. kube-scheduler asks about
//! the next Pod while it reports the last choice, mostly a millisecond too early. A guess would
//! then refuse a node for a Pod that went elsewhere, and the next Pod would end where it fits
//! worse. So such an answer, and no other, waits for the notice of the Pod that was scored last, at
//! most [`PATIENCE`] from the scoring, and only while notices come in that time. Notices of Pods
//! that may first need new volumes or devices come late, and no answer waits for them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use evenkeel_clock as clock;
use evenkeel_placement::extender::decide::PATIENCE;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::time::Instant;

/// The state of the choices to come.
#[derive(Debug, Default)]
pub(super) struct Choices {
    state: Mutex<BindWaitState>,
    told: Notify,
}

#[derive(Debug, Default)]
struct BindWaitState {
    /// The Pod that was scored last, until its choice is told.
    left: Option<LastScoredPod>,
    /// True where the last notice came in time.
    in_time: bool,
}

#[derive(Debug)]
struct LastScoredPod {
    uid: Box<str>,
    at: Instant,
}

/// A choice that an answer may wait for.
pub(super) struct BindWait<'a> {
    until: Instant,
    told: Notified<'a>,
}

impl BindWait<'_> {
    /// True once it is told; false where it is not in time.
    pub(super) async fn wait(self, choices: &Choices) -> bool {
        let is_told = tokio::time::timeout_at(self.until, self.told).await.is_ok();
        if !is_told {
            choices.state().in_time = false;
        }
        is_told
    }
}

impl Choices {
    fn state(&self) -> MutexGuard<'_, BindWaitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn left(&self, uid: &str) {
        let at = clock::runtime();
        let uid = uid.into();
        self.state().left = Some(LastScoredPod { uid, at });
    }

    /// No choice comes soon: that of the last scored Pod comes once its volumes are there.
    pub(super) fn none_is_near(&self) {
        self.state().left = None;
    }

    pub(super) fn told(&self, uid: &str) {
        let mut state = self.state();
        if let Some(left) = state.left.take_if(|left| *left.uid == *uid) {
            state.in_time = clock::runtime() < left.at + PATIENCE;
            drop(state);
            self.told.notify_waiters();
        }
    }

    /// The choice that is notified next, if expected in time; call before the cluster is read, so
    /// that it is not missed.
    pub(super) fn pending(&self) -> Option<BindWait<'_>> {
        let told = self.told.notified();
        let state = self.state();
        let left = state.left.as_ref().filter(|_| state.in_time)?;
        let until = left.at + PATIENCE;
        (until > clock::runtime()).then_some(BindWait { until, told })
    }
}
