//! Activation functions, in a form that a compiler can vectorise.

/// Beyond this, tanh is 1 in 32-bit floats.
const FLAT: f32 = 7.905_311;
/// Rational function of least error as in Eigen: odd powers above, even ones below the line.
const ABOVE: [f32; 7] = [
    4.893_524_6e-3,
    6.372_619_3e-4,
    1.485_722_4e-5,
    5.122_297e-8,
    -8.604_672e-11,
    2.000_188e-13,
    -2.760_768_5e-16,
];
const BELOW: [f32; 4] = [4.893_525e-3, 2.268_434_6e-3, 1.185_347e-4, 1.198_258_4e-6];

/// Within 5e-7.
#[inline]
pub(super) fn tanh(value: f32) -> f32 {
    let value = value.clamp(-FLAT, FLAT);
    let square = value * value;
    let polynomial = |coefficients: &[f32]| {
        let down = coefficients.iter().rev();
        down.fold(0.0, |sum, coefficient| sum * square + coefficient)
    };
    value * polynomial(&ABOVE) / polynomial(&BELOW)
}

/// 1 / (1 + e^−x), within 5e-7.
#[inline]
pub(super) fn sigmoid(value: f32) -> f32 {
    0.5 + 0.5 * tanh(0.5 * value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_what_their_names_say() {
        for step in -4000_i16..=4000 {
            let value = f32::from(step) / 200.0;
            let exact = f64::from(value).tanh();
            assert!(
                (f64::from(tanh(value)) - exact).abs() < 5e-7,
                "tanh {value}"
            );
            let exact = 1.0 / (1.0 + (-f64::from(value)).exp());
            let found = f64::from(sigmoid(value));
            assert!((found - exact).abs() < 5e-7, "sigmoid {value}");
        }
        for (value, expected) in [(f32::MAX, 1.0), (f32::MIN, -1.0), (f32::INFINITY, 1.0)] {
            assert!((tanh(value) - expected).abs() < 5e-7);
        }
    }
}
