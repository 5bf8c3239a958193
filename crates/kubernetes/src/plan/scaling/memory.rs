//! What planning for one target remembers between two ticks.
//!
//! What matters is in the cluster; this only keeps things from being told twice. It is worth
//! nothing to whoever leads again after a while, and begins anew then.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::bounds::REMEMBERED;
use super::status::Status;
use evenkeel_core::scaling::ownership::Ownership;

/// The least time between two Events of one reason, and between two recommendations.
const QUIET: SignedDuration = SignedDuration::from_mins(5);

/// The memory of one target's plans.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    /// When was planned for the first time, and for the last.
    times: Option<(Timestamp, Timestamp)>,
    /// The record that was last seen on the object.
    pub(super) record: Option<Ownership>,
    /// What was last planned to be told.
    pub(super) status: Option<Status>,
    /// When the status was last written, or found.
    pub(super) status_at: Option<Timestamp>,
    /// The change of the floor that was last told.
    pub(super) floor: Option<(i32, i32)>,
    /// The replicas that were last recommended.
    pub(super) recommended: Option<i32>,
    /// When each reason was last told.
    told: BTreeMap<&'static str, Timestamp>,
    contester: Option<String>,
}

impl Memory {
    /// What was last planned to be told; `None` before the first plan.
    #[must_use]
    pub const fn status(&self) -> Option<&Status> {
        self.status.as_ref()
    }

    /// Takes the field manager that last wrote contested bounds: it stands in the object's
    /// `metadata.managedFields`, which watches leave out.
    pub fn name_contester(&mut self, manager: String) {
        self.contester = Some(manager);
    }

    pub(super) fn contester(&self) -> Option<&str> {
        self.contester.as_deref()
    }

    /// The record that was on the object a moment ago.
    pub(super) fn record(&self, now: Timestamp) -> Option<&Ownership> {
        self.record.as_ref().filter(|_| self.is_recent(now))
    }

    /// Begins a plan at `now`; forgets all where the last one is too long ago, or lies ahead, as
    /// after a clock was set back: what was told at a time to come would silence all until then.
    pub(super) fn begin(&mut self, now: Timestamp) {
        if self.times.is_some() && !self.is_recent(now) {
            *self = Self::default();
        }
        let first = self.times.map_or(now, |(first, _)| first);
        self.times = Some((first, now));
    }

    /// How long plans have been made without a break.
    pub(super) fn age(&self, now: Timestamp) -> SignedDuration {
        self.times
            .map_or(SignedDuration::ZERO, |(first, _)| now.duration_since(first))
    }

    /// Takes the record that the object has now; a contest that is over has no contester.
    pub(super) fn see(&mut self, record: Option<&Ownership>, contested: bool) {
        self.record = record.cloned();
        if !contested {
            self.contester = None;
        }
    }

    /// Whether `reason` may be told at `now`; notes that it is.
    pub(super) fn tells(&mut self, reason: &'static str, now: Timestamp) -> bool {
        let last = self.told.get(reason).copied();
        let quiet = last.is_some_and(|last| now.duration_since(last) < QUIET);
        if !quiet {
            self.told.insert(reason, now);
        }
        !quiet
    }

    fn is_recent(&self, now: Timestamp) -> bool {
        self.times
            .is_some_and(|(_, last)| now.duration_since(last).abs() <= REMEMBERED)
    }
}
