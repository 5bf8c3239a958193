//! The memory of a target's plans between two ticks. If a target has no plan for a while, it begins anew.
//!
//! Everything that matters is in the cluster. The memory prevents repeated Events and statuses. It also keeps a
//! record that another writer removes, until Evenkeel has written it again, on every replica.

use evenkeel_api::ihpa::status::IhpaStatus;
use evenkeel_objects::plan::status_writer::StatusWriter;
use jiff::{SignedDuration, Timestamp};

use super::TargetStatus;
use crate::bounds_record::annotation::BoundsAnnotation;
use crate::bounds_record::contest_inquiry::ContestInquiry;
use crate::targets::bounds::{FloorChange, REMEMBERED};
use crate::targets::schedules::ProviderSchedules;

/// Metrics that have not come this long after the first plan are no longer waited for.
const BEGIN: SignedDuration = SignedDuration::from_mins(3);

/// The memory of one target's plans.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanMemory {
    /// The time of the first plan without a break.
    first: Option<Timestamp>,
    /// The time of the last plan.
    last: Option<Timestamp>,
    /// The record that the object had when it last had one, as far as it still counts.
    pub(crate) record: Option<BoundsAnnotation>,
    pub(crate) written: StatusWriter<TargetStatus>,
    /// The change of the floor of which the last Event told.
    pub(crate) floor: Option<FloorChange>,
    /// The replicas that were last recommended.
    pub(crate) recommended: Option<i32>,
    pub(crate) ihpa: StatusWriter<IhpaStatus>,
    /// The calendars of an IHPA's portraits.
    pub(crate) schedules: ProviderSchedules,
    /// The search for the other writer of contested bounds.
    pub(crate) contest: ContestInquiry,
}

impl PlanMemory {
    /// The record that was on the object a moment before `now`.
    pub fn record(&self, now: Timestamp) -> Option<&BoundsAnnotation> {
        self.record.as_ref().filter(|_| self.is_recent(now))
    }

    /// Begins a plan at `now`. Forgets everything but the contest where the last plan is too long ago, or lies ahead
    /// as after a clock was set back: an Event of a time to come would silence all until then.
    pub(crate) fn begin(&mut self, now: Timestamp) {
        if self.last.is_some() && !self.is_recent(now) {
            *self = Self {
                contest: std::mem::take(&mut self.contest),
                ..Self::default()
            };
        }
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    /// True so shortly after the first plan without a break that what was never measured may still come.
    pub(crate) fn begins(&self, now: Timestamp) -> bool {
        let age = self
            .first
            .map_or(SignedDuration::ZERO, |first| now.duration_since(first));
        age < BEGIN
    }

    fn is_recent(&self, now: Timestamp) -> bool {
        self.last
            .is_some_and(|last| now.duration_since(last).abs() <= REMEMBERED)
    }
}
