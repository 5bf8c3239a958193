//! The past of an HPA as its Events and conditions show it, in place of the controller's memory.

use jiff::{SignedDuration, Timestamp};

use super::input::HpaDecisionInput;
use crate::rescale::size_of;
use crate::status::reasons;
use crate::{ConditionType, HorizontalPodAutoscaler, HpaMemory, ScaleEvents, TimedRecommendation};

/// One change of the count by the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PastRescale {
    pub at: Timestamp,
    pub replicas: i32,
    /// A metric asked for at least this count, and the count rose.
    pub is_rise_by_metric: bool,
}

impl PastRescale {
    /// A change from the message of the Event `SuccessfulRescale`; `None` for another message.
    pub fn parse(message: &str, at: Timestamp) -> Option<Self> {
        let (replicas, reason) = size_of(message)?;
        Some(Self {
            at,
            replicas,
            is_rise_by_metric: reason.ends_with("above target"),
        })
    }
}

/// The changes that are known, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RescaleHistory {
    rescales: Vec<PastRescale>,
    /// The newest Event that stands for changes of unknown times.
    gap: Option<Timestamp>,
    /// Why the Events cannot be read.
    unreadable: Option<String>,
}

impl RescaleHistory {
    /// `gap` is the time of the newest Event that stands for changes of unknown times.
    pub fn new(mut rescales: Vec<PastRescale>, gap: Option<Timestamp>) -> Self {
        rescales.sort_by_key(|one| one.at);
        Self {
            rescales,
            gap,
            unreadable: None,
        }
    }

    /// A history without Events, which cannot be read.
    pub fn unreadable(why: String) -> Self {
        Self {
            unreadable: Some(why),
            ..Self::default()
        }
    }

    /// Why the Events cannot be read.
    pub(super) fn fault(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    pub(super) fn newest(&self) -> Option<&PastRescale> {
        self.rescales.last()
    }

    /// True if all changes of the last `seconds` are known, with the counts before them.
    pub(super) fn shows_since(&self, input: &HpaDecisionInput<'_>, seconds: i64) -> bool {
        let since = input.now - SignedDuration::from_secs(seconds);
        let is_within = |at: Timestamp| at > since;
        let last = input.hpa.status.last_scale_time.filter(|at| is_within(*at));
        let first = self.rescales.first();
        let is_cut = last.is_some() && first.is_none_or(|first| is_within(first.at));
        self.unreadable.is_none() && !self.gap.is_some_and(is_within) && !is_cut
    }

    /// The controller's memory, as far as Events and conditions show it.
    ///
    /// At its last look, a sync period ago at most, the controller recommended the current count,
    /// unless a condition says that the count was limited. So a window holds the current count.
    pub fn memory(&self, hpa: &HorizontalPodAutoscaler, now: Timestamp) -> HpaMemory {
        let mut scale_events = ScaleEvents::default();
        let behavior = hpa.spec.behavior.as_ref();
        for pair in self.rescales.windows(2) {
            if let [before, after] = pair {
                scale_events.record(behavior, before.replicas, after.replicas, after.at);
            }
        }
        let recommended = last_recommendation(hpa);
        let recommendation = recommended.map(|replicas| TimedRecommendation { replicas, at: now });
        HpaMemory {
            recommendations: recommendation.map(|one| vec![one]),
            scale_events,
        }
    }
}

/// A recommendation beyond the current count: below any count if the last one was limited from
/// below, above any count if from above. `None` if the last one was the current count.
fn last_recommendation(hpa: &HorizontalPodAutoscaler) -> Option<i32> {
    let status = &hpa.status;
    let limited = ConditionType::ScalingLimited;
    if !status.holds(&limited) {
        return None;
    }
    let reason = status.condition(&limited)?.reason.as_ref();
    let is = |known: &[crate::ConditionReason]| known.iter().any(|known| known.reason == reason);
    if is(&[reasons::SCALE_DOWN_LIMIT, reasons::TOO_FEW_REPLICAS]) {
        return Some(0);
    }
    // Without `behavior` the highest recommendation becomes the count.
    let is_above = is(&[reasons::SCALE_UP_LIMIT, reasons::TOO_MANY_REPLICAS]);
    (is_above && hpa.spec.behavior.is_some()).then_some(i32::MAX)
}
