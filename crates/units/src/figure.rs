//! Amounts as people read them.

use super::{Amount, Resource};

const KIB: f64 = 1024.0;

impl Resource {
    /// An amount with the unit that suits it, such as `512 MiB` or `2.5 cores`.
    pub fn with_unit(self, amount: Amount) -> String {
        let value = amount.as_f64();
        let (step, units): (f64, &[&str]) = match self {
            Self::Cpu => {
                let cores = value / 1e3;
                let unit = if amount.get() == 1000 {
                    "core"
                } else {
                    "cores"
                };
                return format!("{} {unit}", figure(cores));
            }
            Self::Memory | Self::Disk => (KIB, &["B", "KiB", "MiB", "GiB", "TiB"]),
            Self::NetworkIo | Self::DiskIo => (1e3, &["B/s", "kB/s", "MB/s", "GB/s"]),
        };
        let mut scaled = value;
        let mut units = units.iter();
        let mut unit = units.next();
        while scaled >= step
            && let Some(larger) = units.next()
        {
            scaled /= step;
            unit = Some(larger);
        }
        format!("{} {}", figure(scaled), unit.copied().unwrap_or_default())
    }
}

/// Two or three significant digits, and no more zeros than needed.
pub fn figure(value: f64) -> String {
    let decimals = if value >= 99.95 || value.fract().abs() < 1e-9 {
        0
    } else if value >= 0.995 {
        1
    } else {
        2 + usize::from(value < 0.0995)
    };
    let text = format!("{value:.decimals$}");
    if decimals == 0 {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
