//! Resources and amounts as people read them.

use evenkeel_units::{Amount, Resource, figure};

pub const fn title(resource: Resource) -> &'static str {
    match resource {
        Resource::Cpu => "CPU",
        Resource::Memory => "Memory",
        Resource::NetworkIo => "Network",
        Resource::DiskIo => "Disk I/O",
        Resource::Disk => "Disk",
    }
}

pub(crate) const fn unit(resource: Resource) -> &'static str {
    match resource {
        Resource::Cpu => "cores",
        Resource::Memory | Resource::Disk => "GiB",
        Resource::NetworkIo | Resource::DiskIo => "MB/s",
    }
}

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// An amount in the unit of its resource's column, short enough for one.
pub(crate) fn in_unit(resource: Resource, amount: Amount) -> String {
    let scale = match resource {
        Resource::Cpu => 1e3,
        Resource::Memory | Resource::Disk => GIB,
        Resource::NetworkIo | Resource::DiskIo => 1e6,
    };
    figure(amount.as_f64() / scale)
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
                resource.with_unit(Amount::new(amount)),
                sentence,
                "{resource} {amount}"
            );
        }
    }
}
