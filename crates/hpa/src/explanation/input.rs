//! The input of one decision, as an explanation takes it.

use evenkeel_units::words;
use jiff::Timestamp;

use crate::{
    Controller, HorizontalPodAutoscaler, HpaMemory, HpaOutcome, ObservedTarget, Readings,
    ScalingRules, reconcile_traced,
};

/// The input of one decision of the HPA controller.
#[derive(Debug, Clone, Copy)]
pub struct HpaDecisionInput<'a> {
    pub controller: &'a Controller,
    pub hpa: &'a HorizontalPodAutoscaler,
    pub observed: ObservedTarget<'a>,
    /// The controller's memory, or the part of it that is known.
    pub memory: &'a HpaMemory,
    pub now: Timestamp,
}

words! {
    /// A direction of scaling.
    pub enum ScaleDirection {
        Up = "scaleUp",
        Down = "scaleDown",
    }
}

impl HpaDecisionInput<'_> {
    /// The outcome with these readings, as if its writes succeeded.
    pub(crate) fn decide(&self, readings: &Readings) -> HpaOutcome {
        let mut memory = self.memory.clone();
        let observed = ObservedTarget {
            scale: self.observed.scale,
            readings,
        };
        let Self {
            controller,
            hpa,
            now,
            ..
        } = *self;
        let step = reconcile_traced(controller, hpa, &observed, &mut memory, now);
        step.written(&mut memory)
    }

    pub(crate) fn current(&self) -> Option<i32> {
        self.observed.scale.ok().map(|scale| scale.spec_replicas)
    }

    /// The rules of a direction; `None` without `behavior`.
    pub(crate) fn rules(&self, direction: ScaleDirection) -> Option<&ScalingRules> {
        let behavior = self.hpa.spec.behavior.as_ref()?;
        Some(match direction {
            ScaleDirection::Up => &behavior.scale_up,
            ScaleDirection::Down => &behavior.scale_down,
        })
    }
}
