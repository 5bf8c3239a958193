//! The stages of a Pod's life on its node.

use jiff::SignedDuration;

use crate::scenario::Startup;

/// Times are those of the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    Pulling,
    /// Containers are created.
    Starting,
    /// Containers run but serve nothing yet.
    Warming,
    Ready,
    /// Deleted: gets no more requests, and finishes those that it has.
    Ending,
}

/// Begins of the stages of one Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifecycle {
    /// The kubelet took it.
    pub bound: SignedDuration,
    /// Its containers run.
    pub running: SignedDuration,
    pub ready: SignedDuration,
    pulled: SignedDuration,
    deleted: Option<SignedDuration>,
}

impl Lifecycle {
    /// Bound at `bound`; `cached` says that the node has its image.
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
            deleted: None,
        }
    }

    /// The first deletion counts. Returns its time.
    pub fn delete(&mut self, at: SignedDuration) -> SignedDuration {
        *self.deleted.get_or_insert(at)
    }

    pub const fn is_deleted(&self) -> bool {
        self.deleted.is_some()
    }

    pub fn stage(&self, at: SignedDuration) -> Stage {
        if self.deleted.is_some_and(|deleted| deleted <= at) {
            Stage::Ending
        } else if at >= self.ready {
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
        let mut life = Lifecycle::new(&startup, second(9), false);
        assert_eq!(life.start_up(), second(17));
        for at in [40, 45] {
            assert_eq!(life.delete(second(at)), second(40));
        }
        assert_eq!(life.stage(second(39)), Stage::Ready);
        assert_eq!(life.stage(second(40)), Stage::Ending);
    }
}
