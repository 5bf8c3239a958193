//! Bytes read and written, and the time that tasks waited for them.

use std::collections::BTreeMap;

use crate::cgroup::device::Device;

/// Since the creation of the cgroup, or the start of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoByteCounts {
    pub read: u64,
    pub written: u64,
}

/// Bytes by device in a cgroup's `io.stat`, present and former children included. Lines without
/// bytes, which some kernels write for unused devices, are skipped.
pub fn io_stat(text: &str) -> BTreeMap<Device, IoByteCounts> {
    let mut all = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(Ok(device)) = words.next().map(str::parse) else {
            continue;
        };
        let (mut read, mut written) = (None, None);
        for word in words {
            if let Some(bytes) = word.strip_prefix("rbytes=") {
                read = bytes.parse().ok();
            } else if let Some(bytes) = word.strip_prefix("wbytes=") {
                written = bytes.parse().ok();
            }
        }
        if let (Some(read), Some(written)) = (read, written) {
            all.insert(device, IoByteCounts { read, written });
        }
    }
    all
}

/// The kernel's sector, whatever the disk's own.
const SECTOR: u64 = 512;

/// In `/sys/block/NAME/stat`, since the start of the machine.
pub fn disk_stat(text: &str) -> Option<IoByteCounts> {
    let mut fields = text.split_ascii_whitespace();
    let read: u64 = fields.nth(2)?.parse().ok()?;
    let written: u64 = fields.nth(3)?.parse().ok()?;
    Some(IoByteCounts {
        read: read.checked_mul(SECTOR)?,
        written: written.checked_mul(SECTOR)?,
    })
}

/// Time lost by waiting (PSI), in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pressure {
    /// At least one task waited.
    pub some: u64,
    /// All tasks with work waited; older kernels do not report it for every resource.
    pub full: Option<u64>,
}

/// Totals in `io.pressure` of a cgroup or in `/proc/pressure/io`; `None` without any.
pub fn pressure(text: &str) -> Option<Pressure> {
    let total = |line: &str| {
        let words = line.split_ascii_whitespace();
        words
            .filter_map(|word| word.strip_prefix("total="))
            .find_map(|total| total.parse::<u64>().ok())
    };
    let of = |kind: &str| {
        let mut lines = text.lines();
        let line = lines.find(|line| line.split_ascii_whitespace().next() == Some(kind));
        line.and_then(total)
    };
    Some(Pressure {
        some: of("some")?,
        full: of("full"),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_are_read_by_device() {
        let text = "8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n\
                    8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0 cost.usage=7\n\
                    253:1 \n\
                    7:0\n";
        let found = io_stat(text);
        let device = |text: &str| text.parse::<Device>().unwrap();
        let expected = [
            (device("8:0"), (4096, 0)),
            (device("8:16"), (1_459_200, 314_773_504)),
        ];
        let found: Vec<_> = found
            .into_iter()
            .map(|(device, IoByteCounts { read, written })| (device, (read, written)))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_disk_counts_in_sectors() {
        let text = " 86436 8019 4822106 84934 17486 160178 16113064 99622 0 18744 185927\n";
        let expected = IoByteCounts {
            read: 4_822_106 * 512,
            written: 16_113_064 * 512,
        };
        assert_eq!(disk_stat(text), Some(expected));
        assert_eq!(disk_stat("1 2 3"), None);
        assert_eq!(disk_stat(&format!("1 2 {} 4 5 6 7", u64::MAX)), None);
    }

    #[test]
    fn pressure_is_a_total() {
        let text = "some avg10=0.15 avg60=0.13 avg300=0.23 total=6513126\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=1683295\n";
        let expected = Pressure {
            some: 6_513_126,
            full: Some(1_683_295),
        };
        assert_eq!(pressure(text), Some(expected));
        let some = "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
        assert_eq!(pressure(some).unwrap().full, None);
        assert_eq!(pressure(""), None);
        assert_eq!(pressure("some total=x"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(text in "(some|full|8:0|rbytes=|wbytes=|total=|[0-9]{1,25}| |\n|.){0,40}") {
            let _ = (io_stat(&text), disk_stat(&text), pressure(&text));
        }
    }
}
