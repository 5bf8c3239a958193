//! The level that floors cover, steered by what was achieved.
//!
//! An operator asks for a share of time in which Pods may carry too much. Which quantile of the largest
//! load holds that share differs from load to load: the HPA reacts as well, replicas are whole, and a
//! tolerance is left. So the level moves up at each time that was too much, and down as long as none is,
//! in the proportion that is at rest where the share is the one that was asked for.

/// The distance (see [`Quantiles::at`](super::Quantiles::at)) at the risk of 1 % to begin with: the 90 % quantile.
const BEGIN: f64 = 1.28;
/// How much further that lies for a tenth of the risk.
const A_TENTH: f64 = 0.5;
/// The distances that are never left.
const LEAST: f64 = -1.0;
const MOST: f64 = 3.5;
/// By how much a minute that was too much raises the level.
const GAIN: f64 = 0.1;
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
    /// A cover for a share of time in which Pods may carry too much, above 0 and below 1.
    #[must_use]
    pub fn new(risk: f64) -> Self {
        let distance = BEGIN - A_TENTH * (risk / 0.01).log10();
        Self {
            risk,
            distance: distance.clamp(LEAST, MOST),
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

    /// The share of the last days in which Pods carried too much; `None` before an hour has passed.
    #[must_use]
    pub fn achieved(&self) -> Option<f64> {
        (self.minutes >= 60.0).then_some(self.achieved)
    }

    /// Takes so many minutes in which Pods carried too much, or did not.
    pub fn pass(&mut self, minutes: f64, too_much: bool) {
        let share = if too_much { 1.0 } else { 0.0 };
        let step = GAIN * (share - self.risk) * minutes;
        self.distance = (self.distance + step).clamp(LEAST, MOST);
        self.minutes = (self.minutes + minutes).min(MEMORY);
        let weight = minutes / self.minutes.max(minutes);
        self.achieved += (share - self.achieved) * weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_risk_begins_higher() {
        let begins: Vec<_> = [0.001, 0.01, 0.05]
            .map(|risk| Cover::new(risk).distance())
            .into();
        assert!(begins.is_sorted_by(|one, next| one > next), "{begins:?}");
    }

    #[test]
    fn the_level_comes_to_rest_where_the_share_is_the_one_asked_for() {
        // Too much whenever a load, evenly spread over distances of 0 to 2, lies above the level.
        for risk in [0.005, 0.02, 0.05] {
            let mut cover = Cover::new(risk);
            let mut late = (0, 0);
            for minute in 0..200_000_u32 {
                let load = 2.0 * (f64::from(minute) * 0.618_033_988_75).fract();
                let too_much = load > cover.distance();
                cover.pass(1.0, too_much);
                if minute >= 20_000 {
                    late = (late.0 + u32::from(too_much), late.1 + 1);
                }
            }
            let share = f64::from(late.0) / f64::from(late.1);
            assert!((share - risk).abs() < 0.1 * risk, "{risk}: {share}");
        }
    }

    #[test]
    fn the_level_stays_within_its_bounds() {
        let mut cover = Cover::new(0.01);
        (0..1000).for_each(|_| cover.pass(1.0, true));
        assert!((cover.distance() - MOST).abs() < 1e-9);
        (0..100_000).for_each(|_| cover.pass(1.0, false));
        assert!((cover.distance() - LEAST).abs() < 1e-9);
    }
}
