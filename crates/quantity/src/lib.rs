//! Kubernetes quantities on integers. Everything that the API server accepts parses (also a sign or
//! a suffix alone, which are 0), and prints in the server's canonical form. The value is in
//! billionths, the finest that Kubernetes keeps, rounded away from zero, in 128 bits; 10^29 units
//! bound it.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// Largest magnitude, in billionths.
const MOST: u128 = 10_u128.pow(38);
/// Powers of ten of the finest and of the coarsest last digit.
const FINEST: i8 = -9;
const LARGEST: i8 = 28;
/// In billionths.
const UNIT: u128 = 1_000_000_000;
/// Kubernetes holds binary quantities to 64 bits, in billionths here.
const MOST_BINARY: u128 = (i64::MAX as u128) * UNIT;

const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Suffixes of a quantity as written, used for printing where possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuantityFormat {
    /// Powers of 1000 by letter: `12M`.
    DecimalSi,
    /// Powers of 1024 by letter: `12Mi`.
    BinarySi,
    /// Powers of 1000 by exponent: `12e6`.
    DecimalExponent,
}

/// Equality and order ignore the format.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    nano: i128,
    format: QuantityFormat,
    /// Power of ten of the last digit as written; it matters for [`Quantity::approximate_f64`]
    /// only.
    scale: i8,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not accepted; accepted: a Kubernetes quantity such as 500m, 1.5, 2Gi or 1e3")]
pub struct QuantityError {
    pub given: String,
}

impl Quantity {
    /// Whole units, rounded up; negative gives 0, too large the largest.
    pub fn ceil(self) -> u64 {
        self.ceil_in(UNIT)
    }

    /// Thousandths of a unit, rounded up; negative gives 0, too large the largest.
    pub fn milli_ceil(self) -> u64 {
        self.ceil_in(UNIT / 1_000)
    }

    pub const fn is_negative(self) -> bool {
        self.nano < 0
    }

    /// Thousandths of a unit, rounded away from zero like Kubernetes' `MilliValue`; saturates.
    pub fn milli_value(self) -> i64 {
        let milli = self.nano.unsigned_abs().div_ceil(UNIT / 1_000);
        let milli = i64::try_from(milli).unwrap_or(i64::MAX);
        if self.nano < 0 { -milli } else { milli }
    }

    /// Printed in `format` if that loses nothing.
    pub fn from_milli(milli: i64, format: QuantityFormat) -> Self {
        Self {
            nano: i128::from(milli) * 1_000_000,
            format,
            scale: -3,
        }
    }

    /// Printed in `format` if that loses nothing.
    pub fn from_micro(micro: i64, format: QuantityFormat) -> Self {
        Self {
            nano: i128::from(micro) * 1_000,
            format,
            scale: -6,
        }
    }

    /// As Kubernetes' `AsApproximateFloat64`: all digits as one integer times a power of ten.
    /// `0.29` and `290m` may differ by one unit in the last place from each other and from the
    /// nearest float.
    #[allow(clippy::cast_precision_loss)] // what Go loses is to be lost here too
    pub fn approximate_f64(self) -> f64 {
        let power = 10_f64.powi(i32::from(self.scale.unsigned_abs()));
        if self.scale < 0 {
            let places = u32::from((self.scale + 9).unsigned_abs());
            let digits = self.nano / 10_i128.pow(places);
            digits as f64 * (1.0 / power)
        } else {
            let places = u32::from(self.scale.unsigned_abs()) + 9;
            let digits = self.nano / 10_i128.pow(places);
            digits as f64 * power
        }
    }

    fn ceil_in(self, nanos: u128) -> u64 {
        let nano = u128::try_from(self.nano).unwrap_or(0);
        u64::try_from(nano.div_ceil(nanos)).unwrap_or(u64::MAX)
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| QuantityError {
            given: text.to_owned(),
        })
    }
}

enum Multiplier {
    /// By suffix or by exponent.
    Ten(i64, QuantityFormat),
    /// 1024 to this power.
    Binary(u32),
}

fn parse(text: &str) -> Option<Quantity> {
    if text.is_empty() {
        return None;
    }
    let (negative, unsigned) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (whole, rest) = split_digits(unsigned);
    let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
    let (magnitude, format, scale) = match multiplier(suffix)? {
        Multiplier::Ten(exponent, format) => (
            decimal_nano(whole, fraction, exponent),
            format,
            decimal_scale(whole, fraction, exponent),
        ),
        Multiplier::Binary(power) => (
            binary_nano(whole, fraction, power),
            QuantityFormat::BinarySi,
            if fraction.is_empty() { 0 } else { FINEST },
        ),
    };
    let nano = i128::try_from(magnitude).ok()?;
    Some(Quantity {
        nano: if negative { -nano } else { nano },
        format,
        scale,
    })
}

