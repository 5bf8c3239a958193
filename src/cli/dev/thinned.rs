//! Keeps what is told again and again from drowning the rest.
//!
//! Loads come ten times a second: some of them are let through. What the service says of itself
//! comes at each look: it is let through when there is news in it.

use std::time::{Duration, Instant};

use crate::cli::dev::cluster::events::Event;
use crate::cli::dev::cluster::events::Target;

/// What was let through last.
#[derive(Debug)]
pub(super) struct Thinned {
    every: Duration,
    loads: Option<Instant>,
    notices: Vec<&'static str>,
    targets: Vec<News>,
}

/// What is news of a target: replicas and floor, what they rest on, and whether its forecast is
/// trusted.
#[derive(Debug, PartialEq, Eq)]
struct News {
    workload: String,
    replicas: (Option<u32>, Option<u32>),
    step: Option<String>,
    trusted: Option<bool>,
}

impl Thinned {
    /// Lets loads through `every` so often.
    pub(super) const fn new(every: Duration) -> Self {
        Self {
            every,
            loads: None,
            notices: Vec::new(),
            targets: Vec::new(),
        }
    }

    /// Whether an event is to be shown.
    pub(super) fn lets_through(&mut self, event: &Event, now: Instant) -> bool {
        match event {
            Event::Loads { .. } => {
                let last = self.loads;
                let due = last.is_none_or(|last| now.duration_since(last) >= self.every);
                if due {
                    self.loads = Some(now);
                }
                due
            }
            Event::Notices { on } => {
                let about: Vec<&'static str> = on.iter().map(|notice| notice.about).collect();
                let before = std::mem::replace(&mut self.notices, about);
                before != self.notices
            }
            Event::Scaling { targets } => {
                let before =
                    std::mem::replace(&mut self.targets, targets.iter().map(news).collect());
                before != self.targets
            }
            _ => true,
        }
    }
}

fn news(target: &Target) -> News {
    News {
        workload: format!("{}/{}", target.namespace, target.workload),
        replicas: (target.wanted, target.floor),
        step: target.step.clone(),
        trusted: target.trust.map(|trust| trust.trusted),
    }
}
