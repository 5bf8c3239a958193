//! Planned faults, with their times in the scenario.

use std::fmt;
use std::str::FromStr;

use evenkeel_units::words;
use jiff::SignedDuration;

words! {
    pub enum FaultKind {
        /// The metrics backends refuse every query.
        MetricsDown = "metrics-down",
        /// The metrics backends accept queries and never answer.
        MetricsHang = "metrics-hang",
        /// The service accepts calls of webhook and extender and never answers.
        Hang = "hang",
        /// The API server goes away and comes back with its objects.
        ApiRestart = "api-restart",
        /// The first node stops answering: it is not Ready, its Pods are gone.
        NodeLoss = "node-loss",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    pub from: SignedDuration,
    pub until: SignedDuration,
}

pub const ACCEPTED: &str = "metrics-down, metrics-hang, hang, api-restart or node-loss, then \
     @FROM..UNTIL in time of the scenario, as in metrics-down@60s..120s";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not accepted; accepted: {ACCEPTED}")]
pub struct FaultError(pub String);

impl Fault {
    pub fn lasts(&self, at: SignedDuration) -> bool {
        self.from <= at && at < self.until
    }
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let parse = || {
            let (name, times) = text.split_once('@')?;
            let (from, until) = times.split_once("..")?;
            let kind = FaultKind::ALL
                .into_iter()
                .find(|kind| kind.as_str() == name)?;
            let (from, until) = (from.parse().ok()?, until.parse().ok()?);
            let ordered = SignedDuration::ZERO <= from && from < until;
            ordered.then_some(Self { kind, from, until })
        };
        parse().ok_or_else(|| FaultError(text.to_owned()))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, from, until } = self;
        write!(f, "{}@{from:#}..{until:#}", kind.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_and_printed_alike() {
        let fault: Fault = "metrics-down@60s..2m".parse().unwrap();
        assert_eq!(fault.kind, FaultKind::MetricsDown);
        assert_eq!(fault.to_string().parse(), Ok(fault));
        let second = SignedDuration::from_secs;
        for (at, lasts) in [(59, false), (60, true), (119, true), (120, false)] {
            assert_eq!(fault.lasts(second(at)), lasts, "{at}");
        }
    }

    #[test]
    fn what_is_no_fault_is_refused() {
        for text in [
            "",
            "hang",
            "hang@60s",
            "hang@2m..1m",
            "hang@1m..1m",
            "fire@1m..2m",
            "hang@-1s..2s",
        ] {
            assert!(text.parse::<Fault>().is_err(), "{text}");
        }
    }
}
