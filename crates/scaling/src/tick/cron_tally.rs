//! The outcomes of the CronHPAs in one tick, for metrics.

use evenkeel_cron::CronEvent;

use crate::crons::CronPlan;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct CronTally {
    /// CronHPAs with crons that are followed.
    pub followed: usize,
    /// CronHPAs with crons that are not followed.
    pub refused: usize,
    /// The runs that were made.
    pub made: u64,
    /// The runs that were missed, and are too old to be made up for.
    pub missed: u64,
}

impl CronTally {
    pub(super) fn count(&mut self, plan: &CronPlan) {
        if plan.is_ready {
            self.followed += 1;
        } else {
            self.refused += 1;
        }
        for happening in &plan.happened {
            match happening {
                CronEvent::Ran { .. } => self.made += 1,
                CronEvent::Missed { .. } => self.missed += 1,
                CronEvent::Opened { .. } | CronEvent::Closed { .. } => {}
            }
        }
    }

    pub(super) fn add(&mut self, one: Self) {
        let Self {
            followed,
            refused,
            made,
            missed,
        } = one;
        self.followed += followed;
        self.refused += refused;
        self.made += made;
        self.missed += missed;
    }
}
