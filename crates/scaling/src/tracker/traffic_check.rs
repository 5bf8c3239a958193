//! A check that a target's model of traffic still predicts the load of its Pods. A release may have
//! halved that load after the fit, and the replicas for the other half would be wasted.
//!
//! Only Pods below their target count against a model: Pods that a surge has outrun carry what they
//! can, and not what comes.

use jiff::{SignedDuration, Timestamp};

/// The ticks after which one has faded to 1/e: an hour.
const MEMORY: u32 = 240;
/// The ticks before anything is judged: ten minutes.
const LEAST: u32 = 40;
/// Told as many times of what is measured, a model is heard no more.
const MOST: f64 = 1.5;
/// And again from here on.
const AGAIN: f64 = 1.25;
/// The ticks that are judged by themselves while a model is not heard: five minutes. A model that is
/// right again is heard within twice the time.
const TRIAL: u32 = 20;
/// A prediction counts up to this many times the target: one wrong answer is not an hour.
const HIGHEST: f64 = 3.0;

/// One Pod at a moment, in the unit of the utilisation.
#[derive(Debug, Clone, Copy)]
pub(super) struct PodNow {
    /// The load that the model predicts.
    pub(super) told: f64,
    /// The load that it carries.
    pub(super) carried: f64,
    /// The load that it is to carry.
    pub(super) target: f64,
}

/// The recent predictions of a model for Pods, and the loads that they carried.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TrafficCheck {
    /// The end of the past that the model was fitted on.
    learnt: Timestamp,
    told: f64,
    carried: f64,
    ticks: u32,
    is_contradicted: bool,
    /// When the traffic was known last, or was first asked for.
    known: Option<Timestamp>,
}

impl TrafficCheck {
    /// Takes note that the traffic is known.
    pub(super) const fn known(&mut self, now: Timestamp) {
        self.known = Some(now);
    }

    /// The time for which the traffic has not been known.
    pub(super) fn unknown_for(&mut self, now: Timestamp) -> SignedDuration {
        now.duration_since(*self.known.get_or_insert(now))
    }

    /// Takes what the model that was fitted up to `learnt` tells of each Pod now, and what each carries. A new
    /// model begins anew, and is heard at once where the one before was.
    pub(super) fn take(&mut self, learnt: Timestamp, pod: PodNow) {
        let PodNow {
            told,
            carried,
            target,
        } = pod;
        if self.learnt != learnt {
            *self = Self {
                learnt,
                is_contradicted: self.is_contradicted,
                known: self.known,
                ..Self::default()
            };
        }
        if carried >= target && !self.is_contradicted {
            return;
        }
        let told = told.min(HIGHEST * target);
        self.ticks = (self.ticks + 1).min(MEMORY);
        let share = 1.0 / f64::from(self.ticks);
        self.told += (told - self.told) * share;
        self.carried += (carried - self.carried) * share;
        let (least, most) = if self.is_contradicted {
            (TRIAL, AGAIN)
        } else {
            (LEAST, MOST)
        };
        if self.ticks >= least {
            let before = self.is_contradicted;
            self.is_contradicted = self.told > self.carried * most;
            // The next judgement begins anew.
            if before || self.is_contradicted {
                self.ticks = 0;
            }
        }
    }

    /// True where Pods have carried much less than the model tells.
    pub(super) const fn is_contradicted(&self) -> bool {
        self.is_contradicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: f64 = 400.0;

    fn taken(check: &mut TrafficCheck, learnt: i64, ticks: u32, told: f64, carried: f64) -> bool {
        let pod = PodNow {
            told,
            carried,
            target: TARGET,
        };
        for _ in 0..ticks {
            check.take(Timestamp::from_second(learnt).unwrap(), pod);
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
            !taken(&mut check, 1, 2000, 100.0, 390.0),
            "too little is the HPA's"
        );
        assert!(taken(&mut check, 1, 2000, 400.0, 0.0));
        assert!(
            taken(&mut check, 2, TRIAL - 1, 300.0, 300.0),
            "another model is heard once it has told better for a while"
        );
        assert!(!taken(&mut check, 2, 1, 300.0, 300.0));
    }

    /// The harm: a model was right again, and was not heard for more than an hour.
    #[test]
    fn a_model_that_is_right_again_is_heard_within_ten_minutes() {
        for wrong in [1, 7, 500] {
            let mut check = TrafficCheck::default();
            assert!(!taken(&mut check, 1, MEMORY, 300.0, 300.0));
            assert!(taken(&mut check, 1, 2 * MEMORY + wrong, 390.0, 100.0));
            // As full as an HPA leaves Pods, or less.
            let carried = if wrong == 7 { 1.05 * TARGET } else { 300.0 };
            let is_unheard = taken(&mut check, 1, 2 * TRIAL, carried, carried);
            assert!(!is_unheard, "{wrong}");
            assert!(taken(&mut check, 1, 2 * LEAST, 390.0, 100.0));
        }
    }

    #[test]
    fn a_moment_contradicts_nothing() {
        let mut check = TrafficCheck::default();
        assert!(!taken(&mut check, 1, MEMORY, 380.0, 380.0));
        assert!(!taken(&mut check, 1, LEAST, 400.0, 100.0));
    }

    /// The harm: Pods that a crowd had outrun carried what they could, and the model that told of the crowd was not
    /// heard for the next hour.
    #[test]
    fn a_crowd_that_outruns_the_pods_and_one_wrong_answer_contradict_nothing() {
        let mut check = TrafficCheck::default();
        assert!(!taken(&mut check, 1, MEMORY, 300.0, 300.0));
        assert!(!taken(&mut check, 1, 40, 6000.0, 500.0));
        assert!(!taken(&mut check, 1, 4, 30_000.0, 300.0));
    }
}
