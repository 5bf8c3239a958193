//! `io.max`: the most bytes per second that a cgroup may read from and write to each device. A
//! written line changes only the keys that it names, so limits of operations (`riops`, `wiops`) are
//! neither read nor touched.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::cgroup::device::{Device, DeviceError};

/// In bytes per second; `None` for no limit, and never 0, which the kernel refuses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Limit {
    pub read: Option<u64>,
    pub write: Option<u64>,
}

impl Limit {
    pub const NONE: Self = Self {
        read: None,
        write: None,
    };

    /// The line that sets these directions for `device`.
    pub fn line(self, device: Device, sides: Sides) -> String {
        let (read, write) = (Rate(self.read), Rate(self.write));
        match sides {
            Sides::Both => format!("{device} rbps={read} wbps={write}"),
            Sides::Read => format!("{device} rbps={read}"),
            Sides::Write => format!("{device} wbps={write}"),
        }
    }

    /// The limited directions; `None` without any.
    pub const fn sides(self) -> Option<Sides> {
        match self {
            Self {
                read: Some(_),
                write: Some(_),
            } => Some(Sides::Both),
            Self {
                read: Some(_),
                write: None,
            } => Some(Sides::Read),
            Self {
                read: None,
                write: Some(_),
            } => Some(Sides::Write),
            Self::NONE => None,
        }
    }
}

/// The directions that a line names; the kernel leaves the other as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    Both,
    Read,
    Write,
}

/// Bytes per second as the kernel writes them.
struct Rate(Option<u64>);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(rate) => write!(f, "{rate}"),
            None => f.write_str("max"),
        }
    }
}

/// A device without a limit is not listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IoMax(pub BTreeMap<Device, Limit>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IoMaxError {
    #[error("a line of io.max does not begin with a device")]
    Device(#[from] DeviceError),
    #[error("{value:?} of {device} in io.max is neither a number nor max")]
    Rate { device: Device, value: String },
}

impl IoMax {
    pub fn of(&self, device: Device) -> Limit {
        self.0.get(&device).copied().unwrap_or(Limit::NONE)
    }
}

impl FromStr for IoMax {
    type Err = IoMaxError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut limits = BTreeMap::new();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let Some(device) = words.next() else { continue };
            let device: Device = device.parse()?;
            let mut limit = Limit::NONE;
            for word in words {
                if let Some(rate) = word.strip_prefix("rbps=") {
                    limit.read = rate_of(device, rate)?;
                } else if let Some(rate) = word.strip_prefix("wbps=") {
                    limit.write = rate_of(device, rate)?;
                }
            }
            if limit != Limit::NONE {
                limits.insert(device, limit);
            }
        }
        Ok(Self(limits))
    }
}

fn rate_of(device: Device, text: &str) -> Result<Option<u64>, IoMaxError> {
    if text == "max" {
        return Ok(None);
    }
    let rate = text.parse().map_err(|_| IoMaxError::Rate {
        device,
        value: text.to_owned(),
    });
    rate.map(Some)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SDB: Device = Device {
        major: 8,
        minor: 16,
    };

    #[test]
    fn the_kernels_text_is_read() {
        let text = "8:16 rbps=2097152 wbps=max riops=max wiops=120\n259:0 rbps=max wbps=1 riops=max wiops=max\n";
        let read: IoMax = text.parse().unwrap();
        let expected = Limit {
            read: Some(2_097_152),
            write: None,
        };
        assert_eq!(read.of(SDB), expected);
        assert_eq!(read.0.len(), 2);
        assert_eq!("".parse(), Ok(IoMax::default()));
        // Limits of operations belong to other writers.
        assert_eq!(
            "8:16 rbps=max wbps=max riops=max wiops=120".parse(),
            Ok(IoMax::default())
        );
        assert_eq!(
            "8:16 rbps=5 wbps=max later=1"
                .parse::<IoMax>()
                .unwrap()
                .0
                .len(),
            1
        );
    }

    #[test]
    fn a_limit_that_is_not_understood_is_an_error() {
        for text in ["8:16 rbps=fast", "8:16 wbps=", "8:16 rbps=-1", "sdb rbps=1"] {
            assert!(text.parse::<IoMax>().is_err(), "{text}");
        }
        let error = "8:16 rbps=fast".parse::<IoMax>().unwrap_err();
        assert!(error.to_string().contains("\"fast\" of 8:16"), "{error}");
    }

    #[test]
    fn a_line_names_both_directions() {
        assert_eq!(Limit::NONE.line(SDB, Sides::Both), "8:16 rbps=max wbps=max");
        let limit = Limit {
            read: None,
            write: Some(5),
        };
        assert_eq!(limit.line(SDB, Sides::Both), "8:16 rbps=max wbps=5");
        assert_eq!(limit.line(SDB, Sides::Write), "8:16 wbps=5");
    }

    proptest! {
        #[test]
        fn a_line_is_read_as_it_was_meant(read: Option<u64>, write: Option<u64>, minor: u32) {
            let (limit, device) = (Limit { read, write }, Device { major: 8, minor });
            prop_assert_eq!(limit.line(device, Sides::Both).parse::<IoMax>().unwrap().of(device), limit);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,200}") {
            let _ = text.parse::<IoMax>();
        }
    }
}
