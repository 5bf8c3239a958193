//! Resources and amounts as people read them.

use evenkeel_core::units::{Amount, Resource};

/// Title of a resource's column.
pub(super) const fn title(resource: Resource) -> &'static str {
    match resource {
        Resource::Cpu => "CPU",
        Resource::Memory => "Memory",
        Resource::NetworkIo => "Network",
        Resource::DiskIo => "Disk I/O",
        Resource::Disk => "Disk",
    }
}

/// The unit of a resource's column.
pub(super) const fn unit(resource: Resource) -> &'static str {
    match resource {
        Resource::Cpu => "cores",
        Resource::Memory | Resource::Disk => "GiB",
        Resource::NetworkIo | Resource::DiskIo => "MB/s",
    }
}

const KIB: f64 = 1024.0;
const GIB: f64 = KIB * KIB * KIB;

/// An amount in the unit of its resource's column, short enough for one.
pub(super) fn in_unit(resource: Resource, amount: Amount) -> String {
    let scale = match resource {
        Resource::Cpu => 1e3,
        Resource::Memory | Resource::Disk => GIB,
        Resource::NetworkIo | Resource::DiskIo => 1e6,
    };
    short(amount.as_f64() / scale)
}

/// An amount with the unit that suits it, such as `512 MiB` or `2.5 cores`.
pub(super) fn with_unit(resource: Resource, amount: Amount) -> String {
    let value = amount.as_f64();
    let (step, units): (f64, &[&str]) = match resource {
        Resource::Cpu => {
            let cores = value / 1e3;
            let unit = if amount.get() == 1000 {
                "core"
            } else {
                "cores"
            };
            return format!("{} {unit}", short(cores));
        }
        Resource::Memory | Resource::Disk => (KIB, &["B", "KiB", "MiB", "GiB", "TiB"]),
        Resource::NetworkIo | Resource::DiskIo => (1e3, &["B/s", "kB/s", "MB/s", "GB/s"]),
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
    format!("{} {}", short(scaled), unit.copied().unwrap_or_default())
}

/// Two or three significant digits, and no more zeros than needed.
fn short(value: f64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short_and_keep_their_meaning() {
        for (resource, amount, column, sentence) in [
            (Resource::Cpu, 0, "0", "0 cores"),
            (Resource::Cpu, 5, "0.005", "0.005 cores"),
            (Resource::Cpu, 250, "0.25", "0.25 cores"),
            (Resource::Cpu, 1000, "1", "1 core"),
            (Resource::Cpu, 12_340, "12.3", "12.3 cores"),
            (Resource::Memory, 512 << 20, "0.5", "512 MiB"),
            (Resource::Memory, 64 << 30, "64", "64 GiB"),
            (Resource::NetworkIo, 1_260_000_000, "1260", "1.3 GB/s"),
            (Resource::DiskIo, 4_000, "0.004", "4 kB/s"),
            (Resource::Disk, 100, "0", "100 B"),
        ] {
            assert_eq!(
                in_unit(resource, Amount::new(amount)),
                column,
                "{resource} {amount}"
            );
            assert_eq!(
                with_unit(resource, Amount::new(amount)),
                sentence,
                "{resource} {amount}"
            );
        }
    }
}
