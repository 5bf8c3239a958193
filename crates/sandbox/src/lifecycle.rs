//! The stages of a Pod's life on its node.

use jiff::SignedDuration;

use crate::scenario::Startup;

/// Where a Pod is in its life; times are those of the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Its image is pulled.
    Pulling,
    /// Its containers are created.
    Starting,
    /// Its containers run; it serves nothing yet.
    Warming,
    Ready,
}

/// When the stages of one Pod begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifecycle {
    /// When the kubelet took it.
    pub bound: SignedDuration,
    /// When its containers run.
    pub running: SignedDuration,
    pub ready: SignedDuration,
    pulled: SignedDuration,
}

impl Lifecycle {
    /// The life of a Pod bound to a node at `bound`; `cached` says that the node has its image.
    #[must_use]
    pub fn new(startup: &Startup, bound: SignedDuration, cached: bool) -> Self {
        let pull = if cached {
            SignedDuration::ZERO
        } else {
            startup.pull
        };
        let pulled = bound.saturating_add(pull);
        let running = pulled.saturating_add(startup.start);
        Self {
            bound,
            pulled,
            running,
            ready: running.saturating_add(startup.warm_up),
        }
    }

    /// The stage at a time after the binding.
    #[must_use]
    pub fn stage(&self, at: SignedDuration) -> Stage {
        if at >= self.ready {
            Stage::Ready
        } else if at >= self.running {
            Stage::Warming
        } else if at >= self.pulled {
            Stage::Starting
        } else {
            Stage::Pulling
        }
    }

    /// From binding to ready.
    #[must_use]
    pub fn start_up(&self) -> SignedDuration {
        self.ready.saturating_sub(self.bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_follow_each_other_and_a_cached_image_is_not_pulled() {
        let second = SignedDuration::from_secs;
        let startup = Startup {
            pull: second(10),
            start: second(2),
            warm_up: second(5),
        };
        for (cached, at, stage) in [
            (false, 100, Stage::Pulling),
            (false, 109, Stage::Pulling),
            (false, 110, Stage::Starting),
            (false, 112, Stage::Warming),
            (false, 117, Stage::Ready),
            (true, 100, Stage::Starting),
            (true, 102, Stage::Warming),
            (true, 107, Stage::Ready),
        ] {
            let life = Lifecycle::new(&startup, second(100), cached);
            assert_eq!(life.stage(second(at)), stage, "{cached} {at}");
        }
        assert_eq!(
            Lifecycle::new(&startup, second(9), false).start_up(),
            second(17)
        );
    }
}
