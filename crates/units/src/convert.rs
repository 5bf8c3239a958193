//! Conversions between numbers that no `From` covers, each with what it does at its ends.

/// A count as a float; exact up to 2^53.
#[allow(clippy::cast_precision_loss)] // nothing that is counted here comes near 2^53
pub const fn count_as_f64(count: usize) -> f64 {
    count as f64
}

/// An integer as a float, rounded to the nearest beyond 2^53.
#[allow(clippy::cast_precision_loss)] // the rounding is said above
pub const fn i64_as_f64(value: i64) -> f64 {
    value as f64
}

/// The smallest integer that is not below `value`; saturates, and what is not a number gives 0.
#[allow(clippy::cast_possible_truncation)] // `as` saturates, NaN gives 0
pub fn i64_ceil(value: f64) -> i64 {
    value.ceil() as i64
}

/// The nearest integer; saturates, and what is not a number gives 0.
#[allow(clippy::cast_possible_truncation)] // `as` saturates, NaN gives 0
pub fn i64_nearest(value: f64) -> i64 {
    value.round() as i64
}

/// The low 32 bits, which is how Go converts a 64-bit integer to one of 32 bits.
#[allow(clippy::cast_possible_truncation)] // the purpose
pub const fn wrapped_i32(value: i64) -> i32 {
    value as i32
}

/// The smallest replica count that is not below `wanted`, as Kubernetes counts replicas; too
/// large gives the largest count, and what is not a number gives 0.
#[allow(clippy::cast_possible_truncation)] // `as` saturates, NaN gives 0
pub fn replicas_ceil(wanted: f64) -> i32 {
    wanted.ceil() as i32
}

/// The nearest 32-bit float; `None` where that is not finite.
#[allow(clippy::cast_possible_truncation)] // checked to be finite, and rounding is the purpose
pub fn narrowed(value: f64) -> Option<f32> {
    Some(value as f32).filter(|narrow| narrow.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_rounded_up_and_saturate() {
        for (wanted, replicas) in [
            (2.0, 2),
            (2.000_001, 3),
            (-0.5, 0),
            (-1.5, -1),
            (1e12, i32::MAX),
            (f64::INFINITY, i32::MAX),
            (f64::NAN, 0),
        ] {
            assert_eq!(replicas_ceil(wanted), replicas, "{wanted}");
        }
    }

    #[test]
    fn only_what_stays_finite_is_narrowed() {
        assert_eq!(narrowed(0.5), Some(0.5));
        for none in [f64::NAN, f64::INFINITY, 1e39, f64::MIN] {
            assert_eq!(narrowed(none), None, "{none}");
        }
    }
}
