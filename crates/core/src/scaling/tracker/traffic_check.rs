//! Whether a target's model of traffic still tells what its Pods carry: a release may have halved it since the model was
//! fitted, and replicas for the other half would be for nothing.

use jiff::Timestamp;

/// The ticks after which one has faded to 1/e: an hour.
const MEMORY: u32 = 240;
/// The ticks before anything is judged: ten minutes.
const LEAST: u32 = 40;
/// Told as many times of what is measured, a model is heard no more.
const MOST: f64 = 1.5;
/// And again from here on.
const AGAIN: f64 = 1.25;

/// What a model told of Pods of late, and what they carried.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TrafficCheck {
    /// The end of the past that the model was fitted on.
    learnt: Timestamp,
    told: f64,
    measured: f64,
    ticks: u32,
    is_contradicted: bool,
}

impl TrafficCheck {
    /// Takes what the model that was fitted up to `learnt` tells of each Pod now, and what each carries. A new
    /// model begins anew.
    pub(super) fn take(&mut self, learnt: Timestamp, told: f64, measured: f64) {
        if self.learnt != learnt {
            *self = Self {
                learnt,
                ..Self::default()
            };
        }
        self.ticks = (self.ticks + 1).min(MEMORY);
        let share = 1.0 / f64::from(self.ticks);
        self.told += (told - self.told) * share;
        self.measured += (measured - self.measured) * share;
        let most = if self.is_contradicted { AGAIN } else { MOST };
        self.is_contradicted = self.ticks >= LEAST && self.told > self.measured * most;
    }

    /// True where Pods have carried much less than the model tells.
    pub(super) const fn is_contradicted(&self) -> bool {
        self.is_contradicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(check: &mut TrafficCheck, learnt: i64, ticks: u32, told: f64, measured: f64) -> bool {
        for _ in 0..ticks {
            check.take(Timestamp::from_second(learnt).unwrap(), told, measured);
        }
        check.is_contradicted()
    }

    #[test]
    fn a_model_that_tells_of_too_much_is_contradicted_until_it_does_not() {
        let mut check = TrafficCheck::default();
        assert!(!taken(&mut check, 1, LEAST - 1, 400.0, 200.0));
        assert!(taken(&mut check, 1, 1, 400.0, 200.0));
        // A little better is not enough.
        assert!(taken(&mut check, 1, 2000, 400.0, 300.0));
        assert!(!taken(&mut check, 1, 2000, 400.0, 330.0));
        assert!(!taken(&mut check, 1, 2000, 400.0, 270.0));
        assert!(
            !taken(&mut check, 1, 2000, 400.0, 900.0),
            "too little is the HPA's"
        );
        assert!(taken(&mut check, 1, 2000, 400.0, 0.0));
        assert!(
            !taken(&mut check, 2, LEAST - 1, 400.0, 0.0),
            "another model"
        );
    }

    #[test]
    fn a_moment_contradicts_nothing() {
        let mut check = TrafficCheck::default();
        assert!(!taken(&mut check, 1, MEMORY, 400.0, 400.0));
        assert!(!taken(&mut check, 1, LEAST, 400.0, 100.0));
    }
}
