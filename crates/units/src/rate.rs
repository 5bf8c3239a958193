//! Rates as people write them in annotations: `5Mbps`, `10MB/s`, `10MiB/s`, or bare bytes per second.
//!
//! Networks are sold in bits and disks in bytes, so both units are read. Text is turned into bytes
//! per second in integers; a fraction of a byte is rounded up, as Kubernetes rounds quantities.

use std::fmt;
use std::str::FromStr;

use super::amount::BytesPerSecond;

/// Text that is no rate, with what is accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not accepted; accepted: {}", Self::ACCEPTED)]
pub struct RateError {
    /// The text as given.
    pub given: String,
}

impl RateError {
    /// The accepted forms, for messages.
    pub const ACCEPTED: &'static str =
        "a rate such as 5Mbps (bits), 10MB/s, 10MiB/s, or a number of bytes per second";
}

/// Units with the bits that one of them stands for; a name is matched as it is written, since `m`
/// and `M`, `b` and `B` mean different things.
const UNITS: [(&str, u128); 16] = [
    ("", 8),
    ("bps", 1),
    ("kbps", 1_000),
    ("Kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("Tbps", 1_000_000_000_000),
    ("B/s", 8),
    ("kB/s", 8_000),
    ("KB/s", 8_000),
    ("MB/s", 8_000_000),
    ("GB/s", 8_000_000_000),
    ("TB/s", 8_000_000_000_000),
    ("KiB/s", 8 << 10),
    ("MiB/s", 8 << 20),
    ("GiB/s", 8 << 30),
];

/// Digits after the point that are read; more say less than a byte per second.
const MAX_FRACTION_DIGITS: usize = 12;

impl FromStr for BytesPerSecond {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text.trim()).ok_or_else(|| RateError {
            given: text.to_owned(),
        })
    }
}

fn parse(text: &str) -> Option<BytesPerSecond> {
    let unit_at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let unit = unit.trim_start();
    let (_, bits) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || number.ends_with('.') || fraction.len() > MAX_FRACTION_DIGITS {
        return None;
    }
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let whole: u64 = whole.parse().ok()?;
    let fraction: u64 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().ok()?
    };
    let scaled = u128::from(whole)
        .checked_mul(scale)?
        .checked_add(u128::from(fraction))?
        .checked_mul(bits)?;
    u64::try_from(scaled.div_ceil(8 * scale))
        .ok()
        .map(BytesPerSecond)
}

impl fmt::Display for BytesPerSecond {
    /// The largest unit that divides the rate evenly; it parses back to the same rate.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: [(&str, u64); 6] = [
            ("GiB/s", 1 << 30),
            ("GB/s", 1_000_000_000),
            ("MiB/s", 1 << 20),
            ("MB/s", 1_000_000),
            ("KiB/s", 1 << 10),
            ("kB/s", 1_000),
        ];
        let (unit, size) = SHOWN
            .into_iter()
            .find(|&(_, size)| self.0 >= size && self.0.is_multiple_of(size))
            .unwrap_or(("B/s", 1));
        f.pad(&format!("{}{unit}", self.0 / size))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rates_are_read_in_bits_and_bytes() {
        for (text, bytes) in [
            ("0", 0),
            ("125000", 125_000),
            ("1.2", 2),
            ("5Mbps", 625_000),
            ("1.5Gbps", 187_500_000),
            ("1bps", 1),
            ("12 Mbps", 1_500_000),
            (" 10MB/s ", 10_000_000),
            ("10MiB/s", 10 << 20),
            ("0.5GiB/s", 1 << 29),
            ("100B/s", 100),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(BytesPerSecond(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_rate_is_refused_with_what_is() {
        for text in [
            "",
            "Mbps",
            "-5Mbps",
            "+5",
            "5mbps",
            "5MBPS",
            "5M",
            "5Mi",
            "1e6",
            ".5Mbps",
            "5.Mbps",
            "1.2.3",
            "NaN",
            "18446744073709551616",
            "99999999999TB/s",
            "0.0000000000001GB/s",
        ] {
            let error = text.parse::<BytesPerSecond>().expect_err(text);
            assert!(error.to_string().contains("5Mbps (bits)"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn display_parses_back(rate: u64, zeros in 0_u32..12) {
            let rate = BytesPerSecond(rate - rate % 10_u64.pow(zeros));
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }
    }
}
