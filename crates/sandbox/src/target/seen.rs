//! The Pods of one side as HPA and service saw them last.

use std::sync::Arc;

use jiff::SignedDuration;

use crate::autoscaler::{self, Life};
use evenkeel_core::scaling::pod::{PodFacts, Requests};
use evenkeel_core::scaling::sample::Measurement;

/// The Pods as of the last tick, with their measurements. Most are as they were at the tick before, so that
/// only those that changed are made anew.
#[derive(Default)]
pub(super) struct Seen {
    shown: Vec<Shown>,
    /// What is shown, as the HPA takes it.
    pub(super) facts: Vec<PodFacts>,
    /// The same, as sums take it.
    pub(super) shared: Vec<Arc<PodFacts>>,
    pub(super) measured: Vec<Option<Measurement>>,
}

/// What can change of a Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) batch: u32,
    pub(super) number: i32,
    pub(super) life: Life,
    pub(super) is_ready: bool,
    pub(super) is_deleted: bool,
}

impl Seen {
    /// The Pod at this place is shown so from now on.
    pub(super) fn show(
        &mut self,
        place: usize,
        shown: Shown,
        requests: &Requests,
        at: SignedDuration,
    ) {
        if self.shown.get(place) == Some(&shown) {
            return;
        }
        let Shown {
            batch,
            number,
            life,
            is_ready: _,
            is_deleted,
        } = shown;
        let pod = PodFacts {
            deleted: is_deleted,
            ..autoscaler::pod(format!("{batch}-{number}"), Some(life), requests, at)
        };
        // What stood here and later has moved, if it is there at all.
        self.truncate(place);
        self.shown.push(shown);
        self.shared.push(Arc::new(pod.clone()));
        self.facts.push(pod);
    }

    /// There are no more Pods than these measurements.
    pub(super) fn keep(&mut self, measured: Vec<Option<Measurement>>) {
        self.truncate(measured.len());
        self.measured = measured;
    }

    fn truncate(&mut self, pods: usize) {
        self.shown.truncate(pods);
        self.facts.truncate(pods);
        self.shared.truncate(pods);
    }
}
