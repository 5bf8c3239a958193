//! Noise on a load, which samples of real services have and means over minutes lack.

use evenkeel_forecast::RegularSeries;
use evenkeel_units::random::RandomSource;

/// Multiplies values by `1 + N(0, deviation)`, with a minimum of 0. The noise of a moment depends
/// only on source and moment.
#[must_use]
pub fn with_noise(load: RegularSeries, deviation: f64, source: RandomSource) -> RegularSeries {
    if deviation <= 0.0 {
        return load;
    }
    let (start, step) = (load.start(), load.step());
    let first = start.as_second().div_euclid(step.as_secs().max(1));
    let noisy = (first..).zip(load.values()).map(|(slot, value)| {
        let times = 1.0 + deviation * source.normal(slot.cast_unsigned());
        value.map(|value| (value * times).max(0.0))
    });
    let noisy = noisy.collect();
    RegularSeries::new(start, step, noisy).unwrap_or(load)
}

#[cfg(test)]
mod tests {
    use evenkeel_units::count_as_f64;
    use jiff::{SignedDuration, Timestamp};

    use super::*;

    fn flat(start: i64, count: usize) -> RegularSeries {
        let start = Timestamp::from_second(start).unwrap();
        let mut values = vec![Some(100.0); count];
        values[1] = None;
        RegularSeries::new(start, SignedDuration::from_secs(15), values).unwrap()
    }

    fn known(series: &RegularSeries) -> Vec<f64> {
        series.values().iter().copied().flatten().collect()
    }

    #[test]
    fn noise_has_the_deviation_that_was_asked_for() {
        let noisy = with_noise(flat(0, 20_000), 0.03, RandomSource::new(1));
        assert_eq!(noisy.values()[1], None, "a gap stays one");
        let values = known(&noisy);
        let mean = values.iter().sum::<f64>() / count_as_f64(values.len());
        let squares = values.iter().map(|value| (value - mean).powi(2));
        let deviation = (squares.sum::<f64>() / count_as_f64(values.len())).sqrt();
        assert!((mean - 100.0).abs() < 0.1, "{mean}");
        assert!((deviation - 3.0).abs() < 0.06, "{deviation}");
        let wild = known(&with_noise(flat(0, 1_000), 2.0, RandomSource::new(1)));
        assert!(wild.iter().all(|value| *value >= 0.0));
        assert_eq!(
            with_noise(flat(0, 9), 0.0, RandomSource::new(1)),
            flat(0, 9)
        );
    }

    #[test]
    fn the_noise_of_a_moment_is_the_same_wherever_the_series_begins() {
        let whole = with_noise(flat(0, 100), 0.03, RandomSource::new(1));
        let later = with_noise(flat(15 * 40, 60), 0.03, RandomSource::new(1));
        assert_eq!(whole.values()[42..], later.values()[2..]);
        let other = with_noise(flat(0, 100), 0.03, RandomSource::new(2));
        assert_ne!(whole.values()[42..], other.values()[42..]);
    }
}
