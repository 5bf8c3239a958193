//! The level that floors cover, and the share of time in which it was not enough. An operator sets
//! a share of time in which Pods may carry too much. The matching quantile of the largest load
//! differs between loads: the HPA reacts too, replicas are whole, and there is a tolerance. So a
//! caller that knows the Pods searches the level, which is kept here.

/// Minutes after which the achieved share has faded to 1/e: two days.
const MEMORY: f64 = 2880.0;

/// Minutes from which on the achieved share corrects the level: half a day.
const CORRECTED_FROM: f64 = 720.0;
/// Additional distance from the middle that reduces a risk to about a tenth.
pub const A_TENTH: f64 = 0.5;
const MOST: f64 = 1.0;

/// The covered level, with the share of time in which it was not enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cover {
    risk: f64,
    distance: f64,
    is_limited: bool,
    /// Minutes in the mean, counted up to the memory.
    minutes: f64,
    achieved: f64,
}

impl Cover {
    /// `distance` from the middle as in [`Quantiles::at`](super::Quantiles::at), `risk` the share
    /// of time in which Pods may carry too much, above 0 and below 1.
    pub const fn new(risk: f64, distance: f64) -> Self {
        Self {
            risk,
            distance,
            is_limited: false,
            minutes: 0.0,
            achieved: 0.0,
        }
    }

    pub const fn risk(&self) -> f64 {
        self.risk
    }

    /// Distance from the middle at which the largest load is covered.
    pub const fn distance(&self) -> f64 {
        self.distance
    }

    /// Takes the distance that meets the risk, or a larger one that is worth more, up to the largest
    /// one that floors may cost.
    pub const fn put(&mut self, meeting: f64, worthwhile: f64, most: f64) {
        self.distance = meeting.max(worthwhile).min(most);
        self.is_limited = meeting > most;
    }

    /// True where the risk needs a higher level than floors may cost.
    pub const fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// Share of the last days in which Pods carried too much; `None` before an hour has passed.
    pub fn achieved(&self) -> Option<f64> {
        (self.minutes >= 60.0).then_some(self.achieved)
    }

    /// Additional distance from the middle, because Pods carried too much for longer than the risk,
    /// for example because they wait for nodes or start late. 0 before half a day has passed.
    pub fn correction(&self) -> f64 {
        if self.minutes < CORRECTED_FROM || self.achieved <= self.risk {
            return 0.0;
        }
        (A_TENTH * (self.achieved / self.risk).log10()).min(MOST)
    }

    /// Adds a minute in which Pods carried too much, or did not.
    pub fn pass(&mut self, too_much: bool) {
        let share = if too_much { 1.0 } else { 0.0 };
        self.minutes = (self.minutes + 1.0).min(MEMORY);
        self.achieved += (share - self.achieved) / self.minutes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_carried_beyond_the_risk_raises_the_level() {
        let passed = |minutes: usize, every: usize| {
            let mut cover = Cover::new(0.01, 1.28);
            (0..minutes).for_each(|minute| cover.pass(minute % every == 0));
            cover.correction()
        };
        assert!(passed(719, 1) == 0.0, "too little is known");
        assert!(passed(2000, 200) == 0.0, "less than was asked for");
        let tenfold = passed(2000, 10);
        assert!((tenfold - A_TENTH).abs() < 0.01, "{tenfold}");
        assert!((passed(2000, 1) - MOST).abs() < 1e-9);
    }

    /// The harm: a level that was raised for its worth and could not be paid was reported as a risk that is not held.
    #[test]
    fn only_the_risk_can_be_limited_by_cost() {
        let mut cover = Cover::new(0.01, 1.28);
        for (meeting, worthwhile, distance, is_limited) in [
            (0.9, 0.2, 0.9, false),
            (0.9, 1.0, 1.0, false),
            (0.9, 1.4, 1.1, false),
            (1.2, 1.4, 1.1, true),
        ] {
            cover.put(meeting, worthwhile, 1.1);
            assert!(
                (cover.distance() - distance).abs() < 1e-9,
                "{meeting} {worthwhile}"
            );
            assert_eq!(cover.is_limited(), is_limited, "{meeting} {worthwhile}");
        }
    }

    #[test]
    fn the_achieved_share_is_that_of_the_last_days() {
        let mut cover = Cover::new(0.01, 1.28);
        (0..59).for_each(|_| cover.pass(true));
        assert_eq!(cover.achieved(), None);
        cover.pass(true);
        assert_eq!(cover.achieved(), Some(1.0));
        (0..30_000).for_each(|minute| cover.pass(minute % 50 == 0));
        assert!(
            cover
                .achieved()
                .is_some_and(|share| (share - 0.02).abs() < 1e-3)
        );
    }
}
