//! Quantiles of the largest load of a window, at any level.

/// The levels of the models' answers.
pub const LEVELS: [f64; 4] = [0.1, 0.5, 0.8, 0.95];

/// The levels as distances from the middle of a normal distribution, interpolated between.
const DISTANCES: [f64; 4] = [-1.281_551_565_5, 0.0, 0.841_621_233_6, 1.644_853_627];

/// Distance of the bounds of an 80 % interval.
const OF_80: f64 = 1.281_551_565_5;
/// Distance of the bounds of a 95 % interval.
const OF_95: f64 = 1.959_963_984_5;

/// In the unit of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantiles {
    values: [f64; LEVELS.len()],
}

impl Quantiles {
    /// At [`LEVELS`]. One below its predecessor is raised to it, and none is below 0.
    pub fn new(mut values: [f64; LEVELS.len()]) -> Self {
        let mut least = 0.0_f64;
        for value in &mut values {
            least = if value.is_finite() {
                value.max(least)
            } else {
                least
            };
            *value = least;
        }
        Self { values }
    }

    /// As likely exceeded as not.
    pub const fn median(&self) -> f64 {
        self.values[1]
    }

    /// At [`LEVELS`]`[index]`.
    pub fn level(&self, index: usize) -> f64 {
        self.values[index]
    }

    /// Holds 80 % of the largest loads.
    pub fn interval80(&self) -> (f64, f64) {
        (self.at(-OF_80), self.at(OF_80))
    }

    /// Holds 95 % of the largest loads.
    pub fn interval95(&self) -> (f64, f64) {
        (self.at(-OF_95), self.at(OF_95))
    }

    /// The load at a distance from the middle, in standard deviations of a normal distribution:
    /// interpolated between the levels, and extrapolated beyond them.
    pub fn at(&self, distance: f64) -> f64 {
        let last = DISTANCES.len() - 2;
        let segment = (0..last)
            .find(|&index| distance <= DISTANCES[index + 1])
            .unwrap_or(last);
        let [from, to] = [DISTANCES[segment], DISTANCES[segment + 1]];
        let [low, high] = [self.values[segment], self.values[segment + 1]];
        let share = (distance - from) / (to - from);
        (low + (high - low) * share).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_lie_on_the_lines_and_beyond() {
        let quantiles = Quantiles::new([10.0, 20.0, 30.0, 40.0]);
        for (distance, value) in DISTANCES.into_iter().zip([10.0, 20.0, 30.0, 40.0]) {
            assert!((quantiles.at(distance) - value).abs() < 1e-9);
        }
        let beyond = quantiles.at(DISTANCES[3] + (DISTANCES[3] - DISTANCES[2]));
        assert!((beyond - 50.0).abs() < 1e-9);
        assert!((quantiles.at(-10.0)).abs() < 1e-9);
        assert!((quantiles.interval80().0 - 10.0).abs() < 1e-6);
        assert!(quantiles.interval95().1 > quantiles.interval80().1);
    }

    #[test]
    fn quantiles_never_cross_nor_are_they_below_zero() {
        let quantiles = Quantiles::new([-1.0, 5.0, 4.0, f64::NAN]);
        let expected = [0.0, 5.0, 5.0, 5.0];
        let pairs = quantiles.values.iter().zip(expected);
        assert!(
            pairs
                .into_iter()
                .all(|(found, expected)| (found - expected).abs() < 1e-9)
        );
    }
}
