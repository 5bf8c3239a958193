//! Integer amounts in the base unit of their resource.
//!
//! `Amount` is what the rules compute with, once the typed units have said what they are.
//! Arithmetic saturates: a sum that overflows 64 bits is as good as infinite to a scheduler, and
//! a difference never goes below zero.

use std::iter::Sum;

/// An amount in the base unit of the resource it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Amount(u64);

impl Amount {
    pub const ZERO: Self = Self(0);

    /// `value` in the base unit: millicores, bytes, or bytes per second.
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// The amount in the base unit.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The amount as a float; exact up to 2^53.
    #[allow(clippy::cast_precision_loss)] // ratios of amounts need no more than 53 bits
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// The nearest amount to a measured `value`; below zero or not a number gives zero.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // `as` saturates, NaN gives 0
    pub const fn from_f64(value: f64) -> Self {
        Self(value.round() as u64)
    }

    /// The sum, at most `u64::MAX`.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, at least zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// So many times the amount, at most `u64::MAX`.
    pub const fn saturating_mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Self::saturating_add)
    }
}

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u64);

        impl From<$name> for Amount {
            fn from(value: $name) -> Self {
                Self(value.0)
            }
        }
    };
}

unit!(
    /// Processor time in thousandths of a core.
    MilliCpu
);
unit!(
    /// A size in bytes.
    Bytes
);
unit!(
    /// A rate in bytes per second.
    BytesPerSecond
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let most = Amount::new(u64::MAX);
        assert_eq!(most.saturating_add(Amount::new(1)), most);
        assert_eq!(Amount::new(1).saturating_sub(Amount::new(2)), Amount::ZERO);
        assert_eq!([most, most].into_iter().sum::<Amount>(), most);
    }

    #[test]
    fn measured_values_are_rounded_and_never_negative() {
        for (measured, amount) in [
            (1.5, 2),
            (1.4, 1),
            (-3.0, 0),
            (f64::NAN, 0),
            (f64::INFINITY, u64::MAX),
        ] {
            assert_eq!(
                Amount::from_f64(measured),
                Amount::new(amount),
                "{measured}"
            );
        }
    }
}
