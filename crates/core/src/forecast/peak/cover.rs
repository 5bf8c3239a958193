//! The level that floors cover, and the share of time in which it was not enough.
//!
//! An operator asks for a share of time in which Pods may carry too much. Which quantile of the largest
//! load holds that share differs from load to load: the HPA reacts as well, replicas are whole, and a
//! tolerance is left. So whoever knows the Pods finds the level, and it stands here.

/// The minutes after which the achieved share has faded to 1/e: two days.
const MEMORY: f64 = 2880.0;

/// The level that covers a load, with the share of time in which it was not enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cover {
    risk: f64,
    distance: f64,
    /// The minutes that the share is the mean of, as far as they are remembered.
    minutes: f64,
    achieved: f64,
}

impl Cover {
    /// A cover at a distance from the middle (see [`Quantiles::at`](super::Quantiles::at)), for a share of
    /// time in which Pods may carry too much, above 0 and below 1.
    #[must_use]
    pub const fn new(risk: f64, distance: f64) -> Self {
        Self {
            risk,
            distance,
            minutes: 0.0,
            achieved: 0.0,
        }
    }

    /// The share that was asked for.
    #[must_use]
    pub const fn risk(&self) -> f64 {
        self.risk
    }

    /// The distance from the middle at which the largest load is covered.
    #[must_use]
    pub const fn distance(&self) -> f64 {
        self.distance
    }

    /// Covers the largest load at another distance.
    pub const fn put(&mut self, distance: f64) {
        self.distance = distance;
    }

    /// The share of the last days in which Pods carried too much; `None` before an hour has passed.
    #[must_use]
    pub fn achieved(&self) -> Option<f64> {
        (self.minutes >= 60.0).then_some(self.achieved)
    }

    /// Takes a minute in which Pods carried too much, or did not.
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
