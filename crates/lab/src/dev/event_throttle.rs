//! Thins out repeated events, so that they do not drown the rest. Loads come ten times a second,
//! and some pass. Notices and targets come with each query, and pass if something in them is new.

use std::time::{Duration, Instant};

use evenkeel_scaling::status::dashboard::{ScalingStatus, Word};

use super::load_display::ShownLoad;
use crate::dev::cluster::events::DevEvent;

/// Last events that were let through.
#[derive(Debug)]
pub(super) struct EventThrottle {
    every: Duration,
    loads: Option<Instant>,
    notices: Vec<&'static str>,
    targets: Vec<TargetDifference>,
}

/// Fields of a target; a change of any of them is shown.
#[derive(Debug, PartialEq, Eq)]
struct TargetDifference {
    workload: String,
    wanted: Option<i32>,
    floor: Option<i32>,
    grounds: Word,
    trusted: Option<bool>,
}

impl EventThrottle {
    /// Lets loads through `every` so often.
    pub(super) const fn new(every: Duration) -> Self {
        Self {
            every,
            loads: None,
            notices: Vec::new(),
            targets: Vec::new(),
        }
    }

    /// Decides whether an event is shown.
    pub(super) fn lets_through(&mut self, event: &DevEvent, now: Instant) -> bool {
        match event {
            DevEvent::Loads { .. } => {
                let last = self.loads;
                let due = last.is_none_or(|last| now.duration_since(last) >= self.every);
                if due {
                    self.loads = Some(now);
                }
                due
            }
            DevEvent::Notices { on } => {
                let about: Vec<&'static str> = on.iter().map(|notice| notice.about).collect();
                let before = std::mem::replace(&mut self.notices, about);
                before != self.notices
            }
            DevEvent::Scaling { targets } => {
                let before = std::mem::replace(
                    &mut self.targets,
                    targets.iter().map(|one| news(one)).collect(),
                );
                before != self.targets
            }
            _ => true,
        }
    }
}

fn news(target: &ScalingStatus) -> TargetDifference {
    TargetDifference {
        workload: format!("{}/{}", target.namespace, target.workload.name),
        wanted: target.decided,
        floor: target.floor.map(|floor| floor.replicas),
        grounds: target.grounds.clone(),
        trusted: ShownLoad::of(target).and_then(|load| load.is_trusted()),
    }
}
