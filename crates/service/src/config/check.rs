//! Collects what is wrong with values of the right shape. A failed check gives a stand-in and goes
//! on, so that one run reports every problem; a configuration with a problem is refused as a whole,
//! so stand-ins never leave.

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::time::Duration;

use evenkeel_http_client::{AddressError, Uri};
use evenkeel_objects::duration;
use evenkeel_objects::yaml_values::YamlText;
use evenkeel_quantity::Quantity;
use evenkeel_units::{Bytes, BytesPerSecond, Ratio};
use jiff::SignedDuration;

use super::value::{Count, Number};

/// A path and what is wrong there.
#[derive(Debug)]
pub struct ConfigFinding {
    pub path: String,
    pub message: String,
}

#[derive(Debug, Default)]
pub struct Checker {
    pub findings: Vec<ConfigFinding>,
}

/// A duration with the path of its field, or with the terms that it is computed from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedDuration<'a> {
    pub(crate) name: &'a str,
    pub(crate) duration: SignedDuration,
}

impl<'a> NamedDuration<'a> {
    pub(crate) const fn new(name: &'a str, duration: SignedDuration) -> Self {
        Self { name, duration }
    }
}

const DURATIONS: &str = "a duration above zero, such as 10s, 3m or 1h30m";

impl Checker {
    pub fn refuse(&mut self, path: &str, message: impl fmt::Display) {
        self.findings.push(ConfigFinding {
            path: path.to_owned(),
            message: message.to_string(),
        });
    }

    /// Notes `given` at `path` together with what would be accepted.
    pub fn refuse_value(&mut self, path: &str, given: impl fmt::Debug, accepted: &str) {
        self.refuse(
            path,
            format_args!("{given:?} is not accepted; accepted: {accepted}"),
        );
    }

    /// Notes when `given` is another text than the one that is accepted.
    pub(crate) fn equal(&mut self, path: &str, given: &str, accepted: &str) {
        if given != accepted {
            self.refuse_value(path, given, accepted);
        }
    }

    /// The value, or a note of the error and `stand_in`.
    pub(crate) fn take<T, E: fmt::Display>(
        &mut self,
        path: &str,
        result: Result<T, E>,
        stand_in: T,
    ) -> T {
        result.unwrap_or_else(|error| {
            self.refuse(path, error);
            stand_in
        })
    }

    /// A share of a whole, in (0, 1].
    pub(crate) fn share(&mut self, path: &str, value: Number) -> Ratio {
        Ratio::share(value.0).unwrap_or_else(|error| {
            self.refuse(path, error);
            Ratio::share(1.0).expect("1 is a share")
        })
    }

    /// A number from 0 to 1.
    pub(crate) fn share_or_zero(&mut self, path: &str, value: Number) -> f64 {
        if !(0.0..=1.0).contains(&value.0) {
            self.refuse_value(path, value.0, "a number from 0 to 1");
        }
        value.0
    }

    /// A duration above zero.
    pub fn duration(&mut self, path: &str, text: &YamlText) -> SignedDuration {
        match SignedDuration::from_str(text.as_ref()) {
            Ok(duration) if duration.is_positive() => duration,
            _ => {
                self.refuse_value(path, text.as_ref(), DURATIONS);
                SignedDuration::ZERO
            }
        }
    }

    /// A duration above zero, for timers.
    pub(crate) fn period(&mut self, path: &str, text: &YamlText) -> Duration {
        self.duration(path, text).unsigned_abs()
    }

    /// A duration above zero, or `None` where `0` is written.
    pub fn duration_or_never(&mut self, path: &str, text: &YamlText) -> Option<SignedDuration> {
        let parsed = duration::parse(text.as_ref());
        if parsed.is_none() {
            self.refuse_value(path, text.as_ref(), duration::ACCEPTED);
        }
        parsed.filter(SignedDuration::is_positive)
    }

    /// A size in bytes, above zero.
    pub(crate) fn size(&mut self, path: &str, text: &YamlText) -> Bytes {
        match Quantity::from_str(text.as_ref()).map(|size| Bytes(size.ceil())) {
            Ok(bytes) if bytes > Bytes(0) => bytes,
            Ok(_) => {
                self.refuse_value(path, text.as_ref(), "a size above zero, such as 3Mi");
                Bytes(1)
            }
            Err(error) => {
                self.refuse(path, error);
                Bytes(1)
            }
        }
    }

    pub(crate) fn rate(&mut self, path: &str, text: Option<&YamlText>) -> Option<BytesPerSecond> {
        match BytesPerSecond::from_str(text?.as_ref()) {
            Ok(rate) => Some(rate),
            Err(error) => {
                self.refuse(path, error);
                None
            }
        }
    }

    /// The address of a server to call. Credentials in it are refused, because the effective configuration and
    /// logs show it; `instead` names the fields for them.
    pub(crate) fn server_url(
        &mut self,
        path: &str,
        url: &str,
        example: &str,
        instead: &str,
    ) -> Uri {
        evenkeel_http_client::server_address(url).unwrap_or_else(|error| {
            match error {
                AddressError::Credentials => {
                    self.refuse(path, format_args!("{error}: use {instead}"));
                }
                AddressError::NotHttp => {
                    let accepted = format!("an http or https URL, such as {example}");
                    self.refuse_value(path, url, &accepted);
                }
                AddressError::Port => self.refuse_value(path, url, "a port from 1 to 65535"),
            }
            Uri::default()
        })
    }

    /// An address with a port to listen on.
    pub(crate) fn listen(&mut self, path: &str, text: &YamlText) -> SocketAddr {
        text.as_ref().parse().unwrap_or_else(|_| {
            self.refuse_value(
                path,
                text.as_ref(),
                "an address with a port, such as [::]:8443",
            );
            SocketAddr::from(([127, 0, 0, 1], 0))
        })
    }

    pub(crate) fn at_least_one(&mut self, path: &str, Count(count): Count) -> NonZeroUsize {
        if count == 0 {
            self.refuse_value(path, count, "a whole number of at least 1");
        }
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN)
    }

    /// Notes when a duration is not below a limit.
    pub(crate) fn shorter(&mut self, given: NamedDuration<'_>, limit: NamedDuration<'_>) {
        let NamedDuration {
            name: path,
            duration,
        } = given;
        let NamedDuration {
            name: limit_path,
            duration: limit,
        } = limit;
        // A zero is the stand-in of a duration that was refused already.
        if duration >= limit && limit.is_positive() && duration.is_positive() {
            self.refuse(
                path,
                format_args!(
                    "{duration:#} is not accepted; accepted: less than {limit_path}, which is {limit:#}"
                ),
            );
        }
    }
}
