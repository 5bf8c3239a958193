//! Numbers that a seed decides, without a state: the value at a step of a stream is a hash of both.
//!
//! Two runs of the same seed therefore see the same numbers whatever else they do, also when one of
//! them looks at more Pods, or looks more often.

/// A source of numbers that depend on nothing but a seed and what is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomSource(u64);

impl RandomSource {
    /// The source of a run.
    pub const fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// A source of its own for something with a name.
    pub fn stream(self, name: &str) -> Self {
        let fold = |state, byte: u8| mix(state ^ u64::from(byte));
        Self(name.bytes().fold(self.0, fold))
    }

    /// A number in [0, 1) for `step`.
    pub fn unit(self, step: u64) -> f64 {
        // 32 bits are exact in a float, and more than the noise of a load needs.
        let high = u32::try_from(mix(self.0 ^ mix(step)) >> 32).expect("32 bits are left");
        f64::from(high) / 4_294_967_296.0
    }

    /// A whole number below `count` for `step`; 0 where that is 0.
    pub fn below(self, step: u64, count: usize) -> usize {
        let count = u64::try_from(count).unwrap_or(u64::MAX).max(1);
        usize::try_from(mix(self.0 ^ mix(step)) % count).unwrap_or_default()
    }

    /// A number in [-1, 1) for `step`; values near 0 are the likeliest.
    pub fn noise(self, step: u64) -> f64 {
        self.unit(step) + self.stream("second").unit(step) - 1.0
    }

    /// A number of the standard normal distribution for `step` (Box and Muller).
    pub fn normal(self, step: u64) -> f64 {
        // Above 0, which has no logarithm.
        let radius = (-2.0 * (1.0 - self.unit(step)).ln()).sqrt();
        let angle = std::f64::consts::TAU * self.stream("angle").unit(step);
        radius * angle.cos()
    }
}

/// The finaliser of SplitMix64: each bit of the argument changes half of the result's.
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_and_the_name_decide() {
        let one = RandomSource::new(1).stream("web");
        assert_eq!(
            one.noise(5).total_cmp(&one.noise(5)),
            std::cmp::Ordering::Equal
        );
        for other in [
            RandomSource::new(2).stream("web").noise(5),
            RandomSource::new(1).stream("wed").noise(5),
            one.noise(6),
        ] {
            assert!((one.noise(5) - other).abs() > 1e-9);
        }
    }

    #[test]
    fn noise_is_centred_and_bounded() {
        let source = RandomSource::new(7);
        let values: Vec<f64> = (0..10_000).map(|step| source.noise(step)).collect();
        let mean = values.iter().sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.02, "{mean}");
        assert!(values.iter().all(|value| (-1.0..1.0).contains(value)));
    }
}