/// Power of ten of the last digit of `whole.fraction * 10^exponent` as Kubernetes keeps it: more
/// than 18 digits, or finer than a billionth, are held in billionths.
fn decimal_scale(whole: &str, fraction: &str, exponent: i64) -> i8 {
    let digits = whole.trim_start_matches('0').len().max(1) + fraction.len();
    let places = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
    let scale = i8::try_from(exponent.saturating_sub(places)).unwrap_or(FINEST);
    if digits > 18 || !(FINEST..=LARGEST).contains(&scale) {
        FINEST
    } else {
        scale
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len()),
    )
}

fn multiplier(suffix: &str) -> Option<Multiplier> {
    if let Some(at) = DECIMAL.iter().position(|&name| name == suffix) {
        let exponent = 3 * i64::try_from(at).ok()? - 9;
        return Some(Multiplier::Ten(exponent, QuantityFormat::DecimalSi));
    }
    if let Some(at) = BINARY.iter().position(|&name| name == suffix) {
        return u32::try_from(at).ok().map(Multiplier::Binary);
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let format = QuantityFormat::DecimalExponent;
    exponent
        .parse()
        .ok()
        .map(|power| Multiplier::Ten(power, format))
}

/// `whole.fraction * 10^exponent` in billionths, rounded up, at most [`MOST`].
fn decimal_nano(whole: &str, fraction: &str, exponent: i64) -> u128 {
    let digits = || {
        let digits = whole.bytes().chain(fraction.bytes());
        digits.skip_while(|&digit| digit == b'0')
    };
    // Digits left of the point once the value is in billionths.
    let places = i64::try_from(digits().count())
        .unwrap_or(i64::MAX)
        .saturating_sub_unsigned(fraction.len() as u64)
        .saturating_add(exponent)
        .saturating_add(9);
    if digits().next().is_none() {
        return 0;
    }
    let Ok(places) = usize::try_from(places) else {
        return 1;
    };
    if places > 38 {
        return MOST;
    }
    let left = digits().chain(std::iter::repeat(b'0')).take(places);
    let value = left.fold(0, |value, digit| value * 10 + u128::from(digit - b'0'));
    let dropped = digits().skip(places).any(|digit| digit != b'0');
    value + u128::from(dropped)
}

/// `whole.fraction * 1024^power` in billionths, rounded up, at most [`MOST_BINARY`].
fn binary_nano(whole: &str, fraction: &str, power: u32) -> u128 {
    let factor = 1_u128 << (10 * power);
    // Schoolbook division by ten from the last digit on: dropped digits only decide the rounding.
    let mut carry = 0_u128;
    let mut rest = false;
    for digit in fraction.bytes().rev() {
        let sum = u128::from(digit - b'0') * factor * UNIT + carry;
        rest |= !sum.is_multiple_of(10);
        carry = sum / 10;
    }
    let fraction = carry + u128::from(rest);
    let whole = decimal_nano(whole, "", 0);
    whole
        .saturating_mul(factor)
        .saturating_add(fraction)
        .min(MOST_BINARY)
}

impl fmt::Display for Quantity {
    /// The largest suffix that leaves an integer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.nano.unsigned_abs();
        if magnitude == 0 {
            return f.pad("0");
        }
        let sign = if self.nano < 0 { "-" } else { "" };
        let binary = self.format == QuantityFormat::BinarySi
            && magnitude >= 1024 * UNIT
            && magnitude.is_multiple_of(UNIT);
        if binary {
            let (number, steps) = strip(magnitude / UNIT, 1024, BINARY.len() - 1);
            return f.pad(&format!("{sign}{number}{}", BINARY[steps]));
        }
        if self.format == QuantityFormat::DecimalExponent {
            let (number, steps) = strip(magnitude, 1000, usize::MAX);
            return match 3 * steps.cast_signed() - 9 {
                0 => f.pad(&format!("{sign}{number}")),
                exponent => f.pad(&format!("{sign}{number}e{exponent}")),
            };
        }
        let (number, steps) = strip(magnitude, 1000, DECIMAL.len() - 1);
        f.pad(&format!("{sign}{number}{}", DECIMAL[steps]))
    }
}

