//! The units of loads: the base unit that they are kept in, and the one in which people are told
//! them.

use evenkeel_quantity::{Quantity, QuantityFormat};
use evenkeel_units::{Resource, i64_nearest, words};

use super::signal::Signal;

words! {
    /// The base unit of the loads of a signal.
    pub enum LoadUnit {
        /// Thousandths of a core.
        Millicores = "millicores",
        Bytes = "bytes",
        BytesPerSecond = "bytes/s",
        /// Whatever the metric counts, such as requests or messages.
        One = "",
    }
}

/// A unit in which people are told loads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReadableUnit {
    /// The number of base units in it.
    size: f64,
    /// The name after a space; empty for what has no unit.
    name: &'static str,
}

impl LoadUnit {
    /// The unit of the loads of `signal`.
    pub fn of(signal: &Signal) -> Self {
        if signal.is_cpu() {
            return Self::Millicores;
        }
        if !signal.is_conserved() {
            return Self::Bytes;
        }
        let rates = [Resource::NetworkIo, Resource::DiskIo];
        if rates.into_iter().any(|rate| *signal == Signal::from(rate)) {
            Self::BytesPerSecond
        } else {
            Self::One
        }
    }

    /// A load as Kubernetes writes amounts of it, in cores for processor time: to the nearest millionth,
    /// which is finer than anything that is measured.
    pub fn quantity(self, load: f64) -> Quantity {
        let millionths = match self {
            Self::Millicores => 1e3,
            Self::Bytes | Self::BytesPerSecond | Self::One => 1e6,
        };
        Quantity::from_micro(i64_nearest(load * millionths), QuantityFormat::DecimalSi)
    }

    /// The unit in which people are told loads of the size of `value`.
    pub fn readable(self, value: f64) -> ReadableUnit {
        const KI: f64 = 1024.0;
        let (size, name) = match self {
            Self::Millicores => (1000.0, " cores"),
            Self::One => (1.0, ""),
            Self::Bytes if value >= KI * KI * KI => (KI * KI * KI, " GiB"),
            Self::Bytes => (KI * KI, " MiB"),
            Self::BytesPerSecond => (1e6, " MB/s"),
        };
        ReadableUnit { size, name }
    }
}

impl ReadableUnit {
    /// A load with the unit, such as `7.2 cores`.
    pub fn amount(self, value: f64) -> String {
        format!("{}{}", self.number(value), self.name)
    }

    /// A load with the digits that matter, without the unit.
    pub fn number(self, value: f64) -> String {
        let value = value / self.size;
        let digits = if value < 1.0 {
            2
        } else {
            usize::from(value < 100.0)
        };
        format!("{value:.digits$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::PromQl;

    #[test]
    fn loads_are_told_in_the_units_of_people() {
        const MI: f64 = 1024.0 * 1024.0;
        for (signal, value, told) in [
            (Signal::CPU, 7200.0, "7.2 cores"),
            (Signal::CPU, 250.0, "0.25 cores"),
            (Signal::CPU, 123_456.0, "123 cores"),
            (Signal::MEMORY, 700.0 * MI, "700 MiB"),
            (Signal::MEMORY, 3.1 * 1024.0 * MI, "3.1 GiB"),
            (Signal::PromQl(PromQl::own("sum(up)")), 12.5, "12.5"),
            (Resource::NetworkIo.into(), 25_000_000.0, "25.0 MB/s"),
        ] {
            let unit = LoadUnit::of(&signal);
            assert_eq!(unit.readable(value).amount(value), told);
            assert_eq!(LoadUnit::named(unit.as_str()), Some(unit));
        }
        assert_eq!(LoadUnit::named("furlongs"), None);
    }

    #[test]
    fn loads_are_written_as_quantities_without_the_dust_of_sums() {
        for (unit, load, written) in [
            (LoadUnit::Millicores, 0.0, "0"),
            (LoadUnit::Millicores, 4100.0, "4100m"),
            (LoadUnit::Millicores, 400.000_000_000_1, "400m"),
            (LoadUnit::Millicores, 399.4, "399400u"),
            (LoadUnit::Millicores, 12_000.0, "12"),
            (LoadUnit::One, 70.0, "70"),
            (LoadUnit::One, 0.1 + 0.2, "300m"),
            (LoadUnit::BytesPerSecond, 25e6, "25M"),
            (LoadUnit::Bytes, 1024.0, "1024"),
            (LoadUnit::One, f64::NAN, "0"),
            (LoadUnit::One, 1e300, "9223372036854775807u"),
        ] {
            assert_eq!(unit.quantity(load).to_string(), written, "{load}");
        }
    }
}
