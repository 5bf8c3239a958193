//! Block devices as the kernel numbers them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Written `8:16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Device {
    pub major: u32,
    pub minor: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a device; accepted: two numbers with a colon between them, such as 8:16")]
pub struct DeviceError(pub String);

impl FromStr for Device {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| digits)
        };
        let both = text.trim_end_matches('\n').split_once(':');
        let device = both.and_then(|(major, minor)| {
            Some(Self {
                major: number(major)?,
                minor: number(minor)?,
            })
        });
        device.ok_or_else(|| DeviceError(text.to_owned()))
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl TryFrom<String> for Device {
    type Error = DeviceError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Device> for String {
    fn from(device: Device) -> Self {
        device.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_two_numbers_are_a_device() {
        let device = |major, minor| Some(Device { major, minor });
        for (text, expected) in [
            ("8:16", device(8, 16)),
            ("259:0\n", device(259, 0)),
            ("8", None),
            ("8:", None),
            (":1", None),
            ("+8:1", None),
            ("8:1:2", None),
            ("8: 1", None),
            ("8:-1", None),
            ("8:4294967296", None),
            ("", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_again(major: u32, minor: u32) {
            let device = Device { major, minor };
            prop_assert_eq!(device.to_string().parse(), Ok(device));
            let json = serde_json::to_string(&device).unwrap();
            prop_assert_eq!(serde_json::from_str::<Device>(&json).unwrap(), device);
        }
    }
}