/// Divides `number`, which is not 0, by `base` as often as it goes evenly, at most `limit` times.
const fn strip(mut number: u128, base: u128, limit: usize) -> (u128, usize) {
    let mut steps = 0;
    while steps < limit && number.is_multiple_of(base) {
        number /= base;
        steps += 1;
    }
    (number, steps)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// With the canonical form of `resource.ParseQuantity` in Kubernetes 1.36.
    const CANONICAL: [(&str, &str); 51] = [
        ("0", "0"),
        ("1", "1"),
        ("1.5", "1500m"),
        (".", "0"),
        ("-", "0"),
        ("+", "0"),
        ("k", "0"),
        ("Ki", "0"),
        (".5", "500m"),
        ("1.", "1"),
        (".5Ki", "512"),
        ("1.Mi", "1Mi"),
        ("1E", "1E"),
        ("1E3", "1e3"),
        ("1e-3", "1e-3"),
        ("1e+3", "1e3"),
        ("1e-10", "1e-9"),
        ("0.1Ki", "102400m"),
        ("1.5Gi", "1536Mi"),
        ("1.00001Mi", "1048586485760u"),
        ("512", "512"),
        ("0.5Gi", "512Mi"),
        ("1024Ki", "1Mi"),
        ("1000Ki", "1000Ki"),
        ("1500M", "1500M"),
        ("8Ei", "9223372036854775807"),
        ("7Ei", "7Ei"),
        ("-8Ei", "-9223372036854775807"),
        ("0.0000000001", "1n"),
        ("-0.0000000001", "-1n"),
        ("1.5n", "2n"),
        ("12e4", "120e3"),
        ("0001", "1"),
        ("+5", "5"),
        ("1.500", "1500m"),
        ("0.1", "100m"),
        ("1e19", "10e18"),
        ("12345678901234567890", "12345678901234567890"),
        (
            "123456789012345678901234567890m",
            "123456789012345678901234567890m",
        ),
        ("0.1Ei", "115292150460684697600m"),
        ("-1.5Gi", "-1536Mi"),
        ("-0.3", "-300m"),
        ("3e-11", "1e-9"),
        ("1e0", "1"),
        ("0e5", "0"),
        ("0.000Mi", "0"),
        ("0.99999999999Ki", "1023999999990n"),
        ("1023.9999999999Ki", "1048575999999898n"),
        ("4e-9", "4e-9"),
        ("123456Ei", "9223372036854775807"),
        ("1.0000000001Ti", "1099511627885951162778n"),
    ];

    /// Refused by `resource.ParseQuantity` in Kubernetes 1.36.
    const REFUSED: [&str; 20] = [
        "1e", "1ee5", "1mi", "1K", "1Ki5", "0x10", "1_0", "1,5", "NaN", "1e1e1", "1u5", "e",
        "1.2.3", "1e+", "1--", "-+1", "1M5", "1Mi+3", "1 ", " 1",
    ];

    #[test]
    fn the_canonical_form_is_that_of_kubernetes() {
        for (text, canonical) in CANONICAL {
            let quantity: Quantity = text.parse().expect(text);
            assert_eq!(quantity.to_string(), canonical, "{text:?}");
        }
    }

    #[test]
    fn what_kubernetes_refuses_is_refused() {
        for text in REFUSED {
            let error = text.parse::<Quantity>().expect_err(text);
            assert_eq!(error.given, text);
        }
        assert!("".parse::<Quantity>().is_err());
    }

    #[test]
    fn beyond_the_largest_magnitude_the_largest_stands() {
        for text in ["1e30", "1e400", "1e9223372036854775807"] {
            let quantity: Quantity = text.parse().unwrap();
            assert_eq!(quantity.to_string(), "100e27", "{text}");
        }
    }

    #[test]
    fn amounts_are_rounded_up_and_saturate() {
        for (text, milli, bytes) in [
            ("0.0001", 1, 1),
            ("1500m", 1500, 2),
            ("-1", 0, 0),
            ("1Ki", 1_024_000, 1024),
            ("16Ei", u64::MAX, 9_223_372_036_854_775_807),
            ("100E", u64::MAX, u64::MAX),
        ] {
            let quantity: Quantity = text.parse().unwrap();
            assert_eq!(quantity.milli_ceil(), milli, "{text}");
            assert_eq!(quantity.ceil(), bytes, "{text}");
        }
    }

    /// With thousandths and the result of Kubernetes' `AsApproximateFloat64`.
    #[test]
    fn values_are_converted_as_kubernetes_does() {
        for (text, milli, float) in [
            ("0.29", 290, 29.0 * 0.01),
            ("290m", 290, 290.0 * 0.001),
            ("0.05", 50, 0.05),
            ("1e-2", 10, 0.01),
            ("1k", 1_000_000, 1000.0),
            ("2Ki", 2_048_000, 2048.0),
            ("0.5Ki", 512_000, 512e9 * 1e-9),
            ("-1.5n", -1, -2.0 * 1e-9),
            ("-0.0015", -2, -15.0 * 0.0001),
            ("100E", i64::MAX, 100.0 * 1e18),
        ] {
            let quantity: Quantity = text.parse().unwrap();
            assert_eq!(quantity.milli_value(), milli, "{text}");
            assert_eq!(
                quantity.approximate_f64().to_bits(),
                f64::to_bits(float),
                "{text}"
            );
        }
        let memory = Quantity::from_milli(536_870_912_000, QuantityFormat::BinarySi);
        assert_eq!(memory.to_string(), "512Mi");
    }

    proptest! {
        #[test]
        fn canonical_text_parses_back_and_stays(text in "[+-]?[0-9]{0,25}(\\.[0-9]{0,15})?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]{1,2})?") {
            prop_assume!(!text.is_empty());
            let quantity: Quantity = text.parse().unwrap();
            let canonical = quantity.to_string();
            let again: Quantity = canonical.parse().unwrap();
            prop_assert_eq!(again, quantity);
            prop_assert_eq!(again.to_string(), canonical);
        }

        #[test]
        fn any_text_is_parsed_or_refused(text: String) {
            if let Err(error) = text.parse::<Quantity>() {
                prop_assert_eq!(error.given, text);
            }
        }
    }
}
